/*
 * sql_pieces.h - statements cut into their pieces, and pools of pieces taken from recorded statements
 * (sql_mutate.h).
 *
 * Shapes      pool_load reads the files of cases (*.test) of a folder and of the folders in it:
 *             pools[kind] then holds every different piece of that kind.
 * Ownership   Pieces point into texts that live as long as the process.
 * Threads     One.
 */
#ifndef ALM_FUZZ_SQL_PIECES_H
#define ALM_FUZZ_SQL_PIECES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "sql/text/lex.h"

enum { MUTATE_TOKENS = 1500, MUTATE_TEXT = 6000 };

typedef enum piece_kind {
    PIECE_STATEMENT, /* reads */
    PIECE_WRITE,     /* changes rows */
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

/* The place after the answer at `at`, which ends at a blank line; `at` where there is none. */
static size_t answer_end(const char *text, size_t len, size_t at)
{
    if (len - at < 5 || memcmp(text + at, "---- ", 5) != 0)
        return at;
    const char *blank = memmem(text + at, len - at, "\n\n", 2);
    return blank != NULL ? (size_t)(blank - text) : len;
}

/* Statements end with a semicolon at the end of a line; answers and comment lines follow (test/sql/README.md). */
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
        at = end + 1 < len ? answer_end(text, len, end + 2) : len;
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
        if (is_kw(&c, 0, ALM_KW_UPDATE) || is_kw(&c, 0, ALM_KW_DELETE) ||
            is_kw(&c, 0, ALM_KW_INSERT)) {
            pool_add(PIECE_WRITE, s);
            pool_cut(&c);
        }
    }
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* The text of a file. Pieces point into it, as long as the program runs. */
typedef struct kept_text {
    struct kept_text *next;
    char bytes[];
} kept_text;

static void pool_read(const char *path)
{
    static kept_text *kept;
    FILE *f = fopen(path, "rb");
    ALM_ASSERT(f != NULL);
    (void)fseek(f, 0, SEEK_END);
    const size_t len = (size_t)ftell(f);
    rewind(f);
    kept_text *text = malloc(sizeof *text + len + 1);
    ALM_ASSERT(text != NULL && fread(text->bytes, 1, len, f) == len);
    (void)fclose(f);
    text->bytes[len] = 0;
    text->next = kept;
    kept = text;
    pool_file(text->bytes, len);
}

static void pool_folder(const char *folder)
{
    struct dirent **names;
    const int n = scandir(folder, &names, NULL, by_name);
    ALM_ASSERT(n > 0);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        const size_t len = strlen(name);
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
        if (names[i]->d_type == DT_DIR && name[0] != '.')
            pool_folder(path);
        else if (len > 5 && strcmp(name + len - 5, ".test") == 0)
            pool_read(path);
        free(names[i]);
    }
    free(names);
}

static void pool_load(const char *folder)
{
    pool_folder(folder);
    ALM_ASSERT(pools[PIECE_STATEMENT].n > 0 && pools[PIECE_SETUP].n > 0);
    for (int kind = PIECE_QUERY; kind < PIECE_KINDS; kind++)
        pool_unique(kind);
}

#endif
