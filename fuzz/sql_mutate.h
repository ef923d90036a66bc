/*
 * sql_mutate.h - makes and changes SQL by its pieces, for harnesses whose input is one statement.
 *
 * Purpose     Byte mutations of SQL die in the lexer. Here a statement is cut into operands, list
 *             items, clauses and queries by its tokens and brackets, and pieces are replaced, wrapped,
 *             left out or repeated. The pieces to put in come from recorded statements.
 * Shapes      pool_load reads NAME.sql files of a folder: pool_of(kind) then holds every different
 *             piece of that kind. mutate_sql changes a text in place.
 * Ownership   Pieces point into texts that live as long as the process.
 * Threads     One.
 */
#ifndef ALM_FUZZ_SQL_MUTATE_H
#define ALM_FUZZ_SQL_MUTATE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "sql/lex.h"

enum { MUTATE_TOKENS = 1500, MUTATE_TEXT = 6000 };

typedef enum piece_kind {
    PIECE_STATEMENT, /* reads */
    PIECE_SETUP,     /* makes tables and rows */
    PIECE_QUERY,     /* in parentheses */
    PIECE_OPERAND,
    PIECE_CALL, /* an operand that is a call */
    PIECE_TYPE,
    PIECE_RELATION, /* behind FROM or JOIN */
    PIECE_CLAUSE,   /* one kind per first word, see clause_rank */
    PIECE_KINDS = PIECE_CLAUSE + 16
} piece_kind;

typedef struct piece_pool {
    alm_str *at;
    size_t n, cap;
} piece_pool;

static piece_pool pools[PIECE_KINDS];

/* ------------------------------------------------------------------- chance */

static uint64_t chance_state = 88172645463325252u;

static uint64_t chance(uint64_t below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return below == 0 ? 0 : (chance_state >> 11) % below;
}

/* ------------------------------------------------------------------- tokens */

typedef struct cut {
    alm_str text;
    alm_token tok[MUTATE_TOKENS];
    int32_t match[MUTATE_TOKENS]; /* of a bracket its partner, else -1 */
    int32_t n;
} cut;

static bool cut_text(cut *c, alm_str text)
{
    int32_t open[MUTATE_TOKENS], depth = 0;
    c->text = text;
    c->n = 0;
    for (int32_t at = 0;;) {
        const alm_token t = alm_lex(text, at, false);
        if (t.kind == ALM_TOK_END)
            return c->n > 0;
        if (c->n == MUTATE_TOKENS)
            return false;
        const int32_t i = c->n++;
        c->tok[i] = t;
        c->match[i] = -1;
        if (t.kind == ALM_TOK_OP && (t.op == ALM_OP_LPAREN || t.op == ALM_OP_LBRACKET)) {
            open[depth++] = i;
        } else if (t.kind == ALM_TOK_OP && (t.op == ALM_OP_RPAREN || t.op == ALM_OP_RBRACKET) &&
                   depth > 0) {
            c->match[i] = open[--depth];
            c->match[open[depth]] = i;
        }
        at = t.end;
    }
}

static bool is_op(const cut *c, int32_t i, alm_op op)
{
    return i >= 0 && i < c->n && c->tok[i].kind == ALM_TOK_OP && c->tok[i].op == op;
}

static bool is_kw(const cut *c, int32_t i, alm_keyword kw)
{
    return i >= 0 && i < c->n && c->tok[i].kind == ALM_TOK_NAME && c->tok[i].kw == kw;
}

static alm_str span(const cut *c, int32_t from, int32_t to)
{
    const int32_t a = c->tok[from].pos, b = c->tok[to - 1].end;
    return (alm_str){c->text.ptr + a, (size_t)(b - a)};
}

/* Place of the clause that token i opens, in the order clauses stand in; -1: opens none. */
static int32_t clause_rank(const cut *c, int32_t i)
{
    if (i < 0 || i >= c->n || c->tok[i].kind != ALM_TOK_NAME)
        return -1;
    switch ((int)c->tok[i].kw) {
    case ALM_KW_SELECT:
        return 0;
    case ALM_KW_FROM:
        return 1;
    case ALM_KW_INNER:
    case ALM_KW_LEFT:
    case ALM_KW_CROSS:
    case ALM_KW_ASOF:
    case ALM_KW_LT:
    case ALM_KW_SPLICE:
    case ALM_KW_JOIN:
        return 2;
    case ALM_KW_WHERE:
        return 3;
    case ALM_KW_LATEST:
        return 4;
    case ALM_KW_GROUP:
    case ALM_KW_SAMPLE:
        return 5;
    case ALM_KW_FILL:
        return 6;
    case ALM_KW_ALIGN:
        return 7;
    case ALM_KW_HAVING:
        return 8;
    case ALM_KW_WINDOW:
        return 9;
    case ALM_KW_QUALIFY:
        return 10;
    case ALM_KW_UNION:
    case ALM_KW_EXCEPT:
    case ALM_KW_INTERSECT:
        return 11;
    case ALM_KW_ORDER:
        return 12;
    case ALM_KW_LIMIT:
        return 13;
    case ALM_KW_PARTITION:
        return 14;
    case ALM_KW_ROWS:
    case ALM_KW_RANGE:
    case ALM_KW_GROUPS:
        return 15;
    default:
        return -1;
    }
}

static int32_t clause_end(const cut *c, int32_t i)
{
    const int32_t rank = clause_rank(c, i);
    const bool set = rank == 11; /* the query behind UNION belongs to it */
    for (i++; i < c->n; i++) {
        if (c->match[i] > i) {
            i = c->match[i];
        } else if (c->match[i] >= 0 || is_op(c, i, ALM_OP_SEMI)) {
            break;
        } else if (clause_rank(c, i) >= 0) {
            const bool same_join = rank == 2 && is_kw(c, i, ALM_KW_JOIN) &&
                                   (clause_rank(c, i - 1) == 2 || !is_kw(c, i - 1, ALM_KW_JOIN));
            if (!(same_join && i - 1 >= 0 && clause_rank(c, i - 1) == 2) &&
                !(set && clause_rank(c, i) < 11))
                break;
        }
    }
    return i;
}

static bool starts_operand(const cut *c, int32_t i)
{
    const alm_token *t = &c->tok[i];
    switch ((alm_tok_kind)t->kind) {
    case ALM_TOK_NAME:
        return t->kw == ALM_KW_CASE || t->kw == ALM_KW_CAST ||
               !(alm_keyword_flags((alm_keyword)t->kw) & ALM_KW_RESERVED);
    case ALM_TOK_QUOTED:
    case ALM_TOK_STRING:
    case ALM_TOK_NUMBER:
    case ALM_TOK_GEOHASH:
        return true;
    case ALM_TOK_OP:
        return t->op == ALM_OP_LPAREN && c->match[i] > i;
    case ALM_TOK_END:
    case ALM_TOK_PARAM:
    case ALM_TOK_VAR:
    case ALM_TOK_COMMENT:
    case ALM_TOK_BAD:
        return false;
    }
    return false;
}

/* Behind the operand that starts at i: names with dots, calls, OVER, casts, indexes. */
static int32_t operand_end(const cut *c, int32_t i)
{
    if (is_kw(c, i, ALM_KW_CASE)) {
        while (i < c->n && !is_kw(c, i, ALM_KW_END))
            i = c->match[i] > i ? c->match[i] + 1 : i + 1;
        i = ALM_MIN(i + 1, c->n);
    } else {
        i = c->match[i] > i ? c->match[i] + 1 : i + 1;
    }
    while (i < c->n) {
        if (is_op(c, i, ALM_OP_DOT) && i + 1 < c->n)
            i += 2;
        else if ((is_op(c, i, ALM_OP_LPAREN) || is_op(c, i, ALM_OP_LBRACKET)) && c->match[i] > i)
            i = c->match[i] + 1;
        else if (is_op(c, i, ALM_OP_CAST) && i + 1 < c->n)
            i += 2;
        else if (is_kw(c, i, ALM_KW_OVER) && i + 1 < c->n)
            i = c->match[i + 1] > i ? c->match[i + 1] + 1 : i + 2;
        else
            break;
    }
    return ALM_MIN(i, c->n);
}

/* The item of a list that token i is in. */
static void item_around(const cut *c, int32_t i, int32_t *from, int32_t *to)
{
    int32_t a = i, b = i;
    while (a > 0 && !is_op(c, a - 1, ALM_OP_COMMA) && clause_rank(c, a - 1) < 0) {
        const int32_t m = c->match[a - 1];
        if (m > a - 1)
            break;
        a = m >= 0 ? m : a - 1;
    }
    while (b < c->n && !is_op(c, b, ALM_OP_COMMA) && !is_op(c, b, ALM_OP_SEMI) &&
           (b == a || clause_rank(c, b) < 0)) {
        const int32_t m = c->match[b];
        if (m >= 0 && m < b)
            break;
        b = m > b ? m + 1 : b + 1;
    }
    *from = a;
    *to = ALM_MAX(b, a + 1);
}

/* --------------------------------------------------------------------- pool */

static void pool_add(int kind, alm_str s)
{
    piece_pool *p = &pools[kind];
    if (s.len == 0 || s.len > 1000)
        return;
    if (p->n == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 1024;
        p->at = realloc(p->at, p->cap * sizeof(*p->at));
        ALM_ASSERT(p->at != NULL);
    }
    p->at[p->n++] = s;
}

static int compare_pieces(const void *a, const void *b)
{
    const alm_str *x = a, *y = b;
    const int c = memcmp(x->ptr, y->ptr, ALM_MIN(x->len, y->len));
    return c != 0 ? c : (x->len > y->len) - (x->len < y->len);
}

static void pool_unique(int kind)
{
    piece_pool *p = &pools[kind];
    if (p->n == 0)
        return;
    qsort(p->at, p->n, sizeof(*p->at), compare_pieces);
    size_t kept = 1;
    for (size_t i = 1; i < p->n; i++)
        if (compare_pieces(&p->at[kept - 1], &p->at[i]) != 0)
            p->at[kept++] = p->at[i];
    p->n = kept;
}

static alm_str pool_pick(int kind)
{
    const piece_pool *p = &pools[kind];
    return p->n == 0 ? alm_str_of("1") : p->at[chance(p->n)];
}

static bool is_query(const cut *c, int32_t i)
{
    return is_kw(c, i, ALM_KW_SELECT) || is_kw(c, i, ALM_KW_WITH) || is_kw(c, i, ALM_KW_DECLARE);
}

static void pool_cut(const cut *c)
{
    for (int32_t i = 0; i < c->n; i++) {
        if (starts_operand(c, i)) {
            const int32_t end = operand_end(c, i);
            const bool call = is_op(c, i + 1, ALM_OP_LPAREN) && c->tok[i].kind == ALM_TOK_NAME;
            if (!is_op(c, i - 1, ALM_OP_DOT) && !is_op(c, i - 1, ALM_OP_CAST))
                pool_add(call ? PIECE_CALL : PIECE_OPERAND, span(c, i, end));
            if (is_kw(c, i - 1, ALM_KW_FROM) || is_kw(c, i - 1, ALM_KW_JOIN))
                pool_add(PIECE_RELATION, span(c, i, end));
        }
        if (is_op(c, i, ALM_OP_LPAREN) && c->match[i] > i && is_query(c, i + 1))
            pool_add(PIECE_QUERY, span(c, i, c->match[i] + 1));
        if (is_op(c, i, ALM_OP_CAST) && i + 1 < c->n)
            pool_add(PIECE_TYPE, span(c, i + 1, i + 2));
        const int32_t rank = clause_rank(c, i);
        if (rank >= 0 && clause_rank(c, i - 1) != 2)
            pool_add(PIECE_CLAUSE + rank, span(c, i, clause_end(c, i)));
    }
}

/* Statements end with a semicolon at the end of a line; comment lines stand between them. */
static void pool_file(char *text, size_t len)
{
    static cut c;
    for (size_t at = 0; at < len;) {
        size_t start = at;
        while (start < len && (text[start] == '\n' || text[start] == ' ' || text[start] == '-')) {
            const char *line = text[start] == '-' ? memchr(text + start, '\n', len - start) : NULL;
            start = text[start] != '-' ? start + 1 : line != NULL ? (size_t)(line - text) : len;
        }
        size_t end = start;
        while (end < len && !(text[end] == ';' && (end + 1 == len || text[end + 1] == '\n')))
            end++;
        at = end + 1;
        const alm_str s = {text + start, end - start};
        if (s.len == 0 || !cut_text(&c, s))
            continue;
        if (is_query(&c, 0) || is_kw(&c, 0, ALM_KW_SHOW) || is_kw(&c, 0, ALM_KW_EXPLAIN)) {
            pool_add(PIECE_STATEMENT, s);
            pool_cut(&c);
        } else if (is_kw(&c, 0, ALM_KW_CREATE) || is_kw(&c, 0, ALM_KW_INSERT)) {
            piece_pool *p = &pools[PIECE_SETUP]; /* in order, and of any length */
            const size_t n = p->n;
            pool_add(PIECE_SETUP, alm_str_of("x"));
            p->at[n] = s;
        }
    }
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void pool_load(const char *folder)
{
    static char *
        *kept; /* texts of the files: pieces point into them, as long as the program runs */
    struct dirent **names;
    const int n = scandir(folder, &names, NULL, by_name);
    ALM_ASSERT(n > 0);
    kept = calloc((size_t)n, sizeof *kept);
    ALM_ASSERT(kept != NULL);
    for (int i = 0; i < n; i++) {
        const size_t len = strlen(names[i]->d_name);
        if (len > 4 && strcmp(names[i]->d_name + len - 4, ".sql") == 0) {
            char path[4096];
            (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
            FILE *f = fopen(path, "rb");
            ALM_ASSERT(f != NULL);
            (void)fseek(f, 0, SEEK_END);
            const size_t bytes = (size_t)ftell(f);
            rewind(f);
            char *text = malloc(bytes + 1);
            kept[i] = text;
            ALM_ASSERT(text != NULL && fread(text, 1, bytes, f) == bytes);
            text[bytes] = 0;
            (void)fclose(f);
            pool_file(text, bytes);
        }
        free(names[i]);
    }
    free(names);
    for (int kind = PIECE_QUERY; kind < PIECE_KINDS; kind++)
        pool_unique(kind);
}

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

/* `old` is what stands there now. */
static void put_expression(draft *d, const cut *c, alm_str old, int depth)
{
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
            put(&d, pool_pick(PIECE_STATEMENT));
        } else {
            switch (chance(16)) {
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
