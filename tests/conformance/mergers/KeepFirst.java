package io.merganser.conformance;

import io.merganser.merge.BufferedRecord;
import io.merganser.merge.RecordContext;
import io.merganser.merge.RecordMerger;
import java.util.Map;

/** The older row, whatever comes; only deletes remove it. */
public class KeepFirst implements RecordMerger {

  @Override
  public String getMergingStrategy() {
    return "2da6ba2d-6b9e-4a8c-b948-54daf8ca5a10";
  }

  @Override
  public BufferedRecord merge(
      BufferedRecord older, BufferedRecord newer, RecordContext context, Map<String, String> props) {
    return older.isDelete() || newer.isDelete() ? newer : older;
  }
}
