package io.merganser.bench;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.*;

/**
 * The merge loop alone, beside a loop written by hand over primitive arrays. An operation is one stored row.
 *
 * <p>What is merged, and what each side does, is said in {@link Rows}, {@link Case} and {@link ByHand}. The engine's side
 * checks before it starts that both leave the same rows.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
public class MergeLoop {

  @State(Scope.Benchmark)
  public static class Given {

    /** {@code commit-time}, {@code event-time-1}, {@code event-time-2} or {@code partial-update}. */
    @Param({"event-time-1"})
    public String rule;

    /** {@code sorted}, {@code keyed} or {@code batches}. */
    @Param({"sorted"})
    public String merge;

    /** Percentage of the stored rows that a version meets; {@code late}: all of them, and every version is late. */
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
    public void setup(Given given) {
      work = new Case(given.rule, given.merge, given.stored, given.versions);
      work.season();
      work.verify(given.hand);
    }
  }

  @Benchmark
  @OperationsPerInvocation(Rows.COUNT)
  public long engine(Engine engine) {
    return engine.work.run();
  }

  @Benchmark
  @OperationsPerInvocation(Rows.COUNT)
  public long byHand(Given given) {
    return given.hand.run();
  }
}
