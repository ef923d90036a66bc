// The scenario of the driver matrix by pgx v5 and pgxpool: one line for each check, see ../README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	ctx = context.Background()
	ca  string // file of the authority
)

type check struct {
	name string
	run  func(c *pgx.Conn)
}

var checks = []check{
	{"connect", connects}, {"tls", tls}, {"select", selects}, {"types", types}, {"nulls", nulls}, {"parameters", parameters},
	{"prepared", prepared}, {"batch", batch}, {"fetch", fetch}, {"large", large}, {"transaction", transaction},
	{"copy_in", copyIn}, {"copy_out", copyOut}, {"errors", errorFields}, {"cancel", cancels}, {"timeout", timeouts},
	{"metadata", metadata}, {"pool", pool}, {"time_series", timeSeries},
}

// ------------------------------------------------------------------ what all checks use

func dsn(more string) string {
	e := os.Getenv
	return fmt.Sprintf("host=%s port=%s user=%s password=%s dbname=%s sslmode=disable %s", e("PGHOST"), e("PGPORT"), e("PGUSER"), e("PGPASSWORD"),
		e("PGDATABASE"), more)
}

func connect(more string) *pgx.Conn {
	c, err := pgx.Connect(ctx, dsn(more))
	must(err)
	return c
}

func table(name string) string { return os.Getenv("TABLE_PREFIX") + name }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(got, want any, what ...any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprint(append(what, fmt.Sprintf(": got %v (%T), want %v (%T)", got, got, want, want))...))
	}
}

// expectState wants an error of the server with this SQLSTATE.
func expectState(err error, state string, what ...any) *pgconn.PgError {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		panic(fmt.Sprint(append(what, ": got ", err, ", want SQLSTATE ", state)...))
	}
	expect(e.Code, state, append(what, e.Message)...)
	return e
}

func exec(c *pgx.Conn, sql string, args ...any) pgconn.CommandTag {
	tag, err := c.Exec(ctx, sql, args...)
	must(err)
	return tag
}

// create makes a table anew: the program may run often on one server.
func create(c *pgx.Conn, name, columns string) {
	exec(c, "drop table if exists "+name)
	exec(c, "create table "+name+" "+columns)
}

// one is the only value of a query.
func one[T any](c *pgx.Conn, sql string, args ...any) T {
	var v T
	must(c.QueryRow(ctx, sql, args...).Scan(&v))
	return v
}

// column has the only column of all rows.
func column[T any](c *pgx.Conn, sql string, args ...any) []T {
	rows, err := c.Query(ctx, sql, args...)
	must(err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[T])
	must(err)
	return out
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	must(err)
	return t
}

// ------------------------------------------------------------------ run

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == "github.com/jackc/pgx/v5" {
			return m.Version[1:]
		}
	}
	return "unknown"
}

// attempt runs a check on a connection of its own; a panic is its failure.
func attempt(run func(c *pgx.Conn)) (failure any) {
	defer func() { failure = recover() }()
	c := connect("")
	defer c.Close(ctx)
	run(c)
	return nil
}

func main() {
	ca = os.Getenv("PGSSLROOTCERT")
	os.Unsetenv("PGSSLROOTCERT") // pgx reads it itself
	fmt.Println("driver pgx", version())
	for _, c := range checks {
		if failure := attempt(c.run); failure != nil {
			fmt.Printf("fail %s: %.600q\n", c.name, fmt.Sprint(failure))
		} else {
			fmt.Println("ok", c.name)
		}
	}
}
