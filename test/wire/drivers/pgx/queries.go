package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

func selects(c *pgx.Conn) {
	for _, mode := range modes {
		got, err := c.Query(ctx, "select 1 a, 2L b, 1.5 c, 'it''s ü' d, true e, null f, '2024-01-02T03:04:05.678901Z'::timestamp g", mode)
		must(err)
		expect(got.Next(), true)
		values, err := got.Values()
		must(err)
		expect(values, []any{int32(1), int64(2), 1.5, "it's ü", true, nil, at("2024-01-02T03:04:05.678901Z")}, mode)
		names := ""
		for _, f := range got.FieldDescriptions() {
			names += f.Name
		}
		expect(names, "abcdefg")
		got.Close()
		expect(got.CommandTag().String(), "SELECT 1")
	}
	results, err := c.PgConn().Exec(ctx, "select 1; select 'x' where false; select 2, 'b'").ReadAll()
	must(err)
	expect(len(results), 3)
	expect(string(results[2].Rows[0][1]), "b", "third statement of a text")
}

func parameters(c *pgx.Conn) {
	t := table("parameters")
	create(c, t, "(id long, sym symbol, v double, ts timestamp) timestamp(ts) partition by day")
	start := at("2024-01-01T00:00:00Z")
	for _, mode := range modes {
		exec(c, "truncate table "+t)
		for i := range 10 {
			exec(c, "insert into "+t+" values ($1, $2, $3, $4)", mode, int64(i), fmt.Sprint("s", i%3), float64(i)/2, start.Add(time.Duration(i)*time.Hour))
		}
		count := "select count() from " + t + " where "
		expect(one[int64](c, count+"id = $1 and sym = $2 and v = $3 and ts = $4", mode, 4, "s1", 2.0, start.Add(4*time.Hour)), int64(1), mode)
		expect(one[int64](c, count+"ts >= $1 and ts < $2", mode, start, start.Add(3*time.Hour)), int64(3), mode)
		expect(one[int64](c, count+"sym in ($1, $2)", mode, "s0", "s2"), int64(7), mode)
		expect(one[string](c, "select $1::varchar || '!'", mode, "ü'"), "ü'!", mode)
		expect(one[int64](c, "select $1::long + $2::int", mode, int64(1)<<40, 2), int64(1)<<40+2, mode)
		expect(len(column[int64](c, "select id from "+t+" limit $1", mode, 4)), 4, mode)
		expect(column[int64](c, "select id from "+t+" order by id limit $1 offset $2", mode, 2, 3), []int64{3, 4}, mode)
	}
	for _, mode := range modes {
		count := "select count() from " + t + " where "
		expect(one[int64](c, count+"sym = any($1)", mode, []string{"s0", "s1"}), int64(7), mode)
		expect(one[int64](c, count+"id = any($1)", mode, []int64{1, 2, 99}), int64(2), mode)
		expect(one[int64](c, count+"v = any($1)", mode, []float64{0.5, 1}), int64(2), mode)
	}
	expect(one[string](c, "select @name || @name", pgx.NamedArgs{"name": "ab"}), "abab", "named arguments")
}

func prepared(c *pgx.Conn) {
	t := table("prepared")
	create(c, t, "(id int, v varchar)")
	_, err := c.Prepare(ctx, "put", "insert into "+t+" (id, v) values ($1, $2)")
	must(err)
	for i := range 200 {
		exec(c, "put", i, fmt.Sprint("v", i))
	}
	_, err = c.Prepare(ctx, "get", "select v from "+t+" where id = $1")
	must(err)
	_, err = c.Prepare(ctx, "all", "select * from "+t+" where id = $1")
	must(err)
	for i := range 200 {
		expect(one[string](c, "get", i), fmt.Sprint("v", i))
	}
	expect(len(column[string](c, "get", 999)), 0)
	exec(c, "alter table "+t+" add column more double")
	expect(one[string](c, "get", 7), "v7", "after a new column that the statement does not show")
	exec(c, "put", 200, "v200")
	expectState(queryAll(c, "all", 7), "0A000", "a statement whose columns have changed")
	must(c.Deallocate(ctx, "all"))
	_, err = c.Prepare(ctx, "all", "select * from "+t+" where id = $1")
	must(err)
	must(queryAll(c, "all", 7))
	cached := "select * from " + t + " where id < $1"
	must(queryAll(c, cached, 5))
	exec(c, "alter table "+t+" drop column more")
	expectState(queryAll(c, cached, 5), "0A000", "a statement of the cache")
	must(queryAll(c, cached, 5)) // the driver has dropped it from its cache
	must(c.DeallocateAll(ctx))
	expect(one[int64](c, "select count() from "+t), int64(201))
}

func queryAll(c *pgx.Conn, sql string, args ...any) error {
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

func batch(c *pgx.Conn) {
	t := table("batch")
	create(c, t, "(ts timestamp, id int, v varchar) timestamp(ts) partition by day")
	send := func(n, bad int) error {
		b := &pgx.Batch{}
		for i := range n {
			text := "insert into " + t + " values ($1, $2, $3)"
			if i == bad {
				text = "insert into " + t + " values ($1, 'no number'::uuid, $2 || $3)"
			}
			b.Queue(text, at("2024-01-01T00:00:00Z").Add(time.Duration(i)*time.Second), i, fmt.Sprint("v", i))
		}
		return c.SendBatch(ctx, b).Close()
	}
	must(send(1000, -1))
	expect(one[int64](c, "select count() from "+t), int64(1000))
	expect(one[int64](c, "select sum(id) from "+t), int64(499500))
	if send(1000, 500) == nil {
		panic("no error from a batch with a wrong statement")
	}
	expect(one[int64](c, "select count() from "+t), int64(1000), "after a batch that failed before it was run")
	fails := &pgx.Batch{}
	for i := range 1000 {
		id := any(i)
		if i == 500 {
			id = "x" // text that is no number: found when the statement is run
		}
		fails.Queue("insert into "+t+" values ('2024-02-01', $1::varchar::decimal(9,0)::int, 'v')", fmt.Sprint(id))
	}
	expectState(c.SendBatch(ctx, fails).Close(), "22P02", "a batch")
	expect(one[int64](c, "select count() from "+t), int64(1000), "after a batch that failed in the middle")
	mixed := &pgx.Batch{}
	total := int64(0)
	mixed.Queue("select count() from " + t).QueryRow(func(r pgx.Row) error { return r.Scan(&total) })
	mixed.Queue("update "+t+" set v = $1 where id < $2", "w", 10)
	must(c.SendBatch(ctx, mixed).Close())
	expect(total, int64(1000))
	expect(one[int64](c, "select count() from "+t+" where v = 'w'"), int64(10))
}

// fetch reads by streaming, which is all that pgx itself does, and by a cursor.
func fetch(c *pgx.Conn) {
	const n = int64(1000000)
	sum, heap := int64(0), uint64(0)
	rows, err := c.Query(ctx, "select x, x * 2, 'some text ' || x from long_sequence(1000000)")
	must(err)
	var x, y int64
	var s string
	for i := 0; rows.Next(); i++ {
		must(rows.Scan(&x, &y, &s))
		sum += x
		if i%100000 == 0 {
			heap = max(heap, heapBytes())
		}
	}
	must(rows.Err())
	expect(sum, n*(n+1)/2)
	tx, err := c.Begin(ctx)
	must(err)
	exec(c, "declare cur cursor for select x from long_sequence(1000000)")
	got := int64(0)
	for {
		part := column[int64](c, "fetch 10000 from cur", pgx.QueryExecModeDescribeExec)
		if len(part) == 0 {
			break
		}
		for _, x := range part {
			got += x
		}
		heap = max(heap, heapBytes())
	}
	must(tx.Commit(ctx))
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

func large(c *pgx.Conn) {
	t := table("large")
	create(c, t, "(k int, v varchar, b binary)")
	text := strings.Repeat("0123456789abcdeü", 1<<17) // 17 bytes each
	for k, mode := range modes {
		exec(c, "insert into "+t+" values ($1, $2, $3)", mode, k, text, []byte(text))
		var v string
		var b []byte
		must(c.QueryRow(ctx, "select v, b from "+t+" where k = $1", mode, k).Scan(&v, &b))
		expect(v == text && string(b) == text, true, "2 MiB in mode ", mode)
	}
	expect(len(column[int64](c, "select x from long_sequence(100000)")), 100000)
}

func timeSeries(c *pgx.Conn) {
	trades, quotes := table("trades"), table("quotes")
	create(c, trades, "(ts timestamp, sym symbol, price double, n long) timestamp(ts) partition by day")
	create(c, quotes, "(ts timestamp, sym symbol, bid double) timestamp(ts) partition by day")
	start := at("2024-01-01T00:00:00Z")
	b := &pgx.Batch{}
	for i := range 120 {
		ts := start.Add(time.Duration(i) * time.Minute)
		b.Queue("insert into "+trades+" values ($1, $2, $3, $4)", ts, []string{"A", "B"}[i%2], float64(i), i)
		b.Queue("insert into "+quotes+" values ($1, $2, $3)", ts.Add(-time.Second), []string{"A", "B"}[i%2], float64(i)-0.5)
	}
	must(c.SendBatch(ctx, b).Close())
	type bar struct {
		Ts    time.Time
		Sym   string
		Price float64
		N     int64
	}
	read := func(sql string, args ...any) []bar {
		rows, err := c.Query(ctx, sql, args...)
		must(err)
		out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[bar])
		must(err)
		return out
	}
	for _, mode := range modes {
		expect(read("select ts, sym, avg(price), sum(n) from "+trades+" where ts >= $1 and ts < $2 and sym = $3 sample by 1h", mode, start, start.Add(2*time.Hour), "A"),
			[]bar{{start, "A", 29, 870}, {start.Add(time.Hour), "A", 89, 2670}}, "SAMPLE BY ", mode)
		expect(read("select ts, sym, price, n from "+trades+" where ts <= $1 latest on ts partition by sym", mode, start.Add(100*time.Minute)),
			[]bar{{start.Add(99 * time.Minute), "B", 99, 99}, {start.Add(100 * time.Minute), "A", 100, 100}}, "LATEST ON ", mode)
		expect(read("select t.ts, t.sym, q.bid, t.n from "+trades+" t asof join "+quotes+" q on (sym) where t.n between $1 and $2 and t.sym = $3", mode, 10, 13, "A"),
			[]bar{{start.Add(10 * time.Minute), "A", 9.5, 10}, {start.Add(12 * time.Minute), "A", 11.5, 12}}, "ASOF JOIN ", mode)
	}
}
