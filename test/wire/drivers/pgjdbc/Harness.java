// Runs checks and prints a line of each: "ok CHECK", "fail CHECK: reason" or "none CHECK: reason".
import java.sql.*;
import java.util.*;

final class Harness {
    interface Body { void run() throws Exception; }

    interface Call { void run() throws SQLException; }

    /** Connections by the driver's own means, with properties besides those of the environment. */
    interface Source { Connection open(String... properties) throws SQLException; }

    @SuppressWarnings("serial")
    static final class None extends RuntimeException {
        None(String reason) { super(reason); }
    }

    /** Names of checks on the command line: these alone. */
    static Set<String> wanted = Set.of();

    static void check(String name, Body body) {
        if (!wanted.isEmpty() && !wanted.contains(name))
            return;
        long start = System.nanoTime();
        try {
            body.run();
            System.out.println("ok " + name);
            System.err.printf("%s: %d ms%n", name, (System.nanoTime() - start) / 1000000);
        } catch (None e) {
            System.out.println("none " + name + ": " + e.getMessage());
        } catch (Throwable e) {
            System.out.println("fail " + name + ": " + reason(e));
        }
    }

    /** The error and its causes, and where in these programs it happened, on one line. */
    static String reason(Throwable e) {
        StringBuilder text = new StringBuilder();
        for (Throwable t = e; t != null; t = t.getCause()) {
            text.append(t == e ? "" : " < ").append(t);
            for (StackTraceElement at : t.getStackTrace())
                if (at.getFileName() != null && at.getFileName().matches("(Checks|Types|Pgjdbc|Hikari)\\.java")) {
                    text.append(" at ").append(at.getFileName()).append(':').append(at.getLineNumber());
                    break;
                }
        }
        return text.toString().replace('\n', ' ');
    }

    static void expect(Object got, Object want, String what) {
        if (!Objects.deepEquals(got, want))
            throw new AssertionError(what + ": got " + show(got) + ", want " + show(want));
    }

    static String show(Object x) {
        return x instanceof Object[] ? Arrays.deepToString((Object[]) x) : x instanceof byte[] ? Arrays.toString((byte[]) x) : String.valueOf(x);
    }

    /** The call must fail with this SQLSTATE; the error. */
    static SQLException refused(String state, String what, Call call) {
        try {
            call.run();
        } catch (SQLException e) {
            SQLException first = e instanceof BatchUpdateException && e.getNextException() != null ? e.getNextException() : e;
            expect(first.getSQLState(), state, what + " (" + first.getMessage() + ")");
            return first;
        }
        throw new AssertionError(what + ": no error, want " + state);
    }

    static void run(Connection c, String... statements) throws SQLException {
        try (Statement st = c.createStatement()) {
            for (String sql : statements)
                st.execute(sql);
        }
    }

    /** All rows as texts, "a|b; c|d", those of times and floating numbers the same however they came. */
    static String rows(ResultSet r) throws SQLException {
        StringJoiner all = new StringJoiner("; ");
        ResultSetMetaData m = r.getMetaData();
        while (r.next()) {
            StringJoiner row = new StringJoiner("|");
            for (int i = 1; i <= m.getColumnCount(); i++)
                row.add(switch (m.getColumnType(i)) {
                    case java.sql.Types.TIMESTAMP -> String.valueOf(r.getObject(i, java.time.LocalDateTime.class));
                    case java.sql.Types.DOUBLE, java.sql.Types.REAL -> String.valueOf(r.getObject(i));
                    default -> r.getString(i);
                });
            all.add(row.toString());
        }
        return all.toString();
    }

    /** The same of a query; parameters are bound by setObject. */
    static String query(Connection c, String sql, Object... values) throws SQLException {
        try (PreparedStatement ps = c.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++)
                ps.setObject(i + 1, values[i]);
            try (ResultSet r = ps.executeQuery()) {
                return rows(r);
            }
        }
    }

    private Harness() {}
}
