package main

import (
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lib/pq"
)

const columns = "bo boolean, by byte, sh short, i int, l long, f float, d double, c char, s string, v varchar, sy symbol, da date, " +
	"ts timestamp, tn timestamp_ns, u uuid, ip ipv4, l2 long256, gh geohash(4c), gb geohash(7b), de decimal(20,4), dw decimal(76,10), bi binary, " +
	"a double[], m double[][]"

const columnCount = 24

// row has the Go types of database/sql; decimals and UUIDs are texts in it.
type row struct {
	Bo     bool
	By, Sh int16
	I      int32
	L      int64
	F      float32
	D      float64
	C, S   string
	V, Sy  string
	Da     time.Time
	Ts, Tn time.Time
	U      string
	Ip, L2 string
	Gh, Gb string
	De, Dw string
	Bi     []byte
	A      []sql.NullFloat64
	M      [][]sql.NullFloat64
}

// arrayText is what pq.Array makes of one dimension, which it cannot of two whose elements may be null.
func arrayText(m [][]sql.NullFloat64) string {
	parts := make([]string, len(m))
	for i := range m {
		text, err := pq.Array(m[i]).Value()
		must(err)
		parts[i] = text.(string)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (r *row) arguments() []any {
	return []any{r.Bo, r.By, r.Sh, r.I, r.L, r.F, r.D, r.C, r.S, r.V, r.Sy, r.Da, r.Ts, r.Tn, r.U, r.Ip, r.L2, r.Gh, r.Gb, r.De, r.Dw, r.Bi,
		pq.Array(r.A), arrayText(r.M)}
}

func (r *row) targets(m *string) []any {
	return []any{&r.Bo, &r.By, &r.Sh, &r.I, &r.L, &r.F, &r.D, &r.C, &r.S, &r.V, &r.Sy, &r.Da, &r.Ts, &r.Tn, &r.U, &r.Ip, &r.L2, &r.Gh, &r.Gb, &r.De, &r.Dw, &r.Bi,
		pq.Array(&r.A), m}
}

func numbers(v ...float64) []sql.NullFloat64 {
	out := []sql.NullFloat64{}
	for _, x := range v {
		out = append(out, sql.NullFloat64{Float64: x, Valid: !math.IsNaN(x)})
		if math.IsNaN(x) {
			out[len(out)-1].Float64 = 0
		}
	}
	return out
}

var null = math.NaN()

func values() []row {
	nines := strings.Repeat("9", 66) + "." + strings.Repeat("9", 10)
	return []row{
		{true, 7, -300, 70000, 1 << 40, 1.5, 0.1, "x", "it's \"q\" \\ ü €", "text 😀", "sym'bol", at("2024-01-02T03:04:05.123Z"), at("2024-03-01T09:00:00.123456Z"),
			at("2024-03-01T09:00:00.654321Z"), "11111111-2222-3333-4444-555555555555", "192.168.0.1", "0xff00000000000000000000000000000001", "u33d", "0101101",
			"-123456789012.3456", "0.0000000001", []byte{0, 1, 255, '\\'}, numbers(1.5, null, -2), [][]sql.NullFloat64{numbers(1, 2, 3), numbers(4, null, 6)}},
		{false, -128, -32768, math.MinInt32 + 1, math.MinInt64 + 1, -math.MaxFloat32, -math.MaxFloat64, "é", "", "", "", at("1969-12-31T23:59:59.999Z"),
			at("1901-02-03T04:05:06.789012Z"), at("1700-01-01T00:00:00.000001Z"), "00000000-0000-0000-0000-000000000001", "0.0.0.1", "0x01", "0000", "0000000",
			"-9999999999999999.9999", "-" + nines, []byte{}, numbers(), [][]sql.NullFloat64{numbers(null)}},
		{true, 127, 32767, math.MaxInt32, math.MaxInt64, math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64, "€", "a\tb\nc", "'", "\"", at("2099-12-31T00:00:00Z"),
			at("9999-12-31T23:59:59.999999Z"), at("2262-01-01T00:00:00.999999Z"), "ffffffff-ffff-ffff-ffff-fffffffffffe", "255.255.255.255",
			"0x" + strings.Repeat("f", 64), "zzzz", "1111111", "9999999999999999.9999", nines, make([]byte, 100000), numbers(make([]float64, 1000)...),
			[][]sql.NullFloat64{numbers(math.MaxFloat64, 5e-324)}},
	}
}

func markers(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(out, ", ")
}

func same(got, want row, m string, what ...any) {
	expect([]time.Time{got.Da.UTC(), got.Ts.UTC(), got.Tn.UTC()}, []time.Time{want.Da, want.Ts, want.Tn}, what...)
	expect(numbersOf(m), numbersOf(arrayText(want.M)), append(what, " array")...)
	got.Da, got.Ts, got.Tn, got.M = want.Da, want.Ts, want.Tn, want.M
	expect(got, want, what...)
}

// numbersOf reads an array in text again: 1e2 and 100 are one number.
func numbersOf(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("{},", r) })
	for i, w := range words {
		var x float64
		if _, err := fmt.Sscan(w, &x); err == nil {
			words[i] = fmt.Sprint(x)
		}
	}
	return strings.Join(words, " ")
}

func types(c *sql.Conn) {
	t := table("types")
	create(c, t, "(k int, "+columns+")")
	for k, want := range values() {
		exec(c, "insert into "+t+" values ("+markers(columnCount+1)+")", append([]any{k}, want.arguments()...)...)
		var got row
		var m string
		must(c.QueryRowContext(ctx, "select * exclude (k) from "+t+" where k = $1", k).Scan(got.targets(&m)...))
		same(got, want, m, "row ", k)
	}
	rows, err := c.QueryContext(ctx, "select * exclude (k) from "+t+" limit 1")
	must(err)
	described, err := rows.ColumnTypes()
	must(err)
	rows.Close()
	names := ""
	for _, d := range described {
		names += d.DatabaseTypeName() + " "
	}
	expect(names, "BOOL INT2 INT2 INT4 INT8 FLOAT4 FLOAT8 BPCHAR VARCHAR VARCHAR VARCHAR TIMESTAMP TIMESTAMP TIMESTAMP UUID VARCHAR VARCHAR VARCHAR VARCHAR "+
		"NUMERIC NUMERIC BYTEA _FLOAT8 _FLOAT8 ")
	precision, scale, ok := described[20].DecimalSize()
	expect([]any{precision, scale, ok}, []any{int64(76), int64(10), true}, "decimal")
}

// BOOLEAN, BYTE and SHORT have no null: they are false and 0.
func nulls(c *sql.Conn) {
	t := table("nulls")
	create(c, t, "("+columns+")")
	exec(c, "insert into "+t+" values ("+markers(columnCount)+")", make([]any, columnCount)...)
	got, targets := make([]any, columnCount), make([]any, columnCount)
	for i := range got {
		targets[i] = &got[i]
	}
	must(c.QueryRowContext(ctx, "select * from "+t).Scan(targets...))
	expect(got, append([]any{false, int64(0), int64(0)}, make([]any, columnCount-3)...))
	expect(one[int64](c, "select count() from "+t+" where l is null and ts is null and u is null and a is null and bi is null"), int64(1))
}
