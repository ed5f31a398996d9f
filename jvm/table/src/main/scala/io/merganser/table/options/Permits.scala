package io.merganser.table.options

/**
 * What a write may do to what other engines maintain in a table.
 *
 * @param dropIndexes       remove indexes that other engines maintain in the metadata table
 * @param unknownProperties write although `hoodie.properties` has an unknown property
 * @param dropMetadataTable remove the metadata table with what engines rebuild by themselves
 */
final case class Permits(
    dropIndexes: Boolean = false,
    unknownProperties: Boolean = false,
    dropMetadataTable: Boolean = true
)
