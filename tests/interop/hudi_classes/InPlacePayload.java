package shop;

import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hudi.common.model.HoodieRecordPayload;
import org.apache.hudi.common.util.Option;

/** Writes the new name into the stored record and returns that, as classes for Hudi before 1.1 may do. */
public class InPlacePayload implements HoodieRecordPayload<InPlacePayload> {
  private final GenericRecord row;

  public InPlacePayload(GenericRecord row, Comparable<?> ordering) {
    this.row = row;
  }

  @Override
  public InPlacePayload preCombine(InPlacePayload older) {
    return this;
  }

  @Override
  public Option<IndexedRecord> combineAndGetUpdateValue(IndexedRecord current, Schema schema) {
    ((GenericRecord) current).put("name", row.get("name"));
    return Option.of(current);
  }

  @Override
  public Option<IndexedRecord> getInsertValue(Schema schema) {
    return Option.of(row);
  }
}
