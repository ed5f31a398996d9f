package shop;

import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hudi.avro.HoodieAvroUtils;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.hudi.common.model.HoodieRecordPayload;
import org.apache.hudi.common.util.Option;

/** Adds up the prices. A row named "gone" deletes, one named "ignored" is ignored; in a batch the greater ts wins. */
public class SumPayload implements HoodieRecordPayload<SumPayload> {
  private final byte[] row;
  private final Comparable<Object> ordering;

  @SuppressWarnings("unchecked")
  public SumPayload(GenericRecord row, Comparable<?> ordering) {
    this.row = row == null ? null : HoodieAvroUtils.avroToBytes(row);
    this.ordering = (Comparable<Object>) ordering;
  }

  public SumPayload(Option<GenericRecord> row) {
    this(row.isPresent() ? row.get() : null, 0);
  }

  @Override
  public SumPayload preCombine(SumPayload older) {
    return older.ordering.compareTo(ordering) > 0 ? older : this;
  }

  @Override
  public Option<IndexedRecord> combineAndGetUpdateValue(IndexedRecord current, Schema schema) throws IOException {
    if (row == null) {
      return Option.empty();
    }
    GenericRecord newer = HoodieAvroUtils.bytesToAvro(row, schema);
    String name = String.valueOf(newer.get("name"));
    if (name.equals("gone")) {
      return Option.empty();
    }
    if (name.equals("ignored")) {
      return Option.of(HoodieRecord.SENTINEL);
    }
    newer.put("price", (Double) ((GenericRecord) current).get("price") + (Double) newer.get("price"));
    return Option.of(newer);
  }

  @Override
  public Option<IndexedRecord> getInsertValue(Schema schema) throws IOException {
    return row == null ? Option.empty() : Option.of(HoodieAvroUtils.bytesToAvro(row, schema));
  }

  @Override
  public Comparable<?> getOrderingValue() {
    return ordering;
  }
}
