package io.merganser.table.options

/**
 * What a write may do to a table although it is refused by default.
 *
 * @param dropIndexes       remove indexes that other engines maintain in the metadata table
 * @param unknownProperties write although `hoodie.properties` has an unknown property
 */
final case class Permits(dropIndexes: Boolean = false, unknownProperties: Boolean = false)
