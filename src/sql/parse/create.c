/*
 * create.c - CREATE TABLE and the clauses it shares with ALTER TABLE; CREATE VIEW.
 */
#include "sql/parse/parse.h"
#include "sql/plan/name_set.h"

#include "storage/catalog.h"

/* ------------------------------------------------------------------ columns */

static alm_status parse_capacity(alm_parser *p, int64_t *out)
{
    const int32_t pos = p->tok.pos;
    if (alm_at_op(p, ALM_OP_MINUS))
        return alm_parse_fail(p, pos, "min symbol capacity is 2");
    ALM_TRY(alm_parse_int(p, "capacity", out));
    if (*out < 2)
        return alm_parse_fail(p, pos, "min symbol capacity is 2");
    return ALM_OK;
}

alm_status alm_parse_symbol_options(alm_parser *p, alm_column_def *col)
{
    for (;;) {
        if (alm_take_kw(p, ALM_KW_CAPACITY)) {
            ALM_TRY(parse_capacity(p, &col->symbol_capacity));
        } else if (alm_at_kw(p, ALM_KW_CACHE) || alm_at_kw(p, ALM_KW_NOCACHE)) {
            col->cache = alm_at_kw(p, ALM_KW_CACHE) ? 1 : -1;
            alm_parse_next(p);
        } else if (alm_take_kw(p, ALM_KW_INDEX)) {
            col->indexed = true;
            if (alm_take_kw(p, ALM_KW_CAPACITY))
                ALM_TRY(alm_parse_int(p, "index capacity", &col->index_capacity));
        } else {
            return ALM_OK;
        }
    }
}

static alm_status missing_definition(alm_parser *p)
{
    const alm_str t = alm_token_text(p, p->tok);
    return alm_parse_fail(p, p->tok.pos, "found [tok='%.*s', len=%zu] missing column definition",
                          (int)ALM_MIN(t.len, 100), t.ptr, t.len);
}

/* CHECK, REFERENCES and FOREIGN KEY are promises that the engine does not keep; a column may be called references. */
static alm_status refuse_promises(alm_parser *p, bool behind_column)
{
    const alm_token next = alm_parse_peek(p);
    const bool refused = (behind_column && alm_at_word(p, "references")) ||
                         (alm_at_word(p, "foreign") && alm_token_is_kw(next, ALM_KW_KEY)) ||
                         (alm_at_word(p, "check") && alm_token_is_op(next, ALM_OP_LPAREN));
    const alm_str t = alm_token_text(p, p->tok);
    return refused ? alm_fail(p->cx, ALM_E_UNSUPPORTED, p->tok.pos,
                              "constraints by %.*s are not supported", (int)t.len, t.ptr)
                   : ALM_OK;
}

/* NOT NULL, NULL, PRIMARY KEY, UNIQUE: read, and kept as far as the engine has a place for them. */
static alm_status parse_constraints(alm_parser *p, alm_column_def *col)
{
    alm_parse_name name;
    for (;;) {
        if (alm_at_word(p, "constraint")) {
            alm_parse_next(p);
            ALM_TRY(alm_parse_ident(p, "constraint name", &name));
        }
        ALM_TRY(refuse_promises(p, true));
        if (alm_take_kw(p, ALM_KW_NOT)) {
            ALM_TRY(alm_expect_kw(p, ALM_KW_NULL, "'null' expected"));
            col->not_null = true;
        } else if (alm_take_kw(p, ALM_KW_PRIMARY)) {
            ALM_TRY(alm_expect_kw(p, ALM_KW_KEY, "'key' expected"));
        } else if (!alm_take_kw(p, ALM_KW_NULL) && !alm_take_kw(p, ALM_KW_UNIQUE)) {
            return ALM_OK;
        }
    }
}

alm_status alm_parse_column(alm_parser *p, alm_column_def *col)
{
    alm_parse_name name;
    if (p->tok.kind == ALM_TOK_OP || alm_at_end(p))
        return missing_definition(p);
    ALM_TRY(alm_parse_ident(p, "column name", &name));
    col->name = name.text;
    col->pos = name.pos;
    if (p->tok.kind == ALM_TOK_OP || alm_at_end(p))
        return missing_definition(p);
    ALM_TRY(alm_parse_type(p, &col->type_name, &col->type_pos));
    if (alm_str_ieq(col->type_name, ALM_STR("symbol")))
        ALM_TRY(alm_parse_symbol_options(p, col));
    return parse_constraints(p, col);
}

static alm_status not_symbol(alm_parser *p, const alm_column_def *col, int32_t pos)
{
    char type[64];
    const size_t n = ALM_MIN(col->type_name.len, sizeof type);
    for (size_t i = 0; i < n; i++) {
        const char c = col->type_name.ptr[i];
        type[i] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
    }
    return alm_parse_fail(
        p, pos, "indexes are supported only for SYMBOL columns [columnName=%.*s, columnType=%.*s]",
        (int)ALM_MIN(col->name.len, 100), col->name.ptr, (int)n, type);
}

/* index(col [capacity n]), INDEX in hand */
static alm_status parse_index(alm_parser *p, alm_stmt *s, uint32_t *cap)
{
    alm_parse_name name;
    int64_t capacity = 0;
    alm_parse_next(p);
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(alm_parse_ident(p, "column name", &name));
    if (alm_take_kw(p, ALM_KW_CAPACITY))
        ALM_TRY(alm_parse_int(p, "index capacity", &capacity));
    ALM_TRY(alm_expect_op(p, ALM_OP_RPAREN, "')' expected"));
    ALM_TRY(alm_steps_add(p->cx, s->n_cols));
    for (uint32_t i = 0; i < s->n_cols; i++) {
        alm_column_def *col = &s->cols[i];
        if (!alm_str_ieq(col->name, name.text))
            continue;
        if (s->select == NULL && !alm_str_ieq(col->type_name, ALM_STR("symbol")))
            return not_symbol(p, col, name.pos);
        col->indexed = true;
        col->index_capacity = capacity;
        return ALM_OK;
    }
    if (s->select == NULL && s->like.len == 0)
        return alm_parse_fail(p, name.pos, "Invalid column: %.*s", (int)name.text.len,
                              name.text.ptr);
    /* CREATE TABLE AS: the column comes from the query; a row without a type marks it */
    ALM_TRY(ALM_GROW(p, &s->cols, s->n_cols, cap));
    s->cols[s->n_cols++] = (alm_column_def){
        .name = name.text, .pos = name.pos, .indexed = true, .index_capacity = capacity};
    return ALM_OK;
}

static bool at_index(const alm_parser *p)
{
    return alm_at_kw(p, ALM_KW_INDEX) && alm_token_is_op(alm_parse_peek(p), ALM_OP_LPAREN);
}

/* PRIMARY KEY ( or UNIQUE (: what it takes of that, but for the parenthesis. */
static bool take_key(alm_parser *p)
{
    alm_parser ahead = *p;
    const bool key = (alm_take_kw(&ahead, ALM_KW_PRIMARY) && alm_take_kw(&ahead, ALM_KW_KEY)) ||
                     alm_take_kw(&ahead, ALM_KW_UNIQUE);
    if (!key || !alm_at_op(&ahead, ALM_OP_LPAREN))
        return false;
    *p = ahead;
    return true;
}

/* [CONSTRAINT name] and a key or a promise of the table; a column may be called constraint. */
static alm_status take_table_key(alm_parser *p, bool *key)
{
    alm_parser ahead = *p;
    *key = take_key(p);
    if (*key)
        return ALM_OK;
    if (!alm_at_word(p, "constraint"))
        return refuse_promises(p, false);
    alm_parse_next(&ahead);
    if (ahead.tok.kind != ALM_TOK_NAME)
        return ALM_OK;
    alm_parse_next(&ahead);
    ALM_TRY(refuse_promises(&ahead, false));
    *key = take_key(&ahead);
    if (*key)
        *p = ahead;
    return ALM_OK;
}

static alm_status parse_table_key(alm_parser *p)
{
    alm_ast **cols = NULL;
    uint32_t n = 0;
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(alm_parse_exprs(p, &cols, &n));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_columns(alm_parser *p, alm_stmt *s, uint32_t *cap)
{
    alm_name_set seen = {0};
    do {
        bool key = false;
        alm_parse_next(p); /* ( or , */
        ALM_TRY(take_table_key(p, &key));
        if (at_index(p)) {
            ALM_TRY(parse_index(p, s, cap));
        } else if (key) {
            ALM_TRY(parse_table_key(p));
        } else {
            ALM_TRY(ALM_GROW(p, &s->cols, s->n_cols, cap));
            alm_column_def *col = &s->cols[s->n_cols];
            uint32_t had = ALM_NAME_NONE;
            ALM_TRY(alm_nodes_add(p->cx, 1, p->tok.pos));
            ALM_TRY(alm_parse_column(p, col));
            ALM_TRY(alm_name_set_add(p->cx, &seen, col->name, s->n_cols, &had));
            if (had != ALM_NAME_NONE)
                return alm_fail(p->cx, ALM_E_DUPLICATE, col->pos, "Duplicate column [name=%.*s]",
                                (int)ALM_MIN(col->name.len, 100), col->name.ptr);
            s->n_cols++;
        }
    } while (alm_at_op(p, ALM_OP_COMMA));
    if (alm_take_op(p, ALM_OP_RPAREN))
        return ALM_OK;
    const alm_str t = alm_token_text(p, p->tok);
    if (p->tok.kind == ALM_TOK_NAME && alm_str_ieq(alm_token_text(p, p->tok), ALM_STR("default")))
        return alm_parse_fail(p, p->tok.pos,
                              "DEFAULT is not supported: a column without a value is null");
    return alm_parse_fail(p, p->tok.pos, "found [tok='%.*s', len=%zu] ',' or ')' expected",
                          (int)ALM_MIN(t.len, 100), t.ptr, t.len);
}

/* cast(col as type [symbol options]) behind CREATE TABLE AS */
static alm_status parse_cast_column(alm_parser *p, alm_stmt *s, uint32_t *cap)
{
    alm_parse_name name;
    ALM_TRY(ALM_GROW(p, &s->cols, s->n_cols, cap));
    alm_column_def *col = &s->cols[s->n_cols];
    alm_parse_next(p);
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(alm_parse_ident(p, "column name", &name));
    col->name = name.text;
    col->pos = name.pos;
    col->cast = true;
    ALM_TRY(alm_expect_kw(p, ALM_KW_AS, "'as' expected"));
    ALM_TRY(alm_parse_type(p, &col->type_name, &col->type_pos));
    ALM_TRY(alm_parse_symbol_options(p, col));
    s->n_cols++;
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

/* ------------------------------------------------------------------ clauses */

static alm_status parse_timestamp(alm_parser *p, alm_stmt *s)
{
    alm_parse_name name;
    alm_parse_next(p);
    ALM_TRY(alm_expect_op(p, ALM_OP_LPAREN, "'(' expected"));
    ALM_TRY(alm_parse_ident(p, "column name", &name));
    s->timestamp = name.text;
    s->timestamp_pos = name.pos;
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_partition(alm_parser *p, alm_stmt *s, bool view)
{
    static const char *const units[] = {"none", "hour", "day", "week", "month", "year"};
    alm_parse_next(p);
    ALM_TRY(alm_expect_kw(p, ALM_KW_BY, "'by' expected"));
    s->partition_pos = p->tok.pos;
    s->partition = alm_token_text(p, p->tok);
    for (size_t i = view ? 1 : 0; i < ALM_COUNT(units); i++) {
        if (alm_str_ieq(s->partition, (alm_str){units[i], strlen(units[i])})) {
            alm_parse_next(p);
            return ALM_OK;
        }
    }
    return alm_parse_fail(p, p->tok.pos,
                          view ? "'HOUR', 'DAY', 'WEEK', 'MONTH' or 'YEAR' expected"
                               : "'NONE', 'HOUR', 'DAY', 'WEEK', 'MONTH' or 'YEAR' expected");
}

/* 12h, 7 days, 2 weeks; the unit's letter or word, TTL itself is consumed */
alm_status alm_parse_ttl(alm_parser *p, alm_stmt *s)
{
    static const struct {
        const char *letter, *one, *many;
        char unit;
    } rows[] = {{"h", "hour", "hours", 'h'},
                {"d", "day", "days", 'd'},
                {"w", "week", "weeks", 'w'},
                {"M", "month", "months", 'M'},
                {"y", "year", "years", 'y'}};
    alm_token t = p->tok;
    s->ttl_pos = t.pos;
    if (t.kind != ALM_TOK_NUMBER)
        return alm_parse_fail(p, t.pos,
                              "missing argument, should be <number> <unit> or <number_with_unit>");
    int64_t count = 0;
    while (t.pos < t.end && p->text.ptr[t.pos] >= '0' && p->text.ptr[t.pos] <= '9') {
        if (__builtin_mul_overflow(count, 10, &count) ||
            __builtin_add_overflow(count, p->text.ptr[t.pos] - '0', &count) || count > INT32_MAX)
            return alm_parse_fail(p, s->ttl_pos, "TTL value is out of range");
        t.pos++;
    }
    alm_parse_next(p);
    const bool apart = t.pos == t.end; /* the unit is a word of its own */
    const alm_str unit = alm_token_text(p, apart ? p->tok : t);
    s->ttl_unit = 0;
    for (size_t i = 0; i < ALM_COUNT(rows); i++)
        if (alm_str_eq(unit, alm_str_of(rows[i].letter)) ||
            alm_str_ieq(unit, alm_str_of(rows[i].one)) ||
            alm_str_ieq(unit, alm_str_of(rows[i].many)))
            s->ttl_unit = rows[i].unit;
    if (s->ttl_unit == 0)
        return alm_parse_fail(
            p, apart ? p->tok.pos : s->ttl_pos,
            "invalid unit, expected 'HOUR(S)', 'DAY(S)', 'WEEK(S)', 'MONTH(S)' or "
            "'YEAR(S)', but was '%.*s'",
            (int)ALM_MIN(unit.len, 40), unit.ptr);
    if (apart)
        alm_parse_next(p);
    s->ttl_count = count;
    return ALM_OK;
}

/* DEDUP, or DEDUPLICATE, as it was called first. */
bool alm_at_dedup(const alm_parser *p)
{
    return alm_at_kw(p, ALM_KW_DEDUP) || alm_at_word(p, "deduplicate");
}

/* UPSERT KEYS(a, b) */
alm_status alm_parse_upsert_keys(alm_parser *p, alm_stmt *s)
{
    uint32_t cap = 0, cap_pos = 0;
    s->dedup = true;
    s->dedup_kw_pos = p->tok.pos;
    ALM_TRY(alm_expect_kw(p, ALM_KW_UPSERT, "'upsert' expected"));
    ALM_TRY(alm_expect_kw(p, ALM_KW_KEYS, "'keys' expected"));
    if (!alm_at_op(p, ALM_OP_LPAREN))
        return alm_parse_fail(p, p->tok.pos, "'(' expected");
    do {
        alm_parse_name name;
        alm_parse_next(p); /* ( or , */
        ALM_TRY(ALM_GROW(p, &s->dedup_keys, s->n_dedup, &cap));
        ALM_TRY(ALM_GROW(p, &s->dedup_pos, s->n_dedup, &cap_pos));
        ALM_TRY(alm_parse_ident(p, "column name", &name));
        s->dedup_keys[s->n_dedup] = name.text;
        s->dedup_pos[s->n_dedup++] = name.pos;
    } while (alm_at_op(p, ALM_OP_COMMA));
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

static alm_status parse_dedup(alm_parser *p, alm_stmt *s)
{
    alm_parse_next(p);
    if (s->wal < 0)
        return alm_parse_fail(p, p->tok.pos, "deduplication is possible only on WAL tables");
    return alm_parse_upsert_keys(p, s);
}

/* with name = value, ... */
static alm_status parse_params(alm_parser *p, alm_stmt *s)
{
    uint32_t cap = 0;
    do {
        alm_parse_name name;
        alm_parse_next(p); /* with or , */
        ALM_TRY(ALM_GROW(p, &s->with, s->n_with, &cap));
        alm_assign *a = &s->with[s->n_with];
        ALM_TRY(alm_parse_ident(p, "parameter name", &name));
        a->col = name.text;
        a->pos = name.pos;
        ALM_TRY(alm_expect_op(p, ALM_OP_EQ, "'=' expected"));
        ALM_TRY(alm_parse_expr(p, &a->value));
        s->n_with++;
    } while (alm_at_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_volume(alm_parser *p, alm_stmt *s)
{
    alm_parse_next(p);
    ALM_TRY(alm_expect_kw(p, ALM_KW_VOLUME, "'volume' expected"));
    s->volume_pos = p->tok.pos;
    if (alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos, "path for volume expected");
    alm_parse_name name;
    ALM_TRY(alm_parse_ident(p, "path for volume", &name));
    s->volume = name.text;
    return ALM_OK;
}

alm_status alm_parse_table_clauses(alm_parser *p, alm_stmt *s, uint32_t *cap, bool view)
{
    for (;;) {
        const alm_token next = alm_parse_peek(p);
        if (alm_at_op(p, ALM_OP_COMMA) && alm_token_is_kw(next, ALM_KW_INDEX)) {
            alm_parse_next(p);
            ALM_TRY(parse_index(p, s, cap));
        } else if (alm_at_op(p, ALM_OP_COMMA) && alm_token_is_kw(next, ALM_KW_CAST) &&
                   s->select != NULL) {
            alm_parse_next(p);
            ALM_TRY(parse_cast_column(p, s, cap));
        } else if (alm_at_kw(p, ALM_KW_TIMESTAMP) && s->timestamp.len == 0) {
            ALM_TRY(parse_timestamp(p, s));
        } else if (alm_at_kw(p, ALM_KW_PARTITION) && s->partition.len == 0) {
            ALM_TRY(parse_partition(p, s, view));
        } else if (alm_at_kw(p, ALM_KW_TTL) && s->ttl_unit == 0) {
            alm_parse_next(p);
            ALM_TRY(alm_parse_ttl(p, s));
        } else if (alm_at_kw(p, ALM_KW_WAL) && s->partition.len > 0 && s->wal == 0) {
            alm_parse_next(p);
            s->wal = 1;
        } else if (alm_at_kw(p, ALM_KW_BYPASS) && s->wal == 0) {
            alm_parse_next(p);
            ALM_TRY(alm_expect_kw(p, ALM_KW_WAL, "'wal' expected"));
            s->wal = -1;
        } else if (alm_at_kw(p, ALM_KW_WITH) && s->n_with == 0) {
            ALM_TRY(parse_params(p, s));
        } else if (alm_at_dedup(p) && !s->dedup) {
            ALM_TRY(parse_dedup(p, s));
        } else if (alm_at_kw(p, ALM_KW_IN)) {
            ALM_TRY(parse_volume(p, s));
        } else if (alm_at_op(p, ALM_OP_COMMA) && alm_token_is_kw(next, ALM_KW_IN)) {
            alm_parse_next(p);
            ALM_TRY(parse_volume(p, s));
        } else {
            return ALM_OK;
        }
    }
}

alm_status alm_parse_owned(alm_parser *p, alm_stmt *s)
{
    alm_parse_name owner;
    if (!alm_take_word(p, "owned"))
        return ALM_OK;
    ALM_TRY(alm_expect_kw(p, ALM_KW_BY, "'by' expected"));
    ALM_TRY(alm_parse_ident(p, "owner name", &owner));
    s->owner = owner.text;
    s->owner_pos = owner.pos;
    return ALM_OK;
}

/* ------------------------------------------------------------------ names */

alm_status alm_parse_check_name(alm_parser *p, alm_parse_name name)
{
    if (alm_table_name_ok(name.text))
        return ALM_OK;
    const char *slash = name.text.len > 0 ? memchr(name.text.ptr, '/', name.text.len) : NULL;
    if (slash != NULL)
        return alm_parse_fail(p, name.pos + 1 + (int32_t)(slash - name.text.ptr),
                              "'/' is not allowed");
    return alm_parse_fail(p, name.pos, "Could not create table, invalid table name [table=%.*s]",
                          (int)ALM_MIN(name.text.len, 200), name.text.ptr);
}

alm_status alm_parse_new_name(alm_parser *p, alm_stmt *s, const char *what)
{
    alm_parse_name name;
    if (alm_take_kw(p, ALM_KW_IF)) {
        ALM_TRY(alm_expect_kw(p, ALM_KW_NOT, "'if not exists' expected"));
        ALM_TRY(alm_expect_kw(p, ALM_KW_EXISTS, "'if not exists' expected"));
        s->if_not_exists = true;
    }
    ALM_TRY(alm_parse_new_table(p, what, &name));
    s->table = name.text;
    s->table_quoted = name.quoted;
    s->table_pos = name.pos;
    return ALM_OK;
}

/* ------------------------------------------------------------------ create table */

static alm_status parse_like(alm_parser *p, alm_stmt *s)
{
    alm_parse_name name;
    alm_parse_next(p); /* ( */
    alm_parse_next(p); /* like */
    ALM_TRY(alm_parse_table(p, "table name", &name));
    s->like = name.text;
    s->like_pos = name.pos;
    return alm_expect_op(p, ALM_OP_RPAREN, "')' expected");
}

alm_status alm_parse_create_table(alm_parser *p, alm_stmt *s)
{
    uint32_t cap = 0;
    ALM_TRY(alm_parse_new_name(p, s, "table name or 'if'"));
    if (alm_take_kw(p, ALM_KW_AS)) {
        if (alm_at_op(p, ALM_OP_LPAREN))
            ALM_TRY(alm_parse_bracketed(p, &s->select));
        else
            ALM_TRY(alm_parse_query(p, &s->select));
    } else if (alm_at_op(p, ALM_OP_LPAREN)) {
        if (alm_token_is_kw(alm_parse_peek(p), ALM_KW_LIKE))
            ALM_TRY(parse_like(p, s));
        else
            ALM_TRY(parse_columns(p, s, &cap));
    } else {
        return alm_parse_fail(p, p->tok.pos, "'(' or 'as' expected");
    }
    ALM_TRY(alm_parse_table_clauses(p, s, &cap, false));
    return alm_parse_owned(p, s);
}
