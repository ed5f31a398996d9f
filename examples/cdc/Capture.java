import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.DebeziumEngine.RecordCommitter;
import io.debezium.engine.format.Json;
import io.debezium.engine.spi.OffsetCommitPolicy;
import java.io.IOException;
import java.io.Reader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * Runs Debezium's engine, and writes each batch of its change events to files of JSON lines: {@code
 * <folder>/<topic>/<file>.json}.
 *
 * <p>A file appears when it is complete, by a rename. Its events count as processed once it is on disk, and the engine
 * stores its offsets afterwards: an engine that is killed between the two repeats these events when it is started
 * again, and loses none. An engine without offsets takes a snapshot of the tables, which has no deletes: while it does,
 * offsets are stored after each batch, and later every {@code offset.flush.interval.ms}.
 *
 * <p>Arguments: a file with the properties of the engine, and the folder.
 */
public final class Capture {

  private final Path folder;
  // Names of two runs never collide, and sort in the order in which the files were written.
  private final String run = String.format("%014d", System.currentTimeMillis());
  private int batches = 0;
  private volatile boolean snapshot = true;

  private Capture(Path folder) {
    this.folder = folder;
  }

  public static void main(String[] arguments) throws Exception {
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(Path.of(arguments[0]))) {
      properties.load(reader);
    }
    Capture capture = new Capture(Path.of(arguments[1]));
    Duration interval = Duration.ofMillis(Long.parseLong(properties.getProperty("offset.flush.interval.ms")));
    int[] failed = {0};
    DebeziumEngine<ChangeEvent<String, String>> engine =
        DebeziumEngine.create(Json.class)
            .using(properties)
            .using(
                (success, message, error) -> {
                  if (!success) {
                    failed[0] = 1;
                    System.err.println(message);
                    if (error != null) {
                      error.printStackTrace();
                    }
                  }
                })
            .using((OffsetCommitPolicy) (events, since) -> capture.snapshot || since.compareTo(interval) >= 0)
            .notifying(capture::write)
            .build();
    // Ctrl-C and SIGTERM end the engine in order: it stores the offsets of what it has written.
    Thread main = Thread.currentThread();
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  try {
                    engine.close();
                    main.join(10_000);
                  } catch (IOException | InterruptedException | IllegalStateException e) {
                    System.err.println("The engine did not end in order: " + e);
                  }
                }));
    engine.run();
    if (failed[0] != 0) {
      Runtime.getRuntime().halt(failed[0]);
    }
  }

  private void write(
      List<ChangeEvent<String, String>> events, RecordCommitter<ChangeEvent<String, String>> committer)
      throws InterruptedException {
    Map<String, StringBuilder> lines = new LinkedHashMap<>();
    for (ChangeEvent<String, String> event : events) {
      if (event.value() != null) {
        lines.computeIfAbsent(event.destination(), topic -> new StringBuilder()).append(event.value()).append('\n');
      }
    }
    batches++;
    snapshot = snapshot && lines.values().stream().anyMatch(each -> each.indexOf("\"op\":\"r\"") >= 0);
    try {
      for (Map.Entry<String, StringBuilder> topic : lines.entrySet()) {
        writeFile(folder.resolve(topic.getKey()), topic.getValue());
      }
    } catch (IOException e) {
      throw new IllegalStateException("Cannot write events to " + folder, e);
    }
    for (ChangeEvent<String, String> event : events) {
      committer.markProcessed(event);
    }
    committer.markBatchFinished();
  }

  private void writeFile(Path topic, CharSequence content) throws IOException {
    Files.createDirectories(topic);
    String name = String.format("%s-%08d.json", run, batches);
    Path hidden = topic.resolve("." + name); // readers ignore names with a dot in front
    ByteBuffer bytes = StandardCharsets.UTF_8.encode(content.toString());
    try (FileChannel file =
        FileChannel.open(
            hidden, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
      while (bytes.hasRemaining()) {
        file.write(bytes);
      }
      file.force(true);
    }
    Files.move(hidden, topic.resolve(name), StandardCopyOption.ATOMIC_MOVE);
  }
}
