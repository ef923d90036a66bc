/*
 * parse.h - what the files of the parser share; private to sql/.
 *
 * The parser is recursive descent with one token in hand (p->tok, not yet consumed); looking
 * further is lexing again, which costs nothing to undo. Expressions climb by precedence.
 *
 * Limits      p->nest bounds the recursion of the parser (nested brackets, CASE, queries);
 *             node depth bounds the trees it makes, so that whoever walks them is safe as well.
 * Errors      Every failure goes through alm_parse_fail, which prefers a lexical error under way
 *             (an open quote) to what it makes the grammar expect.
 */
#ifndef ALM_SQL_PARSE_H
#define ALM_SQL_PARSE_H

#include "sql/sql.h"
#include "sql/text/lex.h"

/* A variable of DECLARE in scope; inner ones come first. */
typedef struct alm_parse_var {
    alm_str name;
    alm_ast *value;
    uint32_t weight; /* nodes of the value, those of variables in it counted too */
    bool foreign;    /* said by who may not read what the query may */
    const struct alm_parse_var *next;
} alm_parse_var;

typedef struct alm_parser {
    alm_ctx *cx;
    alm_str text;
    alm_token tok, prev;      /* in hand; consumed last */
    uint32_t nest, depth_max; /* sql.nesting.max bounds nest and node depth */
    uint32_t peak;            /* greatest node depth since the innermost query began */
    uint32_t weight;          /* nodes made, and nodes that variables stand for */
    uint32_t n_params;
    uint32_t in_case; /* depth of CASE ... END: WHEN, THEN and ELSE are no names there */
    bool no_window;   /* OVER is not allowed here (WHERE, ON ...) */
    const alm_parse_var *vars;
    const struct alm_override *overrides; /* variables set from outside, or NULL */
    const struct alm_override
        *foreign;          /* of them: from here on by who may not read what the view may */
    bool override_refused; /* the error is that one of them may not be set */
    alm_ast *spare;        /* zeroed nodes not handed out yet */
    uint32_t n_spare, n_chunk;
} alm_parser;

enum {
    ALM_PARSE_DEPTH_MAX = 1000,    /* without settings */
    ALM_PARSE_DEPTH_LIMIT = 2000,  /* whatever the setting says: 1.3 KiB of stack a level */
    ALM_PARSE_WEIGHT_MAX = 200000, /* nodes a statement may grow to through variables */
    /* precedence: how loose an operator may be to bind here */
    ALM_PREC_CAST = 2,
    ALM_PREC_SIGN = 3,
    ALM_PREC_MUL = 4,
    ALM_PREC_ADD = 5,
    ALM_PREC_SHIFT = 6,
    ALM_PREC_CONCAT = 7,
    ALM_PREC_BIT_AND = 8,
    ALM_PREC_BIT_XOR = 9,
    ALM_PREC_BIT_OR = 10,
    ALM_PREC_SET = 11, /* in between within */
    ALM_PREC_ORDER = 12,
    ALM_PREC_EQUAL = 13, /* = != like ~ is */
    ALM_PREC_NOT = 14,
    ALM_PREC_AND = 15,
    ALM_PREC_OR = 16
};

/* Precedence of an operator as a node carries it (lower case text), 0 if it is none. */
uint32_t alm_op_precedence(alm_str op);

/* ------------------------------------------------------------------ tokens (parse.c) */

static inline bool alm_at_op(const alm_parser *parser, alm_op op)
{
    return parser->tok.kind == ALM_TOK_OP && parser->tok.op == op;
}
static inline bool alm_at_kw(const alm_parser *parser, alm_keyword keyword)
{
    return parser->tok.kind == ALM_TOK_NAME && parser->tok.kw == keyword;
}
static inline bool alm_at_end(const alm_parser *parser)
{
    return parser->tok.kind == ALM_TOK_END || alm_at_op(parser, ALM_OP_SEMI);
}
/* Is the word in hand reserved here? */
static inline bool alm_at_reserved(const alm_parser *parser)
{
    if (parser->tok.kind != ALM_TOK_NAME || parser->tok.kw == ALM_KW_PLAIN)
        return false;
    if (parser->in_case > 0 && (parser->tok.kw == ALM_KW_WHEN || parser->tok.kw == ALM_KW_THEN ||
                                parser->tok.kw == ALM_KW_ELSE))
        return true;
    return (alm_keyword_flags((alm_keyword)parser->tok.kw) & ALM_KW_RESERVED) != 0;
}
void alm_parse_next(alm_parser *parser);
alm_token alm_parse_peek(const alm_parser *parser); /* the token behind parser->tok */
static inline bool alm_take_op(alm_parser *parser, alm_op op)
{
    const bool found = alm_at_op(parser, op);
    if (found)
        alm_parse_next(parser);
    return found;
}
static inline bool alm_take_kw(alm_parser *parser, alm_keyword keyword)
{
    const bool found = alm_at_kw(parser, keyword);
    if (found)
        alm_parse_next(parser);
    return found;
}
bool alm_at_word(const alm_parser *parser,
                 const char *word); /* a word that is no text/keyword.def row */
bool alm_take_word(alm_parser *parser, const char *word);
alm_str alm_token_text(const alm_parser *parser, alm_token token);
/* Empty when end is not behind pos: nothing was consumed since. */
alm_str alm_parse_slice(const alm_parser *parser, int32_t pos, int32_t end);
bool alm_token_is_kw(alm_token token, alm_keyword keyword);
bool alm_token_is_op(alm_token token, alm_op op);

/* ALM_E_SYNTAX at `pos`. */
alm_status alm_parse_fail(alm_parser *parser, int32_t pos, const char *format, ...)
    ALM_PRINTF(3, 4);
/* "unexpected token [x]" at the token in hand. */
alm_status alm_parse_unexpected(alm_parser *parser);
/* The token in hand is a keyword where a name must stand. */
alm_status alm_parse_keyword_name(alm_parser *parser);
/* Consume, or fail with `message` at the token in hand. */
ALM_NODISCARD alm_status alm_expect_op(alm_parser *parser, alm_op op, const char *message);
ALM_NODISCARD alm_status alm_expect_kw(alm_parser *parser, alm_keyword keyword,
                                       const char *message);

/* The bracket that closes the one at `open`; a word too many before it is the error, if it is there. */
ALM_NODISCARD alm_status alm_parse_close(alm_parser *parser, int32_t open);
void alm_parse_start(alm_parser *parser, alm_ctx *cx, alm_str text, size_t offset);
/* The statement that starts at `start` failed: says which word was meant to be a keyword, if one was (meant.c). */
alm_status alm_parse_meant(alm_parser *parser, int32_t start, alm_status failed);

alm_status alm_parse_too_deep(alm_parser *parser, int32_t pos);
ALM_NODISCARD alm_status
alm_parse_enter(alm_parser *parser); /* one level deeper; parser->nest-- leaves */

/* ------------------------------------------------------------------ memory (parse.c) */

/* A zeroed node that starts at `pos`. */
ALM_NODISCARD alm_status alm_parse_node(alm_parser *parser, alm_ast_kind kind, int32_t pos,
                                        alm_ast **out);
/* All children are in place: sets end and depth, fails when it is too deep. */
ALM_NODISCARD alm_status alm_parse_seal(alm_parser *parser, alm_ast *node);
/* Room for element n of an array of `bytes` wide, zeroed elements; *cap counts them. */
ALM_NODISCARD alm_status alm_parse_grow(alm_parser *parser, void *array_ptr, uint32_t n,
                                        uint32_t *cap, size_t bytes);
#define ALM_GROW(p, array_ptr, n, cap) alm_parse_grow(p, array_ptr, n, cap, sizeof(**(array_ptr)))

/* Text of a STRING or QUOTED token, quotes and escapes resolved. */
ALM_NODISCARD alm_status alm_parse_unquote(alm_parser *parser, alm_token token, alm_str *out);

/* ------------------------------------------------------------------ names */

typedef struct alm_parse_name {
    alm_str text;
    int32_t pos;
    bool quoted;
} alm_parse_name;

/* NAME that is not reserved, QUOTED or STRING: tables, columns. `what` as in "what expected". */
ALM_NODISCARD alm_status alm_parse_ident(alm_parser *parser, const char *what, alm_parse_name *out);
/* As alm_parse_ident where nothing but a name can stand: no word is reserved. */
ALM_NODISCARD alm_status alm_parse_any_name(alm_parser *parser, const char *what,
                                            alm_parse_name *out);
/* [qualifier.]name of anything but a table: the qualifier is not looked at. */
ALM_NODISCARD alm_status alm_parse_qualified(alm_parser *parser, const char *what,
                                             alm_str *qualifier, alm_parse_name *out);

/* Tables: [[database.]schema.]name, where a schema that is not there is refused (relation.c). */

bool alm_is_database(alm_str name);
/* The check by itself: of a schema that was read as part of an expression. */
ALM_NODISCARD alm_status alm_parse_schema(alm_parser *parser, alm_str database, alm_str schema,
                                          int32_t pos);
/* A relation that is read: *schema is empty, public or one of the server's own. */
ALM_NODISCARD alm_status alm_parse_relation(alm_parser *parser, const char *what, alm_str *schema,
                                            alm_parse_name *out);
/* Refuses what is not in the schema of users' tables. */
ALM_NODISCARD alm_status alm_parse_own_table(alm_parser *parser, alm_str schema,
                                             alm_parse_name name);
/* A users' table that is changed or shown; one that is made, whose name is checked as well. */
ALM_NODISCARD alm_status alm_parse_table(alm_parser *parser, const char *what, alm_parse_name *out);
ALM_NODISCARD alm_status alm_parse_new_table(alm_parser *parser, const char *what,
                                             alm_parse_name *out);
/* One table, or many, into stmt->table and stmt->more_tables; with stmt->if_exists those of other schemas into stmt->absent. */
ALM_NODISCARD alm_status alm_parse_table_list(alm_parser *parser, alm_stmt *stmt, const char *what,
                                              bool many);
/* One name of such a list; *here is false where it went into stmt->absent. */
ALM_NODISCARD alm_status alm_parse_listed_table(alm_parser *parser, alm_stmt *stmt,
                                                const char *what, bool *here, alm_parse_name *out);

/* ------------------------------------------------------------------ expressions */

bool alm_starts_expr(const alm_parser *parser);
ALM_NODISCARD alm_status alm_parse_expr(alm_parser *parser, alm_ast **out);
ALM_NODISCARD alm_status alm_parse_expr_at(alm_parser *parser, uint32_t prec, alm_ast **out);
/* Goes on behind `left`, which is parsed already. */
ALM_NODISCARD alm_status alm_parse_expr_rest(alm_parser *parser, alm_ast *left, uint32_t prec,
                                             alm_ast **out);
ALM_NODISCARD alm_status alm_parse_primary(alm_parser *parser, alm_ast **out);
ALM_NODISCARD alm_status alm_parse_postfix(alm_parser *parser, alm_ast *left, alm_ast **out);
/* A token that is a literal by itself (STRING, NUMBER, GEOHASH, PARAM, null, true, false, nan);
 * *out is NULL, and nothing consumed, if it is not. */
/* A text in single quotes. */
ALM_NODISCARD alm_status alm_parse_text(alm_parser *parser, const char *what, alm_str *out,
                                        int32_t *pos);
ALM_NODISCARD alm_status alm_parse_literal(alm_parser *parser, alm_ast **out);
ALM_NODISCARD alm_status alm_parse_call(alm_parser *parser, alm_str schema, alm_parse_name name,
                                        alm_ast **out);
/* 1000000, 5s, 100ms, 20us: microseconds; false: it is none. */
bool alm_lag_read(alm_str text, int64_t *us);
ALM_NODISCARD alm_status alm_parse_lag(alm_parser *parser, int64_t *us);
/* [OWNED BY name] */
ALM_NODISCARD alm_status alm_parse_owned(alm_parser *parser, alm_stmt *stmt);
/* Expressions with commas between; at least one. */
ALM_NODISCARD alm_status alm_parse_exprs(alm_parser *parser, alm_ast ***out, uint32_t *n);
/* What stands behind GROUP BY (group.c). */
ALM_NODISCARD alm_status alm_parse_group_list(alm_parser *parser, alm_select *sel);
ALM_NODISCARD alm_status alm_parse_type(alm_parser *parser, alm_str *type, int32_t *pos);
ALM_NODISCARD alm_status alm_parse_make(alm_parser *parser, alm_ast_kind kind, int32_t pos,
                                        const char *text, alm_ast *a, alm_ast *b, alm_ast **out);

/* ------------------------------------------------------------------ windows (window.c) */

ALM_NODISCARD alm_status alm_parse_order(alm_parser *parser, alm_ast_order **out, uint32_t *n);
/* Behind OVER: a name or ( ... ). */
ALM_NODISCARD alm_status alm_parse_over(alm_parser *parser, alm_ast *call);
ALM_NODISCARD alm_status alm_parse_window(alm_parser *parser, alm_window_def **out);
/* BETWEEN lo AND hi, or lo alone; `range` allows time units. */
ALM_NODISCARD alm_status alm_parse_bounds(alm_parser *parser, alm_window_def *def, bool range);

/* ------------------------------------------------------------------ queries */

bool alm_starts_query(alm_token token); /* select, with, declare, show ... */
/* A whole query: [declare] [with] body [set operations] [order by] [limit]. */
ALM_NODISCARD alm_status alm_parse_query(alm_parser *parser, alm_select **out);
/* ( query ), the bracket in hand; *out as alm_parse_query. */
ALM_NODISCARD alm_status alm_parse_bracketed(alm_parser *parser, alm_select **out);
/* Goes on behind a query: set operations, order, limit. */
ALM_NODISCARD alm_status alm_parse_query_rest(alm_parser *parser, alm_select *left,
                                              alm_select **out);
ALM_NODISCARD alm_status alm_parse_from(alm_parser *parser, alm_from **out, uint32_t *n);
/* More items behind the n that are there. */
ALM_NODISCARD alm_status alm_parse_joins(alm_parser *parser, alm_from **items, uint32_t *n,
                                         uint32_t *cap);
/* unnest and its like in a select list; as an item of FROM (list.c). */
/* ARRAY['a', 'b'] in a function over lists of texts is such a list. */
ALM_NODISCARD alm_status alm_parse_list_args(alm_parser *parser, alm_ast *call);
ALM_NODISCARD alm_status alm_parse_lists(alm_parser *parser, alm_select *sel);
ALM_NODISCARD alm_status alm_parse_list_item(alm_parser *parser, alm_from *from);
ALM_NODISCARD alm_status alm_parse_sample(alm_parser *parser, alm_select *sel);
ALM_NODISCARD alm_status alm_parse_latest(alm_parser *parser, alm_select *sel);
ALM_NODISCARD alm_status alm_parse_limit(alm_parser *parser, alm_select *sel);
ALM_NODISCARD alm_status alm_parse_pivot(alm_parser *parser, alm_select *sel);
ALM_NODISCARD alm_status alm_parse_unpivot(alm_parser *parser, alm_select *sel);
ALM_NODISCARD alm_status alm_parse_declare(alm_parser *parser, alm_select *sel);
ALM_NODISCARD alm_status alm_parse_with(alm_parser *parser, alm_select *sel);
ALM_NODISCARD alm_status alm_parse_item(alm_parser *parser, alm_select_item *item);
/* RETURNING and its list, if it stands there; then the end of the statement. */
ALM_NODISCARD alm_status alm_parse_returning(alm_parser *parser, alm_stmt *stmt);
ALM_NODISCARD alm_status alm_parse_rows(alm_parser *parser, alm_stmt *into);
/* `*` over a FROM list. */
ALM_NODISCARD alm_status alm_parse_star_item(alm_parser *parser, int32_t pos, alm_select *sel);
const alm_parse_var *alm_parse_var_find(const alm_parser *parser, alm_str name);
/* The token in hand is a VAR: consumes it and hands out what it stands for (or a VAR node). */
ALM_NODISCARD alm_status alm_parse_var_use(alm_parser *parser, alm_ast **out);

/* The query of a view. foreign: from there on the overrides are constants, see bind/view.c; or NULL. *refused: a variable may not be set; else positions are those of `text`. */
ALM_NODISCARD alm_status alm_sql_parse_view(alm_ctx *cx, alm_str text,
                                            const struct alm_override *overrides,
                                            const struct alm_override *foreign, bool *refused,
                                            alm_select **out);

/* ------------------------------------------------------------------ statements */

ALM_NODISCARD alm_status alm_parse_statement(alm_parser *parser, alm_stmt *stmt);
/* Of each kind: is it that one, its last word in hand; what follows its words, which are consumed. */
#define ALM_STATEMENT(kind, tag, words, at, parse, does, permission, check, run)                   \
    bool at(const alm_parser *p);                                                                  \
    ALM_NODISCARD alm_status parse(alm_parser *p, alm_stmt *s);
#include "sql/parse/statement.def"
#undef ALM_STATEMENT
/* (a, b, ...) into insert_cols, the bracket in hand. */
ALM_NODISCARD alm_status alm_parse_insert_cols(alm_parser *parser, alm_stmt *stmt);
/* acl.c: CREATE, ALTER, DROP of users, groups and service accounts, that word in hand; *found: it is one. */
bool alm_at_entity(const alm_parser *parser);
ALM_NODISCARD alm_status alm_parse_entity(alm_parser *parser, alm_stmt *stmt, alm_keyword verb);
/* READ ONLY, ISOLATION LEVEL ... up to the end of the statement. */
ALM_NODISCARD alm_status alm_parse_tx_modes(alm_parser *parser, alm_tx_words *words);
ALM_NODISCARD alm_status alm_parse_lower(alm_parser *parser, alm_str text, alm_str *out);
/* (SHOW ...) as an item of FROM: a query over the table function that lists the same. */
ALM_NODISCARD alm_status alm_parse_show_query(alm_parser *parser, alm_select **out);
/* name type [options] of CREATE TABLE and ADD COLUMN. */
ALM_NODISCARD alm_status alm_parse_column(alm_parser *parser, alm_column_def *col);
ALM_NODISCARD alm_status alm_parse_symbol_options(alm_parser *parser, alm_column_def *col);
ALM_NODISCARD alm_status alm_parse_ttl(alm_parser *parser, alm_stmt *stmt);
bool alm_at_dedup(const alm_parser *parser);
ALM_NODISCARD alm_status alm_parse_upsert_keys(alm_parser *parser, alm_stmt *stmt);
/* Clauses behind the columns or the query: TIMESTAMP(), PARTITION BY, TTL ... */
ALM_NODISCARD alm_status alm_parse_table_clauses(alm_parser *parser, alm_stmt *stmt, uint32_t *cap,
                                                 bool view);
/* [IF NOT EXISTS] name */
ALM_NODISCARD alm_status alm_parse_new_name(alm_parser *parser, alm_stmt *stmt, const char *what);
/* May what is made or renamed be called so? */
ALM_NODISCARD alm_status alm_parse_check_name(alm_parser *parser, alm_parse_name name);
/* The new name of RENAME. */
ALM_NODISCARD alm_status alm_parse_rename_target(alm_parser *parser, alm_stmt *stmt);
/* view.c. AS (query) of a view: the query, and its text. */
ALM_NODISCARD alm_status alm_parse_view_query(alm_parser *parser, alm_select **out, alm_str *sql);
/* Behind SET of ALTER MATERIALIZED VIEW. */
ALM_NODISCARD alm_status alm_parse_matview_set(alm_parser *parser, alm_stmt *stmt,
                                               alm_alter *alter);
/* The variables that a query around a view sets in it: alm_sql_parse_view. */
typedef struct alm_override {
    alm_str name;
    alm_ast *value;
    int32_t pos;
    const struct alm_override *next; /* of a query further out */
} alm_override;
ALM_NODISCARD alm_status alm_parse_int(alm_parser *parser, const char *what, int64_t *out);
/* Skips to the end of the statement. */
void alm_parse_skip(alm_parser *parser);

#endif
