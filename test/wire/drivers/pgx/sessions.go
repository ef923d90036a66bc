package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

func connects(c *pgx.Conn) {
	expect(c.PgConn().ParameterStatus("standard_conforming_strings"), "on")
	expect(one[string](c, "show server_version"), c.PgConn().ParameterStatus("server_version"))
	must(c.Ping(ctx))
	for _, wrong := range []string{"password=wrong", "user=nobody"} {
		_, err := pgx.Connect(ctx, dsn(wrong))
		expectState(err, "28P01", wrong)
	}
	for _, more := range []string{"application_name=pgx", "target_session_attrs=read-write", "target_session_attrs=primary", "max_protocol_version=3.2",
		"min_protocol_version=3.2", "channel_binding=disable"} {
		other := connect(more)
		expect(one[int32](other, "select 1"), int32(1), more)
		must(other.Close(ctx))
	}
}

func tls(*pgx.Conn) {
	for _, more := range []string{"sslmode=require", "sslmode=verify-ca sslrootcert=" + ca, "sslmode=verify-full sslrootcert=" + ca,
		"sslmode=verify-full channel_binding=require sslrootcert=" + ca, "sslmode=verify-full sslnegotiation=direct sslrootcert=" + ca} {
		c := connect(more)
		expect(fmt.Sprintf("%T", c.PgConn().Conn()), "*tls.Conn", more)
		expect(one[int32](c, "select 1"), int32(1), more)
		must(c.Close(ctx))
	}
	// the system does not know the authority of the tests
	_, err := pgx.Connect(ctx, dsn("sslmode=verify-full"))
	expect(err != nil && strings.Contains(err.Error(), "certificate"), true, "an unknown authority: ", err)
}

func transaction(c *pgx.Conn) {
	t := table("transaction")
	create(c, t, "(id int)")
	count := func() int64 { return one[int64](c, "select count() from "+t) }
	must(pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "insert into "+t+" values ($1)", 1)
		return err
	}))
	expect(count(), int64(1), "commit")
	tx, err := c.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable, AccessMode: pgx.ReadWrite})
	must(err)
	exec(c, "insert into "+t+" values (2)")
	expect(count(), int64(2), "own rows")
	must(tx.Rollback(ctx))
	expect(count(), int64(1), "rollback")

	tx, err = c.Begin(ctx)
	must(err)
	exec(c, "insert into "+t+" values (3)")
	inner, err := tx.Begin(ctx) // a savepoint
	must(err)
	exec(c, "insert into "+t+" values (4)")
	must(inner.Rollback(ctx))
	inner, err = tx.Begin(ctx)
	must(err)
	exec(c, "insert into "+t+" values (5)")
	must(inner.Commit(ctx))
	must(tx.Commit(ctx))
	expect(column[int32](c, "select id from "+t+" order by id"), []int32{1, 3, 5}, "savepoints")

	tx, err = c.Begin(ctx)
	must(err)
	exec(c, "insert into "+t+" values (6)")
	_, err = c.Exec(ctx, "select nope")
	expectState(err, "42703")
	_, err = c.Exec(ctx, "select 1")
	expectState(err, "25P02", "a failed block")
	expect(c.PgConn().TxStatus(), byte('E'))
	expect(errors.Is(tx.Commit(ctx), pgx.ErrTxCommitRollback), true, "COMMIT of a failed block")
	expect(count(), int64(3))
}

func copyIn(c *pgx.Conn) {
	t := table("copy_in")
	create(c, t, "(k int, "+columns+")")
	names := []string{"k"}
	for _, part := range strings.Split(columns, ", ") {
		names = append(names, strings.Fields(part)[0])
	}
	values := [][]any{append([]any{0, false, int16(0), int16(0)}, make([]any, columnCount-3)...)}
	for k, r := range rows() {
		values = append(values, append([]any{k + 1}, r.values()...))
	}
	n, err := c.CopyFrom(ctx, pgx.Identifier{t}, names, pgx.CopyFromRows(values))
	must(err)
	expect(n, int64(len(values)))
	for k, want := range rows() {
		got, err := c.Query(ctx, "select * exclude (k) from "+t+" where k = $1", k+1)
		must(err)
		back, err := pgx.CollectExactlyOneRow(got, pgx.RowToStructByPos[row])
		must(err)
		same(back, want, "row ", k)
	}
	many := table("copy_many")
	create(c, many, "(ts timestamp, id long, v varchar) timestamp(ts) partition by day")
	n, err = c.CopyFrom(ctx, pgx.Identifier{many}, []string{"ts", "id", "v"}, pgx.CopyFromSlice(100000, func(i int) ([]any, error) {
		return []any{at("2024-01-01T00:00:00Z").Add(time.Duration(i) * time.Second), i, fmt.Sprint("v", i)}, nil
	}))
	must(err)
	expect(n, int64(100000))
	tag, err := c.PgConn().CopyFrom(ctx, strings.NewReader("2024-02-01,1,\"a,b\"\n2024-02-02,2,c\n"), "copy "+many+" from stdin with (format csv)")
	must(err)
	expect(tag.String(), "COPY 2")
	_, err = c.PgConn().CopyFrom(ctx, strings.NewReader("2024-02-01,x,y\n"), "copy "+many+" from stdin with (format csv)")
	expectState(err, "22P02", "a wrong value in COPY")
	_, err = c.CopyFrom(ctx, pgx.Identifier{many}, []string{"ts", "id", "v"}, pgx.CopyFromFunc(func() ([]any, error) { return nil, errors.New("no more") }))
	expectState(err, "57014", "a source that fails")
	expect(one[int64](c, "select count() from "+many), int64(100002))
}

func copyOut(c *pgx.Conn) {
	var out bytes.Buffer
	tag, err := c.PgConn().CopyTo(ctx, &out, "copy (select x, 'a,b' s from long_sequence(3)) to stdout with (format csv, header true)")
	must(err)
	expect(tag.String(), "COPY 3")
	expect(out.String(), "x,s\n1,\"a,b\"\n2,\"a,b\"\n3,\"a,b\"\n")
	out.Reset()
	_, err = c.PgConn().CopyTo(ctx, &out, "copy (select x::int from long_sequence(100000)) to stdout with (format binary)")
	must(err)
	expect(out.Len(), 19+100000*10+2, "bytes of a binary COPY")
	_, err = c.PgConn().CopyTo(ctx, &out, "copy (select nope) to stdout")
	expectState(err, "42703")
	expect(one[int32](c, "select 1"), int32(1))
}

func errorFields(c *pgx.Conn) {
	for _, e := range []struct {
		sql, state string
		position   int32
	}{{"select 1 +", "42601", 10}, {"select 'ü' from", "42601", 16}, {"select * from nosuch_table", "42P01", 15}, {"select 'ü', nope from long_sequence(1)", "42703", 13},
		{"select 'abc'::decimal(5,2)", "22P02", 8}, {"select nosuch_function(1)", "42883", 8}} {
		for _, mode := range modes {
			found := expectState(queryAll(c, e.sql, mode), e.state, e.sql)
			expect(found.Position, e.position, e.sql)
			expect(found.Severity, "ERROR")
		}
	}
	expect(one[int32](c, "select 1"), int32(1), "after errors")
}

const slow = "select sum(x % 7) from long_sequence(1000000000000)"

func cancels(c *pgx.Conn) {
	for _, sql := range []string{slow, "select x from long_sequence(100000000000)"} {
		go func() {
			time.Sleep(200 * time.Millisecond)
			c.PgConn().CancelRequest(ctx)
		}()
		expectState(queryAll(c, sql), "57014", sql)
		expect(one[int32](c, "select 1"), int32(1), "after a cancel")
	}
	config, err := pgx.ParseConfig(dsn(""))
	must(err)
	config.BuildContextWatcherHandler = func(p *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: p, CancelRequestDelay: 0, DeadlineDelay: 10 * time.Second}
	}
	other, err := pgx.ConnectConfig(ctx, config)
	must(err)
	defer other.Close(ctx)
	short, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	defer stop()
	_, err = other.Exec(short, slow)
	expectState(err, "57014", "a context that ends")
	expect(one[int32](other, "select 1"), int32(1), "after a context that ended")
}

func timeouts(c *pgx.Conn) {
	exec(c, "set statement_timeout = 200")
	expectState(queryAll(c, slow), "57014", "SET")
	exec(c, "set statement_timeout = 0")
	expect(one[int32](c, "select 1"), int32(1))
	for _, more := range []string{"statement_timeout=200", "options='-c statement_timeout=200'"} {
		other := connect(more)
		expectState(queryAll(other, slow), "57014", more)
		expect(one[int32](other, "select 1"), int32(1))
		must(other.Close(ctx))
	}
}

// metadata asks as pgx's own LoadType and LoadTypes do, and by the columns of a result.
func metadata(c *pgx.Conn) {
	t := table("metadata")
	create(c, t, "(ts timestamp, sym symbol, v double, a double[], de decimal(10,2)) timestamp(ts) partition by day")
	for _, name := range []string{"_float8", "_varchar", "_int4"} {
		loaded, err := c.LoadType(ctx, name)
		must(err)
		known, ok := c.TypeMap().TypeForOID(loaded.OID)
		expect(ok, true, name)
		expect(strings.TrimPrefix(name, "pg_catalog."), known.Name)
	}
	// pgx's text names a type and a row by the names of composite types: a table is none, so none are found
	loaded, err := c.LoadTypes(ctx, []string{"_float8", "float8"})
	must(err)
	for _, l := range loaded {
		expect(strings.HasSuffix(l.Name, "float8"), true, l.Name)
	}
	got, err := c.Query(ctx, "select * from "+t)
	must(err)
	fields := got.FieldDescriptions()
	expect(len(fields), 5)
	got.Close()
	expect(fields[1].Name, "sym")
	expect(column[string](c, "select column_name || ' ' || data_type from information_schema.columns where table_name = $1 order by ordinal_position", t),
		[]string{"ts timestamp without time zone", "sym character varying", "v double precision", "a ARRAY", "de numeric"})
	expect(column[string](c, "select table_name from information_schema.tables where table_schema = 'public' and table_name = $1", t), []string{t})
	for _, keys := range []string{"table_constraints", "key_column_usage", "referential_constraints"} {
		expect(one[int64](c, "select count(*) from information_schema."+keys), int64(0), keys)
	}
	described, err := c.Prepare(ctx, "described", "select sym from "+t+" where ts > $1 and v < $2 and sym = $3 limit $4")
	must(err)
	expect(described.ParamOIDs, []uint32{1114, 701, 1043, 20})
}

func pool(*pgx.Conn) {
	config, err := pgxpool.ParseConfig(dsn("pool_max_conns=4 pool_min_conns=1"))
	must(err)
	config.AfterRelease = func(c *pgx.Conn) bool {
		_, err := c.Exec(ctx, "discard all")
		return err == nil
	}
	// DISCARD ALL drops statements that the cache would remember
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	p, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	defer p.Close()
	var all sync.WaitGroup
	failures := make(chan error, 800)
	for worker := range 8 {
		all.Go(func() {
			for i := range 100 {
				var got int
				if err := p.QueryRow(ctx, "select $1::int * 1000 + $2::int", worker, i).Scan(&got); err != nil || got != worker*1000+i {
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
	expect(p.Stat().TotalConns() <= 4, true)
	for turn := range 20 {
		c, err := p.Acquire(ctx)
		must(err)
		expect(one[string](c.Conn(), "show application_name"), "", "reset on return")
		_, err = c.Exec(ctx, fmt.Sprintf("set application_name = 'turn%d'", turn))
		must(err)
		c.Release()
	}
	c, err := p.Acquire(ctx)
	must(err)
	_, err = c.Exec(ctx, "begin")
	must(err)
	c.Release() // inside a block: the pool closes it
	c, err = p.Acquire(ctx)
	must(err)
	expect(c.Conn().PgConn().TxStatus(), byte('I'))
	c.Release()
}
