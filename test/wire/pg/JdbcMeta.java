// What DatabaseMetaData of pgjdbc says of the server: java -cp postgresql.jar JdbcMeta.java HOST:PORT
// The last line is "jdbc: all well"; anything else is a stack trace.
import java.sql.*;
import java.util.*;

public class JdbcMeta {
    static void expect(Object got, Object want, String what) {
        if (!Objects.equals(got, want))
            throw new AssertionError(what + ": got " + got + ", want " + want);
    }

    // The columns named of all rows, "a b; c d".
    static String rows(ResultSet r, String... columns) throws SQLException {
        List<String> all = new ArrayList<>();
        while (r.next()) {
            List<String> row = new ArrayList<>();
            for (String column : columns)
                row.add(r.getString(column));
            all.add(String.join(" ", row));
        }
        return String.join("; ", all);
    }

    static void objects(DatabaseMetaData m) throws SQLException {
        String[] kinds = {"TABLE", "VIEW", "MATERIALIZED VIEW"};
        expect(rows(m.getTables(null, "public", "j%", kinds), "TABLE_NAME", "TABLE_TYPE"),
               "jm MATERIALIZED VIEW; jt TABLE; jv VIEW", "getTables");
        expect(rows(m.getColumns(null, "public", "jt", "%"), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "ORDINAL_POSITION"),
               "symbol 12 varchar 1; price 8 float8 2; n -5 int8 3; d 2 numeric 4; a 2003 _float8 5; u 1111 uuid 6; c 1 bpchar 7; ts 93 timestamp 8",
               "getColumns");
        ResultSet d = m.getColumns(null, "public", "jt", "d");
        d.next();
        expect(d.getInt("COLUMN_SIZE") + " " + d.getInt("DECIMAL_DIGITS"), "10 2", "size of a decimal");
        expect(rows(m.getIndexInfo(null, "public", "jt", false, false), "INDEX_NAME", "COLUMN_NAME", "NON_UNIQUE", "ASC_OR_DESC"),
               "jt_symbol_idx symbol t A", "getIndexInfo");
        expect(rows(m.getSchemas(), "TABLE_SCHEM"), "information_schema; pg_catalog; public", "getSchemas");
        expect(rows(m.getSchemas(null, "pub%"), "TABLE_SCHEM"), "public", "getSchemas of a pattern");
        expect(rows(m.getCatalogs(), "TABLE_CAT"), "qdb", "getCatalogs");
        expect(rows(m.getTablePrivileges(null, "public", "jt"), "PRIVILEGE").contains("SELECT"), true, "getTablePrivileges");
    }

    static void nothing(DatabaseMetaData m) throws SQLException {
        expect(rows(m.getPrimaryKeys(null, "public", "jt"), "COLUMN_NAME"), "", "getPrimaryKeys");
        expect(rows(m.getImportedKeys(null, "public", "jt"), "FKCOLUMN_NAME"), "", "getImportedKeys");
        expect(rows(m.getExportedKeys(null, "public", "jt"), "FKCOLUMN_NAME"), "", "getExportedKeys");
        expect(rows(m.getCrossReference(null, "public", "jt", null, "public", "jt"), "FKCOLUMN_NAME"), "", "getCrossReference");
        expect(rows(m.getBestRowIdentifier(null, "public", "jt", 1, true), "COLUMN_NAME"), "", "getBestRowIdentifier");
        expect(rows(m.getIndexInfo(null, "public", "jt", true, false), "INDEX_NAME"), "", "unique indexes");
        expect(rows(m.getProcedures(null, null, "%"), "PROCEDURE_NAME"), "", "getProcedures");
        expect(rows(m.getUDTs(null, null, "%", null), "TYPE_NAME"), "", "getUDTs");
        m.getVersionColumns(null, "public", "jt");
    }

    static void functions(DatabaseMetaData m) throws SQLException {
        expect(rows(m.getFunctions(null, null, "acos"), "FUNCTION_SCHEM", "FUNCTION_NAME"), "pg_catalog acos", "getFunctions");
        expect(rows(m.getFunctionColumns(null, null, "acos", "%"), "COLUMN_NAME", "TYPE_NAME"), "returnValue float8; $1 float8",
               "getFunctionColumns");
        Set<String> types = new HashSet<>(Arrays.asList(rows(m.getTypeInfo(), "TYPE_NAME").split("; ")));
        for (String type : new String[] {"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "varchar", "timestamp", "uuid", "bytea"})
            expect(types.contains(type), true, "getTypeInfo has " + type);
        expect(m.getSQLKeywords().contains("sample"), true, "getSQLKeywords");
        expect(m.getDatabaseProductName(), "PostgreSQL", "product");
        expect(m.getMaxTableNameLength() > 0, true, "getMaxTableNameLength");
    }

    static void results(Connection c) throws SQLException {
        try (PreparedStatement ps = c.prepareStatement("select price, symbol, a from jt where price > ? and symbol = ?")) {
            expect(ps.getParameterMetaData().getParameterTypeName(1), "float8", "type of a parameter");
            expect(ps.getMetaData().getColumnTypeName(3), "_float8", "type of a column");
            ps.setDouble(1, 1);
            ps.setString(2, "a");
            try (ResultSet r = ps.executeQuery()) {
                r.next();
                expect(Arrays.toString((Double[]) r.getArray(3).getArray()), "[1.0, 2.0]", "an array");
            }
        }
        for (int turn = 0; turn < 8; turn++) // from the fifth on in binary
            try (PreparedStatement ps = c.prepareStatement("select array_agg(symbol order by symbol) from jt"); ResultSet r = ps.executeQuery()) {
                r.next();
                expect(Arrays.toString((String[]) r.getArray(1).getArray()), "[a, b]", "a list");
            }
    }

    public static void main(String[] args) throws Exception {
        for (String options : new String[] {"", "&prepareThreshold=1", "&preferQueryMode=simple"}) {
            Properties p = new Properties();
            p.setProperty("user", "admin");
            p.setProperty("password", "quest");
            try (Connection c = DriverManager.getConnection("jdbc:postgresql://" + args[0] + "/qdb?sslmode=disable" + options, p)) {
                try (Statement st = c.createStatement()) {
                    for (String sql : new String[] {"drop view if exists jv", "drop materialized view if exists jm", "drop table if exists jt",
                             "create table jt (symbol symbol index, price double, n long, d decimal(10,2), a double[], u uuid, c char, ts timestamp)"
                                     + " timestamp(ts) partition by day",
                             "insert into jt values ('a', 1.5, 1, 1.25m, array[1.0, 2.0], null, 'x', '2024-01-01'), ('b', 2.5, 2, 2.5m, null, null, 'y', '2024-01-02')",
                             "create view jv as (select symbol, price from jt)",
                             "create materialized view jm as (select ts, sum(price) p from jt sample by 1h)"})
                        st.execute(sql);
                }
                DatabaseMetaData m = c.getMetaData();
                objects(m);
                nothing(m);
                functions(m);
                if (!options.contains("simple"))
                    results(c);
            }
        }
        System.out.println("jdbc: all well");
    }
}
