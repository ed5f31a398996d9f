package io.merganser.bench;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.LongAdder;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;

/**
 * Running totals of a Spark context: jobs, shuffles, calls of {@link CountingFileSystem} and, where a session uses it,
 * {@link SlowFileSystem}, and the bytes that were read through both.
 */
public final class Costs extends SparkListener {

  private final SparkContext context;
  private final LongAdder jobs = new LongAdder();
  private final LongAdder shuffles = new LongAdder();
  private final LongAdder shuffledBytes = new LongAdder();

  /** Starts to count, and registers the file system. */
  public Costs(SparkContext context) {
    this.context = context;
    context.hadoopConfiguration().set("fs." + CountingFileSystem.SCHEME + ".impl", CountingFileSystem.class.getName());
    context.addSparkListener(this);
  }

  @Override
  public void onJobStart(SparkListenerJobStart job) {
    jobs.increment();
  }

  /** A shuffle is a stage that wrote shuffle data. */
  @Override
  public void onStageCompleted(SparkListenerStageCompleted stage) {
    long bytes = stage.stageInfo().taskMetrics().shuffleWriteMetrics().bytesWritten();
    if (bytes > 0) {
      shuffles.increment();
      shuffledBytes.add(bytes);
    }
  }

  /** The totals so far, by kind, when all events so far have arrived. */
  public Map<String, Long> totals() throws TimeoutException {
    context.listenerBus().waitUntilEmpty();
    Map<String, Long> found = new LinkedHashMap<>();
    found.put("jobs", jobs.sum());
    found.put("shuffles", shuffles.sum());
    found.put("shuffle bytes", shuffledBytes.sum());
    found.put("read bytes", CountingFileSystem.readBytes() + SlowFileSystem.readBytes());
    found.putAll(CountingFileSystem.calls());
    SlowFileSystem.calls().forEach((kind, count) -> found.merge(kind, count, Long::sum));
    return found;
  }
}
