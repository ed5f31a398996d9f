package io.merganser.spark.service

import io.merganser.Extensive
import io.merganser.table.TableSuite

/** A file system that fails at an operation of a change of a table's columns or properties. */
@Extensive
final class AlterFaultsSuite extends TableSuite with ServiceFaults {

  private val changes = Seq(
    "ADD COLUMN" -> "ADD COLUMN extra BIGINT",
    "ALTER COLUMN" -> "ALTER COLUMN v COMMENT 'text'",
    "RENAME COLUMN" -> "RENAME COLUMN v TO value",
    "DROP COLUMN" -> "DROP COLUMN w",
    "SET TBLPROPERTIES" -> "SET TBLPROPERTIES ('hoodie.parquet.max.file.size' = '1000000', 'note' = 'x')"
  )

  for ((name, change) <- changes; mergeOnRead <- Seq(false, true))
    test(
      s"ALTER TABLE … $name, ${kind(mergeOnRead)}: a failure at any operation leaves the old or the new table, " +
        "and the next write repairs it") {
      val options  = this.options(mergeOnRead)
      val prepared = prepare(options)(write(_, batch, later(options)))
      spark.sql("SET hoodie.schema.on.read.enable=true")
      try everyPoint(prepared, later(options))(storage => sql(s"ALTER TABLE merganser.`$storage` $change"))
      finally { spark.sql("RESET hoodie.schema.on.read.enable"); () }
    }

  test(
    "an upsert with column versions: a failure at any operation leaves the old or the new rows, and the next " +
      "write repairs it") {
    val options = this.options(mergeOnRead = true)
    val prepared = prepare(options) { storage =>
      spark.sql("SET hoodie.schema.on.read.enable=true")
      try sql(s"ALTER TABLE merganser.`$storage` RENAME COLUMN w TO x")
      finally { spark.sql("RESET hoodie.schema.on.read.enable"); () }
    }
    everyPoint(prepared, later(options)) { storage =>
      frame(io.merganser.merge.Notation.changes(batch)).withColumnRenamed("w", "x").write.format("merganser")
        .options(later(options)).mode("append").save(storage.toString)
    }
  }
}
