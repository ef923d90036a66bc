/*
 * retype.c - ALTER COLUMN TYPE: the column gets a new id in its old place, all parts get overlays with
 * its values, and one record says both. What other parts of the files hold of the old id is not read
 * any more, and goes when they are merged.
 */
#include "storage/write/commit.h"
#include "storage/write/update.h"

typedef struct make_arg {
    alm_update *up;
    alm_schema *made;
} make_arg;

/* On the thread of a leader, as everything that adds to the memory of a table. */
static alm_status prepare_made(alm_ctx *cx, alm_request *request, alm_build *build)
{
    make_arg *arg = request->arg;
    alm_version *next = NULL;
    const alm_alteration *alter = &arg->up->alter;
    alm_schema_release(arg->made);
    arg->made = NULL;
    ALM_TRY(
        alm_change_alter(cx, build, arg->up->v, &alter->to, arg->up->v->next_col_id, NULL, &next));
    arg->made = alm_schema_retain(next->schema);
    alm_version_release(next);
    return ALM_OK;
}

alm_status alm_retype_prepare(alm_ctx *cx, alm_update *update, const alm_table *was, uint32_t place,
                              const alm_column *col)
{
    const alm_version *version = update->v;
    if (version->table.id != was->id || version->table.schema_version != was->schema_version ||
        place >= version->table.n_cols)
        return alm_fail(cx, ALM_E_STALE, -1, "table '%s' was changed meanwhile", was->name);
    if (version->detached != NULL && version->detached->n > 0)
        return alm_fail(
            cx, ALM_E_ARG, -1,
            "partitions of table '%s' are detached: attach or drop them before a column "
            "changes its type",
            version->table.name);
    ALM_TRY(alm_symbols_room(cx, &update->st->symbols, col->type.id == ALM_T_SYMBOL));
    if ((int32_t)place == version->table.ts_col)
        return alm_fail(cx, ALM_E_ARG, -1, "cannot change type of designated timestamp column");
    alm_column *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, &update->arena, version->table.n_cols, &cols));
    memcpy(cols, version->table.cols, version->table.n_cols * sizeof(*cols));
    cols[place] = *col;
    cols[place].name = version->table.cols[place].name;
    cols[place].dict = NULL;
    cols[place].id = version->next_col_id;
    update->alter = (alm_alteration){.was = &version->table, .to = version->table};
    update->alter.to.cols = cols;
    make_arg arg = {.up = update};
    alm_request request = {.prepare = prepare_made, .arg = &arg, .no_log = true};
    const alm_status status = alm_commit(cx, update->st, &request);
    update->made = arg.made;
    ALM_TRY(status);
    update->alter.made = update->made;
    update->n_cols = update->values.n_cols = 1;
    ALM_TRY(ALM_NEW(cx, &update->arena, &update->cols));
    ALM_TRY(ALM_NEW(cx, &update->arena, &update->symbols));
    update->cols[0] = place;
    update->values.cols = &update->made->cols[place];
    update->symbols[0] = update->made->symbols[place];
    return ALM_OK;
}
