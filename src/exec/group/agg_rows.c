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
    rows_site *site = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &site));
    ALM_TRY(ALM_NEWN(cx, cx->arena, call->n_order + 1, &site->order));
    *site = (rows_site){.call = call,
                        .inner = *rt,
                        .n_cols = call->n_args,
                        .n_args = call->n_args - call->n_order,
                        .distinct = call->distinct,
                        .order = site->order};
    site->inner.argc = site->n_args;
    for (uint32_t i = 0; i < call->n_order; i++)
        site->order[i] = (alm_sort_order){.desc = call->order[i].desc,
                                          .nulls_first = call->order[i].nulls_first};
    alm_arena_init(&site->scratch, cx->mem);
    alm_pool_init(&site->ranks, cx->mem, "ordered aggregate");
    rt->state = site;
    return ALM_OK;
}

void alm_agg_rows_free(const alm_call *call)
{
    rows_site *site = call->state;
    alm_arena_deinit(&site->scratch);
    alm_pool_deinit(&site->ranks);
}

static void rows_init(ALM_UNUSED const alm_call *call, void *states, size_t n)
{
    memset(states, 0, n * sizeof(kept));
}

/* ------------------------------------------------------------------------------- packing */

static alm_status row_room(alm_ctx *cx, rows_site *site, size_t used, size_t more)
{
    if (used + more <= site->row_cap)
        return ALM_OK;
    char *grown = NULL;
    const size_t cap = 2 * (used + more) + 64;
    ALM_TRY(alm_arena_bytes(cx, site->inner.arena, cap, &grown));
    if (used > 0)
        memcpy(grown, site->row, used);
    site->row = grown;
    site->row_cap = cap;
    return ALM_OK;
}

/* Equal values get equal bytes. */
static void pack_fixed(const alm_vec *vec, size_t i, char *dest)
{
    const char *from = (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width;
    memcpy(dest, from, vec->width);
    if (vec->type.id == ALM_T_DOUBLE) {
        double value;
        memcpy(&value, from, sizeof value);
        value = value == value ? value + 0.0 : __builtin_nan("");
        memcpy(dest, &value, sizeof value);
    } else if (vec->type.id == ALM_T_FLOAT) {
        float value;
        memcpy(&value, from, sizeof value);
        value = value == value ? value + 0.0F : __builtin_nanf("");
        memcpy(dest, &value, sizeof value);
    }
}

static alm_status pack_row(alm_ctx *cx, rows_site *site, const alm_vec *args, size_t i,
                           uint32_t *bytes)
{
    size_t offset = ROW_HEAD;
    uint32_t arg_bytes = 0;
    ALM_TRY(row_room(cx, site, 0, ROW_HEAD));
    for (uint32_t col = 0; col < site->n_cols; col++) {
        const alm_vec *vec = &args[col];
        if (alm_has_views(vec->type)) {
            const alm_str text = alm_vec_text(vec, i);
            const uint32_t len = text.ptr == NULL ? ALM_VIEW_NULL : (uint32_t)text.len;
            ALM_TRY(row_room(cx, site, offset, sizeof len + text.len));
            memcpy(site->row + offset, &len, sizeof len);
            if (text.ptr != NULL && text.len > 0)
                memcpy(site->row + offset + sizeof len, text.ptr, text.len);
            offset += sizeof len + (text.ptr == NULL ? 0 : text.len);
        } else {
            ALM_TRY(row_room(cx, site, offset, vec->width));
            pack_fixed(vec, i, site->row + offset);
            offset += vec->width;
        }
        if (col + 1 == site->n_args)
            arg_bytes = (uint32_t)(offset - ROW_HEAD);
    }
    if (offset > UINT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, site->call->pos, "value of %s is too long",
                        site->call->fn->name);
    *bytes = (uint32_t)offset;
    memcpy(site->row, bytes, sizeof *bytes);
    memcpy(site->row + sizeof *bytes, &arg_bytes, sizeof arg_bytes);
    return ALM_OK;
}

static uint32_t agg_row_bytes(const char *row)
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

static alm_status agg_rows_grow_slots(alm_ctx *cx, const rows_site *site, kept *self)
{
    const uint64_t n = self->mask == 0 ? SLOTS_MIN : 2 * ((uint64_t)self->mask + 1);
    if (n > UINT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, site->call->pos, "too many distinct values in %s",
                        site->call->fn->name);
    ALM_TRY(ALM_NEWN(cx, site->inner.arena, n, &self->slot));
    self->mask = (uint32_t)(n - 1);
    for (uint64_t place = 0; place < self->used; place += agg_row_bytes(self->bytes + place)) {
        const char *row = self->bytes + place;
        uint32_t i = (uint32_t)alm_hash_bytes(row + ROW_HEAD, arg_bytes_of(row)) & self->mask;
        while (self->slot[i] != 0)
            i = (i + 1) & self->mask;
        self->slot[i] = place + 1;
    }
    return ALM_OK;
}

/* The slot where the row is, or would be. */
static uint64_t *find_slot(const kept *self, const char *row)
{
    const uint32_t n = arg_bytes_of(row);
    uint32_t i = (uint32_t)alm_hash_bytes(row + ROW_HEAD, n) & self->mask;
    for (; self->slot[i] != 0; i = (i + 1) & self->mask) {
        const char *other = self->bytes + (self->slot[i] - 1);
        if (arg_bytes_of(other) == n && memcmp(other + ROW_HEAD, row + ROW_HEAD, n) == 0)
            break;
    }
    return &self->slot[i];
}

static alm_status agg_rows_keep(alm_ctx *cx, const rows_site *site, kept *self, const char *row,
                                uint32_t bytes)
{
    uint64_t *slot = NULL;
    if (site->distinct) {
        if (2 * (uint64_t)self->rows >= self->mask)
            ALM_TRY(agg_rows_grow_slots(cx, site, self));
        slot = find_slot(self, row);
        if (*slot != 0)
            return ALM_OK;
    }
    if (self->used + bytes > self->cap) {
        char *more = NULL;
        const uint64_t cap = 2 * (self->used + bytes);
        ALM_TRY(alm_arena_bytes(cx, site->inner.arena, cap, &more));
        if (self->used > 0)
            memcpy(more, self->bytes, self->used);
        self->bytes = more;
        self->cap = cap;
    }
    memcpy(self->bytes + self->used, row, bytes);
    if (slot != NULL)
        *slot = self->used + 1;
    self->used += bytes;
    if (++self->rows == UINT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, site->call->pos, "too many rows in %s",
                        site->call->fn->name);
    return ALM_OK;
}

static alm_status rows_update(alm_call *call, void *state, size_t n_rows, const alm_vec *args)
{
    rows_site *site = call->state;
    for (size_t i = 0; i < n_rows; i++) {
        uint32_t bytes = 0;
        ALM_TRY(pack_row(call->cx, site, args, i, &bytes));
        ALM_TRY(agg_rows_keep(call->cx, site, state, site->row, bytes));
    }
    return ALM_OK;
}

static alm_status rows_scatter(alm_call *call, void *states, const uint32_t *group, size_t n_rows,
                               const alm_vec *args)
{
    rows_site *site = call->state;
    kept *all = states;
    for (size_t i = 0; i < n_rows; i++) {
        uint32_t bytes = 0;
        ALM_TRY(pack_row(call->cx, site, args, i, &bytes));
        ALM_TRY(agg_rows_keep(call->cx, site, &all[group[i]], site->row, bytes));
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
        for (uint64_t place = 0; place < from[i].used;
             place += agg_row_bytes(from[i].bytes + place))
            ALM_TRY(agg_rows_keep(call->cx, call->state, k, from[i].bytes + place,
                                  agg_row_bytes(from[i].bytes + place)));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------------ finishing */

/* The rows of a group as vectors. Views point to the kept bytes. */
static alm_status agg_rows_unpack(alm_ctx *cx, rows_site *site, const kept *self, alm_vec *cols)
{
    for (uint32_t col = 0; col < site->n_cols; col++) {
        const alm_type type = site->call->args[col]->type;
        if (!alm_has_views(type)) {
            ALM_TRY(alm_vec_new(cx, &site->scratch, type, self->rows, &cols[col]));
            continue;
        }
        cols[col] = (alm_vec){.type = type, .width = sizeof(alm_view)};
        ALM_TRY(
            alm_arena_bytes(cx, &site->scratch, self->rows * sizeof(alm_view), &cols[col].data));
    }
    const char *row = self->bytes;
    for (uint32_t i = 0; i < self->rows; i++, row += agg_row_bytes(row)) {
        const char *ptr = row + ROW_HEAD;
        for (uint32_t col = 0; col < site->n_cols; col++) {
            alm_vec *vec = &cols[col];
            if (!alm_has_views(vec->type)) {
                memcpy((char *)vec->data + (size_t)i * vec->width, ptr, vec->width);
                ptr += vec->width;
                continue;
            }
            uint32_t len;
            memcpy(&len, ptr, sizeof len);
            ptr += sizeof len;
            ((alm_view *)vec->data)[i] =
                len == ALM_VIEW_NULL ? alm_view_null() : alm_view_of((alm_str){ptr, len});
            ptr += len == ALM_VIEW_NULL ? 0 : len;
        }
    }
    return ALM_OK;
}

/* Sorts the rows of arguments by the sort keys, which follow the arguments in cols. */
static alm_status put_in_order(alm_ctx *cx, rows_site *site, uint32_t n_items, alm_vec *cols)
{
    alm_sort_item *item = NULL, *spare = NULL;
    uint32_t *pick = NULL;
    alm_vec *key = cols + site->n_args;
    ALM_TRY(alm_arena_bytes(cx, &site->scratch, n_items * sizeof *item, &item));
    ALM_TRY(alm_arena_bytes(cx, &site->scratch, n_items * sizeof *item, &spare));
    ALM_TRY(alm_arena_bytes(cx, &site->scratch, n_items * sizeof *pick, &pick));
    for (uint32_t i = 0; i < n_items; i++)
        item[i] = (alm_sort_item){.row = i};
    for (uint32_t k = 0; k < site->n_cols - site->n_args; k++)
        ALM_TRY(alm_sort_rank(cx, &site->ranks, &key[k], &site->order[k]));
    ALM_TRY(
        alm_sort_items(cx, key, site->order, site->n_cols - site->n_args, item, spare, n_items));
    for (uint32_t i = 0; i < n_items; i++)
        pick[i] = item[i].row;
    for (uint32_t arg = 0; arg < site->n_args; arg++) {
        const alm_vec unordered = cols[arg];
        ALM_TRY(alm_vec_gather(cx, &site->scratch, &unordered, pick, n_items, &cols[arg]));
    }
    return ALM_OK;
}

static alm_status finish_one(alm_ctx *cx, rows_site *site, const kept *self, alm_vec *out)
{
    const alm_agg_ops *ops = site->call->fn->agg;
    alm_vec *cols = NULL;
    void *state = NULL;
    alm_arena_reset(&site->scratch);
    ALM_TRY(ALM_NEWN(cx, &site->scratch, site->n_cols + 1, &cols));
    ALM_TRY(alm_arena_bytes(cx, &site->scratch, ops->state_bytes, &state));
    site->inner.cx = cx;
    ops->init(&site->inner, state, 1);
    if (self->rows > 0) {
        ALM_TRY(agg_rows_unpack(cx, site, self, cols));
        if (site->n_cols > site->n_args)
            ALM_TRY(put_in_order(cx, site, self->rows, cols));
        ALM_TRY(ops->update(&site->inner, state, self->rows, cols));
    }
    return ops->finish(&site->inner, state, 1, out);
}

static alm_status rows_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const kept *all = states;
    for (size_t i = 0; i < n_rows; i++) {
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
