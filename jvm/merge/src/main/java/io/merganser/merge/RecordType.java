package io.merganser.merge;

/** The rows that a {@link RecordMerger} is made for. Only mergers for Spark's rows are ever chosen here. */
public enum RecordType {
  /** Spark's rows: what this engine merges. */
  SPARK,
  /** Avro records; such a class in the list of mergers is ignored. */
  AVRO,
  /** Flink's rows; such a class in the list of mergers is ignored. */
  FLINK
}
