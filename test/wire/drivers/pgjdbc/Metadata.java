// What DatabaseMetaData and the meta data of results say: tables, columns, keys (there are none), functions, types.
import java.sql.*;
import java.util.*;

final class Metadata {
    private final Connection connection;
    private final DatabaseMetaData meta;
    private final String table;

    Metadata(Connection connection, String table) throws SQLException {
        this.connection = connection;
        this.meta = connection.getMetaData();
        this.table = table;
    }

    void check() throws SQLException {
        objects();
        nothing();
        functions();
        results();
    }

    /** The columns named of all rows, "a b; c d". */
    private static String rows(ResultSet r, String... columns) throws SQLException {
        StringJoiner all = new StringJoiner("; ");
        while (r.next()) {
            StringJoiner row = new StringJoiner(" ");
            for (String column : columns)
                row.add(r.getString(column));
            all.add(row.toString());
        }
        return all.toString();
    }

    private void objects() throws SQLException {
        String[] kinds = {"TABLE", "VIEW", "MATERIALIZED VIEW"};
        Harness.expect(rows(meta.getTables(null, "public", table.replace("_", "\\_") + "%", kinds), "TABLE_NAME", "TABLE_TYPE"),
                       table + "_m MATERIALIZED VIEW; " + table + " TABLE; " + table + "_v VIEW", "getTables");
        Harness.expect(rows(meta.getColumns(null, "public", table, "%"), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "ORDINAL_POSITION"),
                       "symbol 12 varchar 1; price 8 float8 2; n -5 int8 3; d 2 numeric 4; a 2003 _float8 5; u 1111 uuid 6; c 1 bpchar 7; ts 93 timestamp 8", "getColumns");
        Harness.expect(rows(meta.getColumns(null, "public", table, "d"), "COLUMN_SIZE", "DECIMAL_DIGITS", "NULLABLE"), "10 2 1", "size of a decimal");
        Harness.expect(rows(meta.getIndexInfo(null, "public", table, false, false), "INDEX_NAME", "COLUMN_NAME", "NON_UNIQUE", "ASC_OR_DESC"),
                       table + "_symbol_idx symbol t A", "getIndexInfo");
        Harness.expect(rows(meta.getSchemas(), "TABLE_SCHEM"), "information_schema; pg_catalog; public", "getSchemas");
        Harness.expect(rows(meta.getSchemas(null, "pub%"), "TABLE_SCHEM"), "public", "getSchemas of a pattern");
        Harness.expect(rows(meta.getCatalogs(), "TABLE_CAT"), "qdb", "getCatalogs");
        Harness.expect(rows(meta.getTableTypes(), "TABLE_TYPE").contains("MATERIALIZED VIEW"), true, "getTableTypes");
        Harness.expect(rows(meta.getTablePrivileges(null, "public", table), "PRIVILEGE").contains("SELECT"), true, "getTablePrivileges");
    }

    private void nothing() throws SQLException {
        Harness.expect(rows(meta.getPrimaryKeys(null, "public", table), "COLUMN_NAME"), "", "getPrimaryKeys");
        Harness.expect(rows(meta.getImportedKeys(null, "public", table), "FKCOLUMN_NAME"), "", "getImportedKeys");
        Harness.expect(rows(meta.getExportedKeys(null, "public", table), "FKCOLUMN_NAME"), "", "getExportedKeys");
        Harness.expect(rows(meta.getCrossReference(null, "public", table, null, "public", table), "FKCOLUMN_NAME"), "", "getCrossReference");
        Harness.expect(rows(meta.getBestRowIdentifier(null, "public", table, 1, true), "COLUMN_NAME"), "", "getBestRowIdentifier");
        Harness.expect(rows(meta.getIndexInfo(null, "public", table, true, false), "INDEX_NAME"), "", "unique indexes");
        Harness.expect(rows(meta.getProcedures(null, null, "%"), "PROCEDURE_NAME"), "", "getProcedures");
        Harness.expect(rows(meta.getUDTs(null, null, "%", null), "TYPE_NAME"), "", "getUDTs");
        meta.getVersionColumns(null, "public", table).close();
        meta.getColumnPrivileges(null, "public", table, "%").close();
    }

    private void functions() throws SQLException {
        Harness.expect(rows(meta.getFunctions(null, null, "acos"), "FUNCTION_SCHEM", "FUNCTION_NAME"), "pg_catalog acos", "getFunctions");
        Harness.expect(rows(meta.getFunctionColumns(null, null, "acos", "%"), "COLUMN_NAME", "TYPE_NAME"), "returnValue float8; $1 float8", "getFunctionColumns");
        Set<String> types = new HashSet<>(Arrays.asList(rows(meta.getTypeInfo(), "TYPE_NAME").split("; ")));
        for (String type : new String[] {"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "varchar", "timestamp", "uuid", "bytea"})
            Harness.expect(types.contains(type), true, "getTypeInfo has " + type);
        Harness.expect(meta.getSQLKeywords().contains("sample"), true, "getSQLKeywords");
        Harness.expect(meta.getMaxTableNameLength() > 0, true, "getMaxTableNameLength");
        Harness.expect(meta.getClientInfoProperties().next(), true, "getClientInfoProperties");
    }

    private void results() throws SQLException {
        if (connection.unwrap(org.postgresql.PGConnection.class).getPreferQueryMode() == org.postgresql.jdbc.PreferQueryMode.SIMPLE)
            return; // without extended queries nothing is described
        try (PreparedStatement ps = connection.prepareStatement("select price, symbol, a, d from " + table + " where price > ? and symbol = ? and ts < ?")) {
            ParameterMetaData p = ps.getParameterMetaData();
            Harness.expect(p.getParameterTypeName(1) + " " + p.getParameterTypeName(2) + " " + p.getParameterTypeName(3), "float8 varchar timestamp", "types of parameters");
            ResultSetMetaData r = ps.getMetaData();
            Harness.expect(r.getColumnTypeName(3) + " " + r.getColumnClassName(4), "_float8 java.math.BigDecimal", "types of columns");
            Harness.expect(r.getPrecision(4) + " " + r.getScale(4), "10 2", "digits of a decimal");
            Harness.expect(r.getColumnLabel(1) + " " + r.getColumnDisplaySize(2), "price " + Integer.MAX_VALUE, "label and size of a column");
        }
        for (int turn = 0; turn < 7; turn++) // from the fifth on in binary
            try (PreparedStatement ps = connection.prepareStatement("select array_agg(symbol order by symbol) from " + table); ResultSet r = ps.executeQuery()) {
                r.next();
                Harness.expect(r.getArray(1).getArray(), new String[] {"a"}, "a list");
            }
    }
}
