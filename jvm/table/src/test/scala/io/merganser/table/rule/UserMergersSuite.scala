package io.merganser.table.rule

import io.merganser.conformance.KeepFirst
import io.merganser.merge.{MerganserException, MergerClass}
import io.merganser.merge.laws.RuleLaw
import io.merganser.table.UsersClasses
import io.merganser.table.avro.RecordPayload
import io.merganser.table.properties.TableConfig
import org.apache.spark.sql.types.{LongType, StringType, StructField, StructType}
import org.apache.xbean.asm9.{ClassWriter, Opcodes}
import org.scalatest.funsuite.AnyFunSuite

class UserMergersSuite extends AnyFunSuite {
  private val appending  = classOf[UsersClasses.Appending].getName
  private val Interfaces = "org/apache/hudi/common"

  private def custom(properties: (String, String)*) = TableConfig(
    Map("hoodie.table.name" -> "t", "hoodie.table.version" -> "9", "hoodie.record.merge.mode" -> "CUSTOM",
      "hoodie.table.recordkey.fields" -> "id", "hoodie.table.ordering.fields" -> "ts") ++ properties)

  private val table = custom("hoodie.record.merge.strategy.id" -> UsersClasses.Id)

  private def byPayload(className: String, version: String = "9") = custom(
    "hoodie.compaction.payload.class" -> className,
    "hoodie.record.merge.strategy.id" -> "00000000-0000-0000-0000-000000000000", "hoodie.table.version" -> version)

  private def chosen(classes: String*): String = StoredRule.of(table, classes.toSeq) match {
    case StoredRule.UserMerger(source, _, _, _, _) => source.className
    case other                                     => fail(s"$other")
  }

  private def refused(classes: String*): String = {
    val error = intercept[MerganserException](StoredRule.of(table, classes.toSeq))
    assert(error.condition == "MERGER_UNAVAILABLE")
    assert(error.parameters("table") == "t")
    assert(error.parameters("strategyId") == UsersClasses.Id)
    assert(error.parameters("option") == "hoodie.write.record.merge.custom.implementation.classes")
    error.parameters("tried")
  }

  private def refusedPayload(className: String): String = {
    val error = intercept[MerganserException](StoredRule.of(byPayload(className), Nil))
    assert(error.condition == "PAYLOAD_UNAVAILABLE")
    assert(error.parameters("class") == className)
    error.parameters("reason")
  }

  /** Runs with classes that only the context class loader finds, each with one interface. */
  private def withClasses[T](interfaceOf: (String, String)*)(body: => T): T = {
    val loader = new ClassLoader(getClass.getClassLoader) {
      override def findClass(name: String): Class[_] = interfaceOf.find(_._1.replace('/', '.') == name) match {
        case None => throw new ClassNotFoundException(name)
        case Some((named, interface)) =>
          val isInterface = interface.isEmpty
          val writer      = new ClassWriter(0)
          val access      = Opcodes.ACC_PUBLIC | (if (isInterface) Opcodes.ACC_INTERFACE | Opcodes.ACC_ABSTRACT else 0)
          writer.visit(Opcodes.V1_8, access, named, null, "java/lang/Object", Array(interface).filter(_.nonEmpty))
          val bytes = writer.toByteArray
          defineClass(name, bytes, 0, bytes.length)
      }
    }
    val before = Thread.currentThread.getContextClassLoader
    Thread.currentThread.setContextClassLoader(loader)
    try body
    finally Thread.currentThread.setContextClassLoader(before)
  }

  test("the first class of the list that has the table's strategy id is taken") {
    assert(chosen(appending) == appending)
    assert(chosen(classOf[KeepFirst].getName, appending, classOf[UsersClasses.Rebuilding].getName) == appending)
  }

  test("classes for Avro records or Flink's rows are ignored") {
    assert(chosen(classOf[UsersClasses.ForAvro].getName, classOf[UsersClasses.ForFlink].getName,
      appending) == appending)
    assert(
      refused(classOf[UsersClasses.ForAvro].getName) == s"${classOf[UsersClasses.ForAvro].getName} merges AVRO records")
  }

  test("a class that cannot be loaded is skipped if another one matches, and named if none does") {
    assert(chosen("no.such.Merger", classOf[UsersClasses.Failing].getName, appending) == appending)
    assert(refused("no.such.Merger") == "no.such.Merger is not on the class path (its jar goes into spark.jars)")
    assert(refused("no.such.Merger", classOf[KeepFirst].getName).contains(
        s"; ${classOf[KeepFirst].getName} has strategy id ${new KeepFirst().getMergingStrategy}"))
  }

  test("a merger is refused if no class is named, it has the wrong type or it cannot be instantiated") {
    assert(refused() == "no class was named")
    assert(refused("java.lang.String") == "java.lang.String does not implement io.merganser.merge.RecordMerger")
    assert(refused(classOf[UsersClasses.WithArguments].getName).endsWith("has no public constructor without arguments"))
    assert(refused(classOf[UsersClasses.Failing].getName).endsWith(
        "cannot be made: its constructor threw java.lang.IllegalStateException: no connection"))
  }

  private val withoutHudi = "was compiled against Apache Hudi, whose jar is not on the class path: add " +
    s"${HudiJar.artifact} to spark.jars.packages, or implement "

  test("an error for a merger of Hudi names Hudi's missing jar, or the part that another release lacks") {
    val own = "a/HudiMerger" -> s"$Interfaces/model/HoodieRecordMerger"
    withClasses(own)(
      assert(refused("a.HudiMerger") == s"a.HudiMerger ${withoutHudi}io.merganser.merge.RecordMerger instead"))
    withClasses(own, s"$Interfaces/model/HoodieRecordMerger" -> "")(
      assert(refused("a.HudiMerger").startsWith(
          "a.HudiMerger does not fit the release of Apache Hudi on the class path: ")))
    assert(HudiJar.artifact.startsWith("org.apache.hudi:hudi-spark"))
  }

  test("a class that is neither merger nor payload is not initialized, and a merger is initialized before its use") {
    val other = s"${UsersClasses.getClass.getName}Initialised$$" // classOf and getClass would initialise it
    assert(refused(other) == s"$other does not implement io.merganser.merge.RecordMerger")
    assert(refusedPayload(other) == s"does not implement ${classOf[RecordPayload].getName}")
    intercept[ClassCastException](MergerClass(other).open())
    intercept[ClassCastException](PayloadClass(other, "t").open())
    assert(System.getProperty(UsersClasses.InitialiserRan) == null)
    assert(UsersClasses.Initialised.toString.nonEmpty && System.getProperty(UsersClasses.InitialiserRan) == "true")
  }

  test("a merger declared associative combines rows early, and a wrong declaration is refused") {
    val columns                = StructType.fromDDL("id STRING, ts BIGINT, v STRING")
    val schema                 = StructType(columns :+ StructField("_hoodie_record_key", StringType))
    def rule(merger: Class[_]) = StoredRule.of(table, Seq(merger.getName))
    def laws(merger: Class[_]) = CompiledRule(rule(merger), table, schema).laws
    val stating                = laws(classOf[UsersClasses.Stating])
    assert(stating.associative && stating.combinesBatch && stating.buffersDeletes && stating.buffersUnconditional)
    assert(!laws(classOf[UsersClasses.Appending]).associative && !laws(classOf[UsersClasses.Appending]).combinesBatch)
    Seq(classOf[UsersClasses.Stating], classOf[UsersClasses.Appending]).foreach(merger =>
      RuleLaws.requireStated(rule(merger), table, columns))
    val error = intercept[MerganserException](
      RuleLaws.requireStated(rule(classOf[UsersClasses.StatingWrongly]), table, columns))
    assert(error.condition == "MERGER_NOT_ASSOCIATIVE")
    assert(error.parameters("class") == classOf[UsersClasses.StatingWrongly].getName)
    assert(error.parameters("versions").contains("(a b) c") && error.parameters("versions").contains("a (b c)"))
    val checked = RuleLaws.check(rule(classOf[UsersClasses.StatingWrongly]), table, columns, Nil, cases = 100, seed = 1)
    assert(checked.exists(law =>
        law.law.name == "associative" && law.isClaimed.contains(true) &&
          law.holds.contains(false)))
  }

  test(
    "a stored check that refutes a merger's declaration is used; checks of other rules or without findings are not") {
    val wrong   = Seq(classOf[UsersClasses.StatingWrongly].getName)
    val columns = StructType.fromDDL("id STRING, ts BIGINT, v STRING")
    def combines(config: TableConfig) = StoredRule.of(config, wrong) match {
      case user: StoredRule.UserMerger => user.isAssociative
      case other                       => fail(other.toString)
    }
    def storing(checked: CheckedRule) =
      table.copy(properties = table.properties + (TableConfig.RuleChecked -> checked.text))
    val found   = RuleLaws.check(StoredRule.of(table, wrong), table, columns, Nil, cases = 100, seed = 1)
    val checked = CheckedRule(table, found, records = 7)
    assert(checked.refutes(RuleLaw.Associative) && checked.held.contains("never_null") && checked.cases == 100)
    assert(combines(table))
    assert(!combines(storing(checked)) && CheckedRule.of(storing(checked)).contains(checked))
    RuleLaws.requireStated(StoredRule.of(storing(checked), wrong), storing(checked), columns) // it is not relied on
    assert(combines(storing(checked.copy(rule = "another"))))
    assert(combines(storing(checked.copy(refuted = Nil))))
    val unread = table.copy(properties = table.properties + (TableConfig.RuleChecked -> "{}"))
    assert(combines(unread) && CheckedRule.of(unread).isEmpty)
  }

  test("a user's payload class is accepted on tables of every version") {
    for (version <- Seq("6", "8", "9"))
      StoredRule.of(byPayload(classOf[UsersClasses.Words].getName, version), Nil) match {
        case StoredRule.UserMerger(source, fields, properties, _, _) =>
          assert(source.className == classOf[UsersClasses.Words].getName)
          assert(fields == Seq("ts"))
          assert(properties("hoodie.payload.ordering.field") == "ts")
        case other => fail(s"$other")
      }
  }

  test("an unusable payload class is refused with the reason") {
    assert(refusedPayload("no.such.Payload") == "is not on the class path (its jar goes into spark.jars)")
    assert(refusedPayload(
      classOf[UsersClasses.WithoutConstructor].getName) == "has no public constructor (GenericRecord, Comparable)")
    assert(refusedPayload("java.lang.String") == s"does not implement ${classOf[RecordPayload].getName}")
    assert(refusedPayload("org.apache.spark.sql.hudi.command.payload.ExpressionPayload") ==
      "belongs to Hudi's SQL statements; in Merganser, MERGE, UPDATE and DELETE need no payload class")
  }

  test("an error for a payload of Hudi names Hudi's missing jar, or the part that another release lacks") {
    val own = "a/HudiPayload" -> s"$Interfaces/model/HoodieRecordPayload"
    withClasses(own)(
      assert(refusedPayload("a.HudiPayload") == s"${withoutHudi}io.merganser.table.avro.RecordPayload instead"))
    withClasses(own, s"$Interfaces/model/HoodieRecordPayload" -> "")(
      assert(refusedPayload("a.HudiPayload").startsWith(
          "does not fit the release of Apache Hudi on the class path: ")))
  }

  test("a merger receives all columns unless it names its own") {
    val columns = StructType(Seq("id", "ts", "a", "b").map(StructField(_, LongType)) :+ StructField("c", StringType))
    val all     = StoredRule.of(table, Seq(appending))
    assert(all.columns(columns) == Seq("id", "ts", "a", "b", "c"))
    assert(all.asInstanceOf[StoredRule.UserMerger].copy(isProjectionCompatible = true).columns(columns) == Seq("id",
      "ts"))
  }

  test("a merger receives merge properties by their short names too") {
    val rule = StoredRule.of(TableConfig(table.properties + ("hoodie.record.merge.property.states" -> "new,paid")),
      Seq(appending))
    val seen = rule.asInstanceOf[StoredRule.UserMerger].properties
    assert(seen("states") == "new,paid")
    assert(seen("hoodie.table.recordkey.fields") == "id")
  }
}
