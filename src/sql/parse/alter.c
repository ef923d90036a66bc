/*
 * alter.c - ALTER TABLE, MATERIALIZED VIEW and VIEW, into alm_alter (ast.h).
 */
#include "sql/parse/parse.h"

/* ------------------------------------------------------------------ columns */

static alm_status column_name(alm_parser *parser, alm_alter *alter, uint32_t *cap, const char *what)
{
    alm_parse_name name;
    ALM_TRY(ALM_GROW(parser, &alter->cols, alter->n_cols, cap));
    ALM_TRY(alm_parse_any_name(parser, what, &name));
    alter->cols[alter->n_cols].name = name.text;
    alter->cols[alter->n_cols++].pos = name.pos;
    return ALM_OK;
}

static alm_status parse_add(alm_parser *parser, alm_stmt *stmt, alm_alter *alter)
{
    uint32_t cap = 0;
    alter->kind = ALM_ALTER_ADD_COLUMN;
    (void)alm_take_kw(parser, ALM_KW_COLUMN);
    if (alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos, "'column' or column name expected");
    do {
        if (alm_at_kw(parser, ALM_KW_IF) && alm_token_is_kw(alm_parse_peek(parser), ALM_KW_NOT)) {
            alm_parse_next(parser);
            alm_parse_next(parser);
            ALM_TRY(alm_expect_kw(parser, ALM_KW_EXISTS, "'exists' expected"));
            stmt->if_not_exists = true;
        }
        ALM_TRY(ALM_GROW(parser, &alter->cols, alter->n_cols, &cap));
        ALM_TRY(alm_parse_column(parser, &alter->cols[alter->n_cols]));
        alter->n_cols++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_rename(alm_parser *parser, alm_alter *alter)
{
    uint32_t cap = 0, cap_names = 0, cap_pos = 0;
    alter->kind = ALM_ALTER_RENAME_COLUMN;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_COLUMN, "'column' expected"));
    do {
        alm_parse_name name;
        const uint32_t i = alter->n_cols;
        ALM_TRY(ALM_GROW(parser, &alter->new_names, i, &cap_names));
        ALM_TRY(ALM_GROW(parser, &alter->new_pos, i, &cap_pos));
        ALM_TRY(column_name(parser, alter, &cap, "current column name"));
        ALM_TRY(alm_expect_kw(parser, ALM_KW_TO, "'to' expected"));
        ALM_TRY(alm_parse_any_name(parser, "new column name", &name));
        alter->new_names[i] = name.text;
        alter->new_pos[i] = name.pos;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_column_type(alm_parser *parser, alm_column_def *col)
{
    if (alm_at_end(parser))
        return alm_parse_fail(parser, parser->tok.pos, "column type expected");
    ALM_TRY(alm_parse_type(parser, &col->type_name, &col->type_pos));
    return alm_str_ieq(col->type_name, ALM_STR("symbol")) ? alm_parse_symbol_options(parser, col)
                                                          : ALM_OK;
}

/* ALTER COLUMN c ... */
static alm_status parse_alter_column(alm_parser *parser, alm_alter *alter)
{
    uint32_t cap = 0;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_COLUMN, "'column' expected"));
    ALM_TRY(column_name(parser, alter, &cap, "column name"));
    alm_column_def *col = &alter->cols[0];
    if (alm_take_kw(parser, ALM_KW_TYPE)) {
        alter->kind = ALM_ALTER_COLUMN_TYPE;
        return parse_column_type(parser, col);
    }
    if (alm_take_kw(parser, ALM_KW_ADD)) {
        alter->kind = ALM_ALTER_ADD_INDEX;
        ALM_TRY(alm_expect_kw(parser, ALM_KW_INDEX, "'index' expected"));
        col->indexed = true;
        return alm_take_kw(parser, ALM_KW_CAPACITY)
                   ? alm_parse_int(parser, "index capacity", &col->index_capacity)
                   : ALM_OK;
    }
    if (alm_take_kw(parser, ALM_KW_DROP)) {
        alter->kind = ALM_ALTER_DROP_INDEX;
        return alm_expect_kw(parser, ALM_KW_INDEX, "'index' expected");
    }
    if (alm_at_kw(parser, ALM_KW_CACHE) || alm_at_kw(parser, ALM_KW_NOCACHE)) {
        alter->kind = ALM_ALTER_CACHE;
        col->cache = alm_at_kw(parser, ALM_KW_CACHE) ? 1 : -1;
        alm_parse_next(parser);
        return ALM_OK;
    }
    if (alm_take_word(parser, "symbol")) {
        alter->kind = ALM_ALTER_COLUMN_CAPACITY;
        if (!alm_at_kw(parser, ALM_KW_CAPACITY))
            return alm_parse_fail(parser, parser->tok.pos, "'capacity' expected");
        return alm_parse_symbol_options(parser, col);
    }
    return alm_parse_fail(parser, parser->tok.pos,
                          "'add', 'drop', 'symbol', 'cache', 'nocache' or 'type' expected");
}

/* ------------------------------------------------------------------ partitions */

static alm_status parse_partition_set(alm_parser *parser, alm_alter *alter)
{
    alter->where_pos = parser->tok.pos;
    if (alm_take_kw(parser, ALM_KW_LIST)) {
        uint32_t cap = 0;
        do {
            if (parser->tok.kind != ALM_TOK_STRING)
                return alm_parse_fail(parser, parser->tok.pos, "partition name expected");
            ALM_TRY(ALM_GROW(parser, &alter->list, alter->n_list, &cap));
            ALM_TRY(alm_parse_literal(parser, &alter->list[alter->n_list]));
            alter->n_list++;
        } while (alm_take_op(parser, ALM_OP_COMMA));
        return ALM_OK;
    }
    ALM_TRY(alm_expect_kw(parser, ALM_KW_WHERE, "'list' or 'where' expected"));
    if (!alm_starts_expr(parser))
        return alm_parse_fail(parser, alter->where_pos, "boolean expression expected");
    return alm_parse_expr(parser, &alter->where);
}

static alm_status alter_parse_drop(alm_parser *parser, alm_stmt *stmt, alm_alter *alter)
{
    uint32_t cap = 0;
    if (alm_take_kw(parser, ALM_KW_PARTITION)) {
        alter->kind = ALM_ALTER_DROP_PARTITION;
        return parse_partition_set(parser, alter);
    }
    alter->kind = ALM_ALTER_DROP_COLUMN;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_COLUMN, "'column' or 'partition' expected"));
    if (alm_at_kw(parser, ALM_KW_IF) && alm_token_is_kw(alm_parse_peek(parser), ALM_KW_EXISTS)) {
        alm_parse_next(parser);
        alm_parse_next(parser);
        stmt->if_exists = true;
    }
    do
        ALM_TRY(column_name(parser, alter, &cap, "column name"));
    while (alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_convert(alm_parser *parser, alm_alter *alter)
{
    ALM_TRY(alm_expect_kw(parser, ALM_KW_PARTITION, "'partition' expected"));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_TO, "'to' expected"));
    if (alm_take_word(parser, "parquet"))
        alter->kind = ALM_ALTER_TO_PARQUET;
    else if (alm_take_word(parser, "native"))
        alter->kind = ALM_ALTER_TO_NATIVE;
    else
        return alm_parse_fail(parser, parser->tok.pos, "'parquet' or 'native' expected");
    return parse_partition_set(parser, alter);
}

static alm_status parse_attach(alm_parser *parser, alm_alter *alter, alm_alter_kind kind)
{
    alter->kind = kind;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_PARTITION, "'partition' expected"));
    return parse_partition_set(parser, alter);
}

/* ------------------------------------------------------------------ options */

static alm_status alter_parse_param(alm_parser *parser, alm_stmt *stmt)
{
    uint32_t cap = 0;
    do {
        alm_parse_name name;
        ALM_TRY(ALM_GROW(parser, &stmt->with, stmt->n_with, &cap));
        alm_assign *assign = &stmt->with[stmt->n_with];
        ALM_TRY(alm_parse_ident(parser, "param name", &name));
        assign->col = name.text;
        assign->pos = name.pos;
        ALM_TRY(alm_expect_op(parser, ALM_OP_EQ, "'=' expected"));
        ALM_TRY(alm_parse_expr(parser, &assign->value));
        stmt->n_with++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return ALM_OK;
}

static alm_status parse_set_option(alm_parser *parser, alm_stmt *stmt, alm_alter *alter)
{
    if (alm_take_kw(parser, ALM_KW_TTL)) {
        alter->kind = ALM_ALTER_SET_TTL;
        return alm_parse_ttl(parser, stmt);
    }
    if (alm_take_word(parser, "param")) {
        alter->kind = ALM_ALTER_SET_PARAM;
        return alter_parse_param(parser, stmt);
    }
    if (alm_take_kw(parser, ALM_KW_TYPE)) {
        alter->kind = ALM_ALTER_SET_TYPE;
        stmt->wal = alm_take_kw(parser, ALM_KW_BYPASS) ? -1 : 1;
        return alm_expect_kw(parser, ALM_KW_WAL, "'bypass' or 'wal' expected");
    }
    return alm_parse_fail(parser, parser->tok.pos, "'param', 'ttl' or 'type' expected");
}

/* DEDUP DISABLE, DEDUP [ENABLE] UPSERT KEYS(...) */
static alm_status alter_parse_dedup(alm_parser *parser, alm_stmt *stmt, alm_alter *alter)
{
    alm_parse_next(parser); /* dedup */
    if (alm_take_word(parser, "disable")) {
        alter->kind = ALM_ALTER_DEDUP_OFF;
        return ALM_OK;
    }
    if (!alm_take_word(parser, "enable") && !alm_at_kw(parser, ALM_KW_UPSERT))
        return alm_parse_fail(parser, parser->tok.pos, "'enable', 'disable' or 'upsert' expected");
    alter->kind = ALM_ALTER_DEDUP;
    return alm_parse_upsert_keys(parser, stmt);
}

static alm_status parse_wal(alm_parser *parser, alm_alter *alter, bool resume)
{
    alter->kind = resume ? ALM_ALTER_RESUME_WAL : ALM_ALTER_SUSPEND_WAL;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_WAL, "'wal' expected"));
    const int32_t pos = parser->tok.pos;
    if (alm_at_kw(parser, ALM_KW_FROM) || alm_at_kw(parser, ALM_KW_WITH))
        alm_parse_skip(parser); /* FROM TXN n, WITH code, message */
    alter->value = alm_parse_slice(parser, pos, parser->prev.end);
    return ALM_OK;
}

static alm_status parse_action(alm_parser *parser, alm_stmt *stmt, alm_alter *alter)
{
    alter->pos = parser->tok.pos;
    if (alm_take_kw(parser, ALM_KW_ADD))
        return parse_add(parser, stmt, alter);
    if (alm_take_kw(parser, ALM_KW_DROP))
        return alter_parse_drop(parser, stmt, alter);
    if (alm_take_kw(parser, ALM_KW_RENAME)) {
        if (stmt->kind != ALM_STMT_ALTER_TABLE || !alm_take_kw(parser, ALM_KW_TO))
            return parse_rename(parser, alter);
        stmt->kind = ALM_STMT_RENAME_TABLE; /* its tag stays ALTER TABLE */
        return alm_parse_rename_target(parser, stmt);
    }
    if (alm_take_kw(parser, ALM_KW_ALTER))
        return parse_alter_column(parser, alter);
    if (alm_take_kw(parser, ALM_KW_SET))
        return parse_set_option(parser, stmt, alter);
    if (alm_at_dedup(parser))
        return alter_parse_dedup(parser, stmt, alter);
    if (alm_take_word(parser, "force")) {
        ALM_TRY(alm_expect_kw(parser, ALM_KW_DROP, "'drop' expected"));
        alter->force = true;
        ALM_TRY(alm_expect_kw(parser, ALM_KW_PARTITION, "'partition' expected"));
        alter->kind = ALM_ALTER_DROP_PARTITION;
        return parse_partition_set(parser, alter);
    }
    if (alm_take_word(parser, "convert"))
        return parse_convert(parser, alter);
    if (alm_take_word(parser, "attach"))
        return parse_attach(parser, alter, ALM_ALTER_ATTACH_PARTITION);
    if (alm_take_word(parser, "detach"))
        return parse_attach(parser, alter, ALM_ALTER_DETACH_PARTITION);
    if (alm_take_word(parser, "resume"))
        return parse_wal(parser, alter, true);
    if (alm_take_word(parser, "suspend"))
        return parse_wal(parser, alter, false);
    if (alm_take_word(parser, "squash")) {
        alter->kind = ALM_ALTER_SQUASH;
        return alm_expect_kw(parser, ALM_KW_PARTITIONS, "'partitions' expected");
    }
    return alm_parse_fail(parser, parser->tok.pos,
                          "'add', 'alter', 'attach', 'detach', 'drop', 'convert', 'resume', "
                          "'rename', 'set' or 'squash' expected");
}

/* ALTER MATERIALIZED VIEW v: what changes its table, and how it is refreshed */
static alm_status parse_matview_action(alm_parser *parser, alm_stmt *stmt, alm_alter *alter)
{
    alter->pos = parser->tok.pos;
    if (alm_take_kw(parser, ALM_KW_ALTER))
        return parse_alter_column(parser, alter);
    if (alm_take_kw(parser, ALM_KW_SET))
        return alm_parse_matview_set(parser, stmt, alter);
    if (alm_take_word(parser, "resume"))
        return parse_wal(parser, alter, true);
    if (alm_take_word(parser, "suspend"))
        return parse_wal(parser, alter, false);
    return alm_parse_fail(parser, parser->tok.pos, "'alter' or 'resume' or 'suspend' expected");
}

/* Name of what is altered; the words of the action go to *out. */
static alm_status alter_parse_name(alm_parser *parser, alm_stmt *stmt, const char *what,
                                   alm_alter **out)
{
    alm_parse_name name;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, out));
    stmt->ext = *out;
    ALM_TRY(alm_parse_table(parser, what, &name));
    stmt->table = name.text;
    stmt->table_quoted = name.quoted;
    stmt->table_pos = name.pos;
    return ALM_OK;
}

alm_status alm_parse_alter_table(alm_parser *parser, alm_stmt *stmt)
{
    alm_alter *alter = NULL;
    ALM_TRY(alter_parse_name(parser, stmt, "table name", &alter));
    return parse_action(parser, stmt, alter);
}

alm_status alm_parse_alter_matview(alm_parser *parser, alm_stmt *stmt)
{
    alm_alter *alter = NULL;
    stmt->text = ALM_STR("ALTER MATERIALIZED VIEW");
    ALM_TRY(alm_expect_kw(parser, ALM_KW_VIEW, "'table' or 'materialized' or 'view' expected"));
    ALM_TRY(alter_parse_name(parser, stmt, "table name", &alter));
    return parse_matview_action(parser, stmt, alter);
}

alm_status alm_parse_alter_view(alm_parser *parser, alm_stmt *stmt)
{
    alm_alter *alter = NULL;
    ALM_TRY(alter_parse_name(parser, stmt, "view name", &alter));
    alter->kind = ALM_ALTER_QUERY;
    alter->pos = parser->tok.pos;
    ALM_TRY(alm_expect_kw(parser, ALM_KW_AS, "'as' expected"));
    ALM_TRY(alm_parse_view_query(parser, &stmt->select, &alter->value));
    return alm_parse_owned(parser, stmt);
}
