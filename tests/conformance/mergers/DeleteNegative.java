package io.merganser.conformance;

import io.merganser.merge.BufferedRecord;
import io.merganser.merge.RecordContext;
import io.merganser.merge.RecordMerger;
import java.util.Map;

/** The newer row; one with a price below 0 is a delete with the row's ordering value. */
public class DeleteNegative implements RecordMerger {

  @Override
  public String getMergingStrategy() {
    return "7b5c8535-4d27-41eb-9c08-b90398da7d17";
  }

  @Override
  public BufferedRecord merge(
      BufferedRecord older, BufferedRecord newer, RecordContext context, Map<String, String> props) {
    if (older.isDelete() || newer.isDelete()) {
      return newer;
    }
    Double price = (Double) context.getValue(newer, "price");
    return price != null && price < 0 ? context.createDelete(newer) : newer;
  }
}
