// What pgjdbc does with the server: java -cp postgresql.jar JdbcCheck.java HOST:PORT
// The last line is "jdbc: all well"; anything else is a stack trace.
import java.io.*;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.postgresql.PGConnection;
import org.postgresql.copy.*;

public class JdbcCheck {
    static void expect(Object got, Object want, String what) {
        if (!Objects.equals(got, want))
            throw new AssertionError(what + ": got " + got + ", want " + want);
    }

    static Connection open(String address, String user, String password, String options) throws SQLException {
        Properties p = new Properties();
        p.setProperty("user", user);
        p.setProperty("password", password);
        return DriverManager.getConnection("jdbc:postgresql://" + address + "/qdb?sslmode=disable" + options, p);
    }

    static void refused(String address, String user, String password) throws SQLException {
        try (Connection c = open(address, user, password, "")) {
            throw new AssertionError("logged in");
        } catch (SQLException e) {
            expect(e.getSQLState(), "28P01", "state of a refused login");
        }
    }

    static void types(Connection c) throws SQLException {
        try (Statement st = c.createStatement()) {
            st.execute("drop table if exists jt");
            st.execute("create table jt (ts timestamp, bo boolean, sh short, i int, l long, f float, d double, s string, v varchar, sy symbol, u uuid)"
                    + " timestamp(ts) partition by day");
        }
        UUID uuid = UUID.fromString("11111111-2222-3333-4444-555555555555");
        Timestamp ts = Timestamp.from(Instant.parse("2024-03-01T09:00:00.123456Z"));
        Calendar utc = Calendar.getInstance(TimeZone.getTimeZone("UTC"));
        try (PreparedStatement ps = c.prepareStatement("insert into jt values (?,?,?,?,?,?,?,?,?,?,?)")) {
            for (int i = 0; i < 20; i++) {
                ps.setTimestamp(1, new Timestamp(ts.getTime() + i * 1000L), utc);
                ps.setBoolean(2, i % 2 == 0);
                ps.setShort(3, (short) -i);
                if (i == 7) {
                    ps.setNull(4, Types.INTEGER);
                    ps.setNull(5, Types.BIGINT);
                    ps.setNull(6, Types.REAL);
                    ps.setNull(7, Types.DOUBLE);
                    ps.setNull(8, Types.VARCHAR);
                    ps.setNull(9, Types.VARCHAR);
                    ps.setNull(10, Types.VARCHAR);
                    ps.setNull(11, Types.OTHER);
                } else {
                    ps.setInt(4, i);
                    ps.setLong(5, 10000000000L + i);
                    ps.setFloat(6, i + 0.5f);
                    ps.setDouble(7, i / 3.0);
                    ps.setString(8, "it's \"q\" \\ \u00fc");
                    ps.setString(9, "v" + i);
                    ps.setString(10, "sym" + i % 3);
                    ps.setObject(11, uuid);
                }
                expect(ps.executeUpdate(), 1, "rows of an insert");
            }
        }
        try (PreparedStatement ps = c.prepareStatement("select * from jt where i = ? or (? and sh = -7)")) {
            for (int turn = 0; turn < 12; turn++) { // the driver goes over to named statements and binary
                ps.setInt(1, 5);
                ps.setBoolean(2, false);
                try (ResultSet r = ps.executeQuery()) {
                    expect(r.next(), true, "a row");
                    expect(r.getBoolean("bo"), false, "boolean");
                    expect(r.getInt("sh"), -5, "short");
                    expect(r.getInt("i"), 5, "int");
                    expect(r.getLong("l"), 10000000005L, "long");
                    expect(r.getFloat("f"), 5.5f, "float");
                    expect(r.getDouble("d"), 5 / 3.0, "double");
                    expect(r.getString("s"), "it's \"q\" \\ \u00fc", "string");
                    expect(r.getString("v"), "v5", "varchar");
                    expect(r.getString("sy"), "sym2", "symbol");
                    expect(r.getObject("u"), uuid, "uuid");
                    expect(r.getObject("ts", LocalDateTime.class), LocalDateTime.parse("2024-03-01T09:00:05.123"), "timestamp");
                    expect(r.next(), false, "one row");
                }
            }
        }
        try (Statement st = c.createStatement(); ResultSet r = st.executeQuery("select i, l, f, d, s, v, sy, u from jt where sh = -7")) {
            expect(r.next(), true, "the row of nulls");
            for (int i = 1; i <= 8; i++)
                expect(r.getObject(i), null, "null in column " + i);
            ResultSetMetaData m = r.getMetaData();
            expect(m.getColumnName(1) + m.getColumnType(1) + " " + m.getColumnType(2), "i" + Types.INTEGER + " " + Types.BIGINT, "meta data");
        }
    }

    static void batch(Connection c) throws SQLException {
        try (Statement st = c.createStatement()) {
            st.execute("drop table if exists jb");
            st.execute("create table jb (a int, t varchar)");
        }
        try (PreparedStatement ps = c.prepareStatement("insert into jb values (?, ?)")) {
            for (int i = 0; i < 1000; i++) {
                ps.setInt(1, i);
                ps.setString(2, "t" + i);
                ps.addBatch();
            }
            int[] n = ps.executeBatch();
            expect(n.length, 1000, "batch");
        }
        try (Statement st = c.createStatement(); ResultSet r = st.executeQuery("select count(), sum(a) from jb")) {
            r.next();
            expect(r.getLong(1) + " " + r.getLong(2), "1000 499500", "sum of the batch");
        }
    }

    static void fetchSize(Connection c) throws SQLException {
        for (boolean auto : new boolean[] {true, false}) {
            c.setAutoCommit(auto);
            try (Statement st = c.createStatement()) {
                st.setFetchSize(100);
                long sum = 0;
                try (ResultSet r = st.executeQuery("select x from long_sequence(2500)")) {
                    while (r.next())
                        sum += r.getLong(1);
                }
                expect(sum, 2500L * 2501 / 2, "sum with fetch size, autocommit " + auto);
                st.setMaxRows(7);
                int n = 0;
                try (ResultSet r = st.executeQuery("select x from long_sequence(2500)")) {
                    while (r.next())
                        n++;
                }
                expect(n, 7, "maxRows");
            }
            if (!auto)
                c.commit();
        }
        c.setAutoCommit(true);
    }

    static void transactions(Connection c) throws SQLException {
        try (Statement st = c.createStatement()) {
            st.execute("drop table if exists jx");
            st.execute("create table jx (a int)");
            c.setAutoCommit(false);
            st.executeUpdate("insert into jx values (1)");
            c.rollback();
            st.executeUpdate("insert into jx values (2)");
            c.commit();
            try {
                st.executeQuery("select nope from jx");
                throw new AssertionError("no error");
            } catch (SQLException e) {
                expect(e.getSQLState(), "42703", "state of a missing column");
            }
            try {
                st.executeQuery("select 1");
                throw new AssertionError("no error");
            } catch (SQLException e) {
                expect(e.getSQLState(), "25P02", "state in a failed block");
            }
            c.rollback();
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            c.commit();
            c.setAutoCommit(true);
            c.setReadOnly(true);
            c.setReadOnly(false);
            try (ResultSet r = st.executeQuery("select a from jx")) {
                r.next();
                expect(r.getInt(1), 2, "what was committed");
                expect(r.next(), false, "one row");
            }
            expect(c.isValid(5), true, "isValid");
        }
    }

    static void copies(Connection c) throws Exception {
        try (Statement st = c.createStatement()) {
            st.execute("drop table if exists jc");
            st.execute("create table jc (ts timestamp, a int, b varchar) timestamp(ts) partition by day");
        }
        CopyManager copy = c.unwrap(PGConnection.class).getCopyAPI();
        expect(copy.copyIn("copy jc from stdin csv", new StringReader("2024-01-01,1,x\n2024-01-02,,\"y,z\"\n")), 2L, "copyIn");
        StringWriter out = new StringWriter();
        expect(copy.copyOut("copy (select a, b from jc) to stdout", out), 2L, "copyOut");
        expect(out.toString(), "1\tx\n\\N\ty,z\n", "what was copied out");
        try {
            copy.copyIn("copy jc from stdin", new StringReader("2024-01-01\tx\ty\n"));
            throw new AssertionError("no error");
        } catch (SQLException e) {
            expect(e.getSQLState(), "22P02", "state of a bad value");
        }
        CopyIn in = copy.copyIn("copy jc from stdin");
        in.cancelCopy();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        copy.copyOut("copy jc to stdout binary", bytes);
        expect(copy.copyIn("copy jc from stdin binary", new ByteArrayInputStream(bytes.toByteArray())), 2L, "binary");
        try (Statement st = c.createStatement(); ResultSet r = st.executeQuery("select count() from jc")) {
            r.next();
            expect(r.getLong(1), 4L, "rows");
        }
    }

    static void timeouts(Connection c) throws SQLException {
        try (Statement st = c.createStatement()) {
            st.setQueryTimeout(1);
            try {
                st.executeQuery("select sum(x % 7) from long_sequence(1000000000000)");
                throw new AssertionError("no time-out");
            } catch (SQLException e) {
                expect(e.getSQLState(), "57014", "state of a time-out");
            }
        }
        try (Statement st = c.createStatement()) {
            expect(st.execute("select 1; select 2"), true, "two results");
            expect(st.getMoreResults(), true, "the second result");
            expect(st.execute("set statement_timeout = 10000"), false, "set");
        }
    }

    public static void main(String[] args) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        refused(args[0], "admin", "wrong");
        refused(args[0], "nobody", "quest");
        for (String options : new String[] {"", "&prepareThreshold=1", "&prepareThreshold=0", "&preferQueryMode=simple", "&binaryTransfer=false"}) {
            System.out.println("options " + options);
            try (Connection c = open(args[0], "admin", "quest", options)) {
                if (!options.contains("simple")) { // texts for booleans, no fetch size
                    types(c);
                    fetchSize(c);
                }
                batch(c);
                transactions(c);
                copies(c);
                timeouts(c);
            }
        }
        System.out.println("jdbc: all well");
    }
}
