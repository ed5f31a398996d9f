package io.merganser.table.rule

import io.merganser.merge.MerganserException
import io.merganser.merge.columns.{ColumnFunction, ColumnGroup, DeclaredRule, DeletePolicy, Retraction}
import io.merganser.table.options.Names.lower
import io.merganser.table.options.{OptionEntry, OptionKind, Options, Settings}
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.{FrameCheck, MetaColumns}
import org.apache.spark.sql.types.{ArrayType, MapType, StringType, StructType}

/** Column rules in the options of a new table, or repeated in those of a later write. */
object RuleDeclaration {

  def isIn(settings: Settings): Boolean =
    settings.ruleColumns.nonEmpty || settings.ruleGroups.nonEmpty || parts.exists(settings.explicit(_).isDefined)

  private val parts: Seq[OptionEntry] = Seq(Options.RuleDefault, Options.RuleDelete, Options.RuleRetractColumn,
    Options.RuleRetractValues, Options.RuleText)

  /**
   * The rule of a new table, with the names of its schema; None if it is that of its merge mode.
   *
   * @param table the table's settings without a rule
   * @throws MerganserException RULE_INVALID naming the column, its function and type, and what is allowed;
   *                            OPTION_CONFLICT where other options set how rows are merged
   */
  def ofNewTable(settings: Settings, table: TableConfig, schema: StructType): Option[DeclaredRule] =
    if (!isIn(settings)) None
    else {
      val declared = parsed(settings, table.name)
      val rule     = declared.renamed(name => FrameCheck.find(schema, name).fold(name)(_.name))
      rule.columns.foreach { case (column, function) => requirePossible(table, schema, column, function) }
      requireGroups(table, schema, rule)
      requireDeletes(table, rule)
      rule.retract.foreach { retraction =>
        requireListable(table, retraction)
        requireRetractable(table, schema, rule, retraction)
      }
      Some(rule).filterNot(_.isPlain).map { rule =>
        requireAlone(settings, table, rule)
        rule
      }
    }

  /**
   * Refuses a rule that differs from the table's; each option counts by itself.
   *
   * @param conflict makes the error, of the option's name, its value and what the table has
   */
  def requireStored(settings: Settings, table: TableConfig)(conflict: (String, String, String) => Throwable): Unit =
    if (isIn(settings)) {
      val declared = parsed(settings, table.name)
      val rule     = table.rule.orElse(if (isByMode(table)) Some(DeclaredRule.Plain) else None)
      def stored(column: Option[String]) = rule.map { rule =>
        column.fold(rule.default) { name =>
          if (table.fixedColumns.exists(_.equalsIgnoreCase(name))) ColumnFunction.Last else rule.ignoringCase(name)
        }
      }
      def require(option: String, function: ColumnFunction, stored: Option[ColumnFunction]): Unit =
        if (!stored.contains(function)) throw conflict(option, function.text, stored.fold("none")(_.text))
      settings.ruleColumns.keys.foreach { column =>
        require(Options.RuleColumnPrefix + column, declared.of(column), stored(Some(column)))
      }
      if (settings.explicit(Options.RuleDefault).isDefined)
        require(Options.RuleDefault.key, declared.default, stored(None))
      settings.explicit(Options.RuleDelete).filterNot(text => rule.exists(_.delete.text == text)).foreach { text =>
        throw conflict(Options.RuleDelete.key, text, rule.fold("none")(_.delete.text))
      }
      for (text <- settings.explicit(Options.RuleRetractColumn); own <- declared.renamed(lower).retract)
        if (!rule.flatMap(_.renamed(lower).retract).contains(own))
          throw conflict(Options.RuleRetractColumn.key, text, rule.flatMap(_.retract).fold("none")(shown))
      val groups = rule.map(_.renamed(lower).groups)
      for (group <- declared.renamed(lower).groups if settings.ruleGroups.nonEmpty && !groups.exists(_.contains(group)))
        throw conflict(s"${Options.RuleGroupPrefix}${group.name}", shown(group),
          groups.flatMap(_.find(_.name == group.name)).fold("none")(shown))
      val isSame = rule.exists(_.renamed(lower) == declared.renamed(lower))
      settings.configured(Options.RuleText).filterNot(_ => isSame).foreach { text =>
        throw conflict(text.name, text.value, rule.fold("none")(_.text))
      }
    }

  private def shown(retraction: Retraction): String =
    s"${retraction.column} (values=${retraction.values.mkString(",")})"

  private def shown(group: ColumnGroup): String =
    group.members.mkString(",") + (if (group.delete == DeletePolicy.Ignore) "" else s" (delete=${group.delete})")

  private[rule] def isByMode(table: TableConfig): Boolean =
    MergeMode.of(table) != MergeMode.Custom && table.partialUpdateMode.isEmpty && table.legacyPayloadClass.isEmpty

  /** With the names as they are in the options. */
  private def parsed(settings: Settings, table: String): DeclaredRule = {
    val whole = settings.explicit(Options.RuleText).map { text =>
      DeclaredRule.parse(text) match {
        case Right(rule)  => rule
        case Left(reason) => throw invalid(table, s"${Options.RuleText.key} is '$text': $reason", "Correct the text")
      }
    }
    settings.ruleColumns.keys.groupBy(lower).values.filter(_.size > 1).foreach { names =>
      throw invalid(table,
        s"it has two functions of one column, by ${names.toSeq.sorted.mkString("'", "' and '", "'")}",
        "Remove one of them")
    }
    val columns = settings.ruleColumns.map { case (column, text) =>
      column -> ColumnFunction.parse(text).getOrElse(throw invalid(table,
          s"'$text' of column '$column' is not a function", s"Give one of ${ColumnFunction.names.mkString(", ")}"))
    }
    val default = settings.explicit(Options.RuleDefault).flatMap(ColumnFunction.parse)
    val groups  = groupsIn(settings, table)
    val retract = retractionIn(settings, table)
    val delete  = settings.explicit(Options.RuleDelete).flatMap(DeletePolicy.parse)
    whole match {
      case Some(rule) =>
        def conflict(option: String, function: ColumnFunction) =
          throw invalid(table, s"$option is '$function', and ${Options.RuleText.key} has another function",
            "Remove one of them")
        default.filter(_ != rule.default).foreach(conflict(Options.RuleDefault.key, _))
        delete.filter(_ != rule.delete).foreach { policy =>
          throw invalid(table,
            s"${Options.RuleDelete.key} is '$policy', and ${Options.RuleText.key} has '${rule.delete}'",
            "Remove one of them")
        }
        retract.filterNot(rule.retract.contains).foreach { own =>
          throw invalid(table,
            s"${Options.RuleRetractColumn.key} is '${own.column}', and ${Options.RuleText.key} " +
              s"has ${rule.retract.fold("none")(shown)}",
            "Remove one of them")
        }
        columns.foreach { case (column, function) =>
          if (rule.ignoringCase(column) != function) conflict(Options.RuleColumnPrefix + column, function)
        }
        if (!groups.map(_.name).forall(name => rule.groups.exists(_.name == name)))
          throw invalid(table, s"${Options.RuleText.key} contains other groups than the options",
            "Remove one of them")
        rule
      case None =>
        DeclaredRule.of(columns, default.getOrElse(ColumnFunction.Last), groups,
          delete.getOrElse(DeletePolicy.RemoveRow), retract)
    }
  }

  private def retractionIn(settings: Settings, table: String): Option[Retraction] = {
    val values = settings.fields(Options.RuleRetractValues)
    settings.explicit(Options.RuleRetractColumn) match {
      case Some(column)           => Some(Retraction(column, if (values.isEmpty) DefaultRetractions else values))
      case None if values.isEmpty => None
      case None =>
        throw invalid(table, s"${Options.RuleRetractValues.key} is set without a retraction column",
          s"Set ${Options.RuleRetractColumn.key}")
    }
  }

  /** Of Flink's row kinds and of change data capture. */
  private val DefaultRetractions = Seq("-U", "update_before")

  private def groupsIn(settings: Settings, table: String): Seq[ColumnGroup] = {
    val parts = settings.ruleGroups.toSeq.map { case (key, value) =>
      val at   = key.lastIndexOf('.')
      val part = lower(key.drop(at + 1))
      if (at <= 0 || !Set("columns", "ordering", "delete")(part))
        throw invalid(table, s"${Options.RuleGroupPrefix}$key is not an option of a group",
          Seq("columns", "ordering", "delete").map(own => s"${Options.RuleGroupPrefix}<name>.$own").mkString(
            "Set ", ", ", ""))
      (lower(key.take(at)), part, OptionKind.NameList.split(value))
    }
    parts.groupBy(_._1).toSeq.sortBy(_._1).map { case (name, own) =>
      def names(part: String) = own.collect { case (_, `part`, names) => names }.flatten
      val delete = names("delete").headOption.map { text =>
        DeletePolicy.parse(text).getOrElse(throw invalid(table,
            s"'$text' of group '$name' is not an effect of deletes",
            s"Give one of ${DeletePolicy.all.mkString(", ")}"))
      }
      ColumnGroup(name, names("columns"), names("ordering"), delete.getOrElse(DeletePolicy.Ignore))
    }
  }

  private def requireGroups(table: TableConfig, schema: StructType, rule: DeclaredRule): Unit = {
    val most = 8
    if (rule.groups.size > most)
      throw invalid(table.name, s"it has ${rule.groups.size} groups, more than $most", "Order columns by fewer groups")
    for (group <- rule.groups) {
      for ((part, names) <- Seq("columns" -> group.columns, "ordering" -> group.ordering) if names.isEmpty)
        throw invalid(table.name, s"group '${group.name}' has no $part",
          s"Set ${Options.RuleGroupPrefix}${group.name}.$part")
      group.columns.foreach(column => requirePossible(table, schema, column, rule.of(column)))
      for (column <- group.members) {
        val field = schema.find(_.name == column).getOrElse(throw invalid(table.name,
            s"group '${group.name}' has a column '$column', and the table has not",
            s"Name one of ${schema.fieldNames.mkString(", ")}"))
        if (table.fixedColumns(column))
          throw invalid(table.name, s"column '$column' of group '${group.name}' identifies, orders or deletes rows",
            "Take it out of the group")
        if (rule.groups.flatMap(_.members).count(_ == column) > 1)
          throw invalid(table.name, s"column '$column' is listed twice in a group, or in two groups", "Name it once")
        if (group.ordering.contains(column)) {
          if (Seq(classOf[ArrayType], classOf[MapType], classOf[StructType]).exists(_.isInstance(field.dataType)))
            throw invalid(table.name,
              s"column '$column' orders group '${group.name}', and its type ${field.dataType.catalogString} has no " +
                "order",
              "Name a column of numbers, strings, dates or timestamps")
          if (rule.columns.contains(column))
            throw invalid(table.name,
              s"column '$column' orders group '${group.name}', and is always the winner's, not " +
                s"'${rule.columns(column)}'",
              "Remove its function")
        }
      }
    }
  }

  /** Without ordering fields no delete of the row is late-arriving, and none would be left to the groups. */
  private def requireDeletes(table: TableConfig, rule: DeclaredRule): Unit =
    if (table.orderingFields.isEmpty && rule.delete == DeletePolicy.RemoveRow)
      rule.groups.find(_.delete != DeletePolicy.Ignore).foreach(group =>
        throw invalid(table.name,
          s"a delete of group '${group.name}' is to '${group.delete}', and each delete removes the row, since the " +
            "table has no ordering fields",
          s"Set ${Options.RuleDelete.key} to ignore or reset_group, or give the table ordering fields"))

  /** The values of the whole rule as JSON are those of an option too, which separates them by commas. */
  private def requireListable(table: TableConfig, retraction: Retraction): Unit =
    retraction.values.find(value => OptionKind.NameList.split(value) != Seq(value)).foreach { value =>
      throw invalid(table.name,
        s"the value '$value' of column '${retraction.column}' is empty, or has a comma or outer spaces",
        "Mark retractions with another value")
    }

  /** Each column is a sum, or one that the row after the update replaces. */
  private def requireRetractable(
      table: TableConfig,
      schema: StructType,
      rule: DeclaredRule,
      retraction: Retraction
  ): Unit = {
    val field = schema.find(_.name == retraction.column).getOrElse(throw invalid(table.name,
        s"there is no column '${retraction.column}' to mark retractions",
        s"Name one of ${schema.fieldNames.mkString(", ")}"))
    if (field.dataType != StringType)
      throw invalid(table.name,
        s"column '${field.name}', which marks retractions, is ${field.dataType.catalogString}, not string",
        "Name a column of strings")
    val functions = schema.fieldNames.toSeq.filterNot(table.fixedColumns).map(name => name -> rule.of(name))
    functions.find(!_._2.isRetractable).foreach { case (column, function) =>
      throw invalid(table.name,
        s"column '$column' is merged by '$function', from which a retraction cannot be subtracted",
        s"Choose sum, last or last_non_null for it, or remove ${Options.RuleRetractColumn.key}")
    }
    if (!rule.default.isRetractable)
      throw invalid(table.name,
        s"columns that are added later are merged by '${rule.default}', from which a " +
          "retraction cannot be taken back",
        s"Choose last or last_non_null as ${Options.RuleDefault.key}, or remove ${Options.RuleRetractColumn.key}")
    if (rule.sums(schema.fieldNames.toSeq).isEmpty)
      throw invalid(table.name, "it has no sum column from which retractions could be subtracted",
        s"Give a column the function sum, or remove ${Options.RuleRetractColumn.key}")
    if (rule.of(field.name) != ColumnFunction.Last)
      throw invalid(table.name, s"column '${field.name}' marks retractions and is merged by '${rule.of(field.name)}'",
        "Remove its function")
  }

  private def requirePossible(
      table: TableConfig,
      schema: StructType,
      column: String,
      function: ColumnFunction
  ): Unit = {
    val field = schema.find(_.name == column).getOrElse(throw invalid(table.name,
        s"there is no column '$column' to be merged by '$function'",
        s"Name one of ${schema.fieldNames.mkString(", ")}"))
    if (table.fixedColumns(column) && function != ColumnFunction.Last)
      throw invalid(table.name,
        s"column '$column' identifies, orders or deletes rows, and is always the winner's, not '$function'",
        "Remove its function")
    function.refusal(field.dataType).foreach(allowed =>
      throw invalid(table.name,
        s"column '$column' is ${field.dataType.catalogString}, and function '$function' is for $allowed",
        "Choose another function, or change the column's type"))
    function match {
      case expression: ColumnFunction.Computed =>
        expression.problem(MetaColumns.ofUser(schema), column).foreach(problem =>
          throw invalid(table.name, s"column '$column' cannot be merged by '$function': ${problem.reason}",
            problem.remedy))
      case _ =>
    }
  }

  /** Nothing else may set how rows are merged. */
  private def requireAlone(settings: Settings, table: TableConfig, rule: DeclaredRule): Unit = {
    def conflict(option: Settings.Configured, allowed: String => Boolean): Unit =
      if (!allowed(option.value))
        throw MerganserException("OPTION_CONFLICT", "key" -> option.name, "value" -> option.value,
          "otherKey" -> Options.RuleText.key, "otherValue" -> rule.text)
    for (entry <- Seq(Options.MergeModeOption, Options.StoredMergeMode); option <- settings.configured(entry))
      conflict(option, _ == MergeMode.Custom.name)
    settings.configured(Options.StrategyIdOption).foreach(conflict(_, _.equalsIgnoreCase(rule.strategyId)))
    settings.configured(Options.PayloadClass).foreach(conflict(_, _ => false))
    if (table.version < 9)
      throw MerganserException("OPTION_CONFLICT", "key" -> Options.TableVersion.key, "value" -> table.version,
        "otherKey" -> Options.RuleText.key, "otherValue" -> rule.text)
  }

  private def invalid(table: String, reason: String, remedy: String) =
    MerganserException("RULE_INVALID", "table" -> table, "reason" -> reason, "remedy" -> remedy)
}
