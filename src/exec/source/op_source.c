/*
 * op_source.c - the table of table functions, what the binder asks of it, and the operator that reads
 * one. Adding a source touches source.def alone.
 */
#include "exec/run/op_make.h"
#include "exec/source/catalog.h"

#define ALM_SOURCE(id, name) extern const alm_source alm_source_##id;
#include "exec/source/source.def"
#undef ALM_SOURCE

static const struct {
    alm_str name;
    const alm_source *source;
} sources[] = {
#define ALM_SOURCE(id, name_) {ALM_STR(name_), &alm_source_##id},
#include "exec/source/source.def"
#undef ALM_SOURCE
};

/* "(count LONG, seed1 LONG)": the last word before the comma. */
alm_type alm_source_arg_type(const alm_source *source, uint32_t i)
{
    alm_type type = ALM_TY(NONE);
    const char *ptr = source->signature;
    for (uint32_t k = 0; k < i && ptr != NULL; k++) {
        ptr = strchr(ptr, ',');
        ptr = ptr != NULL ? ptr + 1 : NULL;
    }
    const size_t n = ptr != NULL ? strcspn(ptr, ",)") : 0;
    size_t from = n;
    while (from > 0 && ptr[from - 1] != ' ' && ptr[from - 1] != '(')
        from--;
    if (n == from || !alm_type_parse((alm_str){ptr + from, n - from}, &type))
        return ALM_TY(NONE); /* ANY */
    return type;
}

const alm_source *alm_source_find(alm_str name)
{
    for (size_t i = 0; i < ALM_COUNT(sources); i++)
        if (name.len == sources[i].name.len && alm_str_ieq(name, sources[i].name))
            return sources[i].source;
    return alm_catalog_find(name);
}

bool alm_source_by_name(alm_str name)
{
    const alm_source *source = alm_source_find(name);
    if (source == NULL || source->signature == NULL)
        return source != NULL;
    return source->signature[1] == ')' || source->signature[1] == '['; /* needs no argument */
}

const alm_source *alm_source_at(size_t i)
{
    return i < ALM_COUNT(sources) ? sources[i].source : alm_catalog_at(i - ALM_COUNT(sources));
}

void alm_source_offer(alm_nearest *near)
{
    for (size_t i = 0; i < ALM_COUNT(sources); i++)
        alm_nearest_offer(near, sources[i].name);
}

alm_status alm_source_bind(alm_ctx *cx, const alm_source *src, const alm_source_call *call,
                           alm_source_bound *out)
{
    *out = (alm_source_bound){.ts_col = -1};
    ALM_TRY(src->bind(cx, call, out));
    out->scanned = src->scan != NULL;
    return ALM_OK;
}

alm_status alm_source_ordered(alm_ctx *cx, const alm_source *src, void *data, uint32_t col,
                              bool *out)
{
    *out = false;
    return src->scan == NULL ? ALM_OK : src->scan->ordered(cx, data, col, out);
}

alm_status alm_source_codes(alm_ctx *cx, const alm_source *src, void *data, uint32_t col,
                            int32_t *out)
{
    *out = -1;
    return src->scan == NULL || src->scan->codes == NULL ? ALM_OK
                                                         : src->scan->codes(cx, data, col, out);
}

/* ----------------------------------------------------------------------------------- operator */

typedef struct op_source {
    alm_op op;
    const alm_source *source;
    void *state;
    bool opened, ended;
} op_source;

static alm_status opened(alm_ctx *cx, op_source *source)
{
    if (source->opened)
        return ALM_OK;
    ALM_TRY(source->source->open(cx, source->op.run, source->op.plan, &source->state));
    source->opened = true;
    return ALM_OK;
}

static alm_status source_next(alm_ctx *cx, alm_op *op, alm_batch **out)
{
    op_source *source = (op_source *)op;
    *out = NULL;
    if (source->ended)
        return ALM_OK;
    ALM_TRY(opened(cx, source));
    alm_arena_reset(&op->batch);
    op->out.rows = 0;
    op->out.sel = NULL;
    ALM_TRY(source->source->next(cx, source->state, &op->batch, &op->out));
    source->ended = op->out.rows == 0;
    if (!source->ended)
        *out = &op->out;
    return ALM_OK;
}

static int64_t source_count(alm_ctx *cx, alm_op *op)
{
    op_source *source = (op_source *)op;
    if (source->source->count == NULL || source->source->skip == NULL ||
        opened(cx, source) != ALM_OK)
        return -1; /* the error is recorded and comes with next */
    return source->source->count(source->state);
}

static bool source_skip(alm_op *op, int64_t rows)
{
    op_source *source = (op_source *)op;
    ALM_ASSERT(source->opened);
    source->source->skip(source->state, rows);
    return true;
}

static void source_close(alm_op *op)
{
    op_source *source = (op_source *)op;
    if (source->opened && source->source->close != NULL)
        source->source->close(source->state);
}

static const alm_op_vt source_vt = {.name = "source",
                                    .next = source_next,
                                    .close = source_close,
                                    .count = source_count,
                                    .skip = source_skip};

alm_status alm_op_source_make(alm_ctx *cx, alm_run *run, const alm_plan *plan, alm_pipe *pipe,
                              alm_op **out)
{
    op_source *s = NULL;
    const alm_source *source = plan->source.function;
    ALM_ASSERT(source != NULL);
    if (source->scan != NULL)
        return alm_op_source_scan_make(cx, run, plan, pipe, out);
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    ALM_TRY(alm_op_init(cx, &s->op, &source_vt, run, plan, pipe));
    s->source = source;
    *out = &s->op;
    return ALM_OK;
}
