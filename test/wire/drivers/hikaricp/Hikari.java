// The driver matrix over HikariCP: the checks of ../pgjdbc on connections of pools, and what the pool itself does.
import com.zaxxer.hikari.*;
import com.zaxxer.hikari.pool.HikariPool;
import java.sql.*;
import java.util.*;
import java.util.concurrent.*;

public final class Hikari {
    private static final Map<String, HikariDataSource> POOLS = new LinkedHashMap<>();

    private static HikariDataSource make(Properties p) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(Pgjdbc.url(p));
        config.setUsername(p.getProperty("user"));
        config.setPassword(p.getProperty("password"));
        for (String name : p.stringPropertyNames())
            if (!name.equals("user") && !name.equals("password"))
                config.addDataSourceProperty(name, p.getProperty(name));
        config.setMaximumPoolSize(8);
        config.setMinimumIdle(1);
        config.setConnectionTimeout(10000);
        return new HikariDataSource(config);
    }

    /** One pool for each set of properties, so that a connection comes back to the next check. */
    private static synchronized Connection open(String... more) throws SQLException {
        String key = String.join(" ", more);
        HikariDataSource pool = POOLS.get(key);
        if (pool == null) {
            try {
                pool = make(Pgjdbc.properties(more));
            } catch (HikariPool.PoolInitializationException e) { // what it could not be made for
                if (e.getCause() instanceof SQLException cause)
                    throw cause;
                throw e;
            }
            POOLS.put(key, pool);
            if (POOLS.size() > 3)
                POOLS.remove(POOLS.keySet().iterator().next()).close();
        }
        return pool.getConnection();
    }

    private static void pool() throws Exception {
        String table = Pgjdbc.env("TABLE_PREFIX", "hikari_") + "pool";
        try (HikariDataSource pool = make(Pgjdbc.properties())) {
            Pgjdbc.manyThreads(pool);
            pool.getHikariConfigMXBean().setMaximumPoolSize(1); // from here on each connection is the one before
            try (Connection c = pool.getConnection()) {
                Harness.run(c, "drop table if exists " + table, "create table " + table + " (a int)");
            }
        }
        Properties p = Pgjdbc.properties();
        HikariConfig one = new HikariConfig();
        one.setJdbcUrl(Pgjdbc.url(p));
        one.setDataSourceProperties(p);
        one.setMaximumPoolSize(1);
        one.setConnectionTestQuery("select 1");
        one.setConnectionInitSql("set application_name = 'pooled'");
        try (HikariDataSource pool = new HikariDataSource(one)) {
            reset(pool, table);
            failed(pool);
        }
    }

    private static void reset(HikariDataSource pool, String table) throws SQLException {
        try (Connection c = pool.getConnection()) {
            Harness.expect(Harness.query(c, "show application_name"), "pooled", "connectionInitSql");
            c.setAutoCommit(false);
            c.setReadOnly(true);
            c.setReadOnly(false);
            c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            Harness.run(c, "insert into " + table + " values (1)");
        }
        try (Connection c = pool.getConnection()) {
            Harness.expect(c.getAutoCommit() + " " + c.isReadOnly() + " " + c.getTransactionIsolation(), "true false 2", "settings of a connection that was given back");
            Harness.expect(Harness.query(c, "select count() from " + table), "0", "rows that were not committed");
        }
    }

    /** A block that failed is no trouble for the next user; a broken connection is replaced. */
    private static void failed(HikariDataSource pool) throws Exception {
        try (Connection c = pool.getConnection()) {
            c.setAutoCommit(false);
            Harness.refused("42703", "a bad statement", () -> Harness.query(c, "select nope"));
        }
        try (Connection c = pool.getConnection()) {
            Harness.expect(Harness.query(c, "select 1"), "1", "after a failed block");
        }
        Connection lost = pool.getConnection();
        lost.unwrap(org.postgresql.core.BaseConnection.class).abort(Runnable::run);
        try {
            lost.close();
        } catch (SQLException e) { // what is left of it cannot be reset
            Harness.expect(e.getSQLState(), "08003", "closing a connection that was lost");
        }
        Thread.sleep(600); // a connection used within half a second is not looked at
        try (Connection c = pool.getConnection()) {
            Harness.expect(Harness.query(c, "select 2"), "2", "after a connection was lost");
        }
    }

    public static void main(String[] args) {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC")); // a timestamp has no zone
        Harness.wanted = Set.of(args);
        System.out.println("driver hikaricp " + version());
        new Checks(Hikari::open, Pgjdbc.env("TABLE_PREFIX", "hikari_")).runAll();
        Harness.check("pool", Hikari::pool);
        POOLS.values().forEach(HikariDataSource::close);
    }

    /** The jar has no manifest entry for it, but its name does: HikariCP-7.1.0.jar. */
    private static String version() {
        String jar = HikariDataSource.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        return jar.replaceAll(".*-([0-9.]+)\\.jar", "$1");
    }
}
