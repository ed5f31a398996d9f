package io.merganser.bench;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;

/**
 * The loops one would write by hand for one table and one rule: the keys' bytes in one array, ordering values and
 * amounts in arrays of their own; no row objects, no interface calls, nothing copied.
 *
 * <p>They find the same winners as the engine, and do with each resulting row what the engine's side does: they add its
 * amount and its balance to a sum. The rule is an int that never changes in a fork.
 */
final class ByHand {
  private static final int COMMIT_TIME = 0;
  private static final int EVENT_TIME_2 = 2;
  private static final int PARTIAL = 3;
  private static final int SUM_MAX = 4;

  private final int rule;
  private final boolean isSorted;
  private final Rows stored;
  private final Rows versions;

  ByHand(String rule, String merge, Rows stored, Rows versions) {
    this.rule = List.of("commit-time", "event-time-1", "event-time-2", "partial-update", "sum-max").indexOf(rule);
    this.isSorted = merge.equals("sorted");
    this.stored = stored;
    this.versions = versions;
    if (!isSorted) fill();
  }

  long run() {
    return isSorted ? sorted() : keyed();
  }

  /** A merge join of two sorted lists of keys. */
  private long sorted() {
    long sum = 0;
    int j = 0;
    for (int i = 0; i < stored.count; i++) {
      int order = j < versions.count ? compareKeys(i, j) : -1;
      while (order > 0) {
        int next = endOfKey(j);
        sum += alone(j, next);
        j = next;
        order = j < versions.count ? compareKeys(i, j) : -1;
      }
      if (order < 0) sum += stored.amounts[i] + stored.balances[i];
      else {
        int next = endOfKey(j);
        sum += onto(i, j, next);
        j = next;
      }
    }
    while (j < versions.count) {
      int next = endOfKey(j);
      sum += alone(j, next);
      j = next;
    }
    return sum;
  }

  private int[] slots;
  private int[] hashes;
  private int[] ends;

  /** Puts the versions' keys into an open-addressed table; not measured. */
  private void fill() {
    int size = Integer.highestOneBit(Math.max(versions.count, 16)) * 4;
    slots = new int[size];
    hashes = new int[size];
    ends = new int[versions.count];
    Arrays.fill(slots, -1);
    for (int j = 0; j < versions.count; j = ends[j]) {
      ends[j] = endOfKey(j);
      int hash = hash(versions.keys.bytes, versions.keys.starts[j], versions.keys.starts[j + 1]);
      int at = hash & (size - 1);
      while (slots[at] >= 0) at = (at + 1) & (size - 1);
      slots[at] = j;
      hashes[at] = hash;
    }
  }

  /** Looks up stored keys in the table of versions, one by one; then adds the versions that were not matched. */
  private long keyed() {
    long sum = 0;
    int mask = slots.length - 1;
    boolean[] matched = new boolean[slots.length];
    for (int i = 0; i < stored.count; i++) {
      int hash = hash(stored.keys.bytes, stored.keys.starts[i], stored.keys.starts[i + 1]);
      int at = hash & mask;
      while (slots[at] >= 0 && !(hashes[at] == hash && sameKey(i, slots[at]))) at = (at + 1) & mask;
      if (slots[at] < 0) sum += stored.amounts[i] + stored.balances[i];
      else {
        matched[at] = true;
        sum += onto(i, slots[at], ends[slots[at]]);
      }
    }
    for (int at = 0; at < slots.length; at++)
      if (slots[at] >= 0 && !matched[at]) sum += alone(slots[at], ends[slots[at]]);
    return sum;
  }

  /** The value of versions from j to end, merged with a stored row. */
  private long onto(int i, int j, int end) {
    if (rule == SUM_MAX) return sumAndMax(i, j, end);
    if (end - j > 1) {
      if (rule == PARTIAL && !isSorted) return fold(stored, i, false, j, end);
      j = winner(j, end);
    }
    if (!wins(stored, i, j)) return stored.amounts[i] + stored.balances[i];
    if (versions.deletes[j]) return 0;
    return versions.amounts[j] + (rule == PARTIAL ? stored.balances[i] : versions.balances[j]);
  }

  /** The value of versions from j to end where nothing is stored. */
  private long alone(int j, int end) {
    if (rule == SUM_MAX) return sumAndMax(-1, j, end);
    if (end - j > 1) {
      if (rule == PARTIAL && !isSorted) return fold(versions, j, versions.deletes[j], j + 1, end);
      j = winner(j, end);
    }
    return versions.deletes[j] ? 0 : versions.amounts[j] + versions.balances[j];
  }

  private int winner(int j, int end) {
    int winner = j;
    for (j++; j < end; j++) if (wins(versions, winner, j)) winner = j;
    return winner;
  }

  /** Partial versions of several batches: after a delete, a version gets no column from before it. */
  private long fold(Rows rows, int at, boolean isDeleted, int j, int end) {
    long amount = rows.amounts[at];
    long balance = rows.balances[at];
    for (; j < end; j++)
      if (wins(rows, at, j)) {
        rows = versions;
        at = j;
        amount = versions.amounts[j];
        if (isDeleted) balance = 0;
        isDeleted = versions.deletes[j];
      }
    return isDeleted ? 0 : amount + balance;
  }

  /**
   * The sum of amounts and the largest balance of a stored row, or none where i is negative, and of versions from j to
   * end. A delete that is not older removes the row, and what follows it is a new one.
   */
  private long sumAndMax(int i, int j, int end) {
    boolean exists = i >= 0;
    long time = exists ? stored.times[i] : 0;
    long amount = exists ? stored.amounts[i] : 0;
    long balance = exists ? stored.balances[i] : 0;
    for (; j < end; j++) {
      long own = versions.times[j];
      if (versions.deletes[j]) exists = exists && own < time;
      else if (!exists) {
        exists = true;
        time = own;
        amount = versions.amounts[j];
        balance = versions.balances[j];
      } else {
        time = Math.max(time, own);
        amount += versions.amounts[j];
        balance = Math.max(balance, versions.balances[j]);
      }
    }
    return exists ? amount + balance : 0;
  }

  private boolean wins(Rows older, int i, int j) {
    if (rule == COMMIT_TIME || rule == SUM_MAX) return true;
    long time = versions.times[j];
    if (rule != EVENT_TIME_2 || time != older.times[i]) return time >= older.times[i];
    Rows.Texts a = versions.positions;
    Rows.Texts b = older.positions;
    return Arrays.compareUnsigned(a.bytes, a.starts[j], a.starts[j + 1], b.bytes, b.starts[i], b.starts[i + 1]) >= 0;
  }

  /** Number of stored rows that no version matches, or that win; those with several versions are not counted. */
  int unchanged() {
    int count = 0;
    int j = 0;
    for (int i = 0; i < stored.count; i++) {
      while (j < versions.count && compareKeys(i, j) > 0) j++;
      if (j >= versions.count || compareKeys(i, j) < 0) count++;
      else if (endOfKey(j) == j + 1 && !wins(stored, i, j)) count++;
    }
    return count;
  }

  private int compareKeys(int i, int j) {
    Rows.Texts a = stored.keys;
    Rows.Texts b = versions.keys;
    return Arrays.compareUnsigned(a.bytes, a.starts[i], a.starts[i + 1], b.bytes, b.starts[j], b.starts[j + 1]);
  }

  private boolean sameKey(int i, int j) {
    Rows.Texts a = stored.keys;
    Rows.Texts b = versions.keys;
    return Arrays.equals(a.bytes, a.starts[i], a.starts[i + 1], b.bytes, b.starts[j], b.starts[j + 1]);
  }

  /** End of the versions of j's key. */
  private int endOfKey(int j) {
    Rows.Texts keys = versions.keys;
    int end = j + 1;
    while (end < versions.count
        && Arrays.equals(
            keys.bytes, keys.starts[j], keys.starts[j + 1], keys.bytes, keys.starts[end], keys.starts[end + 1])) end++;
    return end;
  }

  private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Eight bytes at a time; keys are no shorter here. */
  private static int hash(byte[] bytes, int from, int to) {
    long hash = to - from;
    int last = to - 8;
    for (; from < last; from += 8) hash = mixed(hash, (long) LONGS.get(bytes, from));
    return (int) (mixed(hash, (long) LONGS.get(bytes, last)) >>> 32);
  }

  private static long mixed(long hash, long word) {
    long product = (hash ^ word) * 0x9E3779B97F4A7C15L;
    return product ^ (product >>> 29);
  }
}
