// The driver matrix over pgjdbc. Names of checks as arguments: those alone. The heap has to be small (-Xmx128m), see Checks.fetch.
import java.sql.*;
import java.util.*;
import java.util.concurrent.*;
import org.postgresql.ds.*;

public final class Pgjdbc {
    static String env(String name, String other) {
        return Objects.requireNonNullElse(System.getenv(name), other);
    }

    static Properties properties(String... more) {
        Properties p = new Properties();
        p.setProperty("user", env("PGUSER", "admin"));
        p.setProperty("password", env("PGPASSWORD", "quest"));
        p.setProperty("sslmode", env("PGSSLMODE", "prefer"));
        p.setProperty("sslrootcert", env("PGSSLROOTCERT", ""));
        for (int i = 0; i < more.length; i += 2)
            p.setProperty(more[i], more[i + 1]);
        if (p.getProperty("sslfactory") != null)
            p.remove("sslrootcert");
        return p;
    }

    /** The address; PGHOST among the properties takes the place of the environment's. */
    static String url(Properties p) {
        Object host = p.remove("PGHOST");
        return "jdbc:postgresql://" + (host == null ? env("PGHOST", "127.0.0.1") : host) + ":" + env("PGPORT", "8812") + "/" + env("PGDATABASE", "qdb");
    }

    static Connection open(String... more) throws SQLException {
        Properties p = properties(more);
        return DriverManager.getConnection(url(p), p);
    }

    /** The driver's own pool. */
    @SuppressWarnings("deprecation")
    private static void pool() throws Exception {
        PGPoolingDataSource pool = new PGPoolingDataSource();
        Properties p = properties();
        pool.setUrl(url(p));
        pool.setDataSourceName("checks");
        pool.setUser(p.getProperty("user"));
        pool.setPassword(p.getProperty("password"));
        pool.setSslMode(p.getProperty("sslmode"));
        pool.setSslRootCert(p.getProperty("sslrootcert"));
        pool.setMaxConnections(4);
        try {
            manyThreads(pool);
            try (Connection c = pool.getConnection()) {
                c.setAutoCommit(false);
                Harness.run(c, "begin");
            }
            try (Connection c = pool.getConnection()) {
                Harness.expect(c.getAutoCommit() + Harness.query(c, "select 1"), "true1", "reset on return");
            }
        } finally {
            pool.close();
        }
    }

    /** 8 threads x 100 queries. */
    static void manyThreads(javax.sql.DataSource pool) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        List<Future<Long>> sums = new ArrayList<>();
        for (int t = 0; t < 8; t++) {
            int base = t * 1000;
            sums.add(threads.submit(() -> {
                long sum = 0;
                for (int i = 0; i < 100; i++)
                    try (Connection c = pool.getConnection()) {
                        sum += Long.parseLong(Harness.query(c, "select ?::int + 1", base + i));
                    }
                return sum;
            }));
        }
        long all = 0;
        for (Future<Long> sum : sums)
            all += sum.get(60, TimeUnit.SECONDS);
        threads.shutdown();
        Harness.expect(all, 100L * 28000 + 8 * 4950 + 800, "sum over all threads");
    }

    public static void main(String[] args) {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC")); // a timestamp has no zone
        Harness.wanted = Set.of(args);
        System.out.println("driver pgjdbc " + org.postgresql.util.DriverInfo.DRIVER_VERSION);
        new Checks(Pgjdbc::open, env("TABLE_PREFIX", "jdbc_")).runAll();
        Harness.check("pool", Pgjdbc::pool);
    }
}
