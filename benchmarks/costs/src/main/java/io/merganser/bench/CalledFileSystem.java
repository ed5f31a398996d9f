package io.merganser.bench;

import java.io.IOException;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * The local disk, with the number of calls by kind.
 *
 * <p>One call is one from outside: a create that makes its folder is no mkdirs. Calls that fail count too.
 */
abstract class CalledFileSystem extends RawLocalFileSystem {

  private static final ThreadLocal<Boolean> IS_INSIDE = ThreadLocal.withInitial(() -> false);

  /** Numbers of calls by kind, all 0. */
  static Map<String, LongAdder> none() {
    Map<String, LongAdder> calls = new LinkedHashMap<>();
    for (String kind : new String[] {"list", "open", "create", "status", "rename", "delete", "mkdirs"})
      calls.put(kind, new LongAdder());
    return calls;
  }

  static Map<String, Long> sums(Map<String, LongAdder> calls) {
    Map<String, Long> found = new LinkedHashMap<>();
    calls.forEach((kind, count) -> found.put(kind, count.sum()));
    return found;
  }

  private final Map<String, LongAdder> calls;

  CalledFileSystem(Map<String, LongAdder> calls) {
    this.calls = calls;
  }

  abstract boolean isCounted(Path path);

  /** Bytes that this process has read from files by file systems of a class. */
  static long readBytes(String scheme, Class<? extends FileSystem> of) {
    return getStatistics(scheme, of).getBytesRead();
  }

  /** What comes before each call that is counted. */
  void delay() throws IOException {}

  @Override
  public FileStatus[] listStatus(Path folder) throws IOException {
    return call("list", folder, () -> super.listStatus(folder));
  }

  @Override
  public FSDataInputStream open(Path file, int bufferSize) throws IOException {
    return call("open", file, () -> super.open(file, bufferSize));
  }

  @Override
  public FSDataOutputStream create(
      Path file, boolean overwrite, int bufferSize, short replication, long blockSize, Progressable progress)
      throws IOException {
    return call("create", file, () -> super.create(file, overwrite, bufferSize, replication, blockSize, progress));
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
    return call(
        "create", file, () -> super.create(file, permission, overwrite, bufferSize, replication, blockSize, progress));
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
    return call(
        "create",
        file,
        () -> super.createNonRecursive(file, permission, flags, bufferSize, replication, blockSize, progress));
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return call("status", path, () -> super.getFileStatus(path));
  }

  @Override
  public boolean exists(Path path) throws IOException {
    return call("status", path, () -> super.exists(path));
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    return call("rename", from, () -> super.rename(from, to));
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    return call("delete", path, () -> super.delete(path, recursive));
  }

  @Override
  public boolean mkdirs(Path folder) throws IOException {
    return call("mkdirs", folder, () -> super.mkdirs(folder));
  }

  @Override
  public boolean mkdirs(Path folder, FsPermission permission) throws IOException {
    return call("mkdirs", folder, () -> super.mkdirs(folder, permission));
  }

  /** Without Hadoop's native library this starts a process. */
  @Override
  public void setPermission(Path path, FsPermission permission) {}

  interface Call<T> {
    T run() throws IOException;
  }

  final <T> T call(String kind, Path path, Call<T> call) throws IOException {
    if (IS_INSIDE.get() || !isCounted(path)) return call.run();
    calls.get(kind).increment();
    IS_INSIDE.set(true);
    try {
      delay();
      return call.run();
    } finally {
      IS_INSIDE.set(false);
    }
  }
}
