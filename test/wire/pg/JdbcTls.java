// pgjdbc over TLS: java -cp postgresql.jar JdbcTls.java HOST:PORT CA. Prints the modes that work.
import java.sql.*;

public class JdbcTls {
    public static void main(String[] args) throws Exception {
        String at = "jdbc:postgresql://" + args[0].replace("127.0.0.1", "localhost") + "/qdb?user=admin&password=quest";
        for (String mode : new String[] {"disable", "prefer", "require", "verify-full&sslrootcert=" + args[1]}) {
            try (Connection c = DriverManager.getConnection(at + "&sslmode=" + mode);
                 ResultSet r = c.createStatement().executeQuery("select sum(x) from long_sequence(1000)")) {
                if (!r.next() || r.getLong(1) != 500500)
                    throw new AssertionError(mode);
            }
            System.out.println(mode.split("&")[0]);
        }
    }
}
