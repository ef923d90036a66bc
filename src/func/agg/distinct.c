/*
 * distinct.c - count_distinct, mode, string_agg, string_distinct_agg.
 *
 * Null rule   Nulls are no values: they are not counted and not joined.
 * Method      Distinct numbers of up to 8 bytes go into a set of bare 64-bit keys; texts, UUIDs and
 *             mode into a bag (bag.h).
 * Order       mode: of equally frequent values the one that came first. string_distinct_agg: in
 *             order of first arrival.
 */
#include "base/hash.h"
#include "func/agg/agg.h"
#include "func/agg/bag.h"
#include "func/value/args.h"
#include "func/value/joined.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

/* ------------------------------------------------------------ set of 64 bits */

typedef struct key_set {
    uint64_t *slots; /* 0: free */
    uint32_t mask, count;
    uint32_t has_zero;
} key_set;

ALM_AGG_INIT(keys, key_set, {0})

static inline void key_put(key_set *set, uint64_t key)
{
    uint32_t place = (uint32_t)alm_hash_u64(key) & set->mask;
    while (set->slots[place] != 0 && set->slots[place] != key)
        place = (place + 1) & set->mask;
    set->count += set->slots[place] == 0;
    set->slots[place] = key;
}

static alm_status key_grow(const alm_call *call, key_set *set)
{
    const uint32_t slots = set->mask == 0 ? 8 : (set->mask + 1) * (set->count > 4096 ? 4 : 2);
    if (slots == 0 || slots > (UINT32_C(1) << 31))
        return alm_fail(call->cx, ALM_E_LIMIT, call->pos, "too many distinct values in %s",
                        call->fn->name);
    const uint64_t *old = set->slots;
    const uint32_t old_slots = old == NULL ? 0 : set->mask + 1;
    ALM_TRY(ALM_NEWN(call->cx, call->arena, slots, &set->slots));
    set->mask = slots - 1;
    set->count = 0;
    for (uint32_t i = 0; i < old_slots; i++)
        if (old[i] != 0)
            key_put(set, old[i]);
    return ALM_OK;
}

static inline alm_status key_add(const alm_call *call, key_set *set, uint64_t key)
{
    if (key == 0) {
        set->has_zero = 1;
        return ALM_OK;
    }
    if (set->count * 2 >= set->mask)
        ALM_TRY(key_grow(call, set));
    key_put(set, key);
    return ALM_OK;
}

/* Bits of a value; equal values have equal bits. */
static inline uint64_t bits_of_double(double value)
{
    uint64_t bits;
    value += 0.0; /* -0 */
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* KEY over const T x; NUL tells a null. */
#define KEYS(name, T, NUL, KEY)                                                                    \
    static alm_status name##_update(alm_call *call, void *state, size_t n, const alm_vec *args)    \
    {                                                                                              \
        const T *a = args[0].data;                                                                 \
        for (size_t i = 0; i < (args[0].is_const ? 1 : n); i++) {                                  \
            const T x = a[i];                                                                      \
            if (!(NUL))                                                                            \
                ALM_TRY(key_add(call, state, (KEY)));                                              \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static alm_status name##_scatter(alm_call *call, void *states, const uint32_t *group,          \
                                     size_t n, const alm_vec *args)                                \
    {                                                                                              \
        key_set *all = states;                                                                     \
        const T *a = args[0].data;                                                                 \
        const size_t step = args[0].is_const ? 0 : 1;                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            const T x = a[i * step];                                                               \
            if (!(NUL))                                                                            \
                ALM_TRY(key_add(call, &all[group[i]], (KEY)));                                     \
        }                                                                                          \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static const alm_agg_ops name##_ops = {.state_bytes = sizeof(key_set),                         \
                                           .init = keys_init,                                      \
                                           .update = name##_update,                                \
                                           .scatter = name##_scatter,                              \
                                           .merge = keys_merge,                                    \
                                           .finish = keys_finish};

static alm_status keys_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                             size_t n)
{
    key_set *to = dst;
    const key_set *from = src;
    for (size_t i = 0; i < n; i++) {
        key_set *set = &to[index != NULL ? index[i] : i];
        const uint32_t slots = from[i].slots == NULL ? 0 : from[i].mask + 1;
        if (set->count == 0 && slots > 0) { /* take the whole set over */
            const uint32_t zero = set->has_zero | from[i].has_zero;
            *set = from[i];
            set->has_zero = zero;
            continue;
        }
        set->has_zero |= from[i].has_zero;
        for (uint32_t k = 0; k < slots; k++)
            if (from[i].slots[k] != 0)
                ALM_TRY(key_add(call, set, from[i].slots[k]));
    }
    return ALM_OK;
}
ALM_AGG_FINISH(keys, key_set, int64_t, (int64_t)s->count + s->has_zero)

KEYS(distinct_8, uint8_t, false, (uint64_t)x)
KEYS(distinct_16, uint16_t, false, (uint64_t)x)
KEYS(distinct_char, uint16_t, x == 0, (uint64_t)x)
KEYS(distinct_int, int32_t, x == ALM_INT_NULL, (uint64_t)(uint32_t)x)
KEYS(distinct_ipv4, uint32_t, x == 0, (uint64_t)x)
KEYS(distinct_long, int64_t, x == ALM_LONG_NULL, (uint64_t)x)
KEYS(distinct_float, float, x != x, bits_of_double((double)x))
KEYS(distinct_double, double, x != x, bits_of_double(x))

/* --------------------------------------------------------------------- bags */

ALM_AGG_INIT(bag, alm_bag, {0})
ALM_AGG_FINISH(bag, alm_bag, int64_t, s->count)

static alm_status text_bag_update(alm_call *call, void *state, size_t n, const alm_vec *args)
{
    return alm_bag_add_column(call, state, sizeof(alm_bag), NULL, n, &args[0]);
}

static alm_status text_bag_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                                   const alm_vec *args)
{
    return alm_bag_add_column(call, states, sizeof(alm_bag), group, n, &args[0]);
}

static alm_status bags_merge(const alm_call *call, alm_bag *to, const uint32_t *index,
                             const alm_bag *from, size_t n, bool is_text)
{
    for (size_t i = 0; i < n; i++)
        ALM_TRY(alm_bag_join(call, &to[index != NULL ? index[i] : i], &from[i], is_text));
    return ALM_OK;
}

static alm_status text_bag_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                                 size_t n)
{
    return bags_merge(call, dst, index, src, n, true);
}

static alm_status key_bag_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                                size_t n)
{
    return bags_merge(call, dst, index, src, n, false);
}

static const alm_agg_ops distinct_text_ops = {.state_bytes = sizeof(alm_bag),
                                              .init = bag_init,
                                              .update = text_bag_update,
                                              .scatter = text_bag_scatter,
                                              .merge = text_bag_merge,
                                              .finish = bag_finish};

/* A fixed-width value as a key; false: null. */
static bool key_at(const alm_vec *vec, size_t i, alm_bag_key *out)
{
    *out = (alm_bag_key){{0, 0}};
    if (alm_vec_is_null(vec, i))
        return false;
    memcpy(out, (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width, vec->width);
    if (vec->type.id == ALM_T_DOUBLE) {
        double value;
        memcpy(&value, out, sizeof value);
        out->half[0] = bits_of_double(value);
    }
    return true;
}

static alm_status key_bag_update(alm_call *call, void *state, size_t n, const alm_vec *args)
{
    for (size_t i = 0; i < n; i++) {
        alm_bag_key key;
        if (key_at(&args[0], i, &key))
            ALM_TRY(alm_bag_add(call, state, key, 1));
    }
    return ALM_OK;
}

static alm_status key_bag_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                                  const alm_vec *args)
{
    alm_bag *all = states;
    for (size_t i = 0; i < n; i++) {
        alm_bag_key key;
        if (key_at(&args[0], i, &key))
            ALM_TRY(alm_bag_add(call, &all[group[i]], key, 1));
    }
    return ALM_OK;
}

static const alm_agg_ops distinct_key_ops = {.state_bytes = sizeof(alm_bag),
                                             .init = bag_init,
                                             .update = key_bag_update,
                                             .scatter = key_bag_scatter,
                                             .merge = key_bag_merge,
                                             .finish = bag_finish};

/* Values of other widths, by their bytes; BINARY is like text. */
static alm_status bytes_add(const alm_call *call, alm_bag *bag, const alm_vec *vec, size_t i)
{
    if (alm_vec_is_null(vec, i))
        return ALM_OK;
    const alm_str bytes = {(const char *)vec->data + (vec->is_const ? 0 : i) * vec->width,
                           vec->width};
    const alm_view view = alm_view_of(bytes);
    return alm_bag_add_text(call, bag, &view, alm_bag_text_hash(&view), false, 1);
}

static alm_status bytes_bag_update(alm_call *call, void *state, size_t n, const alm_vec *args)
{
    for (size_t i = 0; i < (args[0].is_const ? 1 : n); i++)
        ALM_TRY(bytes_add(call, state, &args[0], i));
    return ALM_OK;
}

static alm_status bytes_bag_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                                    const alm_vec *args)
{
    alm_bag *all = states;
    for (size_t i = 0; i < n; i++)
        ALM_TRY(bytes_add(call, &all[group[i]], &args[0], i));
    return ALM_OK;
}

static const alm_agg_ops distinct_bytes_ops = {.state_bytes = sizeof(alm_bag),
                                               .init = bag_init,
                                               .update = bytes_bag_update,
                                               .scatter = bytes_bag_scatter,
                                               .merge = text_bag_merge,
                                               .finish = bag_finish};

/* --------------------------------------------------------------------- mode */

/* The most frequent entry, the first of equals; NULL: none. */
static const alm_bag_entry *most_frequent(const alm_bag *bag)
{
    const alm_bag_entry *best = NULL;
    for (uint32_t i = 0; i < bag->count; i++)
        if (best == NULL || bag->entries[i].count > best->count)
            best = &bag->entries[i];
    return best;
}

static alm_status mode_text_finish(ALM_UNUSED alm_call *call, const void *states, size_t n_rows,
                                   alm_vec *out)
{
    const alm_bag *all = states;
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_bag_entry *best = most_frequent(&all[i]);
        views[i] = best == NULL ? alm_view_null() : alm_bag_text(best->key);
    }
    return ALM_OK;
}

static alm_status mode_key_finish(alm_call *call, const void *states, size_t n_rows, alm_vec *out)
{
    const alm_bag *all = states;
    alm_vec null = {0};
    ALM_TRY(alm_vec_null(call->cx, call->arena, out->type, &null));
    for (size_t i = 0; i < n_rows; i++) {
        const alm_bag_entry *best = most_frequent(&all[i]);
        memcpy((char *)out->data + i * out->width, best == NULL ? null.data : &best->key,
               out->width);
    }
    return ALM_OK;
}

static const alm_agg_ops mode_text_ops = {.state_bytes = sizeof(alm_bag),
                                          .init = bag_init,
                                          .update = text_bag_update,
                                          .scatter = text_bag_scatter,
                                          .merge = text_bag_merge,
                                          .finish = mode_text_finish};
static const alm_agg_ops mode_key_ops = {.state_bytes = sizeof(alm_bag),
                                         .init = bag_init,
                                         .update = key_bag_update,
                                         .scatter = key_bag_scatter,
                                         .merge = key_bag_merge,
                                         .finish = mode_key_finish};

/* --------------------------------------------------------------- string_agg */

typedef alm_joined joined;

ALM_AGG_INIT(joined, joined, {0})

static alm_status bind_separator(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                                 ALM_UNUSED uint32_t argc, alm_arg *args,
                                 ALM_UNUSED alm_type *result, void **data)
{
    alm_str *by = NULL, text = {0}, copy = {0};
    ALM_TRY(ALM_NEW(cx, cx->arena, &by));
    if (args[1].value != NULL)
        ALM_TRY(alm_arg_text(cx, &args[1], &text));
    ALM_TRY(alm_arena_copy(cx, cx->arena, text, &copy));
    *by = copy;
    *data = by;
    return ALM_OK;
}

static alm_status join_more(const alm_call *call, joined *self, alm_str text, uint32_t pieces)
{
    const alm_str *by = call->data;
    return alm_joined_add(call, self, *by, text, pieces);
}

static alm_status joined_update(alm_call *call, void *state, size_t n, const alm_vec *args)
{
    for (size_t i = 0; i < n; i++) {
        const alm_str text = alm_vec_text(&args[0], i);
        if (text.ptr != NULL)
            ALM_TRY(join_more(call, state, text, 1));
    }
    return ALM_OK;
}

static alm_status joined_scatter(alm_call *call, void *states, const uint32_t *group, size_t n,
                                 const alm_vec *args)
{
    joined *all = states;
    for (size_t i = 0; i < n; i++) {
        const alm_str text = alm_vec_text(&args[0], i);
        if (text.ptr != NULL)
            ALM_TRY(join_more(call, &all[group[i]], text, 1));
    }
    return ALM_OK;
}

static alm_status joined_merge(alm_call *call, void *dst, const uint32_t *index, const void *src,
                               size_t n)
{
    joined *to = dst;
    const joined *from = src;
    for (size_t i = 0; i < n; i++) {
        joined *d = &to[index != NULL ? index[i] : i];
        if (from[i].count > 0)
            ALM_TRY(join_more(call, d, (alm_str){from[i].ptr, from[i].len}, from[i].count));
    }
    return ALM_OK;
}

static alm_view joined_view(const joined *self)
{
    return self->count == 0 ? alm_view_null()
                            : alm_view_of((alm_str){self->len == 0 ? "" : self->ptr, self->len});
}
ALM_AGG_FINISH(joined, joined, alm_view, joined_view(s))
ALM_AGG_OWNING_OPS(joined, joined, joined, joined)

static alm_status distinct_joined_finish(alm_call *call, const void *states, size_t n_rows,
                                         alm_vec *out)
{
    const alm_bag *all = states;
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        joined self = {0};
        for (uint32_t k = 0; k < all[i].count; k++) {
            const alm_view text = alm_bag_text(all[i].entries[k].key);
            ALM_TRY(join_more(call, &self, alm_view_str(&text, NULL), 1));
        }
        views[i] = joined_view(&self);
    }
    return ALM_OK;
}

static const alm_agg_ops distinct_joined_ops = {.state_bytes = sizeof(alm_bag),
                                                .init = bag_init,
                                                .update = text_bag_update,
                                                .scatter = text_bag_scatter,
                                                .merge = text_bag_merge,
                                                .finish = distinct_joined_finish};

/* -------------------------------------------------------------------- rows */

#define DISTINCT(T, ops, flags)                                                                    \
    ALM_AGG_ROW("count_distinct", "(" T ") LONG", ops, flags, "Number of different values.",       \
                "count_distinct(symbol)")
/* By column `kernels` of type.def. */
#define DISTINCT_OWN(T)
#define DISTINCT_INT64(T)  DISTINCT(T, distinct_long_ops, 0),
#define DISTINCT_UINT32(T) DISTINCT(T, distinct_ipv4_ops, 0),
#define DISTINCT_PAIR(T)   DISTINCT(T, distinct_key_ops, 0),
#define MODE(T, ops, flags)                                                                        \
    ALM_AGG_ROW("mode", "(" T ") " T, ops, ALM_FN_ROW_ORDER | (flags),                             \
                "Most frequent value; of equally frequent ones the first that came.",              \
                "mode(side)")
#define JOINED(f, T, R, ops, flags_, doc_)                                                         \
    {.name = f,                                                                                    \
     .signature = "(" T ", TEXT const) " R,                                                        \
     .kind = ALM_FN_AGGREGATE,                                                                     \
     .flags = ALM_FN_ROW_ORDER | (flags_),                                                         \
     .agg = &(ops),                                                                                \
     .bind = bind_separator,                                                                       \
     .doc = doc_,                                                                                  \
     .example = f "(side, ',') from (select * from trades limit 4)",                               \
     .since = "0.1"}
#define JOINS(f, ops, doc)                                                                         \
    JOINED(f, "STRING", "STRING", ops, 0, doc), JOINED(f, "VARCHAR", "VARCHAR", ops, 0, doc),      \
        JOINED(f, "SYMBOL", "STRING", ops, ALM_FN_SYMBOLS, doc)

static const alm_fn ROWS[] = {
    DISTINCT("BOOLEAN", distinct_8_ops, 0),
    DISTINCT("BYTE", distinct_8_ops, 0),
    DISTINCT("SHORT", distinct_16_ops, 0),
    DISTINCT("CHAR", distinct_char_ops, 0),
    DISTINCT("INT", distinct_int_ops, 0),
    DISTINCT("LONG", distinct_long_ops, 0),
    DISTINCT("FLOAT", distinct_float_ops, 0),
    DISTINCT("DOUBLE", distinct_double_ops, 0),
    DISTINCT("TIMESTAMP", distinct_long_ops, 0),
    DISTINCT("TIMESTAMP_NS", distinct_long_ops, 0),
    DISTINCT("LONG256", distinct_bytes_ops, 0),
    DISTINCT("GEOHASH", distinct_bytes_ops, 0),
    DISTINCT("DECIMAL", distinct_bytes_ops, 0),
    DISTINCT("BINARY", distinct_text_ops, 0),
    DISTINCT("STRING", distinct_text_ops, 0),
    DISTINCT("VARCHAR", distinct_text_ops, 0),
    DISTINCT("SYMBOL", distinct_text_ops, ALM_FN_SYMBOLS),
#define ALM_TYPE(id, name, width, null, form, kernels, ...) DISTINCT_##kernels(name)
#include "type/type.def"
#undef ALM_TYPE
    MODE("BOOLEAN", mode_key_ops, 0),
    MODE("LONG", mode_key_ops, 0),
    MODE("DOUBLE", mode_key_ops, 0),
    MODE("TIMESTAMP", mode_key_ops, 0),
    MODE("STRING", mode_text_ops, 0),
    MODE("VARCHAR", mode_text_ops, 0),
    MODE("SYMBOL", mode_text_ops, ALM_FN_SYMBOLS),
    JOINS("string_agg", joined_ops, "Texts joined with a separator, in row order."),
    JOINS("string_distinct_agg", distinct_joined_ops,
          "Different texts joined with a separator, in order of first arrival."),
};
ALM_FN_TABLE(distinct, ROWS);
