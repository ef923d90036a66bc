// The checks of values: every type of the server both ways, null in each, parameters.
import java.math.BigDecimal;
import java.sql.*;
import java.sql.Date;
import java.time.*;
import java.util.*;

final class Types {
    /** A column, what is bound for it in each row, and the class that the driver reads it as. */
    private record Column(String name, String type, Class<?> as, Object... values) {}

    private static byte[] everyByte() {
        byte[] all = new byte[256];
        for (int i = 0; i < all.length; i++)
            all[i] = (byte) i;
        return all;
    }

    private static final String QUOTES = "it's \"q\" \\ \u00fc \u6f22\u5b57 \ud83d\ude00 $1 ? -- /*";
    private static final Column[] COLUMNS = {
        new Column("bo", "boolean", Boolean.class, true, false, true),
        new Column("b", "byte", Integer.class, (byte) 7, (byte) -128, (byte) 127),
        new Column("sh", "short", Integer.class, (short) -7, Short.MIN_VALUE, Short.MAX_VALUE),
        new Column("i", "int", Integer.class, 12, Integer.MIN_VALUE + 1, Integer.MAX_VALUE),
        new Column("l", "long", Long.class, 1L << 40, Long.MIN_VALUE + 1, Long.MAX_VALUE),
        new Column("f", "float", Float.class, 0.1f, -Float.MAX_VALUE, Float.MIN_VALUE),
        new Column("d", "double", Double.class, 0.1, -Double.MAX_VALUE, Double.MIN_VALUE),
        new Column("c", "char", String.class, "x", "\u00fc", "\u6f22"),
        new Column("s", "string", String.class, QUOTES, "", "a\nb\tc"),
        new Column("v", "varchar", String.class, QUOTES, "", "a\nb\tc"),
        new Column("sy", "symbol", String.class, QUOTES, "", "a\nb\tc"),
        new Column("da", "date", LocalDateTime.class, LocalDateTime.parse("2024-01-02T03:04:05.123"), LocalDateTime.parse("1969-12-31T23:59:59.999"),
                   LocalDateTime.parse("0001-01-01T00:00:00")),
        new Column("ts", "timestamp", LocalDateTime.class, LocalDateTime.parse("2024-03-01T09:00:00.123456"), LocalDateTime.parse("1969-07-20T20:17:40.000001"),
                   LocalDateTime.parse("9999-12-31T23:59:59.999999")),
        new Column("ns", "timestamp_ns", LocalDateTime.class, LocalDateTime.parse("2024-03-01T09:00:00.123456"), LocalDateTime.parse("1969-07-20T20:17:40.000001"),
                   LocalDateTime.parse("2262-01-01T00:00:00.999999")),
        new Column("u", "uuid", UUID.class, UUID.fromString("11111111-2222-3333-4444-555555555555"), UUID.fromString("ffffffff-ffff-ffff-ffff-ffffffffffff"),
                   new UUID(0, 1)),
        new Column("ip", "ipv4", String.class, "192.168.0.1", "0.0.0.1", "255.255.255.255"),
        new Column("w", "long256", String.class, "0xff", "0x01", "0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"),
        new Column("g", "geohash(5c)", String.class, "u33db", "00000", "zzzzz"),
        new Column("gb", "geohash(7b)", String.class, "0110101", "0000000", "1111111"),
        new Column("de", "decimal(20,4)", BigDecimal.class, new BigDecimal("12.5000"), new BigDecimal("-9999999999999999.9999"), new BigDecimal("0.0001")),
        new Column("dw", "decimal(76,10)", BigDecimal.class, new BigDecimal("0E-10"), new BigDecimal("-" + "9".repeat(66) + "." + "9".repeat(10)),
                   new BigDecimal("9".repeat(66) + "." + "9".repeat(10))),
        new Column("bi", "binary", byte[].class, new byte[] {0, 1, (byte) 255, 39, 92}, new byte[0], everyByte()),
        new Column("a", "double[]", Double[].class, new Double[] {1.5, null, -2.0}, new Double[0], new Double[] {Double.MAX_VALUE}),
        new Column("m", "double[][]", Double[][].class, new Double[][] {{1.0, 2.0}, {null, 4.0}}, new Double[][] {{7.0}}, new Double[][] {{1.0}, {2.0}, {3.0}}),
    };

    private final Harness.Source source;
    private final String table;

    Types(Harness.Source source, String prefix) {
        this.source = source;
        this.table = prefix + "types";
    }

    /** How a driver can send and read values: text and binary, named statements and none. */
    static final String[][] WAYS = {
        {}, {"prepareThreshold", "1"}, {"prepareThreshold", "-1"}, {"prepareThreshold", "0"}, {"binaryTransfer", "false"},
        {"stringtype", "unspecified"}, {"preferQueryMode", "extendedForPrepared"}, {"preferQueryMode", "extendedCacheEverything"},
    };

    private String insert() {
        return "insert into " + table + " values (?" + ",?".repeat(COLUMNS.length) + ")";
    }

    private void create(Connection c) throws SQLException {
        StringBuilder sql = new StringBuilder("create table " + table + " (n int");
        for (Column column : COLUMNS)
            sql.append(", ").append(column.name).append(' ').append(column.type);
        Harness.run(c, "drop table if exists " + table, sql.append(')').toString());
    }

    private static void bind(Connection c, PreparedStatement ps, int at, Object value) throws SQLException {
        if (value instanceof Double[] || value instanceof Double[][])
            ps.setArray(at, c.createArrayOf("float8", (Object[]) value));
        else
            ps.setObject(at, value);
    }

    private static Object read(ResultSet r, Column column) throws SQLException {
        if (column.as == Double[].class || column.as == Double[][].class)
            return r.getArray(column.name) == null ? null : r.getArray(column.name).getArray();
        Object value = column.as == LocalDateTime.class ? r.getObject(column.name, LocalDateTime.class) : r.getObject(column.name);
        if (value != null && column.as != byte[].class)
            Harness.expect(value.getClass(), column.as, "class of " + column.type);
        return value;
    }

    private static Object widened(Object value) {
        return value instanceof Byte || value instanceof Short ? Integer.valueOf(((Number) value).intValue()) : value;
    }

    void roundTrip() throws Exception {
        for (String[] way : WAYS)
            try (Connection c = source.open(way)) {
                create(c);
                try (PreparedStatement ps = c.prepareStatement(insert())) {
                    for (int row = 0; row < 3; row++) {
                        ps.setInt(1, row);
                        for (int i = 0; i < COLUMNS.length; i++)
                            bind(c, ps, i + 2, COLUMNS[i].values[row]);
                        Harness.expect(ps.executeUpdate(), 1, "rows of an insert");
                    }
                }
                try (PreparedStatement ps = c.prepareStatement("select * from " + table + " order by n")) {
                    for (int turn = 0; turn < 7; turn++) // from the fifth on by name, in binary
                        compare(ps, String.join("=", way) + " turn " + turn);
                }
                where(c, String.join("=", way));
            }
        getters();
    }

    private void compare(PreparedStatement ps, String what) throws SQLException {
        try (ResultSet r = ps.executeQuery()) {
            for (int row = 0; row < 3; row++) {
                Harness.expect(r.next(), true, what + ": row " + row);
                for (Column column : COLUMNS)
                    Harness.expect(read(r, column), widened(column.values[row]), what + ": " + column.type + " of row " + row);
            }
            Harness.expect(r.next(), false, what + ": no fourth row");
        }
    }

    /** Each value finds its own row again, for the types that can be compared. */
    private void where(Connection c, String what) throws SQLException {
        // a float is sent as a double where it is not binary: another number
        Set<String> never = Set.of("float", "binary", "double[]", "double[][]", "geohash(7b)", "boolean");
        for (Column column : COLUMNS) {
            if (never.contains(column.type))
                continue;
            try (PreparedStatement ps = c.prepareStatement("select n from " + table + " where " + column.name + " = ?")) {
                for (int row = 0; row < 3; row++) {
                    bind(c, ps, 1, column.values[row]);
                    try (ResultSet r = ps.executeQuery()) {
                        Harness.expect(Harness.rows(r), String.valueOf(row), what + ": where " + column.type + " = " + column.values[row]);
                    }
                }
            }
        }
    }

    /** The typed getters and setters beside getObject. */
    private void getters() throws SQLException {
        Calendar utc = Calendar.getInstance(TimeZone.getTimeZone("UTC"));
        try (Connection c = source.open()) {
            Harness.run(c, "truncate table " + table);
            try (PreparedStatement ps = c.prepareStatement("insert into " + table + " (n, ts, ns, da, bi, de, u, sh, l) values (?,?,?,?,?,?,?,?,?)")) {
                ps.setInt(1, 1);
                ps.setTimestamp(2, Timestamp.from(Instant.parse("1969-03-01T09:00:00.123456Z")), utc);
                ps.setObject(3, OffsetDateTime.parse("2024-03-01T09:00:00.123456+02:00"));
                ps.setDate(4, new Date(86400000L), utc);
                ps.setBinaryStream(5, new java.io.ByteArrayInputStream(new byte[] {1, 2}), 2);
                ps.setObject(6, "7.25", java.sql.Types.NUMERIC);
                ps.setObject(7, "11111111-2222-3333-4444-555555555555", java.sql.Types.OTHER);
                ps.setObject(8, 5, java.sql.Types.SMALLINT);
                ps.setObject(9, "-12", java.sql.Types.BIGINT);
                Harness.expect(ps.executeUpdate(), 1, "typed setters");
            }
            try (Statement st = c.createStatement(); ResultSet r = st.executeQuery("select * from " + table)) {
                Harness.expect(r.next(), true, "a row");
                Harness.expect(r.getTimestamp("ts", utc).toInstant(), Instant.parse("1969-03-01T09:00:00.123456Z"), "getTimestamp");
                Harness.expect(r.getObject("ns", OffsetDateTime.class), OffsetDateTime.parse("2024-03-01T07:00:00.123456Z"), "OffsetDateTime");
                Harness.expect(r.getObject("da", LocalDate.class), LocalDate.parse("1970-01-02"), "LocalDate");
                Harness.expect(r.getTimestamp("da", utc).getTime(), 86400000L, "date");
                Harness.expect(r.getBytes("bi"), new byte[] {1, 2}, "getBytes");
                Harness.expect(r.getBigDecimal("de"), new BigDecimal("7.2500"), "getBigDecimal");
                Harness.expect(r.getObject("u", UUID.class), UUID.fromString("11111111-2222-3333-4444-555555555555"), "uuid of a text");
                Harness.expect((int) r.getShort("sh"), 5, "getShort");
                Harness.expect(r.getLong("l"), -12L, "getLong");
                Harness.expect(r.getInt("i"), 0, "getInt of null");
                Harness.expect(r.wasNull(), true, "wasNull");
            }
            Harness.expect(Harness.query(c, "select '2024-03-01T09:00:00.123456789Z'::timestamp_ns"), "2024-03-01T09:00:00.123456", "nanoseconds are cut");
        }
    }

    void nulls() throws Exception {
        Set<String> without = Set.of("boolean", "byte", "short"); // these have no null: false and 0
        for (String[] way : WAYS)
            try (Connection c = source.open(way)) {
                create(c);
                try (PreparedStatement ps = c.prepareStatement(insert())) {
                    for (int row = 0; row < 7; row++) {
                        ps.setInt(1, row);
                        for (int i = 0; i < COLUMNS.length; i++)
                            ps.setNull(i + 2, row % 2 == 0 ? java.sql.Types.NULL : kind(COLUMNS[i]));
                        Harness.expect(ps.executeUpdate(), 1, "rows of an insert");
                    }
                }
                try (PreparedStatement ps = c.prepareStatement("select * from " + table)) {
                    for (int turn = 0; turn < 7; turn++)
                        try (ResultSet r = ps.executeQuery()) {
                            int n = 0;
                            for (; r.next(); n++)
                                for (Column column : COLUMNS)
                                    Harness.expect(String.valueOf(read(r, column)), !without.contains(column.type) ? "null" : column.as == Boolean.class ? "false" : "0",
                                                   String.join("=", way) + ": null of " + column.type);
                            Harness.expect(n, 7, "rows of nulls");
                        }
                }
            }
    }

    private static int kind(Column column) {
        return switch (column.as.getSimpleName()) {
        case "Boolean" -> java.sql.Types.BIT;
        case "Integer" -> column.type.equals("int") ? java.sql.Types.INTEGER : java.sql.Types.SMALLINT;
        case "Long" -> java.sql.Types.BIGINT;
        case "Float" -> java.sql.Types.REAL;
        case "Double" -> java.sql.Types.DOUBLE;
        case "LocalDateTime" -> java.sql.Types.TIMESTAMP;
        case "BigDecimal" -> java.sql.Types.NUMERIC;
        case "byte[]" -> java.sql.Types.BINARY;
        case "UUID" -> java.sql.Types.OTHER;
        case "Double[]", "Double[][]" -> java.sql.Types.ARRAY;
        default -> java.sql.Types.VARCHAR;
        };
    }

    void parameters() throws Exception {
        for (String[] way : WAYS)
            try (Connection c = source.open(way)) {
                String t = table + "_p";
                Harness.run(c, "drop table if exists " + t, "create table " + t + " (ts timestamp, id int, n long, d double, s symbol, v varchar) timestamp(ts) partition by day");
                try (PreparedStatement ps = c.prepareStatement("insert into " + t + " (ts, id, n, d, s, v) values (?, ?, ?, ?, ?, upper(?))")) {
                    for (int i = 1; i <= 10; i++) {
                        ps.setObject(1, LocalDateTime.parse("2024-01-01T00:00:00").plusHours(i));
                        ps.setInt(2, i);
                        ps.setObject(3, i % 2 == 0 ? null : i * 10L, java.sql.Types.BIGINT);
                        ps.setBigDecimal(4, new BigDecimal(i).movePointLeft(1));
                        ps.setString(5, "s" + i % 3);
                        ps.setString(6, "v" + i);
                        Harness.expect(ps.executeUpdate(), 1, "insert");
                    }
                }
                for (int turn = 0; turn < 7; turn++)
                    parameterQueries(c, t, way);
            }
    }

    private static void parameterQueries(Connection c, String t, String[] way) throws SQLException {
        String what = String.join("=", way) + ": ";
        Harness.expect(Harness.query(c, "select id, v from " + t + " where id = ? and s = ?", 4, "s1"), "4|V4", what + "WHERE");
        Harness.expect(Harness.query(c, "select id from " + t + " where n = ?", 50), "5", what + "an int for a long");
        Harness.expect(Harness.query(c, "select id from " + t + " where d between ? and ?", 0.25, 0.45f), "3; 4", what + "BETWEEN");
        Harness.expect(Harness.query(c, "select id from " + t + " where ts >= ? and ts < ?", LocalDateTime.parse("2024-01-01T09:00:00"), OffsetDateTime.parse("2024-01-01T12:00:00+02:00")),
                       "9", what + "times");
        Harness.expect(Harness.query(c, "select id from " + t + " where ts in (?, ?)", LocalDateTime.parse("2024-01-01T02:00:00"), LocalDateTime.parse("2024-01-01T03:00:00")), "2; 3", what + "IN of times");
        Harness.expect(Harness.query(c, "select id from " + t + " where s in (?, ?) order by id limit ?", "s0", "s2", 3), "2; 3; 5", what + "IN, LIMIT");
        Harness.expect(Harness.query(c, "select id from " + t + " order by id limit ?, ?", 2L, 4L), "3; 4", what + "LIMIT from, to");
        Harness.expect(Harness.query(c, "select id from " + t + " order by id limit ? offset ?", 2, 7), "8; 9", what + "OFFSET");
        Harness.expect(Harness.query(c, "select id from " + t + " where id = any(?) order by id", c.createArrayOf("int4", new Integer[] {2, 4, 99})), "2; 4", what + "ANY of integers");
        Harness.expect(Harness.query(c, "select id from " + t + " where n = any(?) order by id", c.createArrayOf("int8", new Long[] {10L, 30L})), "1; 3", what + "ANY of longs");
        Harness.expect(Harness.query(c, "select id from " + t + " where s = any(?) and id < ? order by id", c.createArrayOf("varchar", new String[] {"s1", "it's, {\"x\"}"}), 6), "1; 4", what + "ANY of texts");
        Harness.expect(Harness.query(c, "select ?::int + 1, ?::varchar || 'x', ?::double, ?", 41, "a", 0.5, "plain"), "42|ax|0.5|plain", what + "casts");
        Harness.expect(Harness.query(c, "select count() from " + t + " where n is null and ?", true), "5", what + "a boolean");
        Harness.expect(Harness.query(c, "select id from " + t + " where v like ? order by id", "V1%"), "1; 10", what + "LIKE");
        Harness.expect(Harness.query(c, "select coalesce(n, ?) from " + t + " where id = ?", -1L, 2), "-1", what + "an argument");
    }
}
