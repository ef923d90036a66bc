// Writes the same three rows by every protocol version over HTTP, and by the oldest over TCP.
// ingest HTTP_ADDRESS TCP_ADDRESS TCP_LOGIN
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	qdb "github.com/questdb/go-questdb-client/v4"
)

var start = time.Unix(1709283600, 0).UTC()

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func ingest(config, table string, version int) {
	ctx := context.Background()
	sender, err := qdb.LineSenderFromConf(ctx, config)
	must(err)
	for i := 0; i < 3; i++ {
		row := sender.Table(table).Symbol("symbol", "ETH USD").Symbol("side", "a,b=c").
			Float64Column("price", 2615.54).Int64Column("n", int64(i)).BoolColumn("ok", true).
			StringColumn("note", "hé \"q\" \\ , =").TimestampColumn("at", start)
		if version >= 2 {
			row = row.Float64Array2DColumn("book", [][]float64{{1, 2}, {3, 4}})
		}
		if version >= 3 {
			row = row.DecimalColumnFromString("cost", "12.50")
		}
		must(row.At(ctx, start.Add(time.Duration(i)*time.Second)))
	}
	must(sender.Flush(ctx))
	must(sender.Close(ctx))
}

func main() {
	http, tcp, login := os.Args[1], os.Args[2], os.Args[3]
	for version := 1; version <= 3; version++ {
		config := fmt.Sprintf("http::addr=%s;protocol_version=%d;", http, version)
		ingest(config, fmt.Sprintf("http%d", version), version)
	}
	ingest(fmt.Sprintf("http::addr=%s;", http), "http_auto", 2)
	ingest(fmt.Sprintf("tcp::addr=%s;protocol_version=1;%s", tcp, login), "tcp1", 1)

	// what the server refuses must reach the caller
	ctx := context.Background()
	sender, err := qdb.LineSenderFromConf(ctx, fmt.Sprintf("http::addr=%s;", http))
	must(err)
	must(sender.Table("http1").StringColumn("price", "text").AtNow(ctx))
	err = sender.Flush(ctx)
	if err == nil {
		os.Exit(1)
	}
	fmt.Println("refused:", err)
}
