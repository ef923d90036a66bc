// The checks of the matrix over JDBC. Types.java has those of values. Connections come from a Harness.Source.
import static java.time.LocalDateTime.parse;

import java.io.*;
import java.sql.*;
import java.util.*;
import java.util.concurrent.atomic.AtomicReference;
import org.postgresql.PGConnection;
import org.postgresql.copy.*;
import org.postgresql.util.*;

final class Checks {
    static final String SLOW = "select sum(x % 7) from long_sequence(1000000000000)";
    private final Harness.Source source;
    private final String prefix;

    Checks(Harness.Source source, String prefix) {
        this.source = source;
        this.prefix = prefix;
    }

    /** All but "pool", which each program has of its own. */
    void runAll() {
        Types types = new Types(source, prefix);
        Harness.check("connect", this::connect);
        Harness.check("tls", this::tls);
        Harness.check("select", this::select);
        Harness.check("types", types::roundTrip);
        Harness.check("nulls", types::nulls);
        Harness.check("parameters", types::parameters);
        Harness.check("prepared", this::prepared);
        Harness.check("batch", this::batch);
        Harness.check("fetch", this::fetch);
        Harness.check("large", this::large);
        Harness.check("transaction", this::transaction);
        Harness.check("copy_in", this::copyIn);
        Harness.check("copy_out", this::copyOut);
        Harness.check("errors", this::errors);
        Harness.check("cancel", this::cancel);
        Harness.check("timeout", this::timeout);
        Harness.check("metadata", this::metadata);
        Harness.check("time_series", this::timeSeries);
    }

    private void connect() throws SQLException {
        try (Connection c = source.open()) {
            Harness.expect(c.getMetaData().getDatabaseProductName(), "PostgreSQL", "product");
            Harness.expect(c.getMetaData().getDatabaseProductVersion(), Harness.query(c, "show server_version"), "server_version");
            Harness.expect(c.isValid(5), true, "isValid");
        }
        Harness.refused("28P01", "a wrong password", () -> source.open("password", "wrong").close());
        Harness.refused("28P01", "an unknown user", () -> source.open("user", "nobody").close());
    }

    private void tls() throws SQLException {
        for (String mode : new String[] {"disable", "prefer", "require", "verify-ca", "verify-full"})
            for (String binding : new String[] {"prefer", mode.startsWith("verify") || mode.equals("require") ? "require" : "disable"})
                try (Connection c = source.open("sslmode", mode, "channelBinding", binding)) {
                    Harness.expect(Harness.query(c, "select sum(x) from long_sequence(1000)"), "500500", mode);
                }
        // the authorities of the JVM know nothing of the server's: without TLS this would connect
        Harness.refused("08006", "an unknown authority", () -> source.open("sslmode", "verify-full", "sslfactory", "org.postgresql.ssl.DefaultJavaSSLFactory").close());
    }

    private void select() throws SQLException {
        for (String mode : new String[] {"extended", "simple"})
            try (Connection c = source.open("preferQueryMode", mode); Statement st = c.createStatement()) {
                try (ResultSet r = st.executeQuery("select 1 a, 'it''s \u00fc' b, null c, 1.5 d, true e")) {
                    ResultSetMetaData m = r.getMetaData();
                    Harness.expect(m.getColumnCount() + m.getColumnName(1) + m.getColumnLabel(5), "5ae", "columns");
                    Harness.expect(Harness.rows(r), "1|it's \u00fc|null|1.5|t", "a row");
                }
                Harness.expect(st.execute("select 1; select 2"), true, "two results");
                Harness.expect(st.getMoreResults(), true, "the second result");
                try (ResultSet r = st.getResultSet()) {
                    Harness.expect(Harness.rows(r), "2", "the second result");
                }
                try (ResultSet r = st.executeQuery("select x from long_sequence(0)")) {
                    Harness.expect(r.next(), false, "no rows");
                }
                Harness.expect(st.execute(""), false, "an empty statement");
            }
    }

    private void prepared() throws SQLException {
        String t = prefix + "prep";
        for (String threshold : new String[] {"1", "5"}) {
            try (Connection c = source.open("prepareThreshold", threshold)) {
                Harness.run(c, "drop table if exists " + t, "create table " + t + " (a int, b varchar)", "insert into " + t + " values (1, 'x'), (2, 'y')");
                try (PreparedStatement some = c.prepareStatement("select b from " + t + " where a = ?"); PreparedStatement all = c.prepareStatement("select * from " + t + " where a = ?")) {
                    for (int i = 0; i < 100; i++) {
                        Harness.expect(one(some, 1 + i % 2), i % 2 == 0 ? "x" : "y", "turn " + i);
                        Harness.expect(one(all, 1), "1|x", "turn " + i);
                    }
                    alter(t, "z");
                    Harness.expect(one(some, 3), "z", "the same shape after ALTER TABLE");
                    for (int i = 0; i < 10; i++) // the driver sees the error, prepares anew and says nothing
                        Harness.expect(one(all, 3), "3|z|z", "another shape");
                    Harness.run(c, "drop table " + t, "create table " + t + " (a int, b varchar)", "insert into " + t + " values (1, 'new')");
                    Harness.expect(one(some, 1), "new", "a new table of the same shape");
                }
                Harness.run(c, "deallocate all");
                Harness.expect(Harness.query(c, "select b from " + t + " where a = ?", 1), "new", "after DEALLOCATE ALL");
            }
            inBlock(t, threshold);
        }
        try (Connection c = source.open("prepareThreshold", "1", "preparedStatementCacheQueries", "3")) { // statements are closed as others come
            for (int i = 0; i < 200; i++)
                Harness.expect(Harness.query(c, "select ?::int + " + i % 20, 1), String.valueOf(1 + i % 20), "with a small cache");
        }
    }

    /** A column more, by another connection: of its own changes the driver knows. */
    private void alter(String t, String column) throws SQLException {
        try (Connection other = source.open()) {
            Harness.run(other, "alter table " + t + " add column " + column + " varchar", "insert into " + t + " values (3, 'z', 'z')");
        }
    }

    /** In a block nothing can be tried again: the error reaches the caller. A pool may drop the connection then. */
    private void inBlock(String t, String threshold) throws SQLException {
        try (Connection c = source.open("prepareThreshold", threshold); PreparedStatement all = c.prepareStatement("select * from " + t + " where a = ?")) {
            for (int i = 0; i < 10; i++)
                Harness.expect(one(all, 1), "1|new", "turn " + i);
            alter(t, "z");
            c.setAutoCommit(false);
            SQLException e = Harness.refused("0A000", "another shape in a block", () -> one(all, 3));
            Harness.expect(e.getMessage().contains("cached plan must not change result type"), true, e.getMessage());
            if (!c.isClosed()) {
                c.rollback();
                Harness.expect(one(all, 3), "3|z|z", "after the error");
                c.commit();
            }
        }
    }

    private static String one(PreparedStatement ps, int value) throws SQLException {
        ps.setInt(1, value);
        try (ResultSet r = ps.executeQuery()) {
            return Harness.rows(r);
        }
    }

    private void batch() throws SQLException {
        String t = prefix + "batch";
        for (String rewrite : new String[] {"false", "true"})
            for (boolean auto : new boolean[] {true, false})
                try (Connection c = source.open("reWriteBatchedInserts", rewrite)) {
                    Harness.run(c, "drop table if exists " + t, "create table " + t + " (ts timestamp, a int, s varchar) timestamp(ts) partition by day");
                    c.setAutoCommit(auto);
                    int[] counts = insert(c, t, 1000, -1);
                    Harness.expect(counts.length, 1000, "counts");
                    Harness.expect(counts[7] == (rewrite.equals("true") ? Statement.SUCCESS_NO_INFO : 1), true, "a count: " + counts[7]);
                    if (!auto)
                        c.commit();
                    Harness.expect(Harness.query(c, "select count(), sum(a), max(s) from " + t), "1000|499500|t999", "rows of a batch");
                    Harness.refused("22P02", "an error in the middle", () -> insert(c, t, 1000, 500));
                    if (!auto)
                        c.rollback();
                    // With autocommit the driver ends a transaction every few hundred statements, so that those before may stay.
                    long left = Long.parseLong(Harness.query(c, "select count() from " + t)) - 1000;
                    Harness.expect(auto ? left < 500 : left == 0, true, "rows of a failed batch: " + left);
                    Harness.refused("22P02", "an error in a batch of one transaction", () -> insert(c, t, 100, 50));
                    if (!auto)
                        c.rollback();
                    Harness.expect(Harness.query(c, "select count() from " + t), String.valueOf(1000 + left), "nothing of a batch that failed");
                    c.setAutoCommit(true);
                    try (Statement st = c.createStatement()) {
                        st.addBatch("insert into " + t + " values ('2024-02-01', 1, 'x')");
                        st.addBatch("update " + t + " set s = 'y' where s = 'x'");
                        Harness.expect(st.executeBatch(), new int[] {1, 1}, "a batch of texts");
                    }
                }
    }

    /** A batch of n rows; the one numbered bad has a text that is no number. */
    private static int[] insert(Connection c, String t, int n, int bad) throws SQLException {
        try (PreparedStatement ps = c.prepareStatement("insert into " + t + " values (?, ?, ?)")) {
            for (int i = 0; i < n; i++) {
                ps.setObject(1, parse("2024-01-01T00:00:00").plusMinutes(i));
                if (i == bad)
                    ps.setString(2, "no number");
                else
                    ps.setInt(2, i);
                ps.setString(3, "t" + i);
                ps.addBatch();
            }
            return ps.executeBatch();
        }
    }

    /** The program runs with a heap that cannot hold the million rows. */
    private void fetch() throws SQLException {
        long heap = Runtime.getRuntime().maxMemory();
        Harness.expect(heap <= 128 << 20, true, "the heap is bounded: " + heap);
        for (int size : new int[] {1000, 50000})
            try (Connection c = source.open()) {
                c.setAutoCommit(false);
                try (PreparedStatement ps = c.prepareStatement("select x, 'row ' || x, x * 0.5 from long_sequence(?)")) {
                    ps.setFetchSize(size);
                    ps.setLong(1, 1000000);
                    long sum = 0;
                    try (ResultSet r = ps.executeQuery()) {
                        while (r.next())
                            sum += r.getLong(1) + r.getString(2).length();
                    }
                    Harness.expect(sum, 500000500000L + 4 * 1000000 + 5888896, "sum with fetch size " + size);
                }
                c.commit();
            }
        try (Connection c = source.open("defaultRowFetchSize", "100"); Statement st = c.createStatement()) {
            c.setAutoCommit(false);
            st.setMaxRows(250);
            try (ResultSet r = st.executeQuery("select x from long_sequence(1000)"); Statement other = c.createStatement();
                 ResultSet beside = other.executeQuery("select x from long_sequence(1000)")) {
                int n = 0;
                while (r.next()) {
                    n++;
                    beside.next();
                    Harness.expect(beside.getLong(1), r.getLong(1), "two results side by side");
                }
                Harness.expect(n, 250, "maxRows");
            }
            c.rollback();
        }
        cursorByName();
    }

    private void cursorByName() throws SQLException {
        try (Connection c = source.open()) {
            c.setAutoCommit(false);
            Harness.run(c, "declare cur cursor for select x from long_sequence(10)");
            Harness.expect(Harness.query(c, "fetch 2 from cur") + " " + Harness.query(c, "fetch forward 1 from cur"), "1; 2 3", "FETCH");
            Harness.run(c, "close cur");
            c.commit();
        }
    }

    private void large() throws SQLException {
        String t = prefix + "large";
        String text = "\u00fc0123456789abcdef".repeat(2 * 1024 * 1024 / 18 + 1);
        byte[] bytes = new byte[2 * 1024 * 1024];
        new Random(1).nextBytes(bytes);
        try (Connection c = source.open()) {
            Harness.run(c, "drop table if exists " + t, "create table " + t + " (v varchar, s string, b binary)");
            try (PreparedStatement ps = c.prepareStatement("insert into " + t + " values (?, ?, ?)")) {
                ps.setString(1, text);
                ps.setString(2, text);
                ps.setBytes(3, bytes);
                ps.executeUpdate();
            }
            try (PreparedStatement ps = c.prepareStatement("select v, s, b from " + t); ResultSet r = ps.executeQuery()) {
                r.next();
                Harness.expect(r.getString(1).equals(text) && r.getString(2).equals(text), true, "a text of 2 MiB");
                Harness.expect(Arrays.equals(r.getBytes(3), bytes), true, "2 MiB of bytes");
            }
            try (Statement st = c.createStatement(); ResultSet r = st.executeQuery("select x, x::varchar, x * 0.5 from long_sequence(100000)")) {
                long n = 0, sum = 0;
                for (; r.next(); n++)
                    sum += r.getLong(1) + Long.parseLong(r.getString(2)) + (long) (2 * r.getDouble(3));
                Harness.expect(n + " " + sum, "100000 15000150000", "100,000 rows");
            }
        }
    }

    private void transaction() throws SQLException {
        for (String mode : new String[] {"extended", "simple"})
            transaction(mode);
    }

    private void transaction(String mode) throws SQLException {
        String t = prefix + "tx";
        try (Connection c = source.open("preferQueryMode", mode); Connection other = source.open()) {
            Harness.run(c, "drop table if exists " + t, "create table " + t + " (a int)");
            String all = "select a from " + t + " order by a";
            c.setAutoCommit(false);
            Harness.run(c, "insert into " + t + " values (1)");
            Harness.expect(Harness.query(c, all) + "," + Harness.query(other, all), "1,", "seen by its own transaction alone");
            c.rollback();
            Harness.run(c, "insert into " + t + " values (2)");
            c.commit();
            Harness.expect(Harness.query(other, all), "2", "after commit");
            Harness.run(c, "insert into " + t + " values (3)");
            Savepoint point = c.setSavepoint("s\u00fc 1");
            Harness.run(c, "insert into " + t + " values (4)");
            c.rollback(point);
            Savepoint second = c.setSavepoint();
            Harness.run(c, "insert into " + t + " values (5)");
            c.releaseSavepoint(second);
            c.commit();
            Harness.expect(Harness.query(other, all), "2; 3; 5", "savepoints");
            failedBlock(c, t, all);
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            c.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            c.setAutoCommit(true);
            c.setReadOnly(true);
            c.setReadOnly(false);
        }
        try (Connection c = source.open("autosave", "always", "preferQueryMode", mode)) { // a savepoint before each statement
            c.setAutoCommit(false);
            Harness.run(c, "insert into " + t + " values (6)");
            Harness.refused("42703", "a bad statement", () -> Harness.query(c, "select nope from " + t));
            Harness.run(c, "insert into " + t + " values (7)");
            c.commit();
            Harness.expect(Harness.query(c, "select a from " + t + " where a > 5 order by a"), "6; 7", "autosave");
        }
    }

    private static void failedBlock(Connection c, String t, String all) throws SQLException {
        Harness.run(c, "insert into " + t + " values (8)");
        Harness.refused("42703", "a bad statement", () -> Harness.query(c, "select nope from " + t));
        Harness.refused("25P02", "a failed block", () -> Harness.query(c, "select 1"));
        c.commit(); // other versions of the driver tell of the answer ROLLBACK
        Harness.expect(Harness.query(c, all), "2; 3; 5", "COMMIT of a failed block is a rollback");
        c.commit();
    }

    private CopyManager copyTable(Connection c, String t) throws SQLException {
        Harness.run(c, "drop table if exists " + t, "create table " + t + " (ts timestamp, a int, b varchar) timestamp(ts) partition by day");
        return c.unwrap(PGConnection.class).getCopyAPI();
    }

    private void copyIn() throws Exception {
        String t = prefix + "copy_in";
        try (Connection c = source.open()) {
            CopyManager copy = copyTable(c, t);
            Harness.expect(copy.copyIn("copy " + t + " from stdin csv", new StringReader("2024-01-01,1,x\n2024-01-02,,\"y,z\"\n")), 2L, "rows of CSV");
            Harness.expect(copy.copyIn("copy " + t + " (ts, b) from stdin", new StringReader("2024-01-03\t\u00fc\\t\n")), 1L, "rows of text");
            Harness.expect(Harness.query(c, "select a, b from " + t), "1|x; null|y,z; null|\u00fc\t", "rows copied");
            SQLException e = Harness.refused("22P02", "a bad value", () -> {
                try {
                    copy.copyIn("copy " + t + " from stdin", new StringReader("2024-01-04\t1\tx\n2024-01-04\tx\ty\n"));
                } catch (IOException no) {
                    throw new SQLException(no);
                }
            });
            Harness.expect(e.getMessage().contains("line 2"), true, "the line of the error: " + e.getMessage());
            CopyIn by = copy.copyIn("copy " + t + " from stdin csv header");
            byte[] head = "ts,a,b\n".getBytes();
            by.writeToCopy(head, 0, head.length);
            for (int i = 0; i < 50000; i++) {
                byte[] row = ("2024-01-05T00:00:00," + i + ",many\n").getBytes();
                by.writeToCopy(row, 0, row.length);
            }
            Harness.expect(by.endCopy(), 50000L, "many rows");
            CopyIn dropped = copy.copyIn("copy " + t + " from stdin");
            byte[] row = "2024-01-06\t1\tgone\n".getBytes();
            dropped.writeToCopy(row, 0, row.length);
            dropped.cancelCopy();
            Harness.expect(Harness.query(c, "select count(), sum(a) from " + t), "50003|1249975001", "rows after all");
        }
    }

    private void copyOut() throws Exception {
        String t = prefix + "copy_out";
        try (Connection c = source.open()) {
            CopyManager copy = copyTable(c, t);
            Harness.run(c, "insert into " + t + " values ('2024-01-01', 1, 'x'), ('2024-01-02', null, 'y,\"z\"')");
            StringWriter text = new StringWriter();
            Harness.expect(copy.copyOut("copy (select a, b from " + t + ") to stdout", text), 2L, "rows of text");
            Harness.expect(text.toString(), "1\tx\n\\N\ty,\"z\"\n", "text");
            StringWriter csv = new StringWriter();
            copy.copyOut("copy " + t + " (a, b) to stdout with (format csv, header)", csv);
            Harness.expect(csv.toString(), "a,b\n1,x\n,\"y,\"\"z\"\"\"\n", "CSV");
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            copy.copyOut("copy " + t + " to stdout binary", bytes);
            Harness.expect(copy.copyIn("copy " + t + " from stdin binary", new ByteArrayInputStream(bytes.toByteArray())), 2L, "binary, back in");
            PGCopyInputStream in = new PGCopyInputStream(c.unwrap(PGConnection.class), "copy (select x from long_sequence(200000)) to stdout");
            long lines = 0;
            for (int b; (b = in.read()) >= 0;)
                lines += b == '\n' ? 1 : 0;
            Harness.expect(lines, 200000L, "many rows");
            CopyOut dropped = copy.copyOut("copy (select x from long_sequence(100000000)) to stdout");
            dropped.readFromCopy();
            c.unwrap(PGConnection.class).cancelQuery();
            Harness.refused("57014", "a copy that is cancelled", () -> {
                while (dropped.readFromCopy() != null)
                    continue;
            });
            Harness.expect(Harness.query(c, "select count() from " + t), "4", "the connection is usable");
        }
    }

    private void errors() throws SQLException {
        String[][] cases = {
            {"select 1 +", "42601", null}, {"create tabel x (a int)", "42601", "8"}, {"select '\u00fc', from from x", "42601", null}, {"select * from " + prefix + "nope", "42P01", "15"},
            {"select 'it''s \u00fc', nope from long_sequence(1)", "42703", "19"}, {"select cast('x1' as uuid)", "22P02", "13"},
            {"select nofunction(1)", "42883", "8"}, {"insert into " + prefix + "err values ('x', 1)", "22P02", null}, {"create table " + prefix + "err (a int)", "42P07", null},
        };
        for (String mode : new String[] {"extended", "simple"})
            try (Connection c = source.open("preferQueryMode", mode)) {
                Harness.run(c, "drop table if exists " + prefix + "err", "create table " + prefix + "err (a int, b int)");
                for (String[] one : cases) {
                    SQLException e = Harness.refused(one[1], one[0], () -> Harness.run(c, one[0]));
                    ServerErrorMessage m = ((PSQLException) e).getServerErrorMessage();
                    Harness.expect(m.getSeverity(), "ERROR", one[0]);
                    if (one[2] != null)
                        Harness.expect(String.valueOf(m.getPosition()), one[2], "position in " + one[0]);
                    else
                        Harness.expect(m.getPosition() > 0, true, "position in " + one[0]);
                }
                Harness.expect(Harness.query(c, "select 1"), "1", "after the errors");
                try (Statement st = c.createStatement()) {
                    st.execute("begin");
                    st.execute("begin");
                    Harness.expect(st.getWarnings().getSQLState(), "25001", "a warning");
                    st.execute("rollback");
                }
            }
    }

    private void cancel() throws Exception {
        try (Connection c = source.open(); Statement st = c.createStatement()) {
            for (int turn = 0; turn < 3; turn++) {
                Thread by = new Thread(() -> {
                    try {
                        Thread.sleep(200);
                        st.cancel();
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }
                });
                by.start();
                Harness.refused("57014", "a cancelled query", () -> st.executeQuery(SLOW));
                by.join();
                Harness.expect(Harness.query(c, "select 1"), "1", "after the cancel");
            }
            st.setQueryTimeout(1); // the driver cancels by itself
            Harness.refused("57014", "setQueryTimeout", () -> st.executeQuery(SLOW));
            Harness.expect(Harness.query(c, "select 1"), "1", "after the time-out");
        }
    }

    private void timeout() throws SQLException {
        try (Connection c = source.open()) {
            Harness.run(c, "set statement_timeout = 200");
            Harness.refused("57014", "SET statement_timeout", () -> Harness.query(c, SLOW));
            Harness.run(c, "set statement_timeout = '1min'");
            Harness.expect(Harness.query(c, "show statement_timeout"), "1min", "SHOW");
            Harness.run(c, "reset statement_timeout");
        }
        try (Connection c = source.open("options", "-c statement_timeout=200")) {
            Harness.refused("57014", "statement_timeout at the start", () -> Harness.query(c, SLOW));
            Harness.expect(Harness.query(c, "select 1"), "1", "after the time-out");
        }
    }

    private void metadata() throws SQLException {
        String t = prefix + "meta";
        try (Connection c = source.open()) {
            Harness.run(c, "drop view if exists " + t + "_v", "drop materialized view if exists " + t + "_m", "drop table if exists " + t,
                        "create table " + t + " (symbol symbol index, price double, n long, d decimal(10,2), a double[], u uuid, c char, ts timestamp) timestamp(ts) partition by day",
                        "insert into " + t + " values ('a', 1.5, 1, 1.25m, array[1.0, 2.0], null, 'x', '2024-01-01')", "create view " + t + "_v as (select symbol, price from " + t + ")",
                        "create materialized view " + t + "_m as (select ts, sum(price) p from " + t + " sample by 1h)");
        }
        for (String mode : new String[] {"extended", "simple"})
            try (Connection c = source.open("preferQueryMode", mode)) {
                new Metadata(c, t).check();
            }
    }

    private void timeSeries() throws SQLException {
        String t = prefix + "trades", q = prefix + "quotes";
        try (Connection c = source.open("prepareThreshold", "2")) {
            Harness.run(c, "drop table if exists " + t, "drop table if exists " + q,
                        "create table " + t + " (ts timestamp, sym symbol, price double) timestamp(ts) partition by day",
                        "create table " + q + " (ts timestamp, sym symbol, bid double) timestamp(ts) partition by day",
                        "insert into " + t + " select timestamp_sequence('2024-01-01', 60000000), case when x % 2 = 0 then 'A' else 'B' end, x::double from long_sequence(240)",
                        "insert into " + q + " select timestamp_sequence('2024-01-01', 600000000), 'A', x * 10.0 from long_sequence(24)");
            for (int turn = 0; turn < 4; turn++) {
                Harness.expect(Harness.query(c, "select ts, sum(price), count() from " + t + " where ts >= ? and ts < ? and sym = ? sample by 1h", parse("2024-01-01T01:00:00"), parse("2024-01-01T03:00:00"), "A"),
                               "2024-01-01T01:00|2730.0|30; 2024-01-01T02:00|4530.0|30", "SAMPLE BY");
                Harness.expect(Harness.query(c, "select sym, price from " + t + " where sym in (?, ?) and ts < ? latest on ts partition by sym order by sym", "A", "B", parse("2024-01-01T00:10:00")),
                               "A|10.0; B|9.0", "LATEST ON");
                Harness.expect(Harness.query(c, "select t.ts, t.price, q.bid from " + t + " t asof join " + q + " q on (sym) where t.sym = ? and t.ts > ? limit ?", "A", parse("2024-01-01T00:15:00"), 2),
                               "2024-01-01T00:17|18.0|20.0; 2024-01-01T00:19|20.0|20.0", "ASOF JOIN");
            }
        }
    }
}
