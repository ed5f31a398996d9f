package io.merganser.bench;

import java.net.URI;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.fs.Path;

/**
 * The local disk under the scheme {@code counted}, with the number of calls of this process by kind.
 *
 * <p>The scheme is not {@code file}, so that an engine makes the calls that it makes on any other file system.
 */
public final class CountingFileSystem extends CalledFileSystem {

  /** Scheme of its paths. */
  public static final String SCHEME = "counted";

  private static final Map<String, LongAdder> CALLS = none();

  public CountingFileSystem() {
    super(CALLS);
  }

  /** Number of calls since the class was loaded, by kind. */
  static Map<String, Long> calls() {
    return sums(CALLS);
  }

  /** Bytes read since the class was loaded. */
  static long readBytes() {
    return readBytes(SCHEME, CountingFileSystem.class);
  }

  @Override
  public String getScheme() {
    return SCHEME;
  }

  @Override
  public URI getUri() {
    return URI.create(SCHEME + ":///");
  }

  @Override
  boolean isCounted(Path path) {
    return true;
  }
}
