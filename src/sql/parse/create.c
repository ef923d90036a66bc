/*
 * create.c - CREATE TABLE and the clauses it shares with ALTER TABLE; CREATE VIEW.
 */
#include "sql/parse/parse.h"
#include "sql/plan/name_set.h"

#include "storage/catalog.h"

/* ------------------------------------------------------------------ columns */

static alm_status parse_capacity(alm_parser *parser, int64_t *out)
{
    const int32_t pos = parser->tok.pos;
    if (alm_at_op(parser, ALM_OP_MINUS))
        return alm_parse_fail(parser, pos, "min symbol capacity is 2");
    ALM_TRY(alm_parse_int(parser, "capacity", out));
    if (*out < 2)
        return alm_parse_fail(parser, pos, "min symbol capacity is 2");
    return ALM_OK;
}

alm_status alm_parse_symbol_options(alm_parser *parser, alm_column_def *col)
{
    for (;;) {
        if (alm_take_kw(parser, ALM_KW_CAPACITY)) {
            ALM_TRY(parse_capacity(parser, &col->symbol_capacity));
        } else if (alm_at_kw(parser, ALM_KW_CACHE) || alm_at_kw(parser, ALM_KW_NOCACHE)) {
            col->cache = alm_at_kw(parser, ALM_KW_CACHE) ? 1 : -1;
            alm_parse_next(parser);
        } else if (alm_take_kw(parser, ALM_KW_INDEX)) {
            col->indexed = true;
            if (alm_take_kw(parser, ALM_KW_CAPACITY))
                ALM_TRY(alm_parse_int(parser, "index capacity", &col->index_capacity));
        } else {
            return ALM_OK;
        }
    }
}

static alm_status missing_definition(alm_parser *parser)
{
    const alm_str text = alm_token_text(parser, parser->tok);
    return alm_parse_fail(parser, parser->tok.pos,
                          "found [tok='%.*s', len=%zu] missing column definition",
                          (int)ALM_MIN(text.len, 100), text.ptr, text.len);
}

/* CHECK, REFERENCES and FOREIGN KEY are promises that the engine does not keep; a column may be called references. */
static alm_status refuse_promises(alm_parser *parser, bool behind_column)
{
    const alm_token next = alm_parse_peek(parser);
    const bool refused = (behind_column && alm_at_word(parser, "references")) ||
                         (alm_at_word(parser, "foreign") && alm_token_is_kw(next, ALM_KW_KEY)) ||
                         (alm_at_word(parser, "check") && alm_token_is_op(next, ALM_OP_LPAREN));
    const alm_str text = alm_token_text(parser, parser->tok);
    return refused ? alm_fail(parser->cx, ALM_E_UNSUPPORTED, parser->tok.pos,
                              "constraints by %.*s are not supported", (int)text.len, text.ptr)
                   : ALM_OK;
}

/* NOT NULL, NULL, PRIMARY KEY, UNIQUE: read, and kept as far as the engine has a place for them. */
static alm_status create_parse_constraints(alm_parser *parser, alm_column_def *col)
{
    alm_parse_name name;
    for (;;) {
        if (alm_at_word(parser, "constraint")) {
            alm_parse_next(parser);
            ALM_TRY(alm_parse_ident(parser, "constraint name", &name));
        }
        ALM_TRY(refuse_promises(parser, true));
        if (alm_take_kw(parser, ALM_KW_NOT)) {
            ALM_TRY(alm_expect_kw(parser, ALM_KW_NULL, "'null' expected"));
            col->not_null = true;
        } else if (alm_take_kw(parser, ALM_KW_PRIMARY)) {
            ALM_TRY(alm_expect_kw(parser, ALM_KW_KEY, "'key' expected"));
        } else if (!alm_take_kw(parser, ALM_KW_NULL) && !alm_take_kw(parser, ALM_KW_UNIQUE)) {
            return ALM_OK;
        }
    }
}

alm_status alm_parse_column(alm_parser *parser, alm_column_def *col)
{
    alm_parse_name name;
    if (parser->tok.kind == ALM_TOK_OP || alm_at_end(parser))
        return missing_definition(parser);
    ALM_TRY(alm_parse_ident(parser, "column name", &name));
    col->name = name.text;
    col->pos = name.pos;
    if (parser->tok.kind == ALM_TOK_OP || alm_at_end(parser))
        return missing_definition(parser);
    ALM_TRY(alm_parse_type(parser, &col->type_name, &col->type_pos));
    if (alm_str_ieq(col->type_name, ALM_STR("symbol")))
        ALM_TRY(alm_parse_symbol_options(parser, col));
    return create_parse_constraints(parser, col);
}

static alm_status parse_create_not_symbol(alm_parser *parser, const alm_column_def *col,
                                          int32_t pos)
{
    char type[64];
    const size_t n = ALM_MIN(col->type_name.len, sizeof type);
    for (size_t i = 0; i < n; i++) {
        const char byte = col->type_name.ptr[i];
        type[i] = (char)(byte >= 'a' && byte <= 'z' ? byte - 32 : byte);
    }
    return alm_parse_fail(
        parser, pos,
        "indexes are supported only for SYMBOL columns [columnName=%.*s, columnType=%.*s]",
        (int)ALM_MIN(col->name.len, 100), col->name.ptr, (int)n, type);
}

/* index(col [capacity n]), INDEX in hand */
static alm_status create_parse_index(alm_parser *parser, alm_stmt *stmt, uint32_t *cap)
{
    alm_parse_name name;
    int64_t capacity = 0;
    alm_parse_next(parser);
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(alm_parse_ident(parser, "column name", &name));
    if (alm_take_kw(parser, ALM_KW_CAPACITY))
        ALM_TRY(alm_parse_int(parser, "index capacity", &capacity));
    ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "')' expected"));
    ALM_TRY(alm_steps_add(parser->cx, stmt->n_cols));
    for (uint32_t i = 0; i < stmt->n_cols; i++) {
        alm_column_def *col = &stmt->cols[i];
        if (!alm_str_ieq(col->name, name.text))
            continue;
        if (stmt->select == NULL && !alm_str_ieq(col->type_name, ALM_STR("symbol")))
            return parse_create_not_symbol(parser, col, name.pos);
        col->indexed = true;
        col->index_capacity = capacity;
        return ALM_OK;
    }
    if (stmt->select == NULL && stmt->like.len == 0)
        return alm_parse_fail(parser, name.pos, "Invalid column: %.*s", (int)name.text.len,
                              name.text.ptr);
    /* CREATE TABLE AS: the column comes from the query; a row without a type marks it */
    ALM_TRY(ALM_GROW(parser, &stmt->cols, stmt->n_cols, cap));
    stmt->cols[stmt->n_cols++] = (alm_column_def){
        .name = name.text, .pos = name.pos, .indexed = true, .index_capacity = capacity};
    return ALM_OK;
}

static bool at_index(const alm_parser *parser)
{
    return alm_at_kw(parser, ALM_KW_INDEX) &&
           alm_token_is_op(alm_parse_peek(parser), ALM_OP_LPAREN);
}

/* PRIMARY KEY ( or UNIQUE (: what it takes of that, but for the parenthesis. */
static bool take_key(alm_parser *parser)
{
    alm_parser ahead = *parser;
    const bool key = (alm_take_kw(&ahead, ALM_KW_PRIMARY) && alm_take_kw(&ahead, ALM_KW_KEY)) ||
                     alm_take_kw(&ahead, ALM_KW_UNIQUE);
    if (!key || !alm_at_op(&ahead, ALM_OP_LPAREN))
        return false;
    *parser = ahead;
    return true;
}

/* [CONSTRAINT name] and a key or a promise of the table; a column may be called constraint. */
static alm_status take_table_key(alm_parser *parser, bool *key)
{
    alm_parser ahead = *parser;
    *key = take_key(parser);
    if (*key)
        return ALM_OK;
    if (!alm_at_word(parser, "constraint"))
        return refuse_promises(parser, false);
    alm_parse_next(&ahead);
    if (ahead.tok.kind != ALM_TOK_NAME)
        return ALM_OK;
    alm_parse_next(&ahead);
    ALM_TRY(refuse_promises(&ahead, false));
    *key = take_key(&ahead);
    if (*key)
        *parser = ahead;
    return ALM_OK;
}

static alm_status parse_table_key(alm_parser *parser)
{
    alm_ast **cols = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(alm_parse_exprs(parser, &cols, &n));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static alm_status create_parse_columns(alm_parser *parser, alm_stmt *stmt, uint32_t *cap)
{
    alm_name_set seen = {0};
    do {
        bool key = false;
        alm_parse_next(parser); /* ( or , */
        ALM_TRY(take_table_key(parser, &key));
        if (at_index(parser)) {
            ALM_TRY(create_parse_index(parser, stmt, cap));
        } else if (key) {
            ALM_TRY(parse_table_key(parser));
        } else {
            ALM_TRY(ALM_GROW(parser, &stmt->cols, stmt->n_cols, cap));
            alm_column_def *col = &stmt->cols[stmt->n_cols];
            uint32_t had = ALM_NAME_NONE;
            ALM_TRY(alm_nodes_add(parser->cx, 1, parser->tok.pos));
            ALM_TRY(alm_parse_column(parser, col));
            ALM_TRY(alm_name_set_add(parser->cx, &seen, col->name, stmt->n_cols, &had));
            if (had != ALM_NAME_NONE)
                return alm_fail(parser->cx, ALM_E_DUPLICATE, col->pos,
                                "Duplicate column [name=%.*s]", (int)ALM_MIN(col->name.len, 100),
                                col->name.ptr);
            stmt->n_cols++;
        }
    } while (alm_at_op(parser, ALM_OP_COMMA));
    if (alm_take_op(parser, ALM_OP_RPAREN))
        return ALM_OK;
    const alm_str text = alm_token_text(parser, parser->tok);
    if (parser->tok.kind == ALM_TOK_NAME &&
        alm_str_ieq(alm_token_text(parser, parser->tok), ALM_STR("default")))
        return alm_parse_fail(parser, parser->tok.pos,
                              "DEFAULT is not supported: a column without a value is null");
    return alm_parse_fail(parser, parser->tok.pos,
                          "found [tok='%.*s', len=%zu] ',' or ')' expected",
                          (int)ALM_MIN(text.len, 100), text.ptr, text.len);
}

/* cast(col as type [symbol options]) behind CREATE TABLE AS */
static alm_status parse_cast_column(alm_parser *parser, alm_stmt *stmt, uint32_t *cap)
{
    alm_parse_name name;
    ALM_TRY(ALM_GROW(parser, &stmt->cols, stmt->n_cols, cap));
    alm_column_def *col = &stmt->cols[stmt->n_cols];
    alm_parse_next(parser);
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(alm_parse_ident(parser, "column name", &name));
    col->name = name.text;
    col->pos = name.pos;
    col->cast = true;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_AS, "'as' expected"));
    ALM_TRY(alm_parse_type(parser, &col->type_name, &col->type_pos));
    ALM_TRY(alm_parse_symbol_options(parser, col));
    stmt->n_cols++;
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

/* ------------------------------------------------------------------ clauses */

static alm_status parse_timestamp(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name name;
    alm_parse_next(parser);
    ALM_TRY(alm_expect_op(parser, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(alm_parse_ident(parser, "column name", &name));
    stmt->timestamp = name.text;
    stmt->timestamp_pos = name.pos;
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_partition(alm_parser *parser, alm_stmt *stmt, bool view)
{
    static const char *const units[] = {"none", "hour", "day", "week", "month", "year"};
    alm_parse_next(parser);
    ALM_TRY(alm_expect_kw(parser, ALM_KW_BY, "'by' expected"));
    stmt->partition_pos = parser->tok.pos;
    stmt->partition = alm_token_text(parser, parser->tok);
    for (size_t i = view ? 1 : 0; i < ALM_COUNT(units); i++) {
        if (alm_str_ieq(stmt->partition, (alm_str){units[i], strlen(units[i])})) {
            alm_parse_next(parser);
            return ALM_OK;
        }
    }
    return alm_parse_fail(parser, parser->tok.pos,
                          view ? "'HOUR', 'DAY', 'WEEK', 'MONTH' or 'YEAR' expected"
                               : "'NONE', 'HOUR', 'DAY', 'WEEK', 'MONTH' or 'YEAR' expected");
}

/* 12h, 7 days, 2 weeks; the unit's letter or word, TTL itself is consumed */
alm_status alm_parse_ttl(alm_parser *parser, alm_stmt *stmt)
{
    static const struct {
        const char *letter, *one, *many;
        char unit;
    } rows[] = {{"h", "hour", "hours", 'h'},
                {"d", "day", "days", 'd'},
                {"w", "week", "weeks", 'w'},
                {"M", "month", "months", 'M'},
                {"y", "year", "years", 'y'}};
    alm_token token = parser->tok;
    stmt->ttl_pos = token.pos;
    if (token.kind != ALM_TOK_NUMBER)
        return alm_parse_fail(parser, token.pos,
                              "missing argument, should be <number> <unit> or <number_with_unit>");
    int64_t count = 0;
    while (token.pos < token.end && parser->text.ptr[token.pos] >= '0' &&
           parser->text.ptr[token.pos] <= '9') {
        if (__builtin_mul_overflow(count, 10, &count) ||
            __builtin_add_overflow(count, parser->text.ptr[token.pos] - '0', &count) ||
            count > INT32_MAX)
            return alm_parse_fail(parser, stmt->ttl_pos, "TTL value is out of range");
        token.pos++;
    }
    alm_parse_next(parser);
    const bool apart = token.pos == token.end; /* the unit is a word of its own */
    const alm_str unit = alm_token_text(parser, apart ? parser->tok : token);
    stmt->ttl_unit = 0;
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (alm_str_eq(unit, alm_str_of(rows[i].letter)) ||
            alm_str_ieq(unit, alm_str_of(rows[i].one)) ||
            alm_str_ieq(unit, alm_str_of(rows[i].many)))
            stmt->ttl_unit = rows[i].unit;
    if (stmt->ttl_unit == 0)
        return alm_parse_fail(
            parser, apart ? parser->tok.pos : stmt->ttl_pos,
            "invalid unit, expected 'HOUR(S)', 'DAY(S)', 'WEEK(S)', 'MONTH(S)' or "
            "'YEAR(S)', but was '%.*s'",
            (int)ALM_MIN(unit.len, 40), unit.ptr);
    if (apart)
        alm_parse_next(parser);
    stmt->ttl_count = count;
    return ALM_OK;
}

/* DEDUP, or DEDUPLICATE, as it was called first. */
bool alm_at_dedup(const alm_parser *parser)
{
    return alm_at_kw(parser, ALM_KW_DEDUP) || alm_at_word(parser, "deduplicate");
}

/* UPSERT KEYS(a, b) */
alm_status alm_parse_upsert_keys(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap = 0, cap_pos = 0;
    stmt->dedup = true;
    stmt->dedup_kw_pos = parser->tok.pos;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_UPSERT, "'upsert' expected"));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_KEYS, "'keys' expected"));
    if (!alm_at_op(parser, ALM_OP_LPAREN))
        return alm_parse_fail(parser, parser->tok.pos, "'(' expected");
    do {
        alm_parse_name name;
        alm_parse_next(parser); /* ( or , */
        ALM_TRY(ALM_GROW(parser, &stmt->dedup_keys, stmt->n_dedup, &cap));
        ALM_TRY(ALM_GROW(parser, &stmt->dedup_pos, stmt->n_dedup, &cap_pos));
        ALM_TRY(alm_parse_ident(parser, "column name", &name));
        stmt->dedup_keys[stmt->n_dedup] = name.text;
        stmt->dedup_pos[stmt->n_dedup++] = name.pos;
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

static alm_status create_parse_dedup(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_next(parser);
    if (stmt->wal < 0)
        return alm_parse_fail(parser, parser->tok.pos,
                              "deduplication is possible only on WAL tables");
    return alm_parse_upsert_keys(parser, stmt);
}

/* with name = value, ... */
static alm_status parse_params(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap = 0;
    do {
        alm_parse_name name;
        alm_parse_next(parser); /* with or , */
        ALM_TRY(ALM_GROW(parser, &stmt->with, stmt->n_with, &cap));
        alm_assign *assign = &stmt->with[stmt->n_with];
        ALM_TRY(alm_parse_ident(parser, "parameter name", &name));
        assign->col = name.text;
        assign->pos = name.pos;
        ALM_TRY(alm_expect_op(parser, ALM_OP_EQ, "'=' expected"));
        ALM_TRY(alm_parse_expr(parser, &assign->value));
        stmt->n_with++;
    } while (alm_at_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_volume(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_next(parser);
    ALM_TRY(alm_expect_kw(parser, ALM_KW_VOLUME, "'volume' expected"));
    stmt->volume_pos = parser->tok.pos;
    if (alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos, "path for volume expected");
    alm_parse_name name;
    ALM_TRY(alm_parse_ident(parser, "path for volume", &name));
    stmt->volume = name.text;
    return ALM_OK;
}

alm_status alm_parse_table_clauses(alm_parser *parser, alm_stmt *stmt, uint32_t *cap, bool view)
{
    for (;;) {
        const alm_token next = alm_parse_peek(parser);
        if (alm_at_op(parser, ALM_OP_COMMA) && alm_token_is_kw(next, ALM_KW_INDEX)) {
            alm_parse_next(parser);
            ALM_TRY(create_parse_index(parser, stmt, cap));
        } else if (alm_at_op(parser, ALM_OP_COMMA) && alm_token_is_kw(next, ALM_KW_CAST) &&
                   stmt->select != NULL) {
            alm_parse_next(parser);
            ALM_TRY(parse_cast_column(parser, stmt, cap));
        } else if (alm_at_kw(parser, ALM_KW_TIMESTAMP) && stmt->timestamp.len == 0) {
            ALM_TRY(parse_timestamp(parser, stmt));
        } else if (alm_at_kw(parser, ALM_KW_PARTITION) && stmt->partition.len == 0) {
            ALM_TRY(parse_partition(parser, stmt, view));
        } else if (alm_at_kw(parser, ALM_KW_TTL) && stmt->ttl_unit == 0) {
            alm_parse_next(parser);
            ALM_TRY(alm_parse_ttl(parser, stmt));
        } else if (alm_at_kw(parser, ALM_KW_WAL) && stmt->partition.len > 0 && stmt->wal == 0) {
            alm_parse_next(parser);
            stmt->wal = 1;
        } else if (alm_at_kw(parser, ALM_KW_BYPASS) && stmt->wal == 0) {
            alm_parse_next(parser);
            ALM_TRY(alm_expect_kw(parser, ALM_KW_WAL, "'wal' expected"));
            stmt->wal = -1;
        } else if (alm_at_kw(parser, ALM_KW_WITH) && stmt->n_with == 0) {
            ALM_TRY(parse_params(parser, stmt));
        } else if (alm_at_dedup(parser) && !stmt->dedup) {
            ALM_TRY(create_parse_dedup(parser, stmt));
        } else if (alm_at_kw(parser, ALM_KW_IN)) {
            ALM_TRY(parse_volume(parser, stmt));
        } else if (alm_at_op(parser, ALM_OP_COMMA) && alm_token_is_kw(next, ALM_KW_IN)) {
            alm_parse_next(parser);
            ALM_TRY(parse_volume(parser, stmt));
        } else {
            return ALM_OK;
        }
    }
}

alm_status alm_parse_owned(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name owner;
    if (!alm_take_word(parser, "owned"))
        return ALM_OK;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_BY, "'by' expected"));
    ALM_TRY(alm_parse_ident(parser, "owner name", &owner));
    stmt->owner = owner.text;
    stmt->owner_pos = owner.pos;
    return ALM_OK;
}

/* ------------------------------------------------------------------ names */

alm_status alm_parse_check_name(alm_parser *parser, alm_parse_name name)
{
    if (alm_table_name_ok(name.text))
        return ALM_OK;
    const char *slash = name.text.len > 0 ? memchr(name.text.ptr, '/', name.text.len) : NULL;
    if (slash != NULL)
        return alm_parse_fail(parser, name.pos + 1 + (int32_t)(slash - name.text.ptr),
                              "'/' is not allowed");
    return alm_parse_fail(parser, name.pos,
                          "Could not create table, invalid table name [table=%.*s]",
                          (int)ALM_MIN(name.text.len, 200), name.text.ptr);
}

alm_status alm_parse_new_name(alm_parser *parser, alm_stmt *stmt, const char *what)
{
    alm_parse_name name;
    if (alm_take_kw(parser, ALM_KW_IF)) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_NOT, "'if not exists' expected"));
        ALM_TRY(alm_expect_kw(parser, ALM_KW_EXISTS, "'if not exists' expected"));
        stmt->if_not_exists = true;
    }
    ALM_TRY(alm_parse_new_table(parser, what, &name));
    stmt->table = name.text;
    stmt->table_quoted = name.quoted;
    stmt->table_pos = name.pos;
    return ALM_OK;
}

/* ------------------------------------------------------------------ create table */

static alm_status parse_like(alm_parser *parser, alm_stmt *stmt)
{
    alm_parse_name name;
    alm_parse_next(parser); /* ( */
    alm_parse_next(parser); /* like */
    ALM_TRY(alm_parse_table(parser, "table name", &name));
    stmt->like = name.text;
    stmt->like_pos = name.pos;
    return alm_expect_op(parser, ALM_OP_RPAREN, "')' expected");
}

alm_status alm_parse_create_table(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap = 0;
    ALM_TRY(alm_parse_new_name(parser, stmt, "table name or 'if'"));
    if (alm_take_kw(parser, ALM_KW_AS)) {
        if (alm_at_op(parser, ALM_OP_LPAREN))
            ALM_TRY(alm_parse_bracketed(parser, &stmt->select));
        else
            ALM_TRY(alm_parse_query(parser, &stmt->select));
    } else if (alm_at_op(parser, ALM_OP_LPAREN)) {
        if (alm_token_is_kw(alm_parse_peek(parser), ALM_KW_LIKE))
            ALM_TRY(parse_like(parser, stmt));
        else
            ALM_TRY(create_parse_columns(parser, stmt, &cap));
    } else {
        return alm_parse_fail(parser, parser->tok.pos, "'(' or 'as' expected");
    }
    ALM_TRY(alm_parse_table_clauses(parser, stmt, &cap, false));
    return alm_parse_owned(parser, stmt);
}
