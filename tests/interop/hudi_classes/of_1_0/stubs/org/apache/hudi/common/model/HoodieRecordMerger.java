package org.apache.hudi.common.model;

import java.io.IOException;
import java.io.Serializable;
import org.apache.avro.Schema;
import org.apache.hudi.common.config.TypedProperties;
import org.apache.hudi.common.model.HoodieRecord.HoodieRecordType;
import org.apache.hudi.common.util.Option;
import org.apache.hudi.common.util.collection.Pair;

/** The methods that mergers for Hudi 1.0 implement: classes are compiled against this, and run without it. */
public interface HoodieRecordMerger extends Serializable {
  Option<Pair<HoodieRecord, Schema>> merge(
      HoodieRecord older, Schema oldSchema, HoodieRecord newer, Schema newSchema, TypedProperties props)
      throws IOException;

  HoodieRecordType getRecordType();

  String getMergingStrategy();
}
