package shop;

import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.engine.RecordContext;
import org.apache.hudi.common.model.HoodieRecord.HoodieRecordType;
import org.apache.hudi.common.model.HoodieRecordMerger;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.table.read.BufferedRecord;
import org.apache.hudi.common.table.read.BufferedRecords;

/** The row with the greater price, with the newer row's name. A row named "gone" deletes. */
public class MaxPriceAvro implements HoodieRecordMerger {
  @Override
  public <T> BufferedRecord<T> merge(
      BufferedRecord<T> older, BufferedRecord<T> newer, RecordContext<T> context, TypedProperties props) {
    if (older.isDelete() || newer.isDelete()) {
      return newer;
    }
    HoodieSchema schema = context.getSchemaFromBufferRecord(newer);
    Object name = context.getValue(newer.getRecord(), schema, "name");
    if ("gone".equals(String.valueOf(name))) {
      return BufferedRecords.createDelete(newer.getRecordKey(), newer.getOrderingValue());
    }
    HoodieSchema olderSchema = context.getSchemaFromBufferRecord(older);
    if (price(older, olderSchema, context) <= price(newer, schema, context)) {
      return newer;
    }
    if (String.valueOf(context.getValue(older.getRecord(), olderSchema, "name")).equals(String.valueOf(name))) {
      return older;
    }
    Object[] values = schema.getFields().stream()
        .map(field -> field.name().equals("name")
            ? name
            : context.getValue(older.getRecord(), olderSchema, field.name()))
        .toArray();
    return new BufferedRecord<>(
        newer.getRecordKey(),
        older.getOrderingValue(),
        context.constructEngineRecord(schema, values),
        context.encodeSchema(schema),
        null);
  }

  private <T> double price(BufferedRecord<T> of, HoodieSchema schema, RecordContext<T> context) {
    return (Double) context.getValue(of.getRecord(), schema, "price");
  }

  @Override
  public HoodieRecordType getRecordType() {
    return HoodieRecordType.AVRO;
  }

  @Override
  public String getMergingStrategy() {
    return "7d4b0b52-6a0a-4be0-95f8-3a4c7b5c1f01";
  }
}
