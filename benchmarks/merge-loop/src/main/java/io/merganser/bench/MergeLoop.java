package io.merganser.bench;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.*;

/**
 * The merge loop alone, beside a loop written by hand over primitive arrays. An operation is one stored row.
 *
 * <p>What is merged, and what each side does, is said in {@link Rows}, {@link Engine} and {@link ByHand}. A fork that
 * starts checks that both sides leave the same rows.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
public class MergeLoop {

  /** {@code commit-time}, {@code event-time-1}, {@code event-time-2} or {@code partial}. */
  @Param({"event-time-1"})
  public String rule;

  /** {@code sorted}, {@code keyed} or {@code batches}. */
  @Param({"sorted"})
  public String merge;

  /** Percentage of the stored rows that a version meets. */
  @Param({"5"})
  public int met;

  /** {@code uuid} or {@code orders}. */
  @Param({"uuid"})
  public String keys;

  private Case work;

  @Setup
  public void setup() {
    work = Case.of(rule, merge, met, keys);
    work.season();
    work.verify();
    System.out.println("rows that win unchanged: " + work.unchanged());
  }

  @Benchmark
  @OperationsPerInvocation(Rows.COUNT)
  public long engine() {
    return work.engine();
  }

  @Benchmark
  @OperationsPerInvocation(Rows.COUNT)
  public long byHand() {
    return work.byHand();
  }
}
