package io.merganser.spark.source

/** A catalog of this project, which is used where it is configured. */
private[spark] trait OwnCatalog
