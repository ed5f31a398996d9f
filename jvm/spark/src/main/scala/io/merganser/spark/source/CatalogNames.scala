package io.merganser.spark.source

/** Our catalogs by the names that users configure. */
private[spark] object CatalogNames {
  val classes: Set[String] = Set("io.merganser.spark.MerganserCatalog", "io.merganser.spark.MerganserLakeCatalog")
}
