package io.merganser.merge;

/** What rows a {@link RecordMerger} is made for. Only mergers for Spark's are ever chosen here. */
public enum RecordType {
  /** Spark's rows: what this engine merges. */
  SPARK,
  /** Avro records; such a class in the list of mergers is passed over. */
  AVRO,
  /** Flink's rows; such a class in the list of mergers is passed over. */
  FLINK
}
