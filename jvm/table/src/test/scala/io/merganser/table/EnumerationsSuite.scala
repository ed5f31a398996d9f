package io.merganser.table

import io.merganser.table.file.MarkerKind
import io.merganser.table.options.{ChangeLogging, WriteOperation}
import io.merganser.table.properties.TableType
import io.merganser.table.rule.MergeMode
import io.merganser.table.settings.KeyGenerator
import io.merganser.table.timeline.{Action, OperationType}
import org.scalatest.funsuite.AnyFunSuite

final class EnumerationsSuite extends AnyFunSuite {
  import EnumerationsSuite._

  private val enumerations: Seq[Seq[Any]] = Seq(Action.all, OperationType.all, MarkerKind.all, WriteOperation.all,
    KeyGenerator.all, TableType.all, MergeMode.all, ChangeLogging.all)

  for (values <- enumerations; name = enumeration(values.head))
    test(s"${name.split('.').last} lists all its values, whichever is used first") {
      values.foreach(first => assert(listed(name, first).map(String.valueOf) == values.map(_.toString), first))
    }
}

private object EnumerationsSuite {

  /** Class name of the enumeration of a value. */
  def enumeration(value: Any): String = value.getClass.getName.takeWhile(_ != '$')

  /** The list of an enumeration in a process that uses one of its values first. */
  def listed(enumeration: String, first: Any): Seq[Any] = {
    val process = new NewClasses
    Class.forName(first.getClass.getName, true, process)
    val companion = Class.forName(enumeration + "$", true, process)
    companion.getMethod("all").invoke(companion.getField("MODULE$").get(null)).asInstanceOf[Seq[Any]]
  }

  /** Loads our own classes again, so that their objects are initialized again. */
  private final class NewClasses extends ClassLoader(getClass.getClassLoader) {
    override def loadClass(name: String, resolve: Boolean): Class[_] =
      if (!name.startsWith("io.merganser.")) super.loadClass(name, resolve)
      else Option(findLoadedClass(name)).getOrElse {
        val in = getParent.getResourceAsStream(name.replace('.', '/') + ".class")
        try {
          val bytes = Iterator.continually(in.read()).takeWhile(_ >= 0).map(_.toByte).toArray
          defineClass(name, bytes, 0, bytes.length)
        } finally in.close()
      }
  }
}
