/*
 * parse_test.c - statements to trees: shapes, positions, limits.
 *
 * Goal     Each clause lands in its member of ast.h with its byte position; precedence gives the
 *          right trees; no text makes the parser, or who walks its trees, run out of stack.
 * Method   Trees of expressions are written with all brackets, (a + (b * c)), and compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/conf.h"
#include "sql/parse/parse.h"

typedef struct fixture {
    alm_mem mem;
    alm_arena arena;
    alm_ctx cx;
    char text[4096]; /* of the last tree */
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->mem.name = "test";
    alm_arena_init(&f->arena, &f->mem);
    f->cx.arena = &f->arena;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    alm_arena_deinit(&f->arena);
    free(f);
    return 0;
}

static alm_stmt *parse(fixture *f, const char *sql)
{
    alm_stmt *s = NULL;
    size_t offset = 0;
    alm_error_clear(&f->cx);
    if (alm_sql_parse(&f->cx, alm_str_of(sql), &offset, &s) != ALM_OK)
        fail_msg("%.200s: [%d] %s", sql, f->cx.err.sql_pos, f->cx.err.msg);
    assert_int_equal(offset, strlen(sql));
    return s;
}

static alm_select *query(fixture *f, const char *sql)
{
    alm_stmt *s = parse(f, sql);
    assert_int_equal(s->kind, ALM_STMT_SELECT);
    return s->select;
}

static void refuse(fixture *f, const char *sql, alm_status code, int pos, const char *message)
{
    alm_stmt *s = NULL;
    size_t offset = 0;
    alm_error_clear(&f->cx);
    const alm_status st = alm_sql_parse(&f->cx, alm_str_of(sql), &offset, &s);
    if (st != code || f->cx.err.sql_pos != pos || strstr(f->cx.err.msg, message) == NULL)
        fail_msg("%.200s: got %d [%d] %s", sql, (int)st, f->cx.err.sql_pos, f->cx.err.msg);
}

static void is(alm_str got, const char *want)
{
    if (!alm_str_eq(got, alm_str_of(want)))
        fail_msg("got '%.*s', want '%s'", (int)got.len, got.ptr, want);
}

/* ------------------------------------------------------------------ trees as text */

static void write_tree(fixture *f, const alm_ast *e)
{
    const size_t n = strlen(f->text);
    char *end = f->text + n;
    const size_t room = sizeof f->text - n;
    if (e == NULL) {
        (void)snprintf(end, room, "_");
        return;
    }
    if (e->n_args == 0) {
        (void)snprintf(end, room, "%.*s%s", (int)e->text.len, e->text.ptr,
                       e->select != NULL ? "<select>" : "");
        return;
    }
    static const char *const names[] = {
        [ALM_AST_CASE] = "case",       [ALM_AST_IN] = "in",       [ALM_AST_BETWEEN] = "between",
        [ALM_AST_IS_NULL] = "is_null", [ALM_AST_ARRAY] = "array", [ALM_AST_INDEX] = "index"};
    const char *name = e->kind < ALM_COUNT(names) ? names[e->kind] : NULL;
    (void)snprintf(end, room, "(%s%.*s", e->negated ? "!" : "",
                   name ? (int)strlen(name) : (int)e->text.len, name ? name : e->text.ptr);
    for (uint32_t i = 0; i < e->n_args; i++) {
        (void)strncat(f->text, " ", sizeof f->text - strlen(f->text) - 1);
        write_tree(f, e->arg[i]);
    }
    if (e->else_arg != NULL) {
        (void)strncat(f->text, " else ", sizeof f->text - strlen(f->text) - 1);
        write_tree(f, e->else_arg);
    }
    (void)strncat(f->text, ")", sizeof f->text - strlen(f->text) - 1);
}

static void tree(fixture *f, const char *expr, const char *want)
{
    const char *sql = NULL;
    assert_int_equal(alm_arena_printf(&f->cx, &f->arena, &sql, "select %s from t", expr), ALM_OK);
    f->text[0] = 0;
    write_tree(f, query(f, sql)->items[0].expr);
    if (strcmp(f->text, want) != 0)
        fail_msg("%s: got %s, want %s", expr, f->text, want);
}

static void operators_bind_as_the_dialect_says(void **state)
{
    fixture *f = *state;
    tree(f, "1 + 2 * 3", "(+ 1 (* 2 3))");
    tree(f, "1 - 2 - 3", "(- (- 1 2) 3)");
    tree(f, "-a * b", "(* (- a) b)");
    tree(f, "-a::int", "(- (cast a))");
    tree(f, "-a[1]", "(- (index a 1))");
    tree(f, "- -a", "(- (- a))");
    tree(f, "12 & 10 = 8", "(= (& 12 10) 8)");
    tree(f, "1 | 2 ^ 3 & 4", "(| 1 (^ 2 (& 3 4)))");
    tree(f, "a || b + c", "(|| a (+ b c))");
    tree(f, "a << b + c || d", "(|| (<< a (+ b c)) d)");
    tree(f, "a = b < c", "(= a (< b c))");
    tree(f, "a < b = true", "(= (< a b) true)");
    tree(f, "not a = b and c or d", "(or (and (not (= a b)) c) d)");
    tree(f, "a = not b and c", "(and (= a (not b)) c)");
    tree(f, "a in (1, 2) and b", "(and (in a 1 2) b)");
    tree(f, "a + 1 in (2)", "(in (+ a 1) 2)");
    tree(f, "a not in (1) or b", "(or (!in a 1) b)");
    tree(f, "a = b in (c)", "(= a (in b c))");
    tree(f, "a in 'x' and b", "(and (in a x) b)");
    tree(f, "a between 1 and 2 and b", "(and (between a 1 2) b)");
    tree(f, "a between b | 1 and c + 1 or d", "(or (between a (| b 1) (+ c 1)) d)");
    tree(f, "a not between 1 and 2", "(!between a 1 2)");
    tree(f, "a like b || c", "(like a (|| b c))");
    tree(f, "a not ilike b and c", "(and (not (ilike a b)) c)");
    tree(f, "a is null = b", "(= (is_null a) b)");
    tree(f, "not a is not null", "(not (!is_null a))");
    tree(f, "a > 1 is null", "(is_null (> a 1))");
    tree(f, "a is distinct from b + 1", "(!= a (+ b 1))");
    tree(f, "a is not true", "(!= a true)");
    tree(f, "a::int[1]", "(index (cast a) 1)");
    tree(f, "a operator(pg_catalog.~) b", "(~ a b)");
    tree(f, "a collate \"C\" = b", "(= a b)");
    tree(f, "+a", "a");
    tree(f, "g within (a, b)", "(within g a b)");
    tree(f, "a at time zone 'x'", "(to_timezone a x)");
    tree(f, "a = any(b)", "(= a b)");
}

static void operands(void **state)
{
    fixture *f = *state;
    tree(f, "case when a then 1 when b then 2 else 3 end", "(case _ a 1 b 2 else 3)");
    tree(f, "case a when 1 then 2 end", "(case a 1 2)");
    tree(f, "extract(hour from ts)", "(extract hour ts)");
    tree(f, "substring(s from 2 for 3)", "(substring s 2 3)");
    tree(f, "position('a' in s)", "(position s a)");
    tree(f, "ARRAY[[1, 2], [3]]", "(array (array 1 2) (array 3))");
    tree(f, "a[1:2, 3:, :4]", "(index a (: 1 2) (: 3 _) (: _ 4))");
    tree(f, "(select 1)", "<select>");
    tree(f, "((select 1) union (select 2))", "<select>");
    tree(f, "a in (select 1)", "(in a)");
    tree(f, "f(a, g())", "(f a g)");
    tree(f, "E'\\x41\\u00e9\\U0001F600\\ud83d\\ude00\\101\\q\\xzz\\7' || E'\\xc3\\xA9'",
         "(|| A\u00e9\U0001F600\U0001F600Aqxzz\a \u00e9)");
    tree(f, "'it''s' || E'a\\n\\'b' || $$c'd$$", "(|| (|| it's a\n'b) c'd)");
    const alm_ast *call =
        query(f, "select sum(distinct a order by b desc) filter (where c) over w from t")
            ->items[0]
            .expr;
    assert_true(call->distinct && call->n_order == 1 && call->order[0].desc);
    is(call->filter->text, "c");
    is(call->over_name, "w");
    call = query(f, "select f(x) ignore nulls over (partition by a, b order by c nulls last rows "
                    "between unbounded preceding and 1 following exclude ties) from t")
               ->items[0]
               .expr;
    assert_true(call->ignore_nulls && call->over->n_partition == 2 &&
                call->over->order[0].nulls == 2);
    assert_true(call->over->frame == ALM_FRAME_ROWS &&
                call->over->lo_kind == ALM_BOUND_UNBOUNDED_PRECEDING &&
                call->over->hi_kind == ALM_BOUND_FOLLOWING);
    assert_int_equal(call->over->exclude, ALM_EXCLUDE_TIES);
    call = query(f, "select avg(x) over (order by ts range 5 minutes preceding) from t")
               ->items[0]
               .expr;
    assert_true(call->over->frame == ALM_FRAME_RANGE && call->over->lo_unit == 'm' &&
                call->over->hi_kind == ALM_BOUND_CURRENT);
    const alm_ast *typed = query(f, "select ipv4 '1.1.1.1' from t")->items[0].expr;
    assert_true(typed->kind == ALM_AST_TYPED && typed->pos == 12 && typed->type_pos == 7);
}

static void positions(void **state)
{
    fixture *f = *state;
    const alm_select *sel =
        query(f, "SELECT t.a, b + 1 AS c, d e FROM t WHERE x IN (1) ORDER BY 2");
    assert_int_equal(sel->items[0].expr->pos, 7);
    is(sel->items[0].expr->table, "t");
    assert_int_equal(sel->items[1].expr->pos, 14);
    assert_int_equal(sel->items[1].alias_pos, 18); /* AS */
    assert_int_equal(sel->items[2].alias_pos, 26);
    assert_int_equal(sel->from[0].pos, 33);
    assert_int_equal(sel->where_pos, 35);
    assert_int_equal(sel->where->pos, 43);
    assert_int_equal(sel->end, 60);
    sel = query(f, "select 'x'::date, cast(a as int) from t");
    assert_int_equal(sel->items[0].expr->pos, 10);
    assert_int_equal(sel->items[0].expr->type_pos, 12);
    assert_int_equal(sel->items[1].expr->pos, 18);
    assert_int_equal(sel->items[1].expr->type_pos, 28);
}

/* ------------------------------------------------------------------ queries */

static void from_and_joins(void **state)
{
    fixture *f = *state;
    const alm_select *sel = query(
        f, "select * from a x asof join b on (k, l) tolerance 5s left outer join (c where z) d on "
           "x.i = d.i, public.e timestamp(ts) join long_sequence(3) g(n) on n cross join lateral "
           "(select 1) h");
    static const uint8_t joins[] = {ALM_JOIN_NONE,  ALM_JOIN_ASOF,  ALM_JOIN_LEFT,
                                    ALM_JOIN_CROSS, ALM_JOIN_INNER, ALM_JOIN_LATERAL_INNER};
    assert_int_equal(sel->n_from, ALM_COUNT(joins));
    for (uint32_t i = 0; i < sel->n_from; i++)
        assert_int_equal(sel->from[i].join, joins[i]);
    is(sel->from[0].alias, "x");
    assert_int_equal(sel->from[1].n_using, 2);
    is(sel->from[1].tolerance->text, "5s");
    assert_true(sel->from[2].kind == ALM_FROM_SELECT && sel->from[2].select->implicit_star);
    assert_non_null(sel->from[2].on);
    is(sel->from[3].schema, "public");
    is(sel->from[3].timestamp, "ts");
    assert_true(sel->from[4].kind == ALM_FROM_FUNCTION && sel->from[4].n_col_aliases == 1);
    assert_true(sel->from[4].on == NULL && sel->from[4].n_using == 1);
    sel =
        query(f, "select 1 from a window join b on (s) range between 1 hour preceding and current "
                 "row exclude prevailing where c");
    assert_true(sel->from[1].join == ALM_JOIN_WINDOW && sel->from[1].prevailing == 'e');
    assert_true(sel->from[1].window->lo_unit == 'h' &&
                sel->from[1].window->hi_kind == ALM_BOUND_CURRENT);
    assert_non_null(sel->where);
    sel = query(f, "select * from (values (1, 'a'), (2, 'b')) v(x, y)");
    assert_true(sel->from[0].kind == ALM_FROM_VALUES && sel->from[0].n_rows == 2);
    sel = query(f, "select type from (show columns from t) where x");
    is(sel->from[0].select->from[0].call->text, "table_columns");
    is(sel->from[0].select->from[0].call->arg[0]->text, "t");
}

static void time_series_clauses(void **state)
{
    fixture *f = *state;
    const alm_select *sel = query(
        f, "select ts, avg(p) from t where a sample by 15m from '2024' to '2025' fill(null, prev, "
           "0.5, linear) align to calendar time zone 'UTC' with offset '00:30' order by 2 limit 3");
    assert_true(sel->sample->unit == 'm' && sel->sample->count == 15 && sel->sample->n_fill == 4);
    assert_true(sel->sample->fill[0].kind == 'N' && sel->sample->fill[2].kind == 'v');
    is(sel->sample->zone->text, "UTC");
    is(sel->sample->offset->text, "00:30");
    assert_true(sel->sample->align == 'c' && sel->n_order == 1 && sel->limit_lo != NULL);
    assert_int_equal(query(f, "select 1 from t sample by h")->sample->count, 1);
    assert_int_equal(query(f, "declare @p := 2w select 1 from t sample by @p")->sample->count, 2);
    assert_int_equal(query(f, "select 1 from t sample by (1 + 1) d")->sample->unit, 'd');
    sel = query(f, "t where a latest on ts partition by b, c");
    assert_true(sel->implicit_star && sel->n_latest_by == 2 && !sel->latest_before_where);
    is(sel->latest_ts, "ts");
    sel = query(f, "select * from t latest by b where c");
    assert_true(sel->latest_before_where && sel->latest_ts.len == 0);
    sel = query(f, "(t latest on ts partition by b) where c order by d");
    assert_true(sel->implicit_star && sel->where != NULL && sel->n_order == 1);
    assert_int_equal(sel->from[0].select->n_latest_by, 1);
    sel =
        query(f, "t pivot (sum(p) s, count() for y in ('a' as b, 'c') z in (select 1) group by k)");
    const alm_pivot *pivot = sel->ext;
    assert_true(pivot->n_aggs == 2 && pivot->n_fors == 2 && pivot->n_group == 1);
    assert_true(pivot->fors[0].n_values == 2 && pivot->fors[1].select != NULL);
}

static void set_operations_and_brackets(void **state)
{
    fixture *f = *state;
    const alm_select *sel =
        query(f, "select 1 union select 2 intersect all select 3 order by 1 limit 2");
    assert_true(sel->op == ALM_SET_INTERSECT && sel->all && sel->left->op == ALM_SET_UNION);
    assert_true(sel->n_order == 1 && sel->limit_lo != NULL && sel->right->n_order == 0);
    sel = query(f, "select 1 union all (select 2 except select 3 limit 1)");
    assert_true(sel->op == ALM_SET_UNION && sel->right->op == ALM_SET_EXCEPT);
    assert_non_null(sel->right->limit_lo);
    sel = query(f, "(select a from t order by a limit 1) order by b");
    assert_true(sel->implicit_star && sel->from[0].select->limit_lo != NULL);
    sel = query(f, "(select a from t) order by b limit 1, 2 offset 3");
    assert_true(!sel->implicit_star && sel->limit_comma && sel->offset != NULL);
    sel = query(f, "with recursive a(x, y) as (select 1), b as (t) select * from a, b");
    assert_true(sel->n_with == 2 && sel->with_recursive && sel->with[0].n_cols == 2);
    sel = query(
        f, "select distinct on (a, b) c from t group by 1, d having e window w as (order by f) "
           "qualify g fetch first 5 rows only");
    assert_true(sel->n_distinct_on == 2 && sel->n_group == 2 && sel->having && sel->n_windows == 1);
    assert_true(sel->qualify != NULL && sel->limit_lo != NULL);
    assert_int_equal(query(f, "so_a union all so_b")->op, ALM_SET_UNION);
}

static void variables_stand_for_their_values(void **state)
{
    fixture *f = *state;
    const alm_select *sel = query(
        f,
        "declare @x := 5, @t := tab select @X + 1 from @t where a in (declare @x := 7 select @x)");
    is(sel->items[0].expr->arg[0]->text, "5");
    is(sel->from[0].name, "tab");
    is(sel->where->select->items[0].expr->text, "7");
    sel = query(f, "declare @q := (select a from t) select * from @q");
    assert_int_equal(sel->from[0].kind, ALM_FROM_SELECT);
    refuse(f, "declare @a := 1 select @b", ALM_E_NAME, 23, "tried to use undeclared variable `@b`");
    refuse(f, "select @b", ALM_E_NAME, 7, "Invalid column: @b");
    refuse(f, "select (declare @a := 1 select @a), @a", ALM_E_NAME, 36, "Invalid column: @a");
}

/* ------------------------------------------------------------------ statements */

static void create_table(void **state)
{
    fixture *f = *state;
    const alm_stmt *s = parse(
        f,
        "create table if not exists \"my t\" (a symbol capacity 8 nocache index capacity 4, b "
        "decimal(10, 2) not null, c double[][], ts timestamp), index(a) timestamp(ts) partition "
        "by day ttl 7 days wal with maxUncommittedRows=10, o3MaxLag=5s dedup upsert keys(ts, a)");
    assert_int_equal(s->kind, ALM_STMT_CREATE_TABLE);
    is(s->table, "my t");
    assert_true(s->if_not_exists && s->n_cols == 4 && s->wal == 1 && s->n_dedup == 2);
    assert_true(s->cols[0].symbol_capacity == 8 && s->cols[0].cache == -1 && s->cols[0].indexed);
    is(s->cols[1].type_name, "decimal(10, 2)");
    is(s->cols[2].type_name, "double[][]");
    is(s->partition, "day");
    assert_true(s->ttl_count == 7 && s->ttl_unit == 'd' && s->n_with == 2);
    s = parse(f,
              "create batch 5 table t as (select 1 x), cast(x as symbol capacity 9) in volume v");
    assert_true(s->select != NULL && s->batch_size == 5 && s->cols[0].cast);
    is(s->volume, "v");
    s = parse(f, "create table t (like u)");
    is(s->like, "u");
    s = parse(f, "create or replace view v as (select 1) ");
    is(((const alm_create_view *)s->ext)->sql, "select 1");
    static const char *const escapes[] = {
        "select E'\\xff'",          "select E'\\0'",         "select E'\\u0000'",
        "select E'\\u12'",          "select E'\\ud83d'",     "select E'\\ude00'",
        "select E'\\ud83d\\u0041'", "select E'\\U00110000'", "select E'\\xe2\\x82'"};
    for (size_t i = 0; i < ALM_COUNT(escapes); i++)
        refuse(f, escapes[i],
               strchr(escapes[i], 'u') || strchr(escapes[i], 'U') ? ALM_E_SYNTAX : ALM_E_UTF8, 7,
               strchr(escapes[i], 'u') || strchr(escapes[i], 'U') ? "Unicode escape" : "UTF-8");
    refuse(f, "create table t (a int, A int)", ALM_E_DUPLICATE, 23, "Duplicate column [name=A]");
    refuse(f, "create table t (ts timestamp) timestamp(ts) partition by day ttl 99999999999h",
           ALM_E_SYNTAX, 65, "out of range");
}

static void writes(void **state)
{
    fixture *f = *state;
    const alm_stmt *s =
        parse(f, "insert batch 10 o3maxlag 5s into t (a, \"b\") values (1, -2.5), ('x', "
                 "now() + 1), (null, true)");
    assert_true(s->n_rows == 3 && s->n_insert_cols == 2 && s->batch_size == 10);
    assert_int_equal(s->o3_max_lag_us, 5000000);
    assert_int_equal(s->row_lens[2], 2);
    assert_int_equal(s->rows[0][1]->kind, ALM_AST_UNARY);
    assert_int_equal(s->rows[1][1]->kind, ALM_AST_BINARY);
    assert_int_equal(s->row_end[0], s->row_pos[1] - 3);
    s = parse(f, "with a as (select 1) insert into t select * from a");
    assert_true(s->kind == ALM_STMT_INSERT && s->select->n_with == 1);
    s = parse(f, "insert atomic into t (select 1)");
    assert_true(s->select != NULL && s->n_insert_cols == 0);
    s = parse(f, "update t as x set a = b + 1, c = $2 from u join v on (k) where x.a = u.a");
    assert_true(s->kind == ALM_STMT_UPDATE && s->n_set == 2 && s->n_from == 2 && s->n_params == 2);
    is(s->alias, "x");
    s = parse(f, "with q as (select 1) update t set a = 1");
    assert_true(s->kind == ALM_STMT_UPDATE && s->select->n_with == 1);
}

static void short_statements(void **state)
{
    static const struct {
        const char *sql, *text, *what, *value;
        int kind;
    } rows[] = {
        {"show transaction isolation level", "SHOW", "transaction isolation level", "",
         ALM_STMT_SHOW},
        {"SHOW Server_Version", "SHOW", "server_version", "", ALM_STMT_SHOW},
        {"set client_encoding to 'utf8'", "SET", "client_encoding", "utf8", ALM_STMT_SET},
        {"SET session a.b = 1, 2", "SET", "a.b", "1, 2", ALM_STMT_SET},
        {"set time zone 'UTC'", "SET", "time zone", "UTC", ALM_STMT_SET},
        {"set local search_path = a, 'B', \"C\"", "SET", "search_path", "a, B, \"C\"",
         ALM_STMT_SET},
        {"set session authorization default", "SET", "session authorization", "default",
         ALM_STMT_SET},
        {"set role none", "SET", "role", "none", ALM_STMT_SET},
        {"reset all", "RESET", "all", "", ALM_STMT_SET},
        {"reset Session a.B", "RESET", "a.b", "", ALM_STMT_SET},
        {"discard all", "DISCARD ALL", "", "", ALM_STMT_SET},
        {"discard temporary", "DISCARD TEMP", "", "", ALM_STMT_SET},
        {"deallocate prepare all", "DEALLOCATE ALL", "all", "all", ALM_STMT_SET},
        {"deallocate prepare", "DEALLOCATE", "prepare", "prepare", ALM_STMT_SET},
        {"begin isolation level serializable", "BEGIN", "", "", ALM_STMT_BEGIN},
        {"start transaction read only, not deferrable", "START TRANSACTION", "", "",
         ALM_STMT_BEGIN},
        {"set transaction read write isolation level read committed", "SET", "", "",
         ALM_STMT_SET_TRANSACTION},
        {"set session characteristics as transaction read only", "SET", "", "",
         ALM_STMT_SET_TRANSACTION},
        {"commit work and no chain", "COMMIT", "", "", ALM_STMT_COMMIT},
        {"rollback transaction to A", "ROLLBACK", "", "a", ALM_STMT_SAVEPOINT},
        {"release savepoint \"A\"", "RELEASE", "", "A", ALM_STMT_SAVEPOINT},
        {"end", "COMMIT", "", "", ALM_STMT_COMMIT},
        {"abort", "ROLLBACK", "", "", ALM_STMT_ROLLBACK},
        {"rollback to savepoint a", "ROLLBACK", "", "a", ALM_STMT_SAVEPOINT},
        {"release a", "RELEASE", "", "a", ALM_STMT_SAVEPOINT},
        {"vacuum table t", "VACUUM", "", "", ALM_STMT_MAINTAIN},
        {"scrub table t, u", "SCRUB", "", "", ALM_STMT_MAINTAIN},
        {"analyze verbose t (a, b), u", "ANALYZE", "", "", ALM_STMT_MAINTAIN},
        {"vacuum (full) t", "VACUUM", "", "", ALM_STMT_MAINTAIN},
        {"create index on t (a)", "CREATE INDEX", "", "", ALM_STMT_CREATE_INDEX},
        {"create unique index i on t (a)", "CREATE INDEX", "", "", ALM_STMT_CREATE_INDEX},
        {"drop index if exists a, b.c restrict", "DROP INDEX", "", "", ALM_STMT_DROP_INDEX},
        {"reindex table t column c lock exclusive", "REINDEX", "", "", ALM_STMT_MAINTAIN},
        {"comment on column t.c is 'x'", "COMMENT", "column", "x", ALM_STMT_COMMENT},
        {"comment on materialized view v is null", "COMMENT", "materialized view", "",
         ALM_STMT_COMMENT},
        {"delete from t as d where d.a > 1", "DELETE", "", "", ALM_STMT_DELETE},
        {"delete where a > 1", "SELECT", "", "", ALM_STMT_SELECT},
        {"copy t from 'x' with header true", "COPY", "", "", ALM_STMT_COPY_FROM},
        {"copy t (a, b) to stdout csv", "COPY", "", "", ALM_STMT_COPY_TO},
        {"copy (select 1) to stdout", "COPY", "", "", ALM_STMT_COPY_TO},
        {"copy 'ab12' cancel", "COPY", "", "", ALM_STMT_COPY_FROM},
        {"copy where a > 1", "SELECT", "", "", ALM_STMT_SELECT},
        {"drop view if exists v", "DROP VIEW", "", "", ALM_STMT_DROP_VIEW},
        {"refresh materialized view v full", "REFRESH MATERIALIZED VIEW", "full", "",
         ALM_STMT_REFRESH},
        {"truncate table t keep symbol maps", "TRUNCATE TABLE", "", "", ALM_STMT_TRUNCATE},
        {"drop table if exists t", "DROP TABLE", "", "", ALM_STMT_DROP_TABLE},
        {"rename table a to 'b'", "RENAME TABLE", "", "", ALM_STMT_RENAME_TABLE},
        {"checkpoint where a", "SELECT", "", "", ALM_STMT_SELECT},
    };
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        const alm_stmt *s = parse(f, rows[i].sql);
        assert_int_equal(s->kind, rows[i].kind);
        is(s->text, rows[i].text);
        is(s->what, rows[i].what);
        is(s->value, rows[i].value);
    }
    const alm_stmt *s = parse(f, "explain (analyze, format text) select 1");
    assert_true(s->analyze && s->inner->kind == ALM_STMT_SELECT && s->select != NULL);
    assert_true(parse(f, "drop all tables")->all_tables);
    s = parse(f, "alter table t add column a int, b symbol capacity 4 index");
    const alm_alter *a = s->ext;
    assert_true(s->kind == ALM_STMT_ALTER_TABLE && a->kind == ALM_ALTER_ADD_COLUMN &&
                a->n_cols == 2);
    a = parse(f, "alter table t convert partition to parquet list '2024', '2025'")->ext;
    assert_true(a->kind == ALM_ALTER_TO_PARQUET && a->n_list == 2);
    s = parse(f, "alter materialized view v set refresh limit 2 weeks");
    a = s->ext;
    assert_true(s->kind == ALM_STMT_ALTER_MATVIEW && a->kind == ALM_ALTER_REFRESH_LIMIT);
    assert_true(s->ttl_count == 2 && s->ttl_unit == 'w');
}

static void views(void **state)
{
    fixture *f = *state;
    const alm_stmt *s = parse(f, "create materialized view v with base b refresh every 10m start "
                                 "'2024' time zone 'CET' deferred period (length 1 d delay 2h) as "
                                 "(select 1 ) partition by hour owned by x");
    const alm_create_view *v = s->ext;
    const alm_refresh_clause *r = &v->refresh;
    assert_true(s->kind == ALM_STMT_CREATE_VIEW && v->materialized);
    is(v->base, "b");
    is(v->sql, "select 1");
    assert_true(r->kind == 't' && r->deferred && r->every.count == 10 && r->every.unit == 'm');
    assert_true(r->period.count == 1 && r->period.unit == 'd' && r->delay.count == 2);
    is(r->start, "2024");
    is(r->zone, "CET");
    s = parse(f, "refresh materialized view v range from '2024' to '2025'");
    is(s->range_from, "2024");
    is(s->range_to, "2025");
    refuse(f, "create materialized view v refresh every 1x as select 1", ALM_E_SYNTAX, 41,
           "Invalid unit: 1x");
    refuse(f, "create materialized view v refresh sometimes as select 1", ALM_E_SYNTAX, 35,
           "'as' expected");
    refuse(f, "create view v as select $1", ALM_E_SYNTAX, 17, "parameters");
    refuse(f, "refresh materialized view v full now", ALM_E_SYNTAX, 33, "unexpected token [now]");
    refuse(f, "alter materialized view v set refresh", ALM_E_SYNTAX, 37, "'immediate' or");
    refuse(f, "alter materialized view v rename to x", ALM_E_SYNTAX, 26, "'alter' or");
}

static void several_statements(void **state)
{
    fixture *f = *state;
    const alm_str text = ALM_STR(" ;select 1 ; -- x\n insert into t values (';') ;; ");
    size_t offset = 0;
    alm_stmt *s = NULL;
    assert_int_equal(alm_sql_parse(&f->cx, text, &offset, &s), ALM_OK);
    assert_true(s->kind == ALM_STMT_SELECT && s->pos == 2 && s->end == 10);
    assert_int_equal(offset, 12);
    assert_int_equal(alm_sql_parse(&f->cx, text, &offset, &s), ALM_OK);
    assert_true(s->kind == ALM_STMT_INSERT && s->pos == 19);
    assert_int_equal(alm_sql_parse(&f->cx, text, &offset, &s), ALM_OK);
    assert_true(s->kind == ALM_STMT_EMPTY && offset == text.len);
}

/* ------------------------------------------------------------------ limits */

/* head, n times mid, then tail n times */
static char *repeat(const char *head, const char *mid, const char *last, const char *tail, size_t n)
{
    char *sql = calloc(1, strlen(head) + n * (strlen(mid) + strlen(tail)) + strlen(last) + 1);
    char *at = stpcpy(sql, head);
    for (size_t i = 0; i < n; i++)
        at = stpcpy(at, mid);
    at = stpcpy(at, last);
    for (size_t i = 0; i < n; i++)
        at = stpcpy(at, tail);
    return sql;
}

static void depth_is_an_error_not_a_crash(void **state)
{
    static const struct {
        const char *head, *mid, *last, *tail;
    } rows[] = {{"select ", "(", "1", ")"},
                {"select ", "- ", "1", ""},
                {"select ", "not ", "a", ""},
                {"select 1", "+1", "", ""},
                {"select a", "[1]", "", ""},
                {"select a", "::int", "", ""},
                {"select ", "f(", "1", ")"},
                {"select ARRAY", "[", "1", "]"},
                {"select ", "case when ", "a", " then 1 end"},
                {"", "(", "select 1", ")"},
                {"", "select * from (", "t", ")"},
                {"select 1", " union select 1", "", ""},
                {"", "with a as (", "select 1", ") select 1"},
                {"select ", "exists (select ", "1", ")"},
                {"select a ", "in (a ", "in (1)", ")"},
                {"", "explain ", "select 1", ""},
                {"select * from a", " join (select * from b", "", ") c on (x)"},
                {"select ", "sum(a) over (order by ", "1", ")"},
                {"select a", " || a", "", ""}};
    fixture *f = *state;
    for (size_t i = 0; i < ALM_COUNT(rows); i++) {
        char *sql = repeat(rows[i].head, rows[i].mid, rows[i].last, rows[i].tail, 10000);
        alm_stmt *s = NULL;
        size_t offset = 0;
        alm_error_clear(&f->cx);
        const alm_status st = alm_sql_parse(&f->cx, alm_str_of(sql), &offset, &s);
        if (st != ALM_E_LIMIT || strstr(f->cx.err.msg, "nested too deeply") == NULL)
            fail_msg("%.40s: %d %s", sql, (int)st, f->cx.err.msg);
        free(sql);
        char *fine = repeat(rows[i].head, rows[i].mid, rows[i].last, rows[i].tail, 100);
        (void)parse(f, fine);
        free(fine);
    }
}

static void settings_bound_depth(void **state)
{
    fixture *f = *state;
    alm_conf conf = {0};
    conf.sql_nesting_max = 10;
    f->cx.conf = &conf;
    (void)parse(f, "select ((((1))))");
    refuse(f, "select ((((((((((1))))))))))", ALM_E_LIMIT, 16, "[limit=10]");
    f->cx.conf = NULL;
}

static void long_chains_stay_shallow(void **state)
{
    fixture *f = *state;
    char *sql = repeat("select 1 from t where a = 0", " or a = 1", "", "", 20000);
    const alm_select *sel = query(f, sql);
    assert_true(sel->where->depth < 32);
    free(sql);
    f->text[0] = 0;
    write_tree(f, query(f, "select a and b and c and d")->items[0].expr);
    assert_string_equal(f->text, "(and (and (and a b) c) d)");
}

static void variables_cannot_explode(void **state)
{
    fixture *f = *state;
    char sql[4096] = "declare @a0 := 1 + 1";
    for (int i = 1; i < 60; i++)
        (void)snprintf(sql + strlen(sql), sizeof sql - strlen(sql), ", @a%d := @a%d + @a%d", i,
                       i - 1, i - 1);
    (void)snprintf(sql + strlen(sql), sizeof sql - strlen(sql), " select @a59");
    alm_stmt *s = NULL;
    size_t offset = 0;
    assert_int_equal(alm_sql_parse(&f->cx, alm_str_of(sql), &offset, &s), ALM_E_LIMIT);
    assert_non_null(strstr(f->cx.err.msg, "variables make the statement too large"));
}

static void thousands_of_rows(void **state)
{
    fixture *f = *state;
    enum { ROWS = 20000 };
    char *sql = repeat("insert into t values (0, 'a', 0.5, null, '2024-01-01T00:00:00.000000Z')",
                       ", (12345, 'abc', -1.5, true, '2024-01-01T00:00:00.000000Z')", "", "", ROWS);
    const int64_t start = alm_monotonic_ns();
    const alm_stmt *s = parse(f, sql);
    const int64_t ns = alm_monotonic_ns() - start;
    assert_int_equal(s->n_rows, ROWS + 1);
    print_message("%d rows of 5 values: %lld ns a row\n", ROWS, (long long)(ns / ROWS));
    free(sql);
}

static void memory_may_end_anywhere(void **state)
{
    fixture *f = *state;
    const char *sql =
        "with a as (select 1) select a || 'x''y', sum(b) over (order by c) from t asof join "
        "(select * from u) v on (k) where a in (1, 2, 3) sample by 1h fill(prev, 1) order "
        "by 1 limit 5";
    int failed = 0;
    for (int64_t limit = 1; failed >= 0; limit += 997) {
        alm_stmt *s = NULL;
        size_t offset = 0;
        alm_arena_deinit(&f->arena);
        alm_arena_init(&f->arena, &f->mem);
        f->mem.limit_bytes = limit;
        alm_error_clear(&f->cx);
        const alm_status st = alm_sql_parse(&f->cx, alm_str_of(sql), &offset, &s);
        if (st == ALM_OK)
            break;
        assert_int_equal(st, ALM_E_MEMORY);
        failed++;
    }
    assert_true(failed > 3);
    f->mem.limit_bytes = 0;
}

static void typical_query_is_fast(void **state)
{
    fixture *f = *state;
    const char *sql =
        "SELECT ts, sym, avg(price) AS a, max(price) - min(price) AS spread, count() FROM "
        "trades WHERE ts IN '2024-01' AND sym IN ('AAA', 'BBB') AND price > 10.5 SAMPLE BY "
        "15m FILL(PREV) ALIGN TO CALENDAR ORDER BY ts DESC LIMIT 100";
    enum { ROUNDS = 2000 };
    const int64_t start = alm_monotonic_ns();
    for (int i = 0; i < ROUNDS; i++) {
        alm_arena_reset(&f->arena);
        (void)query(f, sql);
    }
    print_message("%lld ns a query\n", (long long)((alm_monotonic_ns() - start) / ROUNDS));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {T(operators_bind_as_the_dialect_says),
                                       T(operands),
                                       T(positions),
                                       T(from_and_joins),
                                       T(time_series_clauses),
                                       T(set_operations_and_brackets),
                                       T(variables_stand_for_their_values),
                                       T(create_table),
                                       T(writes),
                                       T(short_statements),
                                       T(views),
                                       T(several_statements),
                                       T(depth_is_an_error_not_a_crash),
                                       T(settings_bound_depth),
                                       T(long_chains_stay_shallow),
                                       T(variables_cannot_explode),
                                       T(thousands_of_rows),
                                       T(memory_may_end_anywhere),
                                       T(typical_query_is_fast)};
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
