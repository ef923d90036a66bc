/*
 * system.c - typeOf, version, who and where: values of the statement, not of its rows;
 *                   and the end of other statements.
 *
 * Clients of PostgreSQL ask for these when they connect; the answers are what they expect from a
 * server that speaks its protocol; the version is the setting server_version.
 */
#include "base/lookup.h"
#include "func/value/args.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

static alm_status fill_view(size_t n_rows, alm_vec *out, alm_view view)
{
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++)
        views[i] = view;
    return ALM_OK;
}

/* ------------------------------------------------------------------- typeOf */

static alm_status bind_type_of(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                               ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                               void **data)
{
    alm_view *name = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &name));
    const char *text = args[0].type.id == ALM_T_NULL ? "NULL" : alm_type_name(args[0].type);
    *name = alm_view_of(alm_str_of(text));
    *data = name;
    return ALM_OK;
}

static alm_status type_of(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                          alm_vec *out)
{
    return fill_view(n_rows, out, *(const alm_view *)call->data);
}

/* -------------------------------------------------------------------- texts */

#define TEXT(name, text)                                                                           \
    static alm_status name(ALM_UNUSED alm_call *call, size_t n, ALM_UNUSED const alm_vec *args,    \
                           alm_vec *out)                                                           \
    {                                                                                              \
        return fill_view(n, out, alm_view_of(text));                                               \
    }
TEXT(version, ALM_STR("PostgreSQL 14.0, compiled by gcc, 64-bit, Almanac " ALM_VERSION))
TEXT(system_build, ALM_STR("Build Information: Almanac " ALM_VERSION))
TEXT(database, ALM_STR("qdb"))
TEXT(system_schema, ALM_STR("public"))

static alm_status user(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args, alm_vec *out)
{
    const char *name = call->cx->user != NULL ? call->cx->user : "admin";
    return fill_view(n_rows, out, alm_view_of(alm_str_of(name)));
}

/* ---------------------------------------------------- PostgreSQL's own names */

static alm_status flags(size_t n_rows, alm_vec *out, uint8_t value)
{
    memset(out->data, value, n_rows);
    return ALM_OK;
}
static alm_status system_no(ALM_UNUSED alm_call *call, size_t n_rows,
                            ALM_UNUSED const alm_vec *args, alm_vec *out)
{
    return flags(n_rows, out, 0);
}

static alm_status transaction_number(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                                     alm_vec *out)
{
    int64_t *results = out->data;
    const int64_t number = call->cx->now_ns > 0 ? call->cx->now_ns / 1000 : 1;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = number;
    return ALM_OK;
}

/* Transactions are not numbered by wrap-around: nothing grows old. */
static alm_status age(ALM_UNUSED alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const int64_t *a = args[0].data;
    int64_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = a[args[0].is_const ? 0 : i] == ALM_LONG_NULL ? ALM_LONG_NULL : 0;
    return ALM_OK;
}

/* ------------------------------------------------------------- other statements */

static alm_status system_check_table(alm_ctx *cx, alm_str name, int32_t pos)
{
    int32_t oid = 0;
    if (cx->lookup == NULL)
        return ALM_OK;
    if (name.ptr != NULL)
        ALM_TRY(cx->lookup->relation(cx, cx->lookup->arg, name, &oid));
    return oid != 0 ? ALM_OK
                    : alm_fail(cx, ALM_E_TABLE, pos, "table does not exist [table=%.*s]",
                               (int)name.len, name.ptr != NULL ? name.ptr : "");
}

static alm_status bind_wait(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, int32_t pos,
                            ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                            ALM_UNUSED void **data)
{
    alm_str name;
    if (args[0].value == NULL)
        return ALM_OK;
    ALM_TRY(alm_arg_text(cx, &args[0], &name));
    return system_check_table(cx, name, pos);
}

/* Every statement sees what was acknowledged before it: there is no log to wait for. */
static alm_status wait_table(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    if (n_rows > 0)
        ALM_TRY(system_check_table(call->cx, alm_vec_text(&args[0], 0), call->pos));
    return flags(n_rows, out, 1);
}

static alm_status system_cancel(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_lookup *lookup = call->cx->lookup;
    uint8_t *results = out->data;
    const bool of_connection = call->fn->name[0] == 'p';
    for (size_t i = 0; i < n_rows; i++) {
        bool done = false;
        if (lookup != NULL)
            lookup->cancel(lookup->arg, ALM_AT(int64_t, args[0], i), of_connection, &done);
        results[i] = done;
    }
    return ALM_OK;
}

static alm_status system_terminate(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    const alm_lookup *lookup = call->cx->lookup;
    uint8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        bool done = false;
        if (lookup != NULL)
            lookup->terminate(lookup->arg, ALM_AT(int64_t, args[0], i), &done);
        results[i] = done;
    }
    return ALM_OK;
}

/* Once for all rows of a call. */
static alm_status system_reload(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                                alm_vec *out)
{
    const alm_lookup *lookup = call->cx->lookup;
    bool changed = false;
    if (lookup != NULL && n_rows > 0)
        ALM_TRY(lookup->reload(call->cx, lookup->arg, strcmp(call->fn->name, "reload_tls") == 0,
                               call->pos, &changed));
    return flags(n_rows, out, changed);
}

static alm_status system_forget_users(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                                      alm_vec *out)
{
    const alm_lookup *lookup = call->cx->lookup;
    if (lookup != NULL && n_rows > 0)
        ALM_TRY(lookup->forget_users(call->cx, lookup->arg, call->pos));
    return flags(n_rows, out, lookup != NULL);
}

static alm_status start_time(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                             alm_vec *out)
{
    int64_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = call->cx->lookup != NULL ? call->cx->lookup->started_us : ALM_TS_NULL;
    return ALM_OK;
}

/* inet_client_addr() and its like: [5] tells client from server. */
static alm_status address(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args,
                          alm_vec *out)
{
    const alm_lookup *lookup = call->cx->lookup;
    const alm_ends *ends = lookup != NULL ? lookup->ends : NULL;
    const char *text = ends == NULL ? "" : call->fn->name[5] == 'c' ? ends->client : ends->server;
    return fill_view(n_rows, out, text[0] == 0 ? alm_view_null() : alm_view_of(alm_str_of(text)));
}

static alm_status port(alm_call *call, size_t n_rows, ALM_UNUSED const alm_vec *args, alm_vec *out)
{
    const alm_lookup *lookup = call->cx->lookup;
    const alm_ends *ends = lookup != NULL ? lookup->ends : NULL;
    const int32_t value = ends == NULL               ? 0
                          : call->fn->name[5] == 'c' ? ends->client_port
                                                     : ends->server_port;
    int32_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++)
        results[i] = value != 0 ? value : ALM_INT_NULL;
    return ALM_OK;
}

/* -------------------------------------------------------------------- rows */

#define ROW(f, sig, example_, flags_, bind_, kernel_, doc_)                                        \
    {.name = f,                                                                                    \
     .signature = sig,                                                                             \
     .flags = flags_,                                                                              \
     .bind = bind_,                                                                                \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = f example_,                                                                        \
     .since = "0.1"}
#define STABLE(f, kernel, doc) ROW(f, "() STRING", "()", ALM_FN_STABLE, NULL, kernel, doc)

static const alm_fn ROWS[] = {
    {.name = "typeof",
     .signature = "(ANY) STRING",
     .flags = ALM_FN_SYMBOLS,
     .bind = bind_type_of,
     .kernel = type_of,
     .doc = "Name of the type of an expression; NULL for a bare null.",
     .example = "typeOf(1 + 1L)",
     .since = "0.1"},
    STABLE("version", version, "Version, in the form clients of PostgreSQL expect."),
    STABLE("build", system_build, "Version of the server."),
    STABLE("current_user", user, "User of the session."),
    STABLE("session_user", user, "User of the session."),
    STABLE("user", user, "User of the session."),
    STABLE("current_role", user, "User of the session."),
    STABLE("current_database", database, "Name of the database."),
    STABLE("current_catalog", database, "Name of the database."),
    STABLE("current_schema", system_schema, "Name of the schema."),
    ROW("pg_is_in_recovery", "() BOOLEAN", "()", ALM_FN_STABLE, NULL, system_no,
        "Is this a standby server?"),
    ROW("txid_current", "() LONG", "()", ALM_FN_STABLE, NULL, transaction_number,
        "A number of the running transaction."),
    ROW("age", "(LONG) LONG", "(7)", ALM_FN_NULL_OUT, NULL, age,
        "Age of a transaction number: always 0."),
    ROW("pg_postmaster_start_time", "() TIMESTAMP", "()", ALM_FN_STABLE, NULL, start_time,
        "Time at which the server started."),
    STABLE("inet_client_addr", address, "Address of the client."),
    STABLE("inet_server_addr", address, "Address of the server that the client is connected to."),
    ROW("inet_client_port", "() INT", "()", ALM_FN_STABLE, NULL, port, "Port of the client."),
    ROW("inet_server_port", "() INT", "()", ALM_FN_STABLE, NULL, port,
        "Port of the server that the client is connected to."),
    ROW("reload_config", "() BOOLEAN", "()", ALM_FN_VOLATILE | ALM_FN_WAITS | ALM_FN_EFFECT, NULL,
        system_reload,
        "Reads server.conf and the files of certificates again. True: some setting that can change "
        "while the server runs did, or there are certificates. What is wrong with the file is an "
        "error, and nothing changes then."),
    ROW("reload_tls", "() BOOLEAN", "()", ALM_FN_VOLATILE | ALM_FN_WAITS | ALM_FN_EFFECT, NULL,
        system_reload,
        "Reads the files of certificates and keys again, for connections from now on. False: no "
        "interface has TLS."),
    ROW("flush_user_info_cache", "() BOOLEAN", "()", ALM_FN_VOLATILE | ALM_FN_EFFECT, NULL,
        system_forget_users,
        "What the identity provider said about its users counts no more: it is asked again."),
    ROW("wait_wal_table", "(TEXT const) BOOLEAN", "('trades')", ALM_FN_VOLATILE, bind_wait,
        wait_table,
        "True: rows that were acknowledged are seen by the next statement. An error without such a "
        "table."),
    ROW("cancel_query", "(LONG) BOOLEAN", "(0)", ALM_FN_VOLATILE | ALM_FN_EFFECT, NULL,
        system_cancel,
        "Ends the statement of that number, which query_activity() lists as query_id. False where "
        "none runs, for null, and for statements of others in a session that may only read."),
    ROW("pg_cancel_backend", "(LONG) BOOLEAN", "(0)", ALM_FN_VOLATILE | ALM_FN_EFFECT, NULL,
        system_cancel,
        "Ends the statement of that connection, which pg_stat_activity lists as pid. Else as "
        "cancel_query."),
    ROW("pg_terminate_backend", "(LONG) BOOLEAN", "(0)", ALM_FN_VOLATILE | ALM_FN_EFFECT, NULL,
        system_terminate,
        "Closes that connection of the PostgreSQL protocol, which pg_stat_activity lists as pid: "
        "its "
        "statement, transaction and cursors end. False where there is none, for null, and for "
        "those "
        "of others without SQL ENGINE ADMIN."),
};
ALM_FN_TABLE(system, ROWS);
