package io.merganser.table.options

/** Properties of a table that are the user's own, not settings. */
object OwnProperties {

  /** Neither the name of a setting nor close to one. */
  def isOwn(key: String): Boolean = {
    val name = key.toLowerCase(java.util.Locale.ROOT)
    def isSetting = Options.byName.contains(name) || ForeignOptions.isKnown(name) || ForeignOptions.isHarmless(name) ||
      ForeignOptions.isSparks(name)
    !name.startsWith("hoodie.") && !name.startsWith("spark.") && !name.startsWith(
      "merganser.rule") && !isSetting && NearestName.of(key,
      ForeignOptions.allNames, 2).isEmpty
  }
}
