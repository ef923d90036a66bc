/*
 * pg_cursor.c - cursors by DECLARE, FETCH, MOVE: portals that stay between statements. A cursor is the run
 * of its query, begun by DECLARE and standing still between two FETCHes; nothing is kept but the batch it
 * has in hand, so its memory does not grow with its rows.
 *
 * Life        Until CLOSE, or the end of the block. WITH HOLD outlives the COMMIT; the ROLLBACK of the block
 *             that declared it ends it all the same, and so does ROLLBACK TO a savepoint before it.
 * FETCH       Its rows are made as they are sent. An Execute with a row limit may cut it, and another one
 *             goes on; when the next FETCH comes first, it passes over the rows that were not waited for.
 */
#include <stdio.h>
#include <stdlib.h>

#include "net/pgwire/pg_state.h"

static bool fail_with_name(alm_error *err, alm_status code, const char *format, const char *name)
    ALM_PRINTF(3, 0);

static bool fail_with_name(alm_error *err, alm_status code, const char *format, const char *name)
{
    *err = (alm_error){.code = code, .sql_pos = -1};
    (void)snprintf(err->msg, sizeof(err->msg), format, name);
    return false;
}

bool pg_is_fetch(const pg_portal *portal)
{
    return !portal->declared && alm_prepared_kind(portal->statement->prepared) == ALM_STMT_FETCH;
}

/* A cursor by DECLARE, or the portal of a query by Bind: clients go on in those, too. */
static pg_portal *find_cursor(pg_conn *conn, const pg_statement *statement,
                              char name[PG_NAME_BYTES])
{
    const alm_cursor_words *words = alm_prepared_cursor(statement->prepared);
    pg_portal *portal = alm_map_get(&conn->portals, pg_object_name(words->name, name));
    return portal != NULL && (portal->declared ||
                              alm_prepared_kind(portal->statement->prepared) == ALM_STMT_SELECT)
               ? portal
               : NULL;
}

/* The query of a portal that no Execute has begun. */
static bool pg_cursor_begin(pg_conn *conn, pg_portal *from, alm_error *err)
{
    if (from->cursor != NULL || alm_execute(conn->session, from->statement->prepared, from->values,
                                            from->n_values, &from->cursor) == ALM_OK)
        return true;
    *err = *alm_session_error(conn->session);
    err->sql_pos = -1; /* it is in another text */
    return false;
}

/* The run that `portal`, a DECLARE, has begun goes over to the cursor. */
bool pg_cursor_declare(pg_conn *conn, pg_portal *portal, alm_error *err)
{
    char text[PG_NAME_BYTES];
    const alm_cursor_words *words = alm_prepared_cursor(portal->statement->prepared);
    const alm_str name = pg_object_name(words->name, text);
    alm_ctx cx = {0};
    uint32_t n = 0;
    (void)alm_cursor_cols(portal->cursor, &n);
    if (!pg_cols_fit(n, PG_COLS_MAX, err))
        return false;
    if (alm_map_get(&conn->portals, name) != NULL)
        return fail_with_name(err, ALM_E_PORTAL_EXISTS, "cursor \"%s\" already exists", text);
    if ((int64_t)conn->portals.count >= alm_db_conf(conn->pg->db)->pg_named_statement_limit)
        return fail_with_name(err, ALM_E_STATEMENT_LIMIT,
                              "cursor \"%s\": the limit is pg.named.statement.limit", text);
    pg_portal *cursor = pg_portal_new(conn, name, portal->statement);
    if (cursor == NULL || alm_map_put(&cx, &conn->portals, (alm_str){cursor->name, name.len},
                                      cursor, NULL) != ALM_OK) {
        pg_portal_free(cursor);
        return fail_with_name(err, ALM_E_MEMORY, "cursor \"%s\": out of memory", text);
    }
    cursor->declared = cursor->in_block = true;
    cursor->made_us = pg_now_us(conn);
    cursor->born = alm_session_savepoint_clock(conn->session);
    cursor->hold = words->hold;
    cursor->binary = words->binary;
    cursor->cursor = portal->cursor;
    portal->cursor = NULL;
    return true;
}

/* How the rows of a FETCH are written: as its Bind asks, else as the cursor was declared. */
static bool take_formats(pg_portal *portal, const pg_portal *from, uint32_t n_cols, alm_error *err)
{
    if (portal->n_formats > 1 && portal->n_formats != n_cols)
        return fail_with_name(err, ALM_E_PLAN_CHANGED, "cursor \"%s\" is another by now",
                              from->name);
    if (portal->n_formats > 0 || !from->binary)
        return true;
    portal->formats = calloc(1, sizeof(*portal->formats));
    if (portal->formats == NULL)
        return fail_with_name(err, ALM_E_MEMORY, "cursor \"%s\": out of memory", from->name);
    portal->formats[0] = 1;
    portal->n_formats = 1;
    return true;
}

bool pg_cursor_fetch(pg_conn *conn, pg_run *run)
{
    char text[PG_NAME_BYTES];
    uint32_t n = 0;
    pg_portal *portal = run->portal, *from = find_cursor(conn, portal->statement, text);
    const alm_cursor_words *words = alm_prepared_cursor(portal->statement->prepared);
    if (from == NULL)
        return fail_with_name(&run->err, ALM_E_PORTAL, "cursor \"%s\" does not exist", text);
    if (pg_cursor_is_closed(from, &run->err))
        return false;
    if (from->failed)
        return fail_with_name(&run->err, ALM_E_PORTAL, "cursor \"%s\" has failed", text);
    if (!pg_cursor_begin(conn, from, &run->err))
        return false;
    (void)alm_cursor_cols(from->cursor, &n);
    if (!words->move && !take_formats(portal, from, n, &run->err))
        return false;
    alm_cursor_resume(from->cursor);
    from->idle_since_ns = 0;
    run->from = from;
    run->skip = from->owed;
    run->discard = words->move;
    if (words->move)
        run->limit = 0; /* what it does is not cut: there are no rows */
    portal->fetch_no = from->fetch_no = ++conn->fetches;
    from->owed = words->count;
    portal->sent = portal->given = 0;
    return true;
}

bool pg_cursor_go_on(pg_conn *conn, pg_run *run)
{
    char text[PG_NAME_BYTES];
    pg_portal *from = find_cursor(conn, run->portal->statement, text);
    if (from == NULL || from->failed)
        return fail_with_name(&run->err, ALM_E_PORTAL, "cursor \"%s\" does not exist", text);
    if (pg_cursor_is_closed(from, &run->err))
        return false;
    if (from->fetch_no != run->portal->fetch_no)
        return fail_with_name(&run->err, ALM_E_PORTAL,
                              "cursor \"%s\" has gone on: the rest of this FETCH is left out",
                              text);
    alm_cursor_resume(from->cursor);
    from->idle_since_ns = 0;
    run->from = from;
    return true;
}

/* Columns of what a statement returns; n 0: none. Those of a FETCH are the cursor's, as it is now. */
const alm_plan_col *pg_result_cols(pg_conn *conn, const pg_statement *statement, uint32_t *n)
{
    char text[PG_NAME_BYTES];
    const alm_cursor_words *words = alm_prepared_cursor(statement->prepared);
    *n = statement->n_cols;
    const alm_execute_words *execute = alm_prepared_execute(statement->prepared);
    if (execute != NULL) {
        static const alm_plan_col plan = {"QUERY PLAN", ALM_TY(STRING)};
        static const alm_plan_col json = {"QUERY PLAN",
                                          {.id = ALM_T_STRING, .p = ALM_LIST_NONE_BUT_JSON}};
        alm_error err;
        pg_statement *named = pg_sql_named(conn, statement);
        const bool known = named != NULL && pg_statement_describe(conn, named, &err);
        *n = !known ? 0 : execute->explain ? 1 : named->n_cols;
        return !known ? NULL : execute->json ? &json : execute->explain ? &plan : named->cols;
    }
    if (words == NULL || alm_prepared_kind(statement->prepared) != ALM_STMT_FETCH)
        return statement->cols;
    const pg_portal *from = words->move ? NULL : find_cursor(conn, statement, text);
    *n = 0;
    if (from != NULL && from->cursor == NULL)
        return pg_result_cols(conn, from->statement, n);
    return from != NULL ? alm_cursor_cols(from->cursor, n) : NULL;
}

bool pg_cols_fit(uint32_t n, uint32_t max, alm_error *err)
{
    if (n <= max)
        return true;
    *err = (alm_error){.code = ALM_E_COLUMNS, .sql_pos = -1};
    (void)snprintf(err->msg, sizeof(err->msg),
                   "a result can have at most %u columns in this protocol: this one has %u", max,
                   n);
    return false;
}

/* The map must not change while it is walked. */
static void drop_list(pg_conn *conn, pg_portal *list)
{
    while (list != NULL) {
        pg_portal *next = list->next_drop;
        pg_portal_free(alm_map_remove(&conn->portals, alm_str_of(list->name)));
        list = next;
    }
}

void pg_cursors_block_over(pg_conn *conn, bool rolled_back)
{
    const alm_map_entry *entry = NULL;
    pg_portal *list = NULL;
    for (size_t offset = 0; (entry = alm_map_next(&conn->portals, &offset)) != NULL;) {
        pg_portal *cursor = entry->value;
        if (cursor->declared && cursor->in_block && (rolled_back || !cursor->hold)) {
            cursor->next_drop = list;
            list = cursor;
        }
        cursor->in_block = false;
        cursor->kept = true;
    }
    drop_list(conn, list);
}

void pg_cursors_went_back(pg_conn *conn)
{
    const uint64_t clock = alm_session_went_back(conn->session);
    const alm_map_entry *entry = NULL;
    pg_portal *list = NULL;
    for (size_t offset = 0; (entry = alm_map_next(&conn->portals, &offset)) != NULL;) {
        pg_portal *cursor = entry->value;
        if (!cursor->declared || !cursor->in_block || cursor->born < clock)
            continue;
        cursor->next_drop = list;
        list = cursor;
    }
    drop_list(conn, list);
}

/* ------------------------------------------------------------------ given back */

bool pg_cursor_is_closed(const pg_portal *portal, alm_error *err)
{
    if (portal->closed == NULL)
        return false;
    *err = (alm_error){.code = portal->closed_code, .sql_pos = -1};
    (void)snprintf(err->msg, sizeof(err->msg), "%s \"%s\" was closed: %s",
                   portal->declared ? "cursor" : "portal", portal->name, portal->closed);
    return true;
}

static void give_back(pg_portal *portal, alm_status code, const char *why)
{
    alm_cursor_close(portal->cursor);
    portal->cursor = NULL;
    portal->batch = NULL;
    portal->owed = 0;
    portal->closed = why;
    portal->closed_code = code;
}

void pg_cursors_drop_aged(pg_conn *conn)
{
    const alm_map_entry *entry = NULL;
    alm_error err;
    for (size_t offset = 0; (entry = alm_map_next(&conn->portals, &offset)) != NULL;) {
        pg_portal *portal = entry->value;
        if (portal->cursor != NULL && portal != conn->run.portal && portal != conn->run.from &&
            alm_cursor_is_aged(portal->cursor, &err))
            give_back(portal, err.code,
                      "snapshot too old: it was open longer than storage.snapshot.age.max");
    }
}

void pg_cursors_give_back(pg_conn *conn, int64_t idle_ns, alm_status code, const char *why)
{
    const int64_t now_ns = alm_monotonic_ns();
    const alm_map_entry *entry = NULL;
    for (size_t offset = 0; (entry = alm_map_next(&conn->portals, &offset)) != NULL;) {
        pg_portal *portal = entry->value;
        if (portal->cursor == NULL || portal == conn->run.portal || portal == conn->run.from)
            continue;
        if (portal->idle_since_ns == 0)
            portal->idle_since_ns = now_ns;
        if (now_ns - portal->idle_since_ns < idle_ns)
            continue;
        give_back(portal, code, why);
    }
}
