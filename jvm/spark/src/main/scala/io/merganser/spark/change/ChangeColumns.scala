package io.merganser.spark.change

import io.merganser.table.log.ChangeRecords
import io.merganser.table.settings.ChangeForm
import org.apache.spark.sql.types.{StringType, StructField, StructType}

/** The columns of a read of change data, besides those of [[ChangeRecords]]. */
object ChangeColumns {

  /** Requested time of the commit: its id. */
  val Instant = "instant"

  val CompletionTime = "completion_time"

  val Reason = "reason"

  /** @param table the table's data columns */
  def of(form: ChangeForm, table: StructType): StructType = {
    def text(name: String, nullable: Boolean = false) = StructField(name, StringType, nullable)
    val images                                        = StructType(table.map(_.copy(nullable = true)))
    val own =
      if (form.typed)
        Seq(text(ChangeRecords.Operation), text(Instant), text(CompletionTime),
          StructField(ChangeRecords.Before, images), StructField(ChangeRecords.After, images))
      else Seq(text(ChangeRecords.Operation), text(ChangeRecords.Time),
        text(ChangeRecords.Before, nullable = true), text(ChangeRecords.After, nullable = true))
    StructType(own ++ (if (form.reason) Seq(text(Reason)) else Nil))
  }
}
