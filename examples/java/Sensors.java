// Sensor readings with pgjdbc: a table, a batch of rows, time buckets, a large result in pieces, an error.
//
//     mvn -q dependency:copy-dependencies -DoutputDirectory=jars
//     java -cp 'jars/*' Sensors.java
import java.sql.*;
import java.time.LocalDateTime;
import java.util.TimeZone;
import org.postgresql.util.PSQLException;

public class Sensors {
    static String env(String name, String other) {
        String value = System.getenv(name);
        return value == null ? other : value;
    }

    // Without reWriteBatchedInserts a batch is one INSERT for each row, sent together.
    static void insert(Connection conn, LocalDateTime start) throws SQLException {
        conn.setAutoCommit(false); // one commit for all rows
        try (PreparedStatement insert = conn.prepareStatement("INSERT INTO java_sensors VALUES (?, ?, ?)")) {
            for (int i = 0; i < 3600; i++) {
                insert.setObject(1, start.plusSeconds(i));
                insert.setString(2, "s" + i % 2);
                insert.setDouble(3, 20 + i % 10);
                insert.addBatch();
            }
            System.out.println("inserted " + insert.executeBatch().length + " rows");
        }
        conn.commit();
    }

    static void buckets(Connection conn, LocalDateTime start) throws SQLException {
        String sql = "SELECT ts, count() AS n, avg(temperature) AS mean FROM java_sensors WHERE sensor = ? AND ts >= ? SAMPLE BY 15m";
        try (PreparedStatement query = conn.prepareStatement(sql)) {
            query.setString(1, "s1");
            query.setObject(2, start);
            try (ResultSet rows = query.executeQuery()) {
                while (rows.next())
                    System.out.println(rows.getObject("ts", LocalDateTime.class) + " " + rows.getLong("n") + " " + rows.getDouble("mean"));
            }
        }
    }

    // A large result in pieces: with a fetch size, and outside of autocommit, 10,000 rows at a time are in memory.
    static void large(Connection conn) throws SQLException {
        long sum = 0;
        try (Statement query = conn.createStatement()) {
            query.setFetchSize(10_000);
            try (ResultSet rows = query.executeQuery("SELECT x FROM long_sequence(1000000)")) {
                while (rows.next())
                    sum += rows.getLong(1);
            }
        }
        conn.commit();
        System.out.println("sum of a million rows: " + sum);
    }

    public static void main(String[] args) throws SQLException {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC")); // a TIMESTAMP is UTC; without this the driver takes it for local time
        String url = "jdbc:postgresql://" + env("PGHOST", "127.0.0.1") + ":" + env("PGPORT", "8812") + "/" + env("PGDATABASE", "qdb");
        LocalDateTime start = LocalDateTime.of(2026, 1, 6, 10, 0);
        try (Connection conn = DriverManager.getConnection(url, env("PGUSER", "admin"), env("PGPASSWORD", "quest")); Statement st = conn.createStatement()) {
            st.execute("DROP TABLE IF EXISTS java_sensors");
            st.execute("CREATE TABLE java_sensors (ts TIMESTAMP, sensor SYMBOL, temperature DOUBLE) TIMESTAMP(ts) PARTITION BY DAY");
            insert(conn, start);
            buckets(conn, start);
            large(conn);
            conn.setAutoCommit(true);
            // An error has an SQLSTATE and, where the statement is at fault, a position. The connection goes on.
            try {
                st.executeQuery("SELECT nope FROM java_sensors");
            } catch (PSQLException e) {
                System.out.println(e.getSQLState() + " " + e.getServerErrorMessage().getMessage() + " at " + e.getServerErrorMessage().getPosition());
            }
            st.execute("DROP TABLE java_sensors");
        }
    }
}
