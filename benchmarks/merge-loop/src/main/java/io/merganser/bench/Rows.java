package io.merganser.bench;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.UUID;

/**
 * Rows in primitive arrays, in ascending order of their key's unsigned bytes; those of one key oldest first.
 *
 * <p>A row is a key, two ordering values (milliseconds, and text of 16 bytes, a position in a log), an amount, a balance
 * and a note. Amounts and balances are random 64-bit numbers, so that equal sums mean equal rows.
 */
final class Rows {

  /** Stored rows of a merge. */
  static final int COUNT = 1 << 17;

  final int count;
  final Texts keys;
  final long[] times;
  final Texts positions;
  final long[] amounts;
  final long[] balances;
  final Texts notes;
  final boolean[] deletes;

  private Rows(int count) {
    this.count = count;
    keys = new Texts(count, 40);
    times = new long[count];
    positions = new Texts(count, 16);
    amounts = new long[count];
    balances = new long[count];
    notes = new Texts(count, 48);
    deletes = new boolean[count];
  }

  /** What a file holds. */
  static Rows stored(String kind, int count, SplittableRandom random) {
    String[] keys = new String[count];
    for (int i = 0; i < count; i++) keys[i] = key(kind, i, random);
    Arrays.sort(keys);
    Rows rows = new Rows(count);
    for (String key : keys)
      rows.add(key, 1_700_000_000_000L + random.nextInt(1_000_000_000), position(random.nextLong(1L << 40)), random, false);
    return rows;
  }

  /**
   * What comes for them: a version for {@code met} percent of the rows. Of these a tenth has an older time, four tenths the
   * same time, of which a quarter has an older position; the others are newer. Besides, one key in a hundred comes twice,
   * one is new and one version is a delete.
   */
  static Rows versions(String kind, Rows stored, int met, SplittableRandom random) {
    int wanted = (int) ((long) stored.count * met / 100);
    String[] picked = new String[wanted + 2 * (wanted / 100)];
    int[] order = random.ints(stored.count, 0, Integer.MAX_VALUE).toArray();
    long[] shuffled = new long[stored.count];
    for (int i = 0; i < stored.count; i++) shuffled[i] = ((long) order[i] << 32) | i;
    Arrays.sort(shuffled);
    int n = 0;
    // A stored row's number follows its key, so that it can be looked up after the sort.
    for (; n < wanted; n++) picked[n] = stored.keys.text((int) shuffled[n]) + "\u0000" + (int) shuffled[n];
    for (int i = 0; i < wanted / 100; i++) picked[n++] = picked[i];
    for (int i = 0; i < wanted / 100; i++) picked[n++] = key(kind, stored.count + i, random) + "\u0000-1";
    Arrays.sort(picked);
    Rows rows = new Rows(n);
    for (String one : picked) {
      int end = one.indexOf('\u0000');
      int row = Integer.parseInt(one.substring(end + 1));
      long time = row < 0 ? 1_700_000_000_000L : stored.times[row];
      String position = row < 0 ? position(0) : stored.positions.text(row);
      int kindOf = random.nextInt(10);
      if (kindOf == 0) time -= 1 + random.nextInt(1_000_000);
      else if (kindOf == 1) position = position(random.nextLong(1 + Long.parseLong(position, 16)));
      else if (kindOf < 5) position = position(Long.parseLong(position, 16) + random.nextInt(1_000_000));
      else time += 1 + random.nextInt(1_000_000);
      rows.add(one.substring(0, end), time, position, random, random.nextInt(100) == 0);
    }
    return rows;
  }

  private int filled = 0;

  private void add(String key, long time, String position, SplittableRandom random, boolean isDelete) {
    keys.set(filled, key);
    times[filled] = time;
    positions.set(filled, position);
    amounts[filled] = random.nextLong();
    balances[filled] = random.nextLong();
    notes.set(filled, "left at the door, ring twice " + Long.toHexString(random.nextLong()));
    deletes[filled] = isDelete;
    filled++;
  }

  /** Random UUIDs, which differ in their first bytes, or order numbers, which differ in their last. */
  private static String key(String kind, int i, SplittableRandom random) {
    switch (kind) {
      case "uuid":
        return new UUID(random.nextLong(), random.nextLong()).toString();
      case "orders":
        return String.format("store:%03d,order:%012d", 42, Math.floorMod(i * 7_919L, 100_000_000L));
      default:
        throw new IllegalArgumentException(kind);
    }
  }

  private static String position(long value) {
    String digits = Long.toHexString(value);
    return "0000000000000000".substring(digits.length()) + digits;
  }

  /** Texts in one array of bytes: number i lies from starts[i] to starts[i + 1]. */
  static final class Texts {
    final int[] starts;
    byte[] bytes;

    Texts(int count, int expectedBytes) {
      starts = new int[count + 1];
      bytes = new byte[count * expectedBytes + 8];
    }

    void set(int i, String text) {
      byte[] added = text.getBytes(StandardCharsets.UTF_8);
      if (starts[i] + added.length > bytes.length) bytes = Arrays.copyOf(bytes, bytes.length * 2);
      System.arraycopy(added, 0, bytes, starts[i], added.length);
      starts[i + 1] = starts[i] + added.length;
    }

    String text(int i) {
      return new String(bytes, starts[i], starts[i + 1] - starts[i], StandardCharsets.UTF_8);
    }
  }
}
