// The scenario of the driver matrix by lib/pq under database/sql: one line for each check, see ../README.md.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/lib/pq"
)

var (
	ctx = context.Background()
	ca  string // file of the authority
)

var checks = []struct {
	name string
	run  func(c *sql.Conn)
}{
	{"connect", connects}, {"tls", tls}, {"select", selects}, {"types", types}, {"nulls", nulls}, {"parameters", parameters},
	{"prepared", prepared}, {"batch", batch}, {"fetch", fetch}, {"large", large}, {"transaction", transaction},
	{"copy_in", copyIn}, {"errors", errorFields}, {"cancel", cancels}, {"timeout", timeouts}, {"metadata", metadata},
	{"pool", pool}, {"time_series", timeSeries},
}

// ------------------------------------------------------------------ what all checks use

func open(more string) *sql.DB {
	e := os.Getenv
	db, err := sql.Open("postgres", fmt.Sprintf("host=%s port=%s user=%s password=%s dbname=%s sslmode=disable %s", e("PGHOST"), e("PGPORT"), e("PGUSER"),
		e("PGPASSWORD"), e("PGDATABASE"), more))
	must(err)
	return db
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

func expectState(err error, state string, what ...any) *pq.Error {
	var e *pq.Error
	if !errors.As(err, &e) {
		panic(fmt.Sprint(append(what, ": got ", err, ", want SQLSTATE ", state)...))
	}
	expect(string(e.Code), state, append(what, e.Message)...)
	return e
}

func exec(c *sql.Conn, text string, args ...any) int64 {
	result, err := c.ExecContext(ctx, text, args...)
	must(err)
	n, err := result.RowsAffected()
	must(err)
	return n
}

func create(c *sql.Conn, name, columns string) {
	exec(c, "drop table if exists "+name)
	exec(c, "create table "+name+" "+columns)
}

type querier interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}

func one[T any](c querier, text string, args ...any) T {
	var v T
	must(c.QueryRowContext(ctx, text, args...).Scan(&v))
	return v
}

func column[T any](c querier, text string, args ...any) (out []T) {
	rows, err := c.QueryContext(ctx, text, args...)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var v T
		must(rows.Scan(&v))
		out = append(out, v)
	}
	must(rows.Err())
	return out
}

func queryAll(c querier, text string, args ...any) error {
	rows, err := c.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
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
		if m.Path == "github.com/lib/pq" {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "unknown"
}

// attempt runs a check on a connection of its own; a panic is its failure.
func attempt(run func(c *sql.Conn), more string) (failure any) {
	defer func() { failure = recover() }()
	db := open(more)
	defer db.Close()
	c, err := db.Conn(ctx)
	must(err)
	defer c.Close()
	run(c)
	return nil
}

func main() {
	ca = os.Getenv("PGSSLROOTCERT")
	os.Unsetenv("PGSSLROOTCERT") // lib/pq reads it itself
	fmt.Println("driver pq", version())
	for _, c := range checks {
		failure := attempt(c.run, "")
		if failure == nil { // once more with parameters in binary, where the driver has such forms
			failure = attempt(c.run, "binary_parameters=yes")
		}
		if failure != nil {
			fmt.Printf("fail %s: %.600q\n", c.name, fmt.Sprint(failure))
		} else {
			fmt.Println("ok", c.name)
		}
	}
	fmt.Println("none copy_out: the driver refuses COPY TO")
}
