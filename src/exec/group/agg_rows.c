/*
 * agg_rows.c - see agg_rows.h.
 *
 * A kept row is [bytes][bytes of the arguments][values]: fixed-width values as they are, texts as length
 * and bytes. Floating arguments are made one of a kind (-0.0 is 0.0, all NaN are one), so that equal rows
 * have equal bytes; a hash table over offsets finds them.
 */
#include "exec/group/agg_rows.h"

#include "base/hash.h"
#include "exec/data/blend.h"
#include "exec/sort/sortkey.h"

enum { ROW_HEAD = 8, SLOTS_MIN = 16 };

typedef struct kept {
    char *bytes;
    uint64_t used, cap;
    uint64_t *slot; /* offset + 1 */
    uint32_t mask, rows;
} kept;

/* Of one call site; found in rt.state. */
typedef struct rows_site {
    const alm_agg_call *call;
    alm_call inner;
    uint32_t n_cols, n_args;
    bool distinct;
    alm_sort_order *order;
    char *row; /* one row being packed */
    size_t row_cap;
    alm_arena scratch; /* one group being finished */
    alm_pool ranks;
} rows_site;

alm_status alm_agg_rows_new(alm_ctx *cx, const alm_agg_call *call, alm_call *rt)
{
    rows_site *s = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_order + 1, &s->order));
    *s = (rows_site){.call = call,
                     .inner = *rt,
                     .n_cols = call->n_args,
                     .n_args = call->n_args - call->n_order,
                     .distinct = call->distinct,
                     .order = s->order};
    s->inner.argc = s->n_args;
    for (uint32_t i = 0; i < call->n_order; i++)
        s->order[i] = (alm_sort_order){.desc = call->order[i].desc,
                                       .nulls_first = call->order[i].nulls_first};
    alm_arena_init(&s->scratch, cx->mem);
    alm_pool_init(&s->ranks, cx->mem, "ordered aggregate");
    rt->state = s;
    return ALM_OK;
}

void alm_agg_rows_free(const alm_call *rt)
{
    rows_site *s = rt->state;
    alm_arena_deinit(&s->scratch);
    alm_pool_deinit(&s->ranks);
}

static void rows_init(ALM_UNUSED const alm_call *call, void *states, size_t n)
{
    memset(states, 0, n * sizeof(kept));
}

/* ------------------------------------------------------------------------------- packing */

static alm_status row_room(alm_ctx *cx, rows_site *s, size_t used, size_t more)
{
    if (used + more <= s->row_cap)
        return ALM_OK;
    char *grown = NULL;
    const size_t cap = 2 * (used + more) + 64;
    ALM_TRY(alm_arena_bytes(cx, s->inner.arena, cap, &grown));
    if (used > 0)
        memcpy(grown, s->row, used);
    s->row = grown;
    s->row_cap = cap;
    return ALM_OK;
}

/* Equal values get equal bytes. */
static void pack_fixed(const alm_vec *v, size_t i, char *to)
{
    const char *from = (const char *)v->data + (v->is_const ? 0 : i) * v->width;
    memcpy(to, from, v->width);
    if (v->type.id == ALM_T_DOUBLE) {
        double x;
        memcpy(&x, from, sizeof x);
        x = x == x ? x + 0.0 : __builtin_nan("");
        memcpy(to, &x, sizeof x);
    } else if (v->type.id == ALM_T_FLOAT) {
        float x;
        memcpy(&x, from, sizeof x);
        x = x == x ? x + 0.0F : __builtin_nanf("");
        memcpy(to, &x, sizeof x);
    }
}

static alm_status pack_row(alm_ctx *cx, rows_site *s, const alm_vec *args, size_t i,
                           uint32_t *bytes)
{
    size_t at = ROW_HEAD;
    uint32_t arg_bytes = 0;
    ALM_TRY(row_room(cx, s, 0, ROW_HEAD));
    for (uint32_t c = 0; c < s->n_cols; c++) {
        const alm_vec *v = &args[c];
        if (alm_has_views(v->type)) {
            const alm_str text = alm_vec_text(v, i);
            const uint32_t len = text.ptr == NULL ? ALM_VIEW_NULL : (uint32_t)text.len;
            ALM_TRY(row_room(cx, s, at, sizeof len + text.len));
            memcpy(s->row + at, &len, sizeof len);
            if (text.ptr != NULL && text.len > 0)
                memcpy(s->row + at + sizeof len, text.ptr, text.len);
            at += sizeof len + (text.ptr == NULL ? 0 : text.len);
        } else {
            ALM_TRY(row_room(cx, s, at, v->width));
            pack_fixed(v, i, s->row + at);
            at += v->width;
        }
        if (c + 1 == s->n_args)
            arg_bytes = (uint32_t)(at - ROW_HEAD);
    }
    if (at > UINT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, s->call->pos, "value of %s is too long",
                        s->call->fn->name);
    *bytes = (uint32_t)at;
    memcpy(s->row, bytes, sizeof *bytes);
    memcpy(s->row + sizeof *bytes, &arg_bytes, sizeof arg_bytes);
    return ALM_OK;
}

static uint32_t row_bytes(const char *row)
{
    uint32_t n;
    memcpy(&n, row, sizeof n);
    return n;
}
static uint32_t arg_bytes_of(const char *row)
{
    uint32_t n;
    memcpy(&n, row + 4, sizeof n);
    return n;
}

/* ------------------------------------------------------------------------------- keeping */

static alm_status grow_slots(alm_ctx *cx, const rows_site *s, kept *k)
{
    const uint64_t n = k->mask == 0 ? SLOTS_MIN : 2 * ((uint64_t)k->mask + 1);
    if (n > UINT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, s->call->pos, "too many distinct values in %s",
                        s->call->fn->name);
    ALM_TRY(ALM_NEWN(cx, s->inner.arena, n, &k->slot));
    k->mask = (uint32_t)(n - 1);
    for (uint64_t at = 0; at < k->used; at += row_bytes(k->bytes + at)) {
        const char *row = k->bytes + at;
        uint32_t i = (uint32_t)alm_hash_bytes(row + ROW_HEAD, arg_bytes_of(row)) & k->mask;
        while (k->slot[i] != 0)
            i = (i + 1) & k->mask;
        k->slot[i] = at + 1;
    }
    return ALM_OK;
}

/* The slot where the row is, or would be. */
static uint64_t *find_slot(const kept *k, const char *row)
{
    const uint32_t n = arg_bytes_of(row);
    uint32_t i = (uint32_t)alm_hash_bytes(row + ROW_HEAD, n) & k->mask;
    for (; k->slot[i] != 0; i = (i + 1) & k->mask) {
        const char *other = k->bytes + (k->slot[i] - 1);
        if (arg_bytes_of(other) == n && memcmp(other + ROW_HEAD, row + ROW_HEAD, n) == 0)
            break;
    }
    return &k->slot[i];
}

static alm_status keep(alm_ctx *cx, const rows_site *s, kept *k, const char *row, uint32_t bytes)
{
    uint64_t *slot = NULL;
    if (s->distinct) {
        if (2 * (uint64_t)k->rows >= k->mask)
            ALM_TRY(grow_slots(cx, s, k));
        slot = find_slot(k, row);
        if (*slot != 0)
            return ALM_OK;
    }
    if (k->used + bytes > k->cap) {
        char *more = NULL;
        const uint64_t cap = 2 * (k->used + bytes);
        ALM_TRY(alm_arena_bytes(cx, s->inner.arena, cap, &more));
        if (k->used > 0)
            memcpy(more, k->bytes, k->used);
        k->bytes = more;
        k->cap = cap;
    }
    memcpy(k->bytes + k->used, row, bytes);
    if (slot != NULL)
        *slot = k->used + 1;
    k->used += bytes;
    if (++k->rows == UINT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, s->call->pos, "too many rows in %s", s->call->fn->name);
    return ALM_OK;
}

static alm_status rows_update(alm_call *call, void *state, size_t n, const alm_vec *args)
{
    rows_site *s = call->state;
    for (size_t i = 0; i < n; i++) {
        uint32_t bytes = 0;
        ALM_TRY(pack_row(call->cx, s, args, i, &bytes));
        ALM_TRY(keep(call->cx, s, state, s->row, bytes));
    }
    return ALM_OK;
}

static alm_status rows_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                               const alm_vec *args)
{
    rows_site *s = call->state;
    kept *all = states;
    for (size_t i = 0; i < n; i++) {
        uint32_t bytes = 0;
        ALM_TRY(pack_row(call->cx, s, args, i, &bytes));
        ALM_TRY(keep(call->cx, s, &all[group[i]], s->row, bytes));
    }
    return ALM_OK;
}

static alm_status rows_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                             size_t n)
{
    kept *to = dst;
    const kept *from = src;
    for (size_t i = 0; i < n; i++) {
        kept *k = &to[index != NULL ? index[i] : i];
        if (k->rows == 0) {
            *k = from[i]; /* the bytes live as long; src is not used on */
            continue;
        }
        for (uint64_t at = 0; at < from[i].used; at += row_bytes(from[i].bytes + at))
            ALM_TRY(
                keep(call->cx, call->state, k, from[i].bytes + at, row_bytes(from[i].bytes + at)));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------ finishing */

/* The rows of a group as vectors. Views point to the kept bytes. */
static alm_status unpack(alm_ctx *cx, rows_site *s, const kept *k, alm_vec *cols)
{
    for (uint32_t c = 0; c < s->n_cols; c++) {
        const alm_type t = s->call->args[c]->type;
        if (!alm_has_views(t)) {
            ALM_TRY(alm_vec_new(cx, &s->scratch, t, k->rows, &cols[c]));
            continue;
        }
        cols[c] = (alm_vec){.type = t, .width = sizeof(alm_view)};
        ALM_TRY(alm_arena_bytes(cx, &s->scratch, k->rows * sizeof(alm_view), &cols[c].data));
    }
    const char *row = k->bytes;
    for (uint32_t i = 0; i < k->rows; i++, row += row_bytes(row)) {
        const char *at = row + ROW_HEAD;
        for (uint32_t c = 0; c < s->n_cols; c++) {
            alm_vec *v = &cols[c];
            if (!alm_has_views(v->type)) {
                memcpy((char *)v->data + (size_t)i * v->width, at, v->width);
                at += v->width;
                continue;
            }
            uint32_t len;
            memcpy(&len, at, sizeof len);
            at += sizeof len;
            ((alm_view *)v->data)[i] =
                len == ALM_VIEW_NULL ? alm_view_null() : alm_view_of((alm_str){at, len});
            at += len == ALM_VIEW_NULL ? 0 : len;
        }
    }
    return ALM_OK;
}

/* Puts the arguments in the order of the sort keys behind them. */
static alm_status put_in_order(alm_ctx *cx, rows_site *s, uint32_t n, alm_vec *cols)
{
    alm_sort_item *item = NULL, *spare = NULL;
    uint32_t *pick = NULL;
    alm_vec *key = cols + s->n_args;
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, n * sizeof *item, &item));
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, n * sizeof *item, &spare));
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, n * sizeof *pick, &pick));
    for (uint32_t i = 0; i < n; i++)
        item[i] = (alm_sort_item){.row = i};
    for (uint32_t k = 0; k < s->n_cols - s->n_args; k++)
        ALM_TRY(alm_sort_rank(cx, &s->ranks, &key[k], &s->order[k]));
    ALM_TRY(alm_sort_items(cx, key, s->order, s->n_cols - s->n_args, item, spare, n));
    for (uint32_t i = 0; i < n; i++)
        pick[i] = item[i].row;
    for (uint32_t c = 0; c < s->n_args; c++) {
        const alm_vec unordered = cols[c];
        ALM_TRY(alm_vec_gather(cx, &s->scratch, &unordered, pick, n, &cols[c]));
    }
    return ALM_OK;
}

static alm_status finish_one(alm_ctx *cx, rows_site *s, const kept *k, alm_vec *out)
{
    const alm_agg_ops *ops = s->call->fn->agg;
    alm_vec *cols = NULL;
    void *state = NULL;
    alm_arena_reset(&s->scratch);
    ALM_TRY(ALM_NEWN(cx, &s->scratch, s->n_cols + 1, &cols));
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, ops->state_bytes, &state));
    s->inner.cx = cx;
    ops->init(&s->inner, state, 1);
    if (k->rows > 0) {
        ALM_TRY(unpack(cx, s, k, cols));
        if (s->n_cols > s->n_args)
            ALM_TRY(put_in_order(cx, s, k->rows, cols));
        ALM_TRY(ops->update(&s->inner, state, k->rows, cols));
    }
    return ops->finish(&s->inner, state, 1, out);
}

static alm_status rows_finish(alm_call *call, const void *states, size_t n, alm_vec *out)
{
    const kept *all = states;
    for (size_t i = 0; i < n; i++) {
        alm_vec one = *out;
        one.data = (char *)out->data + i * out->width;
        ALM_TRY(finish_one(call->cx, call->state, &all[i], &one));
    }
    return ALM_OK;
}

const alm_agg_ops alm_agg_rows_ops = {.state_bytes = sizeof(kept),
                                      .init = rows_init,
                                      .update = rows_update,
                                      .scatter = rows_scatter,
                                      .merge = rows_merge,
                                      .finish = rows_finish};
