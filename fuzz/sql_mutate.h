/*
 * sql_mutate.h - changes SQL by its pieces, for harnesses whose input is one statement.
 *
 * Purpose     Byte mutations of SQL die in the lexer. Here a statement is cut into operands, list
 *             items, clauses and queries by its tokens and brackets, and pieces are replaced, wrapped,
 *             left out, repeated or changed for each other. The pieces to put in come from recorded
 *             statements (sql_pieces.h).
 * Shapes      mutate_sql changes a text in place.
 * Threads     One.
 */
#ifndef ALM_FUZZ_SQL_MUTATE_H
#define ALM_FUZZ_SQL_MUTATE_H

#include "sql_pieces.h"

/* ----------------------------------------------------------------- mutation */

typedef struct draft {
    char text[MUTATE_TEXT];
    size_t len;
    bool full;
} draft;

static void put(draft *d, alm_str s)
{
    if (d->len + s.len + 1 > sizeof(d->text)) {
        d->full = true;
        return;
    }
    (void)memcpy(d->text + d->len, s.ptr, s.len);
    d->len += s.len;
}

static void put_text(draft *d, const char *s)
{
    put(d, alm_str_of(s));
}

static const char *const edge_values[] = {"0",
                                          "-1",
                                          "1",
                                          "2147483647",
                                          "-2147483648",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "1e308",
                                          "0.1",
                                          "-0.0",
                                          "null",
                                          "''",
                                          "'a'",
                                          "'%'",
                                          "true",
                                          "'2024-02-30'",
                                          "'1970-01-01'",
                                          "'9999-12-31T23:59:59.999999Z'",
                                          "'2024-01-01T00:00:00Z'",
                                          "'NaN'",
                                          "'1h'",
                                          "'2024-01;1d;1d;3'",
                                          "3L",
                                          "15m",
                                          "1.5m",
                                          "'\xc3\xa4'",
                                          "#u33d",
                                          "##0101",
                                          "'00000000-0000-0000-0000-000000000001'",
                                          "'1.2.3.4'",
                                          "0x1f",
                                          "100000",
                                          "64",
                                          "'Europe/Berlin'",
                                          "$1"};
static const char *const infix[] = {"+",  "-",   "*",      "/",     "%",
                                    "=",  "<>",  "<",      "<=",    ">",
                                    ">=", "and", "or",     "||",    "&",
                                    "|",  "^",   "like",   "ilike", "~",
                                    "!~", "in",  "not in", "<<",    "is distinct from"};
static const char *const joins[] = {
    "join",      "left join", "full join",   "right join",        "cross join",
    "asof join", "lt join",   "splice join", "left join lateral", "window join"};
static const char *const sets[] = {"union",      "union all", "except",
                                   "except all", "intersect", "intersect all"};

#define PICK(list) ((list)[chance(sizeof(list) / sizeof((list)[0]))])

/* An operand for this statement: names in it become names the statement has, mostly. */
static void put_operand(draft *d, const cut *c, int kind, int depth)
{
    static cut inner[3];
    const alm_str s = pool_pick(kind);
    if (depth > 2 || chance(4) == 0 || !cut_text(&inner[depth], s)) {
        put(d, s);
        return;
    }
    const cut *in = &inner[depth];
    int32_t last = 0;
    for (int32_t i = 0; i < in->n; i++) {
        const alm_token *t = &in->tok[i];
        const bool name =
            (t->kind == ALM_TOK_NAME && t->kw == ALM_KW_PLAIN) || t->kind == ALM_TOK_QUOTED;
        if (!name || is_op(in, i + 1, ALM_OP_LPAREN) || is_op(in, i - 1, ALM_OP_CAST) ||
            is_op(in, i - 1, ALM_OP_DOT) || is_kw(in, i - 1, ALM_KW_AS))
            continue;
        for (int tries = 0; tries < 8; tries++) {
            const int32_t j = (int32_t)chance((uint64_t)c->n);
            if (c->tok[j].kind != ALM_TOK_NAME || c->tok[j].kw != ALM_KW_PLAIN ||
                is_op(c, j + 1, ALM_OP_LPAREN) || is_op(c, j - 1, ALM_OP_CAST))
                continue;
            put(d, (alm_str){in->text.ptr + last, (size_t)(t->pos - last)});
            put(d, span(c, j, j + 1));
            last = is_op(in, i + 1, ALM_OP_DOT) && i + 2 < in->n ? in->tok[i + 2].end : t->end;
            break;
        }
    }
    put(d, (alm_str){in->text.ptr + last, in->text.len - (size_t)last});
}

/* ------------------------------------------------------------------- shapes */

/* In a shape: %s what is there now, %n a name of the statement, %r a relation, %o an operand, %c a call,
 * %q a query, %e an edge value. */
static const char *const expression_shapes[] = {
    "(select max(%s) from %r y where y.%n = %n)",
    "%s in (select %n from %r)",
    "%s not in (select %o from %r y where y.%n > %n)",
    "%s = any (select %o from %r)",
    "%s > all (select %o from %r y where y.%n = %n)",
    "(%s, %n) in (select %n, %o from %r)",
    "(%s, %n) < (%n, %e)",
    "exists (select 1 from %r y where %s = y.%n group by y.%n having count() > 1)",
    "sum(%s) filter (where %n > %e)",
    "count(distinct %s)",
    "max(%s) over (partition by %n order by %n rows between 1 preceding and current row)",
    "(select sum(%s) over (order by %n) from %r limit 1)",
    "(select %s from %r latest on %n partition by %n limit 1)",
    "(select sum(%s) v from %r sample by 1d limit 1)",
    "(select first(%s) from %r y where y.%n = %n group by %n order by %n limit 1)",
    "(select count() from %r y left join %r z on y.%n = z.%n and z.%n = %s)",
    "(select %n from %r y join %r z using (%n) where %s limit 1)",
    "string_agg(%s::string, ',' order by %n)",
    "row_number() over (order by %s)",
    "sum(sum(%s)) over ()",
    "coalesce(%s, (select %o from %r limit 1))",
    "(with q as (select %s v, %n) select max(v) from q a join q b using (v))",
    "(select %s union all select %n limit 1)",
    "(select %s except select %n from %r)",
    "array[%s, %n][1]"};
static const char *const whole_shapes[] = {
    "select * from (%s) w where exists (select 1 from %r y where y.%n = w.%n)",
    "select * from (%s) w where (%n, %n) in (select %n, %n from %r)",
    "select *, (select max(%n) from %r y where y.%n < w.%n) m from (%s) w",
    "select %n, count(*), grouping(%n) from (%s) w group by rollup(%n, %n)",
    "select %n, %n, sum(%n) from (%s) w group by grouping sets ((%n), (%n, %n), ())",
    "select %n, %n, count(distinct %n) from (%s) w group by cube(%n, %n) having count() > %e",
    "select distinct on (%n) * from (%s) w order by %n, %o",
    "select distinct %n, %o from (%s) w order by 1",
    "select * from (%s) pivot (sum(%n) for %n in ('a', 'b') group by %n)",
    "with recursive q(n) as (select 1 n union all select n + 1 from q where n < (select count() "
    "from "
    "(%s) w)) select * from q, %r where n > %e",
    "with q as (%s), p as (select * from q where %o is not null) select * from p a left join q b "
    "on "
    "a.%n = b.%n",
    "with q as materialized (%s) select * from q a join q b using (%n) where a.%n in (select %n "
    "from q)",
    "select * from (%s) a natural join %r b",
    "select * from (%s) a full join %r b using (%n)",
    "select * from (%s) a right join %r b on a.%n = b.%n and a.%n > %e where %o",
    "select * from (%s) a asof join %r b on (%n)",
    "select * from %r b lt join (%s) a on a.%n = b.%n",
    "select * from %r b splice join (%s) a on (%n)",
    "select * from (%s) a left join lateral (select %o v, %n from %r b where b.%n = a.%n order by "
    "1 "
    "limit 2) l on l.v > a.%n",
    "select * from %r a, lateral (%s) b",
    "select *, %c over (partition by %n order by %n) from (%s) w",
    "select %n, sum(%n) over w2, rank() over w2 r from (%s) w window w2 as (partition by %n order "
    "by "
    "%n) qualify r < 3",
    "select * from (%s) w latest on %n partition by %n",
    "select %n, sum(%n), first(%n) from (%s) w sample by 1h fill(%e)",
    "select %n, avg(%n) filter (where %o) from (%s) w group by %n having %o order by %o",
    "select a.%n, sum(b.%n) from %r a window join (%s) b on (%n) range between 1 hour preceding "
    "and 1 "
    "hour following",
    "select e from (%s) a, unnest(%n) e",
    "select (select (select w.%n from %r limit 1) from (%s) w limit 1) from %r",
    "%s intersect select %o, %o from %r order by 1",
    "explain analyze %s",
    "insert into %r %s",
    "update %r set %n = (select max(%n) from (%s) w)",
    "update %r set %n = w.%n from (%s) w where %n = w.%n",
    "delete from %r where %n in (select %n from (%s) w)",
    "delete from %r x1 where exists (select 1 from (%s) w where w.%n = x1.%n)"};

/* A name of the statement, not of a function or a type. */
static alm_str name_of(const cut *c)
{
    for (int tries = 0; tries < 12; tries++) {
        const int32_t i = (int32_t)chance((uint64_t)c->n);
        if (c->tok[i].kind == ALM_TOK_NAME && c->tok[i].kw == ALM_KW_PLAIN &&
            !is_op(c, i + 1, ALM_OP_LPAREN) && !is_op(c, i - 1, ALM_OP_CAST) &&
            !is_kw(c, i - 1, ALM_KW_FROM) && !is_kw(c, i - 1, ALM_KW_JOIN))
            return span(c, i, i + 1);
    }
    return alm_str_of("x");
}

/* Mostly one that the statement reads already, so that its names are there. */
static alm_str relation_of(const cut *c)
{
    const int32_t start = (int32_t)chance((uint64_t)c->n);
    for (int32_t k = 0; chance(4) != 0 && k < c->n; k++) {
        const int32_t i = (start + k) % c->n;
        if ((is_kw(c, i - 1, ALM_KW_FROM) || is_kw(c, i - 1, ALM_KW_JOIN)) && starts_operand(c, i))
            return span(c, i, operand_end(c, i));
    }
    return pool_pick(PIECE_RELATION);
}

static void put_shape(draft *d, const cut *c, const char *shape, alm_str old, int depth)
{
    for (const char *at = shape; *at != 0; at++) {
        if (*at != '%') {
            put(d, (alm_str){at, 1});
            continue;
        }
        switch (*++at) {
        case 's':
            put(d, old);
            break;
        case 'n':
            put(d, name_of(c));
            break;
        case 'r':
            put(d, relation_of(c));
            break;
        case 'o':
            put_operand(d, c, PIECE_OPERAND, depth);
            break;
        case 'c':
            put_operand(d, c, PIECE_CALL, depth);
            break;
        case 'q':
            put(d, pool_pick(PIECE_QUERY));
            break;
        default:
            put_text(d, PICK(edge_values));
            break;
        }
    }
}

/* `old` is what stands there now. */
static void put_expression(draft *d, const cut *c, alm_str old, int depth)
{
    if (depth <= 2 && chance(4) == 0) {
        put_shape(d, c, PICK(expression_shapes), old, depth + 1);
        return;
    }
    switch (depth > 2 ? chance(3) : chance(18)) {
    case 0:
        put_operand(d, c, PIECE_OPERAND, depth);
        break;
    case 1:
        put_operand(d, c, PIECE_CALL, depth);
        break;
    case 2:
        put_text(d, PICK(edge_values));
        break;
    case 3:
    case 4:
        put_text(d, "(");
        put(d, old);
        put_text(d, " ");
        put_text(d, PICK(infix));
        put_text(d, " ");
        put_expression(d, c, old, depth + 1);
        put_text(d, ")");
        break;
    case 5:
        put(d, old);
        put_text(d, "::");
        put(d, pool_pick(PIECE_TYPE));
        break;
    case 6:
        put_text(d, "cast(");
        put_expression(d, c, old, depth + 1);
        put_text(d, " as ");
        put(d, pool_pick(PIECE_TYPE));
        put_text(d, ")");
        break;
    case 7:
        put_text(d, "case when ");
        put_expression(d, c, old, depth + 1);
        put_text(d, " then ");
        put(d, old);
        put_text(d, chance(2) ? " else null end" : " end");
        break;
    case 8:
        put_text(d, "(select ");
        put(d, old);
        put_text(d, " from ");
        put(d, pool_pick(PIECE_RELATION));
        put_text(d, chance(2) ? " limit 1)" : ")");
        break;
    case 9:
        put(d, old);
        put_text(d, chance(2) ? " in (" : " not in (");
        put_expression(d, c, old, depth + 1);
        put_text(d, ", ");
        put_text(d, PICK(edge_values));
        put_text(d, ")");
        break;
    case 10:
        put(d, old);
        put_text(d, " between ");
        put_expression(d, c, old, depth + 1);
        put_text(d, " and ");
        put_text(d, PICK(edge_values));
        break;
    case 11: {
        static const char *const calls[] = {"sum",        "min",
                                            "max",        "avg",
                                            "count",      "first",
                                            "last",       "count_distinct",
                                            "abs",        "coalesce",
                                            "length",     "lag",
                                            "lead",       "row_number",
                                            "rank",       "first_value",
                                            "last_value", "nth_value",
                                            "ntile",      "string_agg",
                                            "mode",       "approx_percentile",
                                            "stddev",     "ksum",
                                            "upper",      "date_trunc",
                                            "to_str",     "array_agg",
                                            "lateral"};
        put_text(d, PICK(calls));
        put_text(d, "(");
        put(d, old);
        put_text(d, ")");
        if (chance(2)) {
            put_text(d, " over (");
            if (chance(2)) {
                put_text(d, "partition by ");
                put_operand(d, c, PIECE_OPERAND, depth);
            }
            if (chance(2)) {
                put_text(d, " order by ");
                put(d, old);
                if (chance(2)) {
                    put_text(d, " ");
                    put(d, pool_pick(PIECE_CLAUSE + 15));
                }
            }
            put_text(d, ")");
        }
        break;
    }
    case 12:
        put(d, pool_pick(PIECE_QUERY));
        break;
    case 13:
        put_text(d, chance(2) ? "exists " : "not exists ");
        put(d, pool_pick(PIECE_QUERY));
        break;
    case 14:
        put_text(d, chance(2) ? "-" : "not ");
        put(d, old);
        break;
    case 15:
        put(d, old);
        put_text(d, chance(2) ? " is null" : " is not null");
        break;
    case 16:
        put(d, old);
        put_text(d, "[");
        put_text(d, PICK(edge_values));
        put_text(d, chance(2) ? ":]" : "]");
        break;
    default:
        put(d, old);
        break;
    }
}

/* Text up to token `from`, then what `put` adds, then the text from token `to`. */
static void before(draft *d, const cut *c, int32_t from)
{
    const int32_t at = from < c->n ? c->tok[from].pos : (int32_t)c->text.len;
    put(d, (alm_str){c->text.ptr, (size_t)at});
    put_text(d, " ");
}

static void after(draft *d, const cut *c, int32_t to)
{
    const int32_t at = to < c->n ? c->tok[to].pos : (int32_t)c->text.len;
    put_text(d, " ");
    put(d, (alm_str){c->text.ptr + at, c->text.len - (size_t)at});
}

static void change_operand(draft *d, const cut *c)
{
    int32_t i = (int32_t)chance((uint64_t)c->n);
    for (int32_t tries = 0; tries < c->n && !starts_operand(c, i); tries++)
        i = (i + 1) % c->n;
    const int32_t end = operand_end(c, i);
    before(d, c, i);
    put_expression(d, c, span(c, i, end), 0);
    after(d, c, end);
}

static void change_clause(draft *d, const cut *c)
{
    int32_t i = (int32_t)chance((uint64_t)c->n);
    for (int32_t tries = 0; tries < c->n && clause_rank(c, i) < 0; tries++)
        i = (i + 1) % c->n;
    const int32_t rank = clause_rank(c, i);
    const int32_t end = rank < 0 ? i + 1 : clause_end(c, i);
    switch (chance(4)) {
    case 0: /* left out */
        before(d, c, i);
        after(d, c, end);
        break;
    case 1: /* another of its kind */
        before(d, c, i);
        put_operand(d, c, PIECE_CLAUSE + ALM_MAX(rank, 0), 0);
        after(d, c, end);
        break;
    default: { /* one more, behind this */
        const int32_t further = ALM_MAX(rank, 1) + (int32_t)chance(4);
        const int32_t next = ALM_MIN(further, 15);
        before(d, c, end);
        put_operand(d, c, PIECE_CLAUSE + next, 0);
        after(d, c, end);
    }
    }
}

static void change_item(draft *d, const cut *c)
{
    int32_t a, b;
    item_around(c, (int32_t)chance((uint64_t)c->n), &a, &b);
    switch (chance(3)) {
    case 0: /* left out, with its comma */
        before(d, c, a);
        after(d, c, is_op(c, b, ALM_OP_COMMA) ? b + 1 : b);
        break;
    case 1: /* twice */
        before(d, c, b);
        put_text(d, ", ");
        put(d, span(c, a, b));
        after(d, c, b);
        break;
    default: /* one more */
        before(d, c, b);
        put_text(d, ", ");
        put_expression(d, c, span(c, a, b), 0);
        after(d, c, b);
    }
}

static void change_relation(draft *d, const cut *c)
{
    int32_t i = (int32_t)chance((uint64_t)c->n);
    for (int32_t tries = 0;
         tries < c->n && !(is_kw(c, i - 1, ALM_KW_FROM) || is_kw(c, i - 1, ALM_KW_JOIN)); tries++)
        i = (i + 1) % c->n;
    const int32_t end = starts_operand(c, i) ? operand_end(c, i) : i + 1;
    before(d, c, i);
    switch (chance(4)) {
    case 0:
        put(d, pool_pick(PIECE_RELATION));
        break;
    case 1:
        put_text(d, "(select * from ");
        put(d, span(c, i, end));
        put_text(d, " ");
        put_operand(d, c, PIECE_CLAUSE + 3 + (int32_t)chance(3), 0);
        put_text(d, ")");
        break;
    case 2:
        put(d, pool_pick(PIECE_QUERY));
        break;
    default:
        put(d, span(c, i, end));
        put_text(d, " x1 ");
        put_text(d, PICK(joins));
        put_text(d, " ");
        put(d, chance(2) ? span(c, i, end) : pool_pick(PIECE_RELATION));
        put_text(d, " x2 ");
        if (chance(3)) {
            put_text(d, "on ");
            put_expression(d, c, alm_str_of("1 = 1"), 1);
        }
    }
    after(d, c, end);
}

static void change_whole(draft *d, const cut *c)
{
    if (chance(2)) {
        put_shape(d, c, PICK(whole_shapes), c->text, 0);
        return;
    }
    switch (chance(9)) {
    case 0:
        put_text(d, "select * from (");
        put(d, c->text);
        put_text(d, ") ");
        put_operand(d, c, PIECE_CLAUSE + 3 + (int32_t)chance(11), 0);
        break;
    case 1:
        put(d, c->text);
        put_text(d, " ");
        put_text(d, PICK(sets));
        put_text(d, " ");
        put(d, chance(2) ? c->text : pool_pick(PIECE_STATEMENT));
        break;
    case 2:
        put_text(d, "with q as (");
        put(d, c->text);
        put_text(d, ") select * from q a ");
        put_text(d, PICK(joins));
        put_text(d, " q b ");
        break;
    case 3:
        put_text(d, "explain ");
        put(d, c->text);
        break;
    case 4:
        put_text(d, "select count(), count_distinct(1) from (");
        put(d, c->text);
        put_text(d, ")");
        break;
    case 5:
        put_text(d, "select *, row_number() over () rn, ");
        put_operand(d, c, PIECE_CALL, 0);
        put_text(d, " from (");
        put(d, c->text);
        put_text(d, ")");
        break;
    case 6:
        put(d, c->text);
        put_text(d, " order by ");
        put_expression(d, c, alm_str_of("1"), 1);
        put_text(d, chance(2) ? " desc" : " nulls first");
        break;
    case 7:
        put(d, c->text);
        put_text(d, chance(2) ? " limit " : " limit -");
        put_text(d, PICK(edge_values));
        break;
    default:
        put(d, pool_pick(PIECE_STATEMENT));
        break;
    }
}

/* A piece of one place stands in another, and the other way round: expressions change their query. */
static void change_places(draft *d, const cut *c)
{
    int32_t i = (int32_t)chance((uint64_t)c->n), j = (int32_t)chance((uint64_t)c->n);
    for (int32_t tries = 0; tries < c->n && !starts_operand(c, i); tries++)
        i = (i + 1) % c->n;
    for (int32_t tries = 0; tries < c->n && !starts_operand(c, j); tries++)
        j = (j + 1) % c->n;
    const int32_t a = ALM_MIN(i, j), b = ALM_MAX(i, j);
    const int32_t a_end = operand_end(c, a), b_end = operand_end(c, b);
    if (a_end > b) { /* one in the other: the inner one stands for both */
        before(d, c, a);
        put(d, span(c, b, b_end));
        after(d, c, a_end);
        return;
    }
    before(d, c, a);
    put(d, span(c, b, b_end));
    put_text(d, " ");
    put(d, (alm_str){c->text.ptr + c->tok[a_end - 1].end,
                     (size_t)(c->tok[b].pos - c->tok[a_end - 1].end)});
    put(d, span(c, a, a_end));
    after(d, c, b_end);
}

/* A name becomes another one that the statement has, of whatever query. */
static void change_name(draft *d, const cut *c)
{
    int32_t i = (int32_t)chance((uint64_t)c->n);
    for (int32_t tries = 0; tries < c->n && c->tok[i].kw != ALM_KW_PLAIN; tries++)
        i = (i + 1) % c->n;
    before(d, c, i);
    put(d, name_of(c));
    after(d, c, i + 1);
}

static void change_token(draft *d, const cut *c)
{
    const int32_t i = (int32_t)chance((uint64_t)c->n), j = (int32_t)chance((uint64_t)c->n);
    before(d, c, i);
    switch (chance(4)) {
    case 0:
        break;
    case 1:
        put(d, span(c, j, j + 1));
        break;
    case 2:
        put_text(d, PICK(infix));
        break;
    default:
        put(d, alm_keyword_text((alm_keyword)(1 + chance(ALM_KW_COUNT - 1))));
        break;
    }
    after(d, c, i + 1);
}

/* Changes the statement in `text`; false: nothing that fits came out. */
static bool mutate_sql(char *text, size_t *len, size_t cap, uint64_t seed)
{
    static cut c;
    static draft d;
    chance_state = seed * 0x9e3779b97f4a7c15u + 0x1234567;
    for (int warm = 0; warm < 4; warm++)
        (void)chance(1);
    bool changed = false;
    for (uint64_t rounds = 1 + chance(3); rounds > 0; rounds--) {
        d = (draft){.len = 0};
        if (*len < 3 || chance(60) == 0 || !cut_text(&c, (alm_str){text, *len})) {
            put(&d, pool_pick(chance(6) == 0 ? PIECE_WRITE : PIECE_STATEMENT));
        } else {
            switch (chance(19)) {
            case 0:
            case 1:
            case 2:
            case 3:
            case 4:
            case 5:
                change_operand(&d, &c);
                break;
            case 6:
            case 7:
            case 8:
                change_clause(&d, &c);
                break;
            case 9:
            case 10:
                change_item(&d, &c);
                break;
            case 11:
            case 12:
                change_relation(&d, &c);
                break;
            case 13:
            case 14:
                change_whole(&d, &c);
                break;
            case 15:
            case 16:
                change_places(&d, &c);
                break;
            case 17:
                change_name(&d, &c);
                break;
            default:
                change_token(&d, &c);
                break;
            }
        }
        if (d.full || d.len == 0 || d.len > cap)
            continue;
        (void)memcpy(text, d.text, d.len);
        *len = d.len;
        changed = true;
    }
    return changed;
}

#endif
