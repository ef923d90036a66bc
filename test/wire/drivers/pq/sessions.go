package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq"
)

func connects(c *sql.Conn) {
	major, err := strconv.Atoi(strings.FieldsFunc(one[string](c, "show server_version"), func(r rune) bool { return r == '.' || r == ' ' })[0])
	must(err)
	expect(major >= 14, true, "server_version")
	must(c.PingContext(ctx))
	for _, wrong := range []string{"password=wrong", "user=nobody"} {
		db := open(wrong)
		expectState(db.Ping(), "28P01", wrong)
		db.Close()
	}
}

func tls(*sql.Conn) {
	for _, more := range []string{"sslmode=require", "sslmode=verify-ca sslrootcert=" + ca, "sslmode=verify-full sslrootcert=" + ca} {
		db := open(more)
		expect(one[int](db, "select 1"), 1, more)
		db.Close()
	}
	db := open("sslmode=verify-full") // the system does not know the authority of the tests
	defer db.Close()
	err := db.Ping()
	expect(err != nil && strings.Contains(err.Error(), "certificate"), true, "an unknown authority: ", err)
}

func transaction(c *sql.Conn) {
	t := table("transaction")
	create(c, t, "(id int)")
	count := func() int { return one[int](c, "select count() from "+t) }
	begin := func(options *sql.TxOptions) *sql.Tx {
		tx, err := c.BeginTx(ctx, options)
		must(err)
		return tx
	}
	run := func(tx *sql.Tx, text string) {
		_, err := tx.Exec(text)
		must(err)
	}
	tx := begin(nil)
	run(tx, "insert into "+t+" values (1)")
	must(tx.Commit())
	expect(count(), 1, "commit")
	tx = begin(&sql.TxOptions{Isolation: sql.LevelSerializable})
	run(tx, "insert into "+t+" values (2)")
	expect(one[int](tx, "select count() from "+t), 2, "own rows")
	must(tx.Rollback())
	expect(count(), 1, "rollback")
	tx = begin(nil)
	run(tx, "insert into "+t+" values (3)")
	run(tx, "savepoint a")
	run(tx, "insert into "+t+" values (4)")
	run(tx, "rollback to a")
	run(tx, "insert into "+t+" values (5)")
	must(tx.Commit())
	expect(column[int](c, "select id from "+t+" order by id"), []int{1, 3, 5}, "savepoints")
	tx = begin(nil)
	run(tx, "insert into "+t+" values (6)")
	_, err := tx.Exec("select nope")
	expectState(err, "42703")
	_, err = tx.Exec("select 1")
	expectState(err, "25P02", "a failed block")
	err = tx.Commit()
	expect(err != nil, true, "COMMIT of a failed block is none")
	expect(count(), 3)
}

func copyIn(c *sql.Conn) {
	t := table("copy_in")
	create(c, t, "(k int, "+columns+")")
	names := []string{"k"}
	for _, part := range strings.Split(columns, ", ") {
		names = append(names, strings.Fields(part)[0])
	}
	load := func(name string, names []string, n int, row func(i int) []any) error {
		tx, err := c.BeginTx(ctx, nil)
		must(err)
		defer tx.Rollback()
		put, err := tx.Prepare(pq.CopyIn(name, names...))
		must(err)
		for i := range n {
			if _, err := put.Exec(row(i)...); err != nil {
				return err
			}
		}
		if _, err = put.Exec(); err != nil {
			return err
		}
		must(put.Close())
		return tx.Commit()
	}
	all := values()
	must(load(t, names, len(all), func(i int) []any { return append([]any{i}, all[i].arguments()...) }))
	for k, want := range all {
		var got row
		var m string
		must(c.QueryRowContext(ctx, "select * exclude (k) from "+t+" where k = $1", k).Scan(got.targets(&m)...))
		same(got, want, m, "row ", k)
	}
	many := table("copy_many")
	create(c, many, "(ts timestamp, id long, v varchar) timestamp(ts) partition by day")
	start := at("2024-01-01T00:00:00Z")
	row := func(bad int) func(i int) []any {
		return func(i int) []any {
			if i == bad {
				return []any{start, "x", "v"}
			}
			return []any{start.Add(time.Duration(i) * time.Second), i, fmt.Sprint("v\t", i)}
		}
	}
	must(load(many, []string{"ts", "id", "v"}, 20000, row(-1)))
	expectState(load(many, []string{"ts", "id", "v"}, 1000, row(500)), "22P02", "a wrong value")
	expect(one[int](c, "select count() from "+many), 20000)
}

func errorFields(c *sql.Conn) {
	for _, e := range []struct{ text, state, position string }{{"select 1 +", "42601", "10"}, {"select * from nosuch_table", "42P01", "15"},
		{"select 'ü', nope from long_sequence(1)", "42703", "13"}, {"select 'abc'::decimal(5,2)", "22P02", "8"}, {"select nosuch_function(1)", "42883", "8"}} {
		found := expectState(queryAll(c, e.text), e.state, e.text)
		expect(found.Position, e.position, e.text)
		found = expectState(queryAll(c, e.text+" -- $1"), e.state, e.text)
		expect(found.Severity, "ERROR")
	}
	expectState(queryAll(c, "select id from long_sequence(1) where x = $1", 1), "42703")
	expect(one[int](c, "select 1"), 1, "after errors")
}

const slow = "select sum(x % 7) from long_sequence(1000000000000)"

// cancels ends a context, for which the driver sends a cancel request; it closes the connection where rows come already.
func cancels(*sql.Conn) {
	db := open("")
	defer db.Close()
	other, err := db.Conn(ctx)
	must(err)
	defer other.Close()
	short, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	defer stop()
	_, err = other.ExecContext(short, slow)
	expectState(err, "57014", "a context that ends")
	expect(one[int](db, "select 1"), 1, "after a cancel")
	short, stop = context.WithTimeout(ctx, 200*time.Millisecond)
	defer stop()
	rows, err := db.QueryContext(short, "select x from long_sequence(100000000000)")
	must(err)
	n := 0
	for ; rows.Next(); n++ {
	}
	expect(rows.Err() != nil && n > 0, true, "a cancel of rows")
	rows.Close()
	expect(one[int](db, "select 1"), 1, "after a cancel of rows")
}

func timeouts(c *sql.Conn) {
	exec(c, "set statement_timeout = 200")
	expectState(queryAll(c, slow), "57014", "SET")
	exec(c, "set statement_timeout = 0")
	expect(one[int](c, "select 1"), 1)
	for _, more := range []string{"statement_timeout=200", "options='-c statement_timeout=200'"} {
		db := open(more)
		expectState(queryAll(db, slow), "57014", more)
		expect(one[int](db, "select 1"), 1)
		db.Close()
	}
}

func metadata(c *sql.Conn) {
	t := table("metadata")
	create(c, t, "(ts timestamp, sym symbol, v double, a double[], de decimal(10,2)) timestamp(ts) partition by day")
	expect(column[string](c, "select column_name || ' ' || data_type from information_schema.columns where table_name = $1 order by ordinal_position", t),
		[]string{"ts timestamp without time zone", "sym character varying", "v double precision", "a ARRAY", "de numeric"})
	expect(column[string](c, "select table_name from information_schema.tables where table_schema = 'public' and table_name = $1", t), []string{t})
	for _, keys := range []string{"table_constraints", "key_column_usage", "referential_constraints"} {
		expect(one[int](c, "select count(*) from information_schema."+keys), 0, keys)
	}
	rows, err := c.QueryContext(ctx, "select * from "+t)
	must(err)
	defer rows.Close()
	described, err := rows.ColumnTypes()
	must(err)
	kinds := ""
	for _, d := range described {
		kinds += fmt.Sprint(d.Name(), " ", d.ScanType(), " ")
	}
	expect(strings.HasPrefix(kinds, "ts time.Time sym string v float64 "), true, kinds)
}

// pool is that of database/sql.
func pool(*sql.Conn) {
	db := open("")
	defer db.Close()
	db.SetMaxOpenConns(4)
	var all sync.WaitGroup
	failures := make(chan error, 800)
	for worker := range 8 {
		all.Go(func() {
			for i := range 100 {
				var got int
				if err := db.QueryRow("select $1::int * 1000 + $2::int", worker, i).Scan(&got); err != nil || got != worker*1000+i {
					failures <- fmt.Errorf("got %d of worker %d turn %d: %v", got, worker, i, err)
				}
			}
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		panic(err)
	}
	expect(db.Stats().OpenConnections <= 4, true)
	t := table("pool")
	_, err := db.Exec("drop table if exists " + t)
	must(err)
	_, err = db.Exec("create table " + t + " (id int)")
	must(err)
	short, stop := context.WithCancel(ctx)
	tx, err := db.BeginTx(short, nil)
	must(err)
	_, err = tx.Exec("insert into " + t + " values (1)")
	must(err)
	stop() // the pool rolls back and takes the connection back
	db.SetMaxOpenConns(1)
	expect(one[int](db, "select count() from "+t), 0, "an open transaction")
}
