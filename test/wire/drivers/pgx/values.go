package main

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

const columns = "bo boolean, by byte, sh short, i int, l long, f float, d double, c char, s string, v varchar, sy symbol, da date, " +
	"ts timestamp, tn timestamp_ns, u uuid, ip ipv4, l2 long256, gh geohash(4c), gb geohash(7b), de decimal(20,4), dw decimal(76,10), bi binary, " +
	"a double[], m double[][]"

const columnCount = 24

// row has the Go types that pgx maps the types of the server to.
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
	U      pgtype.UUID
	Ip, L2 string
	Gh, Gb string
	De, Dw pgtype.Numeric
	Bi     []byte
	A      []*float64
	M      [][]*float64
}

// Modes that do not ask the server guess the types of parameters from those of Go, which they cannot for this one.
var arrayAsText = map[pgx.QueryExecMode]bool{pgx.QueryExecModeExec: true, pgx.QueryExecModeSimpleProtocol: true}

func arrayText(m [][]*float64) string {
	text := strings.NewReplacer("[", "{", "]", "}", " ", ",", "null", "NULL").Replace(canonical(m))
	return "{" + strings.ReplaceAll(text, "}{", "},{") + "}"
}

func (r row) arguments(mode pgx.QueryExecMode) []any {
	out := r.values()
	if arrayAsText[mode] {
		out[len(out)-1] = arrayText(r.M)
	}
	return out
}

func (r row) values() []any {
	return []any{r.Bo, r.By, r.Sh, r.I, r.L, r.F, r.D, r.C, r.S, r.V, r.Sy, r.Da, r.Ts, r.Tn, r.U, r.Ip, r.L2, r.Gh, r.Gb, r.De, r.Dw, r.Bi, r.A, r.M}
}

func decimal(digits string, exponent int32) pgtype.Numeric {
	n, _ := new(big.Int).SetString(digits, 10)
	return pgtype.Numeric{Int: n, Exp: exponent, Valid: true}
}

func numbers(v ...float64) (out []*float64) {
	for i := range v {
		if math.IsNaN(v[i]) {
			out = append(out, nil)
		} else {
			out = append(out, &v[i])
		}
	}
	return out
}

func uuid(text string) (u pgtype.UUID) {
	must(u.Scan(text))
	return u
}

var null = math.NaN()

func rows() []row {
	u := uuid("11111111-2222-3333-4444-555555555555")
	return []row{
		{true, 7, -300, 70000, 1 << 40, 1.5, 0.1, "x", "it's \"q\" \\ ü €", "text 😀", "sym'bol", at("2024-01-02T03:04:05.123Z"),
			at("2024-03-01T09:00:00.123456Z"), at("2024-03-01T09:00:00.654321Z"), u, "192.168.0.1", "0xff00000000000000000000000000000001", "u33d", "0101101",
			decimal("-1234567890123456", -4), decimal("1", -10), []byte{0, 1, 255, '\\'}, numbers(1.5, null, -2), [][]*float64{numbers(1, 2, 3), numbers(4, null, 6)}},
		{false, -128, -32768, math.MinInt32 + 1, math.MinInt64 + 1, -math.MaxFloat32, -math.MaxFloat64, "é", "", "", "", at("1969-12-31T23:59:59.999Z"),
			at("1901-02-03T04:05:06.789012Z"), at("1700-01-01T00:00:00.000001Z"), uuid("00000000-0000-0000-0000-000000000001"), "0.0.0.1", "0x01", "0000",
			"0000000", decimal("-99999999999999999999", -4), decimal("-"+strings.Repeat("9", 76), -10), []byte{}, numbers(), [][]*float64{numbers(null)}},
		{true, 127, 32767, math.MaxInt32, math.MaxInt64, math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64, "€", "a\tb\nc", "'", "\"", at("2099-12-31T00:00:00Z"),
			at("9999-12-31T23:59:59.999999Z"), at("2262-01-01T00:00:00.999999Z"), uuid("ffffffff-ffff-ffff-ffff-fffffffffffe"), "255.255.255.255",
			"0x" + strings.Repeat("f", 64), "zzzz", "1111111", decimal("99999999999999999999", -4), decimal(strings.Repeat("9", 76), -10), make([]byte, 100000), numbers(make([]float64, 1000)...),
			[][]*float64{numbers(math.MaxFloat64, 5e-324)}},
	}
}

func markers(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(out, ", ")
}

var modes = []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
	pgx.QueryExecModeSimpleProtocol}

// same compares by the text of the values: pgtype has more than one form of a number.
func same(got, want row, what ...any) {
	g, w := got.values(), want.values()
	for i := range w {
		expect(canonical(g[i]), canonical(w[i]), append(what, " column ", i)...)
	}
}

func canonical(v any) string {
	switch v := v.(type) {
	case pgtype.Numeric:
		text, err := v.Value()
		must(err)
		return fmt.Sprint(text)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []*float64:
		out := []string{}
		for _, x := range v {
			out = append(out, canonical(x))
		}
		return "[" + strings.Join(out, " ") + "]"
	case [][]*float64:
		out := ""
		for _, x := range v {
			out += canonical(x)
		}
		return out
	case *float64:
		if v == nil {
			return "null"
		}
		return fmt.Sprint(*v)
	}
	return fmt.Sprint(v)
}

func types(c *pgx.Conn) {
	t := table("types")
	create(c, t, "(k int, "+columns+")")
	k := 0
	for _, mode := range modes {
		for _, want := range rows() {
			k++
			exec(c, "insert into "+t+" values ("+markers(columnCount+1)+")", append([]any{mode, k}, want.arguments(mode)...)...)
			got, err := c.Query(ctx, "select * exclude (k) from "+t+" where k = $1", mode, k)
			must(err)
			back, err := pgx.CollectExactlyOneRow(got, pgx.RowToStructByPos[row])
			must(err)
			same(back, want, "mode ", mode, " row ", k)
		}
	}
	types := make([]string, 0, columnCount)
	got, err := c.Query(ctx, "select * exclude (k) from "+t+" limit 1")
	must(err)
	for _, f := range got.FieldDescriptions() {
		known, ok := c.TypeMap().TypeForOID(f.DataTypeOID)
		expect(ok, true, f.Name, " has a type that pgx does not know: ", f.DataTypeOID)
		types = append(types, known.Name)
	}
	got.Close()
	expect(strings.Join(types, " "), "bool int2 int2 int4 int8 float4 float8 bpchar varchar varchar varchar timestamp timestamp timestamp uuid "+
		"varchar varchar varchar varchar numeric numeric bytea _float8 _float8")
}

// BOOLEAN, BYTE and SHORT have no null: they are false and 0.
func nulls(c *pgx.Conn) {
	t := table("nulls")
	create(c, t, "("+columns+")")
	for _, mode := range modes {
		exec(c, "truncate table "+t)
		exec(c, "insert into "+t+" values ("+markers(columnCount)+")", append([]any{mode}, make([]any, columnCount)...)...)
		got, err := c.Query(ctx, "select * from "+t, mode)
		must(err)
		expect(got.Next(), true)
		values, err := got.Values()
		must(err)
		want := append([]any{false, int16(0), int16(0)}, make([]any, columnCount-3)...)
		expect(values, want, "mode ", mode)
		got.Close()
		expect(one[int64](c, "select count() from "+t+" where l is null and ts is null and u is null and a is null and bi is null"), int64(1))
	}
}
