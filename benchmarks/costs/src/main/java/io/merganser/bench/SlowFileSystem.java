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
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * The local disk with the latency of an object store: below folders named {@code slow}, each call takes as long as
 * {@code merganser.bench.callMs} of the Hadoop configuration, and a listing as long for each thousand entries. Calls
 * are counted by kind, wherever they are. Reads of an open file are not delayed.
 *
 * <p>Its scheme is {@code file}, since an engine may refuse schemes that it does not know: set {@code fs.file.impl}.
 */
public final class SlowFileSystem extends RawLocalFileSystem {

  private static final int PAGE = 1000;

  private static final Map<String, LongAdder> CALLS = new LinkedHashMap<>();

  static {
    for (String kind : new String[] {"list", "open", "create", "status", "rename", "delete", "mkdirs"})
      CALLS.put(kind, new LongAdder());
  }

  private static final ThreadLocal<Boolean> IS_INSIDE = ThreadLocal.withInitial(() -> false);

  /** Number of calls below slow folders since the class was loaded, by kind. */
  public static Map<String, Long> calls() {
    Map<String, Long> found = new LinkedHashMap<>();
    CALLS.forEach((kind, count) -> found.put(kind, count.sum()));
    return found;
  }

  @Override
  public String getScheme() {
    return "file";
  }

  @Override
  public FileStatus[] listStatus(Path folder) throws IOException {
    FileStatus[] found = call("list", folder, () -> super.listStatus(folder));
    for (int page = 1; page * PAGE < found.length; page++) call("list", folder, () -> null);
    return found;
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

  private interface Call<T> {
    T run() throws IOException;
  }

  private <T> T call(String kind, Path path, Call<T> call) throws IOException {
    if (IS_INSIDE.get() || !path.toUri().getPath().contains("/slow/")) return call.run();
    CALLS.get(kind).increment();
    IS_INSIDE.set(true);
    try {
      long delay = getConf().getLong("merganser.bench.callMs", 0);
      if (delay > 0) Thread.sleep(delay);
      return call.run();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new java.io.InterruptedIOException();
    } finally {
      IS_INSIDE.set(false);
    }
  }
}
