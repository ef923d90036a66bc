/*
 * database.c - show_create_database(): the statements that would make tables, views, users and what is granted to
 * them again, one a row, in an order in which they can be run. Passwords, tokens and keys are not among them.
 *
 * Order       Groups, users, service accounts, memberships; tables; views and materialized views, each behind those that
 *             its query may name; grants at the end, so that who runs the statements has what he needs until then.
 * Rights      Tables that one may not see are left out; of those that one sees, one column must be readable, as for
 *             SHOW CREATE TABLE. Users need LIST USERS and USER DETAILS: a list without them would be no copy.
 */
#include <stdlib.h>
#include <strings.h>

#include "base/access.h"
#include "exec/source/list.h"
#include "exec/source/schema.h"

enum {
    TABLES = 1,
    VIEWS = 2,
    MATVIEWS = 4,
    USERS = 8,
    GROUPS = 16,
    ACCOUNTS = 32,
    PERMISSIONS = 64,
    ALL = 127
};

static const struct {
    const char *name;
    uint32_t bits;
} categories[] = {
    {"TABLES", TABLES},
    {"VIEWS", VIEWS},
    {"MATERIALIZED_VIEWS", MATVIEWS},
    {"USERS", USERS},
    {"GROUPS", GROUPS},
    {"SERVICE_ACCOUNTS", ACCOUNTS},
    {"PERMISSIONS", PERMISSIONS},
    {"ACL", USERS | GROUPS | ACCOUNTS | PERMISSIONS},
    {"ALL", ALL},
};

/* ------------------------------------------------------------------------ categories */

static alm_status database_read_one(alm_ctx *cx, alm_str word, int32_t pos, uint32_t *bits)
{
    for (size_t i = 0; i < ALM_COUNT(categories); i++)
        if (alm_str_ieq(word, alm_str_of(categories[i].name))) {
            *bits |= categories[i].bits;
            return ALM_OK;
        }
    return alm_fail(cx, ALM_E_ARG, pos,
                    "'%.*s' is none of TABLES, VIEWS, MATERIALIZED_VIEWS, USERS, GROUPS, "
                    "SERVICE_ACCOUNTS, PERMISSIONS, ACL, ALL",
                    (int)ALM_MIN(word.len, (size_t)40), word.ptr);
}

/* "tables, users"; nothing: all of them. */
static alm_status read_categories(alm_ctx *cx, alm_str text, int32_t pos, uint32_t *bits)
{
    *bits = 0;
    for (size_t offset = 0; offset < text.len;) {
        size_t count = 0;
        while (offset < text.len && (text.ptr[offset] == ' ' || text.ptr[offset] == ','))
            offset++;
        while (offset + count < text.len && text.ptr[offset + count] != ' ' &&
               text.ptr[offset + count] != ',')
            count++;
        if (count > 0)
            ALM_TRY(database_read_one(cx, (alm_str){text.ptr + offset, count}, pos, bits));
        offset += count;
    }
    if (*bits == 0)
        *bits = ALL;
    return ALM_OK;
}

/* --------------------------------------------------------------------------- tables */

static alm_status database_row_of(alm_ctx *cx, alm_list *list, const alm_buf *buf)
{
    alm_str text;
    ALM_TRY(alm_arena_copy(cx, cx->arena, (alm_str){buf->ptr, buf->len}, &text));
    ALM_TRY(alm_list_row(cx, list));
    alm_list_str(list, 0, text);
    return ALM_OK;
}

static alm_status database_put_quoted(alm_ctx *cx, alm_buf *buf, const char *text)
{
    ALM_TRY(alm_buf_text(cx, buf, "'"));
    for (; *text != 0; text++)
        ALM_TRY(alm_buf_append(cx, buf, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1));
    return alm_buf_text(cx, buf, "'");
}

/* col NULL: of the table. */
static alm_status put_comment(alm_ctx *cx, alm_list *list, const alm_table *table,
                              const alm_column *col)
{
    static const char *const kinds[] = {[ALM_TABLE_BASE] = "TABLE",
                                        [ALM_TABLE_VIEW] = "VIEW",
                                        [ALM_TABLE_MATVIEW] = "MATERIALIZED VIEW"};
    const char *comment = alm_table_comment(table, col != NULL ? col->id : 0);
    if (comment == NULL || comment[0] == 0)
        return ALM_OK;
    alm_buf buf;
    alm_buf_init(&buf, cx->mem);
    alm_status status =
        col == NULL
            ? alm_buf_printf(cx, &buf, "COMMENT ON %s \"%s\" IS ", kinds[table->kind], table->name)
            : alm_buf_printf(cx, &buf, "COMMENT ON COLUMN \"%s\".\"%s\" IS ", table->name,
                             col->name);
    if (status == ALM_OK)
        status = database_put_quoted(cx, &buf, comment);
    if (status == ALM_OK)
        status = alm_buf_text(cx, &buf, ";");
    if (status == ALM_OK)
        status = database_row_of(cx, list, &buf);
    alm_buf_deinit(&buf);
    return status;
}

static alm_status put_limit(alm_ctx *cx, alm_list *list, const alm_table *table)
{
    alm_buf buf;
    if (table->kind != ALM_TABLE_MATVIEW || table->view->limit.count == 0)
        return ALM_OK;
    alm_buf_init(&buf, cx->mem);
    alm_status status =
        alm_buf_printf(cx, &buf, "ALTER MATERIALIZED VIEW '%s' SET REFRESH LIMIT %u%c;",
                       table->name, table->view->limit.count, table->view->limit.unit);
    if (status == ALM_OK)
        status = database_row_of(cx, list, &buf);
    alm_buf_deinit(&buf);
    return status;
}

static alm_status database_put_table(alm_ctx *cx, alm_list *list, const alm_table *table,
                                     int32_t pos)
{
    alm_buf buf;
    ALM_TRY(alm_access_any(cx, "SELECT", table->name, pos));
    alm_buf_init(&buf, cx->mem);
    alm_status status = table->kind == ALM_TABLE_BASE   ? alm_schema_put_table(cx, &buf, table)
                        : table->kind == ALM_TABLE_VIEW ? alm_schema_put_view(cx, &buf, table)
                                                        : alm_schema_put_matview(cx, &buf, table);
    if (status == ALM_OK)
        status = database_row_of(cx, list, &buf);
    alm_buf_deinit(&buf);
    ALM_TRY(status);
    ALM_TRY(put_limit(cx, list, table));
    ALM_TRY(put_comment(cx, list, table, NULL));
    for (uint32_t i = 0; i < table->n_cols && table->kind == ALM_TABLE_BASE; i++)
        ALM_TRY(put_comment(cx, list, table, &table->cols[i]));
    return ALM_OK;
}

static uint32_t bit_of(const alm_table *table)
{
    return table->kind == ALM_TABLE_BASE   ? TABLES
           : table->kind == ALM_TABLE_VIEW ? VIEWS
                                           : MATVIEWS;
}

static bool is_word_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

/* True if the SQL text contains the view's name as a whole word. The text is not parsed: a column of the same name only
 * adds an ordering constraint that is not needed. */
static bool database_names(const char *sql, const char *word)
{
    const size_t len = strlen(word);
    for (const char *ptr = sql; (ptr = strcasestr(ptr, word)) != NULL; ptr++)
        if ((ptr == sql || !is_word_byte(ptr[-1])) && !is_word_byte(ptr[len]))
            return true;
    return false;
}

/* Of n views: is one that is still to come named by view i? */
static bool waits(const alm_table *const *view, const bool *done, size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++)
        if (k != i && !done[k] && database_names(view[i]->view->sql, view[k]->name))
            return true;
    return false;
}

/* Rounds, each with those whose names are there; a circle, which only names of columns can make, is cut at its first. */
static alm_status database_put_views(alm_ctx *cx, alm_list *list, const alm_table *const *view,
                                     size_t n_views, uint32_t bits, int32_t pos)
{
    bool *done = NULL;
    size_t left = n_views;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_views + 1, &done));
    for (bool stuck = false; left > 0;) {
        const size_t before = left;
        for (size_t i = 0; i < n_views; i++) {
            if (done[i] || (!stuck && waits(view, done, n_views, i)))
                continue;
            if ((bits & bit_of(view[i])) != 0)
                ALM_TRY(database_put_table(cx, list, view[i], pos));
            done[i] = true;
            left--;
            if (stuck)
                break;
        }
        stuck = left == before;
    }
    return ALM_OK;
}

static alm_status put_tables(alm_ctx *cx, const alm_list_args *args, alm_list *list, uint32_t bits)
{
    const alm_snapshot *snap = args->run->env.snapshot;
    const size_t n_snapshots = alm_snapshot_count(snap);
    const alm_table **view = NULL;
    size_t n_views = 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_snapshots + 1, &view));
    for (size_t i = 0; i < n_snapshots; i++) {
        const alm_table *table = alm_snapshot_at(snap, i);
        if (!alm_access_sees(cx, table->name))
            continue;
        if (table->kind != ALM_TABLE_BASE)
            view[n_views++] = table;
        else if ((bits & TABLES) != 0)
            ALM_TRY(database_put_table(cx, list, table, args->pos));
    }
    return database_put_views(cx, list, view, n_views, bits, args->pos);
}

/* --------------------------------------------------------------------------- source */

/* What the session says of users: statements. */
static alm_status database_put_texts(alm_ctx *cx, const alm_run *run, alm_list *list,
                                     const char *what)
{
    const char *const *cell = NULL;
    size_t rows = 0;
    if (run->env.texts != NULL)
        ALM_TRY(run->env.texts(cx, what, &cell, &rows));
    for (; rows > 0; rows--, cell++) {
        ALM_TRY(alm_list_row(cx, list));
        alm_list_text(list, 0, *cell);
    }
    return ALM_OK;
}

static const alm_plan_col ddl_cols[] = {{"ddl", ALM_TY(VARCHAR)}};

static alm_status database_bind(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out)
{
    alm_str text = {"", 0};
    char one[4] = {0};
    uint32_t *bits = NULL;
    const int32_t pos = call->n_args > 0 ? call->args[0]->pos : call->pos;
    if (call->n_args > 1 || (call->n_args == 1 && !alm_list_text_arg(call->args[0], one, &text)))
        return alm_fail(cx, ALM_E_ARG, pos,
                        "names of categories, as a constant, or nothing expected");
    static const alm_list_kind kind = {"show_create_database", false, ddl_cols,
                                       ALM_COUNT(ddl_cols)};
    ALM_TRY(alm_list_bind(cx, &kind, &(alm_source_call){.pos = call->pos}, out));
    ALM_TRY(ALM_NEW(cx, cx->arena, &bits));
    ALM_TRY(read_categories(cx, text, pos, bits));
    out->data = bits;
    return ALM_OK;
}

static alm_status database_open_list(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state)
{
    static const struct {
        uint32_t bits;
        const char *what;
    } before[] = {{GROUPS, "acl ddl_groups"},
                  {USERS, "acl ddl_users"},
                  {ACCOUNTS, "acl ddl_accounts"},
                  {GROUPS | USERS, "acl ddl_members"}};
    const uint32_t bits = *(const uint32_t *)plan->source.data;
    const alm_list_args args = {.run = run, .pos = plan->pos};
    alm_list *list = NULL;
    ALM_TRY(alm_list_new(cx, ddl_cols, ALM_COUNT(ddl_cols), &list));
    for (size_t i = 0; i < ALM_COUNT(before); i++)
        if ((bits & before[i].bits) == before[i].bits)
            ALM_TRY(database_put_texts(cx, run, list, before[i].what));
    ALM_TRY(put_tables(cx, &args, list, bits));
    if ((bits & PERMISSIONS) != 0)
        ALM_TRY(database_put_texts(cx, run, list, "acl ddl_permissions"));
    *state = list;
    return ALM_OK;
}

const alm_source alm_source_show_create_database = {
    .name = "show_create_database",
    .signature = "([categories STRING])",
    .doc =
        "The statements that would make tables, views, users and grants again, without passwords, "
        "tokens and keys; SHOW CREATE DATABASE is this. Categories: TABLES, VIEWS, "
        "MATERIALIZED_VIEWS, USERS, GROUPS, SERVICE_ACCOUNTS, PERMISSIONS; ACL is the last four.",
    .example = "select ddl from show_create_database('tables, views')",
    .bind = database_bind,
    .open = database_open_list,
    .next = alm_list_next,
    .count = alm_list_count,
    .skip = alm_list_skip};
