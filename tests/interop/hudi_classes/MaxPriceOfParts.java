package shop;

import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.engine.RecordContext;
import org.apache.hudi.common.schema.HoodieSchema;
import org.apache.hudi.common.table.HoodieTableConfig;
import org.apache.hudi.common.table.read.BufferedRecord;

/** Also merges rows that lack columns: the others keep their values. Reads the columns that it names. */
public class MaxPriceOfParts extends MaxPriceSpark {
  @Override
  public <T> BufferedRecord<T> partialMerge(
      BufferedRecord<T> older,
      BufferedRecord<T> newer,
      HoodieSchema readerSchema,
      RecordContext<T> context,
      TypedProperties props) {
    HoodieSchema newerSchema = context.getSchemaFromBufferRecord(newer);
    HoodieSchema olderSchema = context.getSchemaFromBufferRecord(older);
    Object[] values = readerSchema.getFields().stream()
        .map(field -> newerSchema.getField(field.name()).isPresent()
            ? context.getValue(newer.getRecord(), newerSchema, field.name())
            : context.getValue(older.getRecord(), olderSchema, field.name()))
        .toArray();
    return new BufferedRecord<>(
        newer.getRecordKey(),
        older.getOrderingValue(),
        context.constructEngineRecord(readerSchema, values),
        context.encodeSchema(readerSchema),
        null);
  }

  @Override
  public boolean isProjectionCompatible() {
    return true;
  }

  @Override
  public String[] getMandatoryFieldsForMerging(HoodieSchema schema, HoodieTableConfig config, TypedProperties props) {
    return new String[] {config.getRecordKeyFields().get()[0], "name", "price", "_hoodie_record_key"};
  }
}
