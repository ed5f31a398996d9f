package io.merganser.table.rule

import io.merganser.table.options.{OptionKind, Options}
import org.apache.spark.SparkEnv

/** The classes that may be loaded because a table, a write or a read names them. */
private[table] object AllowedClasses {
  private val Key = Options.AllowedClasses.key

  /**
   * Why a class may not be loaded, as a clause; None if it may. Goes by the configuration with which the application
   * was started: no session, write or table changes that.
   */
  def refusal(className: String): Option[String] =
    Option(SparkEnv.get).flatMap(_.conf.getOption(Key)).flatMap(refusal(className, _))

  /** @param allowed names of classes, and packages as `com.example.*` */
  private[rule] def refusal(className: String, allowed: String): Option[String] = {
    val isAllowed = OptionKind.NameList.split(allowed).exists { name =>
      if (name.endsWith("*")) className.startsWith(name.dropRight(1)) else className == name
    }
    if (isAllowed) None else Some(s"is not among the classes that $Key allows ($allowed)")
  }
}
