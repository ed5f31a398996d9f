addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.6.2")
addSbtPlugin("com.typesafe" % "sbt-mima-plugin" % "1.1.4")
