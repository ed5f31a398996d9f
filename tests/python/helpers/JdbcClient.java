import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;

/** Runs each line of its input as a statement over JDBC; answers in lines of fields with tabs, an empty line last. */
public class JdbcClient {

  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    try (Connection connection = DriverManager.getConnection(arguments[0])) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        try (Statement statement = connection.createStatement()) {
          if (statement.execute(line)) print(statement.getResultSet(), out);
        } catch (SQLException e) {
          print(out, "error", e.getSQLState(), e.getMessage());
        }
        out.println();
      }
    }
  }

  private static void print(ResultSet rows, PrintStream out) throws SQLException {
    ResultSetMetaData columns = rows.getMetaData();
    String[] names = new String[columns.getColumnCount()];
    for (int at = 0; at < names.length; at++) {
      names[at] = columns.getColumnLabel(at + 1) + ":" + columns.getColumnTypeName(at + 1);
    }
    print(out, "columns", names);
    while (rows.next()) {
      String[] values = new String[names.length];
      for (int at = 0; at < names.length; at++) values[at] = rows.getString(at + 1);
      print(out, "row", values);
    }
  }

  private static void print(PrintStream out, String kind, String... fields) {
    StringBuilder line = new StringBuilder(kind);
    for (String field : fields) {
      String escaped = String.valueOf(field).replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t");
      line.append('\t').append(escaped);
    }
    out.println(line);
  }
}
