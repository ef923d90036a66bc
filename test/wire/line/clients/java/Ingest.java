// Writes the same three rows by every protocol version over HTTP, and by the oldest over TCP.
// java Ingest.java HTTP_ADDRESS TCP_ADDRESS TCP_LOGIN
import io.questdb.client.Sender;
import java.time.Instant;

public class Ingest {
    static final Instant START = Instant.ofEpochSecond(1709283600L);

    static void ingest(String config, String table, int version) {
        try (Sender sender = Sender.fromConfig(config)) {
            for (int i = 0; i < 3; i++) {
                sender.table(table).symbol("symbol", "ETH USD").symbol("side", "a,b=c")
                        .doubleColumn("price", 2615.54).longColumn("n", i).boolColumn("ok", true)
                        .stringColumn("note", "h\u00e9 \"q\" \\ , =").timestampColumn("at", START);
                if (version >= 2)
                    sender.doubleArray("book", new double[][]{{1, 2}, {3, 4}});
                if (version >= 3)
                    sender.decimalColumn("cost", "12.50");
                sender.at(START.plusSeconds(i));
            }
            sender.flush();
        }
    }

    public static void main(String[] args) {
        String http = args[0], tcp = args[1];
        for (int version = 1; version <= 3; version++)
            ingest("http::addr=" + http + ";protocol_version=" + version + ";", "http" + version, version);
        ingest("http::addr=" + http + ";", "http_auto", 2);
        ingest("tcp::addr=" + tcp + ";protocol_version=1;" + args[2], "tcp1", 1);

        // what the server refuses must reach the caller
        try (Sender sender = Sender.fromConfig("http::addr=" + http + ";auto_flush=off;")) {
            sender.table("http1").stringColumn("price", "text").atNow();
            try {
                sender.flush();
                System.exit(1);
            } catch (RuntimeException e) {
                System.out.println("refused: " + e.getMessage());
                System.exit(0); // without another try by close
            }
        }
    }
}
