package shop;

import java.io.IOException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hudi.common.model.OverwriteWithLatestAvroPayload;
import org.apache.hudi.common.util.Option;

/** The newer row, with the stored price where it has none. */
public class LatestKeepsPrice extends OverwriteWithLatestAvroPayload {
  public LatestKeepsPrice(GenericRecord record, Comparable orderingVal) {
    super(record, orderingVal);
  }

  public LatestKeepsPrice(Option<GenericRecord> record) {
    super(record);
  }

  @Override
  public Option<IndexedRecord> combineAndGetUpdateValue(IndexedRecord current, Schema schema) throws IOException {
    Option<IndexedRecord> newer = getInsertValue(schema);
    if (!newer.isPresent() || ((GenericRecord) newer.get()).get("price") != null) {
      return newer;
    }
    GenericRecord stored = (GenericRecord) current;
    GenericRecord merged = new GenericData.Record(schema);
    for (Schema.Field field : schema.getFields()) {
      merged.put(field.pos(), newer.get().get(field.pos()));
    }
    merged.put("price", stored.get("price"));
    return Option.of(merged);
  }
}
