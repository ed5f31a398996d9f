package io.merganser.table.options

/** Properties of a table that are the user's own words, and no settings. */
object OwnProperties {

  /** No setting's name, nor one that it may have been meant to be. */
  def isOwn(key: String): Boolean = {
    val name = key.toLowerCase(java.util.Locale.ROOT)
    def isSetting = Options.byName.contains(name) || ForeignOptions.isKnown(name) || ForeignOptions.isHarmless(name) ||
      ForeignOptions.isSparks(name)
    !name.startsWith("hoodie.") && !name.startsWith("spark.") && !isSetting && NearestName.of(key,
      ForeignOptions.allNames, 2).isEmpty
  }
}
