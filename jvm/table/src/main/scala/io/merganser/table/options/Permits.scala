package io.merganser.table.options

/**
 * What a write is allowed to do to a table that it would refuse otherwise.
 *
 * @param dropIndexes       remove indexes that other engines keep in the metadata table
 * @param unknownProperties write although `hoodie.properties` has a property that nobody knows
 */
final case class Permits(dropIndexes: Boolean = false, unknownProperties: Boolean = false)
