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
static alm_status prepare_made(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    make_arg *arg = rq->arg;
    alm_version *next = NULL;
    const alm_alteration *alter = &arg->up->alter;
    alm_schema_release(arg->made);
    arg->made = NULL;
    ALM_TRY(alm_change_alter(cx, b, arg->up->v, &alter->to, arg->up->v->next_col_id, NULL, &next));
    arg->made = alm_schema_retain(next->schema);
    alm_version_release(next);
    return ALM_OK;
}

alm_status alm_retype_prepare(alm_ctx *cx, alm_update *up, const alm_table *was, uint32_t at,
                              const alm_column *col)
{
    const alm_version *v = up->v;
    if (v->table.id != was->id || v->table.schema_version != was->schema_version ||
        at >= v->table.n_cols)
        return alm_fail(cx, ALM_E_STALE, -1, "table '%s' was changed meanwhile", was->name);
    if (v->detached != NULL && v->detached->n > 0)
        return alm_fail(
            cx, ALM_E_ARG, -1,
            "partitions of table '%s' are detached: attach or drop them before a column "
            "changes its type",
            v->table.name);
    ALM_TRY(alm_symbols_room(cx, &up->st->symbols, col->type.id == ALM_T_SYMBOL));
    if ((int32_t)at == v->table.ts_col)
        return alm_fail(cx, ALM_E_ARG, -1, "cannot change type of designated timestamp column");
    alm_column *cols = NULL;
    ALM_TRY(ALM_NEWN(cx, &up->arena, v->table.n_cols, &cols));
    memcpy(cols, v->table.cols, v->table.n_cols * sizeof(*cols));
    cols[at] = *col;
    cols[at].name = v->table.cols[at].name;
    cols[at].dict = NULL;
    cols[at].id = v->next_col_id;
    up->alter = (alm_alteration){.was = &v->table, .to = v->table};
    up->alter.to.cols = cols;
    make_arg arg = {.up = up};
    alm_request rq = {.prepare = prepare_made, .arg = &arg, .no_log = true};
    const alm_status st = alm_commit(cx, up->st, &rq);
    up->made = arg.made;
    ALM_TRY(st);
    up->alter.made = up->made;
    up->n_cols = up->values.n_cols = 1;
    ALM_TRY(ALM_NEW(cx, &up->arena, &up->cols));
    ALM_TRY(ALM_NEW(cx, &up->arena, &up->symbols));
    up->cols[0] = at;
    up->values.cols = &up->made->cols[at];
    up->symbols[0] = up->made->symbols[at];
    return ALM_OK;
}
