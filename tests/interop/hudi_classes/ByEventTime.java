package shop;

import java.io.IOException;
import java.util.Properties;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.IndexedRecord;
import org.apache.hudi.common.model.DefaultHoodieRecordPayload;
import org.apache.hudi.common.util.Option;

/** Hudi's own rule by event time, but for rows named "frozen": these stay as they are. */
public class ByEventTime extends DefaultHoodieRecordPayload {
  public ByEventTime(GenericRecord record, Comparable orderingVal) {
    super(record, orderingVal);
  }

  public ByEventTime(Option<GenericRecord> record) {
    super(record);
  }

  @Override
  public Option<IndexedRecord> combineAndGetUpdateValue(IndexedRecord current, Schema schema, Properties properties)
      throws IOException {
    if ("frozen".equals(String.valueOf(((GenericRecord) current).get("name")))) {
      return Option.of(current);
    }
    return super.combineAndGetUpdateValue(current, schema, properties);
  }
}
