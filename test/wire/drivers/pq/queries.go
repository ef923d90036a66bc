package main

import (
	"database/sql"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/lib/pq"
)

func selects(c *sql.Conn) {
	var a, b int64
	var d string
	var e bool
	var f sql.NullString
	var x float64
	var g time.Time
	rows, err := c.QueryContext(ctx, "select 1 a, 2L b, 1.5 c, 'it''s \\ ü 😀' d, true e, null f, '2024-01-02T03:04:05.678901Z'::timestamp g")
	must(err)
	names, err := rows.Columns()
	must(err)
	expect(strings.Join(names, ""), "abcdefg")
	expect(rows.Next(), true)
	must(rows.Scan(&a, &b, &x, &d, &e, &f, &g))
	must(rows.Close())
	expect([]any{a, b, x, d, e, f.Valid, g.UTC()}, []any{int64(1), int64(2), 1.5, "it's \\ ü 😀", true, false, at("2024-01-02T03:04:05.678901Z")})
	expect(len(column[int](c, "select 1 where false")), 0)
	rows, err = c.QueryContext(ctx, "select 1; select 'two', 2")
	must(err)
	expect(rows.Next() && !rows.Next() && rows.NextResultSet() && rows.Next(), true, "several results")
	must(rows.Scan(&d, &a))
	expect(d, "two")
	must(rows.Close())
}

func parameters(c *sql.Conn) {
	t := table("parameters")
	create(c, t, "(id long, sym symbol, v double, ts timestamp) timestamp(ts) partition by day")
	start := at("2024-01-01T00:00:00Z")
	for i := range 10 {
		exec(c, "insert into "+t+" values ($1, $2, $3, $4)", int64(i), fmt.Sprint("s", i%3), float64(i)/2, start.Add(time.Duration(i)*time.Hour))
	}
	count := "select count() from " + t + " where "
	expect(one[int](c, count+"id = $1 and sym = $2 and v = $3 and ts = $4", 4, "s1", 2.0, start.Add(4*time.Hour)), 1)
	expect(one[int](c, count+"ts >= $1 and ts < $2", start, start.Add(3*time.Hour)), 3)
	expect(one[int](c, count+"sym in ($1, $2)", "s0", "s2"), 7)
	expect(one[int](c, count+"sym = any($1)", pq.Array([]string{"s0", "s1"})), 7)
	expect(one[int](c, count+"id = any($1)", pq.Array([]int64{1, 2, 99})), 2)
	expect(one[int](c, count+"v = any($1)", pq.Array([]float64{0.5, 1})), 2)
	expect(one[int](c, count+"id <> all($1)", pq.Array([]int64{1, 2, 99})), 8)
	expect(one[string](c, "select $1::varchar || '!'", "ü'"), "ü'!")
	expect(one[int64](c, "select $1::long + $2::int", int64(1)<<40, 2), int64(1)<<40+2)
	expect(column[int](c, "select id from "+t+" order by id limit $1 offset $2", 2, 3), []int{3, 4})
	expect(len(column[int](c, "select id from "+t+" limit $1", 4)), 4)
}

func prepared(c *sql.Conn) {
	t := table("prepared")
	create(c, t, "(id int, v varchar)")
	prepare := func(text string) *sql.Stmt {
		s, err := c.PrepareContext(ctx, text)
		must(err)
		return s
	}
	put, get, all := prepare("insert into "+t+" (id, v) values ($1, $2)"), prepare("select v from "+t+" where id = $1"), prepare("select * from "+t+" where id = $1")
	for i := range 100 {
		_, err := put.Exec(i, fmt.Sprint("v", i))
		must(err)
	}
	var v string
	for i := range 100 {
		must(get.QueryRow(i).Scan(&v))
		expect(v, fmt.Sprint("v", i))
	}
	expect(get.QueryRow(999).Scan(&v), sql.ErrNoRows)
	exec(c, "alter table "+t+" add column more double")
	must(get.QueryRow(7).Scan(&v))
	expect(v, "v7", "after a new column that the statement does not show")
	_, err := put.Exec(100, "v100")
	must(err)
	rows, err := all.Query(7)
	if err == nil {
		rows.Next()
		err = rows.Err()
	}
	expectState(err, "0A000", "a statement whose columns have changed")
	must(all.Close())
	all = prepare("select * from " + t + " where id = $1")
	var id int
	var more sql.NullFloat64
	must(all.QueryRow(7).Scan(&id, &v, &more))
	expect(one[int](c, "select count() from "+t), 101)
}

// batch is a prepared statement in a transaction: the driver has no pipeline.
func batch(c *sql.Conn) {
	t := table("batch")
	create(c, t, "(ts timestamp, id int, v varchar) timestamp(ts) partition by day")
	send := func(bad int) error {
		tx, err := c.BeginTx(ctx, nil)
		must(err)
		defer tx.Rollback()
		put, err := tx.Prepare("insert into " + t + " values ($1, $2::varchar::decimal(9,0)::int, $3)")
		must(err)
		for i := range 1000 {
			id := fmt.Sprint(i)
			if i == bad {
				id = "x"
			}
			if _, err = put.Exec(at("2024-01-01T00:00:00Z").Add(time.Duration(i)*time.Second), id, fmt.Sprint("v", i)); err != nil {
				return err
			}
		}
		must(put.Close())
		return tx.Commit()
	}
	must(send(-1))
	expectState(send(500), "22P02")
	expect(one[int](c, "select count() from "+t), 1000)
	expect(one[int](c, "select sum(id) from "+t), 499500)
}

// fetch reads by streaming, and by a cursor.
func fetch(c *sql.Conn) {
	const n = int64(1000000)
	sum, heap := int64(0), uint64(0)
	rows, err := c.QueryContext(ctx, "select x, 'some text ' || x from long_sequence(1000000)")
	must(err)
	var x int64
	var s string
	for i := 0; rows.Next(); i++ {
		must(rows.Scan(&x, &s))
		sum += x
		if i%100000 == 0 {
			heap = max(heap, heapBytes())
		}
	}
	must(rows.Err())
	expect(sum, n*(n+1)/2)
	tx, err := c.BeginTx(ctx, nil)
	must(err)
	_, err = tx.Exec("declare cur cursor for select x from long_sequence(1000000)")
	must(err)
	got := int64(0)
	for part := column[int64](tx, "fetch 10000 from cur"); len(part) > 0; part = column[int64](tx, "fetch 10000 from cur") {
		for _, x := range part {
			got += x
		}
		heap = max(heap, heapBytes())
	}
	must(tx.Commit())
	expect(got, sum, "by a cursor")
	if heap > 64<<20 {
		panic(fmt.Sprint("heap of ", heap, " bytes"))
	}
}

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func large(c *sql.Conn) {
	t := table("large")
	create(c, t, "(v varchar, b binary)")
	text := strings.Repeat("0123456789abcdeü", 1<<17) // 17 bytes each
	exec(c, "insert into "+t+" values ($1, $2)", text, []byte(text))
	var v string
	var b []byte
	must(c.QueryRowContext(ctx, "select v, b from "+t).Scan(&v, &b))
	expect(v == text && string(b) == text, true, "2 MiB")
	expect(len(column[int64](c, "select x from long_sequence(100000)")), 100000)
}

func timeSeries(c *sql.Conn) {
	trades, quotes := table("trades"), table("quotes")
	create(c, trades, "(ts timestamp, sym symbol, price double, n long) timestamp(ts) partition by day")
	create(c, quotes, "(ts timestamp, sym symbol, bid double) timestamp(ts) partition by day")
	start := at("2024-01-01T00:00:00Z")
	for i := range 120 {
		ts := start.Add(time.Duration(i) * time.Minute)
		exec(c, "insert into "+trades+" values ($1, $2, $3, $4)", ts, []string{"A", "B"}[i%2], float64(i), i)
		exec(c, "insert into "+quotes+" values ($1, $2, $3)", ts.Add(-time.Second), []string{"A", "B"}[i%2], float64(i)-0.5)
	}
	type bar struct {
		ts    time.Time
		sym   string
		price float64
		n     int64
	}
	read := func(text string, args ...any) (out []bar) {
		rows, err := c.QueryContext(ctx, text, args...)
		must(err)
		defer rows.Close()
		for rows.Next() {
			var b bar
			must(rows.Scan(&b.ts, &b.sym, &b.price, &b.n))
			b.ts = b.ts.UTC()
			out = append(out, b)
		}
		must(rows.Err())
		return out
	}
	expect(read("select ts, sym, avg(price), sum(n) from "+trades+" where ts >= $1 and ts < $2 and sym = $3 sample by 1h", start, start.Add(2*time.Hour), "A"),
		[]bar{{start, "A", 29, 870}, {start.Add(time.Hour), "A", 89, 2670}}, "SAMPLE BY")
	expect(read("select ts, sym, price, n from "+trades+" where ts <= $1 latest on ts partition by sym", start.Add(100*time.Minute)),
		[]bar{{start.Add(99 * time.Minute), "B", 99, 99}, {start.Add(100 * time.Minute), "A", 100, 100}}, "LATEST ON")
	expect(read("select t.ts, t.sym, q.bid, t.n from "+trades+" t asof join "+quotes+" q on (sym) where t.n between $1 and $2 and t.sym = $3", 10, 13, "A"),
		[]bar{{start.Add(10 * time.Minute), "A", 9.5, 10}, {start.Add(12 * time.Minute), "A", 11.5, 12}}, "ASOF JOIN")
}
