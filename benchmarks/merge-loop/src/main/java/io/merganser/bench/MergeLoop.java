package io.merganser.bench;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.*;

/**
 * The merge loop alone, beside a loop written by hand over primitive arrays. An operation is one stored row.
 *
 * <p>{@link Rows} describes what is merged, {@link Case} and {@link ByHand} what each side does. The engine's side
 * checks before it starts that both result in the same rows.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
public class MergeLoop {

  @State(Scope.Benchmark)
  public static class Input {

    /** {@code commit-time}, {@code event-time-1}, {@code event-time-2}, {@code partial-update} or {@code sum-max}. */
    @Param({"event-time-1"})
    public String rule;

    /** {@code sorted}, {@code keyed} or {@code batches}. */
    @Param({"sorted"})
    public String merge;

    /** Percentage of the stored rows that versions match; {@code late}: all, and every version is late-arriving. */
    @Param({"5"})
    public String met;

    /** {@code uuid} or {@code orders}. */
    @Param({"uuid"})
    public String keys;

    Rows stored;
    Rows versions;
    ByHand hand;

    @Setup
    public void setup() {
      SplittableRandom random = new SplittableRandom(20240229);
      stored = Rows.stored(keys, Rows.COUNT, random);
      boolean late = met.equals("late");
      versions = Rows.versions(stored, late ? 100 : Integer.parseInt(met), late, rule.equals("partial-update"), random);
      hand = new ByHand(rule, merge, stored, versions);
      System.out.println("rows that win unchanged: " + hand.unchanged());
    }
  }

  @State(Scope.Benchmark)
  public static class Engine {
    Case work;

    @Setup
    public void setup(Input input) {
      work = new Case(input.rule, input.merge, input.stored, input.versions);
      work.season();
      work.verify(input.hand);
    }
  }

  @Benchmark
  @OperationsPerInvocation(Rows.COUNT)
  public long engine(Engine engine) {
    return engine.work.run();
  }

  @Benchmark
  @OperationsPerInvocation(Rows.COUNT)
  public long byHand(Input input) {
    return input.hand.run();
  }
}
