package io.merganser.table.settings

/**
 * The form of a read of change data.
 *
 * @param typed  images are structs of the table's columns, and the completion time is there too; otherwise images are
 *               JSON, and the columns are those of Hudi's reads
 * @param reason whether there is a column with the reason of each change
 */
final case class ChangeForm(typed: Boolean, reason: Boolean)
