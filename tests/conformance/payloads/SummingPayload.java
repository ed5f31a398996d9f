package io.merganser.conformance;

import io.merganser.table.avro.RecordPayload;
import java.util.Optional;
import java.util.Properties;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.IndexedRecord;

/** Adds up the prices and keeps the greatest ts; in a batch the later row counts. A row named "gone" deletes. */
public class SummingPayload implements RecordPayload {
  private final GenericRecord row;
  private final Comparable<?> ordering;

  public SummingPayload(GenericRecord row, Comparable<?> ordering) {
    this.row = row;
    this.ordering = ordering;
  }

  @Override
  public RecordPayload preCombine(RecordPayload older, Properties properties) {
    return this;
  }

  @Override
  public Optional<IndexedRecord> combineAndGetUpdateValue(
      IndexedRecord currentValue, Schema schema, Properties properties) {
    if ("gone".equals(String.valueOf(row.get("name")))) {
      return Optional.empty();
    }
    GenericRecord stored = (GenericRecord) currentValue;
    GenericData.Record sum = new GenericData.Record((GenericData.Record) row, true);
    sum.put("price", (Double) stored.get("price") + (Double) row.get("price"));
    sum.put("ts", Math.max((Long) stored.get("ts"), (Long) ordering));
    return Optional.of(sum);
  }

  @Override
  public Optional<IndexedRecord> getInsertValue(Schema schema, Properties properties) {
    return Optional.of(row);
  }
}
