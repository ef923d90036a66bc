/*
 * fixture_for_test.h - a catalogue made by hand and what else planning needs, for unit tests
 * only: the functions of storage/catalog.h over an array, constant folding one element at a time,
 * long_sequence as the only table function.
 *
 * A test that includes this must not link storage's own catalogue.
 */
#ifndef ALM_SQL_PLAN_FIXTURE_FOR_TEST_H
#define ALM_SQL_PLAN_FIXTURE_FOR_TEST_H

#include <stdlib.h>

#include "sql/sql.h"

enum { FIXTURE_TABLES = 32 };

struct alm_snapshot {
    const alm_table *tables[FIXTURE_TABLES];
    size_t n;
};

const alm_table *alm_snapshot_find(const alm_snapshot *snap, alm_str name)
{
    for (size_t i = 0; i < snap->n; i++)
        if (alm_str_ieq(alm_str_of(snap->tables[i]->name), name))
            return snap->tables[i];
    return NULL;
}

size_t alm_snapshot_count(const alm_snapshot *snap)
{
    return snap->n;
}

const alm_table *alm_snapshot_at(const alm_snapshot *snap, size_t i)
{
    return snap->tables[i];
}

int32_t alm_table_col(const alm_table *table, alm_str name)
{
    for (uint32_t i = 0; i < table->n_cols; i++)
        if (alm_str_ieq(alm_str_of(table->cols[i].name), name))
            return (int32_t)i;
    return -1;
}

/* ------------------------------------------------------------- constant folding */

static alm_status fixture_constant(alm_ctx *cx, const alm_expr *e, alm_vec *out);

static alm_status fixture_case(alm_ctx *cx, const alm_expr *e, alm_vec *out)
{
    uint32_t i = 0;
    for (; i + 1 < e->n_args; i += 2) {
        alm_vec when = {0};
        ALM_TRY(fixture_constant(cx, e->args[i], &when));
        if (*(const uint8_t *)when.data != 0)
            return fixture_constant(cx, e->args[i + 1], out);
    }
    if (i < e->n_args)
        return fixture_constant(cx, e->args[i], out);
    return alm_vec_null(cx, cx->arena, e->type, out);
}

static alm_status fixture_constant(alm_ctx *cx, const alm_expr *e, alm_vec *out)
{
    if (e->kind == ALM_X_CONST) {
        *out = e->value;
        return ALM_OK;
    }
    if (e->kind == ALM_X_CASE)
        return fixture_case(cx, e, out);
    if (e->kind != ALM_X_CALL)
        return alm_fail(cx, ALM_E_INTERNAL, e->pos, "not a constant");
    alm_vec *args = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, e->n_args + 1, &args));
    for (uint32_t i = 0; i < e->n_args; i++)
        ALM_TRY(fixture_constant(cx, e->args[i], &args[i]));
    alm_call call = {.cx = cx,
                     .fn = e->fn,
                     .data = e->data,
                     .arena = cx->arena,
                     .result = e->type,
                     .pos = e->pos,
                     .argc = e->n_args};
    ALM_TRY(alm_arena_zero(cx, cx->arena, e->fn->state_bytes + 1, &call.state));
    ALM_TRY(alm_vec_new(cx, cx->arena, e->type, 1, out));
    ALM_TRY(e->fn->kernel(&call, 1, args, out));
    out->is_const = true;
    return ALM_OK;
}

/* -------------------------------------------------------------- table functions */

/* The binder hands the pointer back and never reads what it points to. */
static const struct alm_source *fixture_find(alm_str name)
{
    static const char long_sequence = 0;
    const bool found = alm_str_ieq(name, ALM_STR("long_sequence"));
    return found ? (const struct alm_source *)(const void *)&long_sequence : NULL;
}

static alm_status fixture_bind(alm_ctx *cx, ALM_UNUSED const struct alm_source *source,
                               const alm_source_call *call, alm_source_bound *out)
{
    if (call->n_args != 1)
        return alm_fail(cx, ALM_E_ARG, call->pos, "invalid arguments");
    *out = (alm_source_bound){.n_cols = 1, .ts_col = -1, .est_rows = 10};
    ALM_TRY(ALM_NEWN(cx, cx->arena, 1, &out->cols));
    out->cols[0] = (alm_plan_col){"x", ALM_TY(LONG)};
    return ALM_OK;
}

/* ------------------------------------------------------------------------ fixture */

typedef struct fixture {
    alm_ctx cx;
    alm_arena arena;
    alm_snapshot snapshot;
    alm_source_if sources;
    alm_registry *registry;
    alm_plan_env env;
} fixture;

static inline void fixture_init(fixture *f)
{
    *f = (fixture){0};
    alm_arena_init(&f->arena, NULL);
    f->cx.arena = &f->arena;
    f->cx.now_ns = INT64_C(1709251200000000000); /* 2024-03-01 */
    f->sources =
        (alm_source_if){.find = fixture_find, .bind = fixture_bind, .constant = fixture_constant};
    if (alm_registry_new(&f->cx, &f->registry) != ALM_OK)
        abort();
    f->env =
        (alm_plan_env){.snapshot = &f->snapshot, .registry = f->registry, .sources = &f->sources};
}

static inline void fixture_free(fixture *f)
{
    alm_registry_free(f->registry);
    alm_arena_deinit(&f->arena);
}

static inline void fixture_add(fixture *f, const alm_table *table)
{
    ALM_ASSERT(f->snapshot.n < FIXTURE_TABLES);
    f->snapshot.tables[f->snapshot.n++] = table;
}

#endif
