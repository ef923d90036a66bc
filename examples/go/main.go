// Sensor readings with pgx v5: a table, a batch of rows, time buckets, a large result in pieces, an error.
//
//	go run .
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, fmt.Sprintf("host=%s port=%s user=%s password=%s dbname=%s",
		cmp.Or(os.Getenv("PGHOST"), "127.0.0.1"), cmp.Or(os.Getenv("PGPORT"), "8812"), cmp.Or(os.Getenv("PGUSER"), "admin"),
		cmp.Or(os.Getenv("PGPASSWORD"), "quest"), cmp.Or(os.Getenv("PGDATABASE"), "qdb")))
	check(err)
	defer conn.Close(ctx)

	_, err = conn.Exec(ctx, "DROP TABLE IF EXISTS go_sensors")
	check(err)
	_, err = conn.Exec(ctx, `CREATE TABLE go_sensors (ts TIMESTAMP, sensor SYMBOL, temperature DOUBLE)
		TIMESTAMP(ts) PARTITION BY DAY`)
	check(err)

	// A batch goes in one write, is answered at once, and is one transaction.
	start := time.Date(2026, 1, 6, 10, 0, 0, 0, time.UTC)
	batch := &pgx.Batch{}
	for i := range 3600 {
		batch.Queue("INSERT INTO go_sensors VALUES ($1, $2, $3)", start.Add(time.Duration(i)*time.Second), fmt.Sprintf("s%d", i%2), float64(20+i%10))
	}
	check(conn.SendBatch(ctx, batch).Close())
	fmt.Println("inserted", batch.Len(), "rows")

	// Buckets of time, with parameters.
	rows, err := conn.Query(ctx, `SELECT ts, count(), avg(temperature) FROM go_sensors
		WHERE sensor = $1 AND ts >= $2 SAMPLE BY 15m`, "s1", start)
	check(err)
	var ts time.Time
	var n, x, sum int64
	var mean float64
	_, err = pgx.ForEachRow(rows, []any{&ts, &n, &mean}, func() error {
		fmt.Printf("%s %d %.1f\n", ts.Format("2006-01-02T15:04:05"), n, mean)
		return nil
	})
	check(err)

	// A large result in pieces: rows are read as they arrive, none is kept.
	rows, err = conn.Query(ctx, "SELECT x FROM long_sequence($1)", 1_000_000)
	check(err)
	_, err = pgx.ForEachRow(rows, []any{&x}, func() error { sum += x; return nil })
	check(err)
	fmt.Println("sum of a million rows:", sum)

	// An error has an SQLSTATE and, where the statement is at fault, a position. The connection goes on.
	_, err = conn.Exec(ctx, "SELECT nope FROM go_sensors")
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		fmt.Println(refused.Code, refused.Message, "at", refused.Position)
	}
	_, err = conn.Exec(ctx, "DROP TABLE go_sensors")
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
