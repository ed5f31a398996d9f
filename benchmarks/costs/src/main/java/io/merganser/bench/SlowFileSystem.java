package io.merganser.bench;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * The local disk with the latency of an object store: below folders named {@code slow}, each call takes as long as
 * {@code merganser.bench.callMs} of the Hadoop configuration, and a listing as long for each thousand entries. Those
 * calls are counted by kind. Reads of an open file are not delayed.
 *
 * <p>Its scheme is {@code file}, since an engine may refuse schemes that it does not know: set {@code fs.file.impl}.
 */
public final class SlowFileSystem extends CalledFileSystem {

  private static final String SCHEME = "file";

  private static final int PAGE = 1000;

  private static final Map<String, LongAdder> CALLS = none();

  public SlowFileSystem() {
    super(CALLS);
  }

  /** Number of calls below slow folders since the class was loaded, by kind. */
  public static Map<String, Long> calls() {
    return sums(CALLS);
  }

  /** Bytes read since the class was loaded, below other folders as well. */
  static long readBytes() {
    return readBytes(SCHEME, SlowFileSystem.class);
  }

  @Override
  public String getScheme() {
    return SCHEME;
  }

  @Override
  public FileStatus[] listStatus(Path folder) throws IOException {
    FileStatus[] found = super.listStatus(folder);
    for (int page = 1; page * PAGE < found.length; page++) call("list", folder, () -> null);
    return found;
  }

  @Override
  boolean isCounted(Path path) {
    return path.toUri().getPath().contains("/slow/");
  }

  @Override
  void delay() throws IOException {
    try {
      Thread.sleep(getConf().getLong("merganser.bench.callMs", 0));
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException();
    }
  }
}
