import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * The local disk by the scheme {@code held}, where a test can stop or fail one task at a file.
 *
 * <p>A file NAME in the folder {@code held.folder} has two lines: an action and a part of a path. The first task that
 * has written more than a few bytes to a file with that part in its path takes the order: the order disappears, and
 * NAME.reached has the process id and the file's path. With the action {@code fail} the write fails. With {@code hold}
 * it waits, whatever interrupts it, until there is a file NAME.go. With {@code begin} the first task waits that is about
 * to create such a file.
 */
public final class HeldFileSystem extends RawLocalFileSystem {

  private static final URI NAME = URI.create("held:///");
  private static final int MORE_THAN_BYTES = 64;
  private static final long LONGEST_MS = 60_000;

  private java.nio.file.Path orders;

  @Override
  public void initialize(URI uri, Configuration conf) throws IOException {
    super.initialize(NAME, conf);
    orders = java.nio.file.Paths.get(conf.get("held.folder"));
  }

  @Override
  public String getScheme() {
    return NAME.getScheme();
  }

  @Override
  public URI getUri() {
    return NAME;
  }

  @Override
  public FSDataOutputStream create(
      Path file, boolean overwrite, int buffer, short replication, long block, Progressable progress)
      throws IOException {
    obey(file.toString(), true);
    return held(file, super.create(file, overwrite, buffer, replication, block, progress));
  }

  @Override
  public FSDataOutputStream create(
      Path file, FsPermission permission, boolean overwrite, int buffer, short replication, long block,
      Progressable progress)
      throws IOException {
    obey(file.toString(), true);
    return held(file, super.create(file, overwrite, buffer, replication, block, progress));
  }

  /** Without Hadoop's native library this starts a process, which an interrupted thread cannot wait for. */
  @Override
  public void setPermission(Path file, FsPermission permission) {}

  private FSDataOutputStream held(Path file, OutputStream out) throws IOException {
    return new FSDataOutputStream(new HeldStream(file.toString(), out), null);
  }

  private final class HeldStream extends OutputStream {
    private final String file;
    private final OutputStream out;
    private long written = 0;

    HeldStream(String file, OutputStream out) {
      this.file = file;
      this.out = out;
    }

    @Override
    public void write(int b) throws IOException {
      out.write(b);
      written += 1;
    }

    @Override
    public void write(byte[] bytes, int from, int count) throws IOException {
      if (written <= MORE_THAN_BYTES && written + count > MORE_THAN_BYTES) {
        int before = (int) (MORE_THAN_BYTES - written);
        out.write(bytes, from, before);
        out.flush();
        written += before;
        obey(file, false);
        out.write(bytes, from + before, count - before);
        written += count - before;
      } else {
        out.write(bytes, from, count);
        written += count;
      }
    }

    @Override
    public void flush() throws IOException {
      out.flush();
    }

    @Override
    public void close() throws IOException {
      out.close();
    }
  }

  private void obey(String file, boolean begins) throws IOException {
    try (var found = Files.list(orders)) {
      for (java.nio.file.Path order : (Iterable<java.nio.file.Path>) found::iterator) {
        String name = order.getFileName().toString();
        if (name.contains(".")) {
          continue;
        }
        String[] lines;
        try {
          lines = Files.readString(order).split("\n");
          if (!file.contains(lines[1]) || lines[0].equals("begin") != begins) {
            continue;
          }
          Files.move(order, order.resolveSibling(name + ".taken"), StandardCopyOption.ATOMIC_MOVE);
        } catch (NoSuchFileException takenByAnotherTask) {
          continue;
        }
        act(lines[0], name, file);
      }
    }
  }

  private void act(String action, String name, String file) throws IOException {
    java.nio.file.Path writing = orders.resolve(name + ".writing");
    Files.write(writing, (ProcessHandle.current().pid() + "\n" + file).getBytes(StandardCharsets.UTF_8));
    Files.move(writing, orders.resolve(name + ".reached"), StandardCopyOption.ATOMIC_MOVE);
    if (action.equals("fail")) {
      throw new IOException("the test fails this write");
    }
    boolean interrupted = false;
    long end = System.currentTimeMillis() + LONGEST_MS;
    while (!Files.exists(orders.resolve(name + ".go")) && System.currentTimeMillis() < end) {
      try {
        Thread.sleep(5);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
