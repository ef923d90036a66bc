/*
 * alter.c - ALTER TABLE, MATERIALIZED VIEW and VIEW, into alm_alter (ast.h).
 */
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ columns */

static alm_status column_name(alm_parser *p, alm_alter *a, uint32_t *cap, const char *what)
{
    alm_parse_name name;
    ALM_TRY(ALM_GROW(p, &a->cols, a->n_cols, cap));
    ALM_TRY(alm_parse_any_name(p, what, &name));
    a->cols[a->n_cols].name = name.text;
    a->cols[a->n_cols++].pos = name.pos;
    return ALM_OK;
}

static alm_status parse_add(alm_parser *p, alm_stmt *s, alm_alter *a)
{
    uint32_t cap = 0;
    a->kind = ALM_ALTER_ADD_COLUMN;
    (void)alm_take_kw(p, ALM_KW_COLUMN);
    if (alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos, "'column' or column name expected");
    do {
        if (alm_at_kw(p, ALM_KW_IF) && alm_token_is_kw(alm_parse_peek(p), ALM_KW_NOT)) {
            alm_parse_next(p);
            alm_parse_next(p);
            ALM_TRY(alm_expect_kw(p, ALM_KW_EXISTS, "'exists' expected"));
            s->if_not_exists = true;
        }
        ALM_TRY(ALM_GROW(p, &a->cols, a->n_cols, &cap));
        ALM_TRY(alm_parse_column(p, &a->cols[a->n_cols]));
        a->n_cols++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_rename(alm_parser *p, alm_alter *a)
{
    uint32_t cap = 0, cap_names = 0, cap_pos = 0;
    a->kind = ALM_ALTER_RENAME_COLUMN;
    ALM_TRY(alm_expect_kw(p, ALM_KW_COLUMN, "'column' expected"));
    do {
        alm_parse_name name;
        const uint32_t i = a->n_cols;
        ALM_TRY(ALM_GROW(p, &a->new_names, i, &cap_names));
        ALM_TRY(ALM_GROW(p, &a->new_pos, i, &cap_pos));
        ALM_TRY(column_name(p, a, &cap, "current column name"));
        ALM_TRY(alm_expect_kw(p, ALM_KW_TO, "'to' expected"));
        ALM_TRY(alm_parse_any_name(p, "new column name", &name));
        a->new_names[i] = name.text;
        a->new_pos[i] = name.pos;
    } while (alm_take_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_column_type(alm_parser *p, alm_column_def *col)
{
    if (alm_at_end(p))
        return alm_parse_fail(p, p->tok.pos, "column type expected");
    ALM_TRY(alm_parse_type(p, &col->type_name, &col->type_pos));
    return alm_str_ieq(col->type_name, ALM_STR("symbol")) ? alm_parse_symbol_options(p, col)
                                                          : ALM_OK;
}

/* ALTER COLUMN c ... */
static alm_status parse_alter_column(alm_parser *p, alm_alter *a)
{
    uint32_t cap = 0;
    ALM_TRY(alm_expect_kw(p, ALM_KW_COLUMN, "'column' expected"));
    ALM_TRY(column_name(p, a, &cap, "column name"));
    alm_column_def *col = &a->cols[0];
    if (alm_take_kw(p, ALM_KW_TYPE)) {
        a->kind = ALM_ALTER_COLUMN_TYPE;
        return parse_column_type(p, col);
    }
    if (alm_take_kw(p, ALM_KW_ADD)) {
        a->kind = ALM_ALTER_ADD_INDEX;
        ALM_TRY(alm_expect_kw(p, ALM_KW_INDEX, "'index' expected"));
        col->indexed = true;
        return alm_take_kw(p, ALM_KW_CAPACITY)
                   ? alm_parse_int(p, "index capacity", &col->index_capacity)
                   : ALM_OK;
    }
    if (alm_take_kw(p, ALM_KW_DROP)) {
        a->kind = ALM_ALTER_DROP_INDEX;
        return alm_expect_kw(p, ALM_KW_INDEX, "'index' expected");
    }
    if (alm_at_kw(p, ALM_KW_CACHE) || alm_at_kw(p, ALM_KW_NOCACHE)) {
        a->kind = ALM_ALTER_CACHE;
        col->cache = alm_at_kw(p, ALM_KW_CACHE) ? 1 : -1;
        alm_parse_next(p);
        return ALM_OK;
    }
    if (alm_take_word(p, "symbol")) {
        a->kind = ALM_ALTER_COLUMN_CAPACITY;
        if (!alm_at_kw(p, ALM_KW_CAPACITY))
            return alm_parse_fail(p, p->tok.pos, "'capacity' expected");
        return alm_parse_symbol_options(p, col);
    }
    return alm_parse_fail(p, p->tok.pos,
                          "'add', 'drop', 'symbol', 'cache', 'nocache' or 'type' expected");
}

/* ------------------------------------------------------------------ partitions */

static alm_status parse_partition_set(alm_parser *p, alm_alter *a)
{
    a->where_pos = p->tok.pos;
    if (alm_take_kw(p, ALM_KW_LIST)) {
        uint32_t cap = 0;
        do {
            if (p->tok.kind != ALM_TOK_STRING)
                return alm_parse_fail(p, p->tok.pos, "partition name expected");
            ALM_TRY(ALM_GROW(p, &a->list, a->n_list, &cap));
            ALM_TRY(alm_parse_literal(p, &a->list[a->n_list]));
            a->n_list++;
        } while (alm_take_op(p, ALM_OP_COMMA));
        return ALM_OK;
    }
    ALM_TRY(alm_expect_kw(p, ALM_KW_WHERE, "'list' or 'where' expected"));
    if (!alm_starts_expr(p))
        return alm_parse_fail(p, a->where_pos, "boolean expression expected");
    return alm_parse_expr(p, &a->where);
}

static alm_status parse_drop(alm_parser *p, alm_stmt *s, alm_alter *a)
{
    uint32_t cap = 0;
    if (alm_take_kw(p, ALM_KW_PARTITION)) {
        a->kind = ALM_ALTER_DROP_PARTITION;
        return parse_partition_set(p, a);
    }
    a->kind = ALM_ALTER_DROP_COLUMN;
    ALM_TRY(alm_expect_kw(p, ALM_KW_COLUMN, "'column' or 'partition' expected"));
    if (alm_at_kw(p, ALM_KW_IF) && alm_token_is_kw(alm_parse_peek(p), ALM_KW_EXISTS)) {
        alm_parse_next(p);
        alm_parse_next(p);
        s->if_exists = true;
    }
    do
        ALM_TRY(column_name(p, a, &cap, "column name"));
    while (alm_take_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_convert(alm_parser *p, alm_alter *a)
{
    ALM_TRY(alm_expect_kw(p, ALM_KW_PARTITION, "'partition' expected"));
    ALM_TRY(alm_expect_kw(p, ALM_KW_TO, "'to' expected"));
    if (alm_take_word(p, "parquet"))
        a->kind = ALM_ALTER_TO_PARQUET;
    else if (alm_take_word(p, "native"))
        a->kind = ALM_ALTER_TO_NATIVE;
    else
        return alm_parse_fail(p, p->tok.pos, "'parquet' or 'native' expected");
    return parse_partition_set(p, a);
}

static alm_status parse_attach(alm_parser *p, alm_alter *a, alm_alter_kind kind)
{
    a->kind = kind;
    ALM_TRY(alm_expect_kw(p, ALM_KW_PARTITION, "'partition' expected"));
    return parse_partition_set(p, a);
}

/* ------------------------------------------------------------------ options */

static alm_status parse_param(alm_parser *p, alm_stmt *s)
{
    uint32_t cap = 0;
    do {
        alm_parse_name name;
        ALM_TRY(ALM_GROW(p, &s->with, s->n_with, &cap));
        alm_assign *a = &s->with[s->n_with];
        ALM_TRY(alm_parse_ident(p, "param name", &name));
        a->col = name.text;
        a->pos = name.pos;
        ALM_TRY(alm_expect_op(p, ALM_OP_EQ, "'=' expected"));
        ALM_TRY(alm_parse_expr(p, &a->value));
        s->n_with++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_set_option(alm_parser *p, alm_stmt *s, alm_alter *a)
{
    if (alm_take_kw(p, ALM_KW_TTL)) {
        a->kind = ALM_ALTER_SET_TTL;
        return alm_parse_ttl(p, s);
    }
    if (alm_take_word(p, "param")) {
        a->kind = ALM_ALTER_SET_PARAM;
        return parse_param(p, s);
    }
    if (alm_take_kw(p, ALM_KW_TYPE)) {
        a->kind = ALM_ALTER_SET_TYPE;
        s->wal = alm_take_kw(p, ALM_KW_BYPASS) ? -1 : 1;
        return alm_expect_kw(p, ALM_KW_WAL, "'bypass' or 'wal' expected");
    }
    return alm_parse_fail(p, p->tok.pos, "'param', 'ttl' or 'type' expected");
}

/* DEDUP DISABLE, DEDUP [ENABLE] UPSERT KEYS(...) */
static alm_status parse_dedup(alm_parser *p, alm_stmt *s, alm_alter *a)
{
    alm_parse_next(p); /* dedup */
    if (alm_take_word(p, "disable")) {
        a->kind = ALM_ALTER_DEDUP_OFF;
        return ALM_OK;
    }
    if (!alm_take_word(p, "enable") && !alm_at_kw(p, ALM_KW_UPSERT))
        return alm_parse_fail(p, p->tok.pos, "'enable', 'disable' or 'upsert' expected");
    a->kind = ALM_ALTER_DEDUP;
    return alm_parse_upsert_keys(p, s);
}

static alm_status parse_wal(alm_parser *p, alm_alter *a, bool resume)
{
    a->kind = resume ? ALM_ALTER_RESUME_WAL : ALM_ALTER_SUSPEND_WAL;
    ALM_TRY(alm_expect_kw(p, ALM_KW_WAL, "'wal' expected"));
    const int32_t pos = p->tok.pos;
    if (alm_at_kw(p, ALM_KW_FROM) || alm_at_kw(p, ALM_KW_WITH))
        alm_parse_skip(p); /* FROM TXN n, WITH code, message */
    a->value = alm_parse_slice(p, pos, p->prev.end);
    return ALM_OK;
}

static alm_status parse_action(alm_parser *p, alm_stmt *s, alm_alter *a)
{
    a->pos = p->tok.pos;
    if (alm_take_kw(p, ALM_KW_ADD))
        return parse_add(p, s, a);
    if (alm_take_kw(p, ALM_KW_DROP))
        return parse_drop(p, s, a);
    if (alm_take_kw(p, ALM_KW_RENAME)) {
        if (s->kind != ALM_STMT_ALTER_TABLE || !alm_take_kw(p, ALM_KW_TO))
            return parse_rename(p, a);
        s->kind = ALM_STMT_RENAME_TABLE; /* its tag stays ALTER TABLE */
        return alm_parse_rename_target(p, s);
    }
    if (alm_take_kw(p, ALM_KW_ALTER))
        return parse_alter_column(p, a);
    if (alm_take_kw(p, ALM_KW_SET))
        return parse_set_option(p, s, a);
    if (alm_at_dedup(p))
        return parse_dedup(p, s, a);
    if (alm_take_word(p, "force")) {
        ALM_TRY(alm_expect_kw(p, ALM_KW_DROP, "'drop' expected"));
        a->force = true;
        ALM_TRY(alm_expect_kw(p, ALM_KW_PARTITION, "'partition' expected"));
        a->kind = ALM_ALTER_DROP_PARTITION;
        return parse_partition_set(p, a);
    }
    if (alm_take_word(p, "convert"))
        return parse_convert(p, a);
    if (alm_take_word(p, "attach"))
        return parse_attach(p, a, ALM_ALTER_ATTACH_PARTITION);
    if (alm_take_word(p, "detach"))
        return parse_attach(p, a, ALM_ALTER_DETACH_PARTITION);
    if (alm_take_word(p, "resume"))
        return parse_wal(p, a, true);
    if (alm_take_word(p, "suspend"))
        return parse_wal(p, a, false);
    if (alm_take_word(p, "squash")) {
        a->kind = ALM_ALTER_SQUASH;
        return alm_expect_kw(p, ALM_KW_PARTITIONS, "'partitions' expected");
    }
    return alm_parse_fail(p, p->tok.pos,
                          "'add', 'alter', 'attach', 'detach', 'drop', 'convert', 'resume', "
                          "'rename', 'set' or 'squash' expected");
}

/* ALTER MATERIALIZED VIEW v: what changes its table, and how it is refreshed */
static alm_status parse_matview_action(alm_parser *p, alm_stmt *s, alm_alter *a)
{
    a->pos = p->tok.pos;
    if (alm_take_kw(p, ALM_KW_ALTER))
        return parse_alter_column(p, a);
    if (alm_take_kw(p, ALM_KW_SET))
        return alm_parse_matview_set(p, s, a);
    if (alm_take_word(p, "resume"))
        return parse_wal(p, a, true);
    if (alm_take_word(p, "suspend"))
        return parse_wal(p, a, false);
    return alm_parse_fail(p, p->tok.pos, "'alter' or 'resume' or 'suspend' expected");
}

/* Name of what is altered; the words of the action go to *out. */
static alm_status parse_name(alm_parser *p, alm_stmt *s, const char *what, alm_alter **out)
{
    alm_parse_name name;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, out));
    s->ext = *out;
    ALM_TRY(alm_parse_table(p, what, &name));
    s->table = name.text;
    s->table_quoted = name.quoted;
    s->table_pos = name.pos;
    return ALM_OK;
}

alm_status alm_parse_alter_table(alm_parser *p, alm_stmt *s)
{
    alm_alter *a = NULL;
    ALM_TRY(parse_name(p, s, "table name", &a));
    return parse_action(p, s, a);
}

alm_status alm_parse_alter_matview(alm_parser *p, alm_stmt *s)
{
    alm_alter *a = NULL;
    s->text = ALM_STR("ALTER MATERIALIZED VIEW");
    ALM_TRY(alm_expect_kw(p, ALM_KW_VIEW, "'table' or 'materialized' or 'view' expected"));
    ALM_TRY(parse_name(p, s, "table name", &a));
    return parse_matview_action(p, s, a);
}

alm_status alm_parse_alter_view(alm_parser *p, alm_stmt *s)
{
    alm_alter *a = NULL;
    ALM_TRY(parse_name(p, s, "view name", &a));
    a->kind = ALM_ALTER_QUERY;
    a->pos = p->tok.pos;
    ALM_TRY(alm_expect_kw(p, ALM_KW_AS, "'as' expected"));
    ALM_TRY(alm_parse_view_query(p, &s->select, &a->value));
    return alm_parse_owned(p, s);
}
