package io.merganser.bench;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Rows in primitive arrays, in ascending order of their key's unsigned bytes; those of one key oldest first.
 *
 * <p>A row is a key, two ordering values (milliseconds, and a string of 16 bytes, a position in a log), an amount, a
 * balance and a note. Amounts and balances are random numbers of 56 bits, so that equal sums mean equal rows, and that
 * those of a few versions can be added.
 */
final class Rows {

  /** Stored rows of a merge. */
  static final int COUNT = 1 << 17;

  int count;
  final Texts keys;
  final long[] times;
  final Texts positions;
  final long[] amounts;
  final long[] balances;
  final Texts notes;
  final boolean[] deletes;

  /** Whether balances and notes are missing: null in the engine's rows, 0 here. */
  final boolean arePartial;

  private Rows(int most, boolean arePartial) {
    this.arePartial = arePartial;
    keys = new Texts(most, 42);
    times = new long[most];
    positions = new Texts(most, 16);
    amounts = new long[most];
    balances = new long[most];
    notes = new Texts(most, 42);
    deletes = new boolean[most];
  }

  /**
   * The rows of a file.
   *
   * @param keys {@code uuid}: random UUIDs as strings, which differ in their first bytes; {@code orders}: order numbers
   *     of one store, which differ in their last
   */
  static Rows stored(String keys, int count, SplittableRandom random) {
    Rows rows = new Rows(count, false);
    for (int i = 0; i < count; i++) {
      String number = hex(((long) i * (0xFFFFFFFFL / count)) + random.nextInt((int) (0xFFFFFFFFL / count)), 8);
      String key = keys.equals("uuid")
          ? number + "-" + hex(random.nextLong(), 4) + "-4" + hex(random.nextLong(), 3)
              + "-a" + hex(random.nextLong(), 3) + "-" + hex(random.nextLong(), 12)
          : "store:004217,order:00000000000000" + number;
      rows.add(key, 1_700_000_000_000L + random.nextInt(1_000_000_000), random.nextLong(1L << 40), random, false);
    }
    return rows;
  }

  /**
   * Versions for {@code percent} percent of the rows. Of these a tenth has an older time, four tenths the same time, of
   * which a quarter has an older position; the others are newer. If {@code late}, all have an older time. Besides, of a
   * hundred keys one has two versions, one is new and one version is a delete.
   */
  static Rows versions(Rows stored, int percent, boolean late, boolean arePartial, SplittableRandom random) {
    Rows rows = new Rows(stored.count * 2, arePartial);
    for (int i = 0; i < stored.count; i++)
      if (random.nextInt(100) < percent) {
        String key = stored.keys.text(i);
        rows.add(key, stored, i, late, random);
        if (random.nextInt(100) == 0) rows.add(key, stored, i, late, random);
        // No hexadecimal digit, so no stored key; and the next one in order.
        if (random.nextInt(100) == 0) rows.add(key.substring(0, key.length() - 1) + "g", stored, i, late, random);
      }
    return rows;
  }

  private void add(String key, Rows stored, int i, boolean late, SplittableRandom random) {
    long time = stored.times[i];
    long position = Long.parseLong(stored.positions.text(i), 16);
    int kind = late ? 0 : random.nextInt(10);
    if (kind == 0) time -= 1 + random.nextInt(1_000_000);
    else if (kind == 1) position = random.nextLong(1 + position);
    else if (kind < 5) position += random.nextInt(1_000_000);
    else time += 1 + random.nextInt(1_000_000);
    add(key, time, position, random, random.nextInt(100) == 0);
  }

  private void add(String key, long time, long position, SplittableRandom random, boolean isDelete) {
    keys.set(count, key);
    times[count] = time;
    positions.set(count, hex(position, 16));
    amounts[count] = random.nextLong() >> 8;
    balances[count] = arePartial ? 0 : random.nextLong() >> 8;
    notes.set(count, "left at the door, ring twice " + hex(random.nextLong(), 12));
    deletes[count] = isDelete;
    count++;
  }

  private static String hex(long value, int digits) {
    byte[] text = new byte[digits];
    for (int i = digits - 1; i >= 0; i--, value >>>= 4) text[i] = (byte) "0123456789abcdef".charAt((int) value & 15);
    return new String(text, StandardCharsets.ISO_8859_1);
  }

  /** Strings in one array of bytes: number i is at starts[i] to starts[i + 1]. */
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
