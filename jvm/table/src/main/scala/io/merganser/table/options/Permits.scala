package io.merganser.table.options

/**
 * What a write may do although it is refused by default.
 *
 * @param dropIndexes       remove indexes that other engines maintain in the metadata table
 * @param unknownProperties write although `hoodie.properties` has an unknown property
 * @param dropMetadataTable remove the metadata table with what engines rebuild by themselves
 * @param otherKeyNames     store keys with the name of their single column beside keys without it
 * @param ambiguousKeys     store rows whose key or path other values have too
 */
final case class Permits(
    dropIndexes: Boolean = false,
    unknownProperties: Boolean = false,
    dropMetadataTable: Boolean = true,
    otherKeyNames: Boolean = false,
    ambiguousKeys: Boolean = false
)
