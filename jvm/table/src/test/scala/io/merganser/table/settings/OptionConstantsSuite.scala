package io.merganser.table.settings

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import io.merganser.{Options => Constants}
import io.merganser.table.options.Options
import org.scalatest.funsuite.AnyFunSuite

class OptionConstantsSuite extends AnyFunSuite {

  test("generated constants are up to date; run io.merganser.table.settings.ConfigPage to regenerate them") {
    val root = Paths.get(sys.props.getOrElse("merganser.root", "."))
    for (
      (place, text) <- Seq(OptionConstants.javaPlace -> OptionConstants.java,
        OptionConstants.pythonPlace -> OptionConstants.python)
    )
      assert(new String(Files.readAllBytes(root.resolve(place)), UTF_8) == text, place)
  }

  test("every option has its own constant") {
    val found = classOf[Constants].getFields.map(field => field.getName -> field.get(null)).toMap
    assert(found.values.toSet == Options.all.map(_.key).toSet)
    assert(OptionConstants.named.map(_._1).distinct.size == Options.all.size)
  }

  test("constants have the names and values that jobs write") {
    assert(Constants.RECORD_KEY == "hoodie.datasource.write.recordkey.field")
    assert(Constants.TABLE_TYPE == "hoodie.datasource.write.table.type")
    assert(Constants.OPERATION == "hoodie.datasource.write.operation")
    assert(Constants.UPSERT_SHUFFLE_PARALLELISM == "hoodie.upsert.shuffle.parallelism")
    assert(Constants.TableType.MERGE_ON_READ == "MERGE_ON_READ")
    assert(Constants.Operation.BULK_INSERT == "bulk_insert")
    assert(Constants.MergeMode.CUSTOM == "CUSTOM")
    assert(Constants.IndexType.GLOBAL_BLOOM == "GLOBAL_BLOOM")
  }
}
