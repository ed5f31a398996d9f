package shop;

import org.apache.avro.Schema;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.model.HoodieEmptyRecord;
import org.apache.hudi.common.model.HoodieRecord;
import org.apache.hudi.common.model.HoodieRecord.HoodieRecordType;
import org.apache.hudi.common.model.HoodieRecordMerger;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;
import org.apache.spark.sql.catalyst.InternalRow;

/** The row with the greater price; one of 100 or more is not kept. In the interface of Hudi 1.0. */
public class MaxPriceOldSpark implements HoodieRecordMerger {
  @Override
  public Option<Pair<HoodieRecord, Schema>> merge(
      HoodieRecord older, Schema oldSchema, HoodieRecord newer, Schema newSchema, TypedProperties props) {
    if (older instanceof HoodieEmptyRecord || newer instanceof HoodieEmptyRecord) {
      return Option.of(Pair.of(newer, newSchema));
    }
    if ("gone".equals(name(newer, newSchema))) {
      return Option.empty();
    }
    boolean keeps = price(older, oldSchema) > price(newer, newSchema);
    return Option.of(keeps ? Pair.of(older, oldSchema) : Pair.of(newer, newSchema));
  }

  public boolean shouldFlush(HoodieRecord record, Schema schema, TypedProperties props) {
    return price(record, schema) < 100;
  }

  private double price(HoodieRecord record, Schema schema) {
    InternalRow row = (InternalRow) record.getData();
    return row.getDouble(schema.getField("price").pos());
  }

  private String name(HoodieRecord record, Schema schema) {
    return String.valueOf(((InternalRow) record.getData()).getUTF8String(schema.getField("name").pos()));
  }

  @Override
  public HoodieRecordType getRecordType() {
    return HoodieRecordType.SPARK;
  }

  @Override
  public String getMergingStrategy() {
    return "7d4b0b52-6a0a-4be0-95f8-3a4c7b5c1f02";
  }
}
