package io.merganser.table.slice

/**
 * Change files (`.cdc`) of a partition. They are no part of a slice, and no reader of rows sees them, but they are kept
 * and deleted with one: that to which their write belongs.
 */
private[table] final class ChangeFiles(files: Seq[DataFile]) {

  private val byGroup = files.filter(f => ChangeFiles.is(f.name)).groupBy(_.group)

  /** @param slices all of a file group, oldest first */
  def bySlice(slices: Seq[FileSlice]): Map[Option[FileSlice], Seq[DataFile]] =
    slices.headOption.flatMap(s => byGroup.get(s.group)).getOrElse(Nil).groupBy(f =>
      slices.takeWhile(_.baseInstant <= f.instant).lastOption)

  /**
   * Those of some slices of a file group.
   *
   * @param chosen among the slices
   */
  def of(slices: Seq[FileSlice], chosen: Seq[FileSlice]): Seq[DataFile] = {
    val by = bySlice(slices)
    chosen.flatMap(s => by.getOrElse(Some(s), Nil))
  }

  /** Those that are older than all slices of a file group: of slices that were deleted without them. */
  def older(slices: Seq[FileSlice]): Seq[DataFile] = bySlice(slices).getOrElse(None, Nil)
}

private[table] object ChangeFiles {

  private val Suffix = ".cdc"

  /** By the name of a data file. */
  def is(name: String): Boolean = name.endsWith(Suffix)
}
