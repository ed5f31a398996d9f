package io.merganser.bench;

import java.io.IOException;
import java.net.URI;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * The local disk under the scheme {@code counted}, with the number of calls of this process by kind.
 *
 * <p>One call is one from outside: a create that makes its folder is no mkdirs. Calls that fail count too. The scheme is
 * not {@code file}, so that an engine makes the calls that it makes on any other file system.
 */
public final class CountingFileSystem extends RawLocalFileSystem {

  /** Scheme of its paths. */
  public static final String SCHEME = "counted";

  private static final Map<String, LongAdder> CALLS = new LinkedHashMap<>();

  static {
    for (String kind : new String[] {"list", "open", "create", "status", "rename", "delete", "mkdirs"})
      CALLS.put(kind, new LongAdder());
  }

  private static final ThreadLocal<Boolean> IS_INSIDE = ThreadLocal.withInitial(() -> false);

  /** Number of calls since the class was loaded, by kind. */
  static Map<String, Long> calls() {
    Map<String, Long> found = new LinkedHashMap<>();
    CALLS.forEach((kind, count) -> found.put(kind, count.sum()));
    return found;
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
  public FileStatus[] listStatus(Path folder) throws IOException {
    return counted("list", () -> super.listStatus(folder));
  }

  @Override
  public FSDataInputStream open(Path file, int bufferSize) throws IOException {
    return counted("open", () -> super.open(file, bufferSize));
  }

  @Override
  public FSDataOutputStream create(
      Path file, boolean overwrite, int bufferSize, short replication, long blockSize, Progressable progress)
      throws IOException {
    return counted("create", () -> super.create(file, overwrite, bufferSize, replication, blockSize, progress));
  }

  @Override
  public FSDataOutputStream create(
      Path file,
      FsPermission permission,
      boolean overwrite,
      int bufferSize,
      short replication,
      long blockSize,
      Progressable progress)
      throws IOException {
    return counted(
        "create", () -> super.create(file, permission, overwrite, bufferSize, replication, blockSize, progress));
  }

  @Override
  public FSDataOutputStream createNonRecursive(
      Path file,
      FsPermission permission,
      EnumSet<CreateFlag> flags,
      int bufferSize,
      short replication,
      long blockSize,
      Progressable progress)
      throws IOException {
    return counted(
        "create",
        () -> super.createNonRecursive(file, permission, flags, bufferSize, replication, blockSize, progress));
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return counted("status", () -> super.getFileStatus(path));
  }

  @Override
  public boolean exists(Path path) throws IOException {
    return counted("status", () -> super.exists(path));
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    return counted("rename", () -> super.rename(from, to));
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    return counted("delete", () -> super.delete(path, recursive));
  }

  @Override
  public boolean mkdirs(Path folder) throws IOException {
    return counted("mkdirs", () -> super.mkdirs(folder));
  }

  @Override
  public boolean mkdirs(Path folder, FsPermission permission) throws IOException {
    return counted("mkdirs", () -> super.mkdirs(folder, permission));
  }

  /** Without Hadoop's native library this starts a process. */
  @Override
  public void setPermission(Path path, FsPermission permission) {}

  private interface Call<T> {
    T run() throws IOException;
  }

  private static <T> T counted(String kind, Call<T> call) throws IOException {
    if (IS_INSIDE.get()) return call.run();
    CALLS.get(kind).increment();
    IS_INSIDE.set(true);
    try {
      return call.run();
    } finally {
      IS_INSIDE.set(false);
    }
  }
}
