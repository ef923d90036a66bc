/*
 * pick.c - first, last, first_not_null, last_not_null: values by position in row order.
 *
 * Null rule   first and last take a null as it is; the others skip nulls. No rows give null.
 * Shapes      States are stamped by width: fixed-width values are copied as bits. Text is kept as a
 *             copy of the state; text of a dictionary lasts and is not copied.
 * Cost        last over a batch looks at its final row only; first at one row, once.
 */
#include "func/agg/agg.h"
#include "func/value/tables.h"
#include "type/int256.h"

/* -------------------------------------------------------------- fixed width */

typedef struct bits128 {
    uint64_t half[2];
} bits128;

/* Is x null? NaNs differ in their bits, so they are told by value. */
static inline bool is_null_8(uint8_t value, alm_null_kind kind)
{
    return kind == ALM_NULL_MIN8 && value == 0x80;
}
static inline bool is_null_16(uint16_t value, alm_null_kind kind)
{
    return kind == ALM_NULL_MIN16 ? value == 0x8000 : kind == ALM_NULL_ZERO16 && value == 0;
}
static inline bool is_null_32(uint32_t value, alm_null_kind kind)
{
    if (kind == ALM_NULL_NAN32)
        return (value & 0x7fffffff) > 0x7f800000;
    return kind == ALM_NULL_INT ? value == 0x80000000 : value == 0;
}
static inline bool is_null_64(uint64_t value, alm_null_kind kind)
{
    if (kind == ALM_NULL_NAN64)
        return (value & INT64_MAX) > UINT64_C(0x7ff0000000000000);
    return value == (uint64_t)ALM_LONG_NULL;
}
static inline bool is_null_128(bits128 self, alm_null_kind kind)
{
    const uint64_t low = kind == ALM_NULL_MIN128 ? 0 : (uint64_t)ALM_LONG_NULL;
    return self.half[0] == low && self.half[1] == (uint64_t)ALM_LONG_NULL;
}
static inline bool is_null_256(alm_i256 value, alm_null_kind kind)
{
    return kind == ALM_NULL_MIN256 ? alm_i256_is_min(value) : alm_long256_is_null(value);
}

/*
 * skip: nulls do not count. For `first` a state that has a value is done; for `last` every value
 * replaces the one before.
 */
#define PICK(w, T)                                                                                 \
    typedef struct pick_##w {                                                                      \
        T value;                                                                                   \
        uint8_t seen;                                                                              \
    } pick_##w;                                                                                    \
    static void pick_##w##_init(const alm_call *call, void *states, size_t n)                      \
    {                                                                                              \
        pick_##w *s = states, none = {0};                                                          \
        alm_value_set_null(call->result, &none.value);                                             \
        for (size_t i = 0; i < n; i++)                                                             \
            s[i] = none;                                                                           \
    }                                                                                              \
    static void first_##w##_take(pick_##w *s, const T *a, size_t step, size_t n, bool skip,        \
                                 alm_null_kind kind)                                               \
    {                                                                                              \
        for (size_t i = 0; i < n && !s->seen; i++)                                                 \
            if (!skip || !is_null_##w(a[i * step], kind))                                          \
                *s = (pick_##w){a[i * step], 1};                                                   \
    }                                                                                              \
    static void last_##w##_take(pick_##w *s, const T *a, size_t step, size_t n, bool skip,         \
                                alm_null_kind kind)                                                \
    {                                                                                              \
        for (size_t i = n; i-- > 0;) {                                                             \
            if (!skip || !is_null_##w(a[i * step], kind)) {                                        \
                *s = (pick_##w){a[i * step], 1};                                                   \
                return;                                                                            \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void first_##w##_groups(pick_##w *restrict all, const uint32_t *restrict group,         \
                                   const T *restrict a, size_t step, size_t n, bool skip,          \
                                   alm_null_kind kind)                                             \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            pick_##w *s = &all[group[i]];                                                          \
            if (!s->seen && !(skip && is_null_##w(a[i * step], kind)))                             \
                *s = (pick_##w){a[i * step], 1};                                                   \
        }                                                                                          \
    }                                                                                              \
    static void last_##w##_groups(pick_##w *restrict all, const uint32_t *restrict group,          \
                                  const T *restrict a, size_t step, size_t n, bool skip,           \
                                  alm_null_kind kind)                                              \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            if (!(skip && is_null_##w(a[i * step], kind)))                                         \
                all[group[i]] = (pick_##w){a[i * step], 1};                                        \
    }                                                                                              \
    ALM_AGG_MERGE(first_##w, pick_##w, {                                                           \
        if (!d->seen)                                                                              \
            *d = *p;                                                                               \
    })                                                                                             \
    ALM_AGG_MERGE(last_##w, pick_##w, {                                                            \
        if (p->seen)                                                                               \
            *d = *p;                                                                               \
    })                                                                                             \
    ALM_AGG_FINISH(pick_##w, pick_##w, T, s->value)                                                \
    PICK_OPS(first, w, T, false)                                                                   \
    PICK_OPS(last, w, T, false)

#define PICK_OPS(which, w, T, unused)                                                              \
    PICK_CALLS(which, which##_any, w, T, false)                                                    \
    PICK_CALLS(which, which##_value, w, T, true)

#define PICK_CALLS(which, name, w, T, skip)                                                        \
    static alm_status name##_##w##_update(ALM_UNUSED alm_call *call, void *state, size_t n,        \
                                          const alm_vec *args)                                     \
    {                                                                                              \
        which##_##w##_take(state, args[0].data, args[0].is_const ? 0 : 1, n, skip,                 \
                           alm_type_info_of(args[0].type)->null);                                  \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static alm_status name##_##w##_scatter(ALM_UNUSED alm_call *call, void *states,                \
                                           const uint32_t *group, size_t n, const alm_vec *args)   \
    {                                                                                              \
        which##_##w##_groups(states, group, args[0].data, args[0].is_const ? 0 : 1, n, skip,       \
                             alm_type_info_of(args[0].type)->null);                                \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static const alm_agg_ops name##_##w##_ops = {.state_bytes = sizeof(pick_##w),                  \
                                                 .plain = true,                                    \
                                                 .init = pick_##w##_init,                          \
                                                 .update = name##_##w##_update,                    \
                                                 .scatter = name##_##w##_scatter,                  \
                                                 .merge = which##_##w##_merge,                     \
                                                 .finish = pick_##w##_finish};

PICK(8, uint8_t)
PICK(16, uint16_t)
PICK(32, uint32_t)
PICK(64, uint64_t)
PICK(128, bits128)
PICK(256, alm_i256)

/* ---------------------------------------- width of the precision: GEOHASH, DECIMAL */

typedef struct pick_sized {
    uint64_t value[4]; /* the width of the type of it */
    uint64_t seen;
} pick_sized;

static void pick_sized_init(const alm_call *call, void *states, size_t n)
{
    pick_sized *sizeds = states, none = {0};
    alm_value_set_null(call->result, none.value);
    for (size_t i = 0; i < n; i++)
        sizeds[i] = none;
}

static void take_sized(pick_sized *sized, const alm_vec *vec, size_t i)
{
    memcpy(sized->value, (const char *)vec->data + (vec->is_const ? 0 : i) * vec->width,
           vec->width);
    sized->seen = 1;
}

static void first_sized(pick_sized *sized, size_t n_rows, const alm_vec *vec, bool skip)
{
    for (size_t i = 0; i < n_rows && !sized->seen; i++)
        if (!skip || !alm_vec_is_null(vec, i))
            take_sized(sized, vec, i);
}

static void last_sized(pick_sized *sized, size_t n_rows, const alm_vec *vec, bool skip)
{
    for (size_t i = n_rows; i-- > 0;) {
        if (!skip || !alm_vec_is_null(vec, i)) {
            take_sized(sized, vec, i);
            return;
        }
    }
}

static void first_sized_groups(pick_sized *all, const uint32_t *group, size_t n_rows,
                               const alm_vec *vec, bool skip)
{
    for (size_t i = 0; i < n_rows; i++)
        if (!all[group[i]].seen && !(skip && alm_vec_is_null(vec, i)))
            take_sized(&all[group[i]], vec, i);
}

static void last_sized_groups(pick_sized *all, const uint32_t *group, size_t n_rows,
                              const alm_vec *vec, bool skip)
{
    for (size_t i = 0; i < n_rows; i++)
        if (!(skip && alm_vec_is_null(vec, i)))
            take_sized(&all[group[i]], vec, i);
}

ALM_AGG_MERGE(first_sized, pick_sized, {
    if (!d->seen)
        *d = *p;
})
ALM_AGG_MERGE(last_sized, pick_sized, {
    if (p->seen)
        *d = *p;
})

static alm_status pick_sized_finish(ALM_UNUSED alm_call *call, const void *states, size_t n_rows,
                                    alm_vec *out)
{
    const pick_sized *sizeds = states;
    for (size_t i = 0; i < n_rows; i++)
        memcpy((char *)out->data + i * out->width, sizeds[i].value, out->width);
    return ALM_OK;
}

#define SIZED_CALLS(which, name, skip)                                                             \
    static alm_status name##_sized_update(ALM_UNUSED alm_call *call, void *state, size_t n,        \
                                          const alm_vec *args)                                     \
    {                                                                                              \
        which##_sized(state, n, &args[0], skip);                                                   \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static alm_status name##_sized_scatter(ALM_UNUSED alm_call *call, void *states,                \
                                           const uint32_t *group, size_t n, const alm_vec *args)   \
    {                                                                                              \
        which##_sized_groups(states, group, n, &args[0], skip);                                    \
        return ALM_OK;                                                                             \
    }                                                                                              \
    static const alm_agg_ops name##_sized_ops = {.state_bytes = sizeof(pick_sized),                \
                                                 .plain = true,                                    \
                                                 .init = pick_sized_init,                          \
                                                 .update = name##_sized_update,                    \
                                                 .scatter = name##_sized_scatter,                  \
                                                 .merge = which##_sized_merge,                     \
                                                 .finish = pick_sized_finish};
SIZED_CALLS(first, first_any, false)
SIZED_CALLS(first, first_value, true)
SIZED_CALLS(last, last_any, false)
SIZED_CALLS(last, last_value, true)

/* -------------------------------------------------------------------- text */

typedef struct pick_text {
    alm_view view;
    char *own; /* buffer of the state */
    uint32_t cap;
    uint32_t seen;
    const alm_view *pending; /* while a batch is scattered: the row to be kept */
} pick_text;

ALM_AGG_INIT(pick_text, pick_text, {.view = {.len = ALM_VIEW_NULL}})

static inline alm_view pick_text_at(const alm_vec *vec, size_t i)
{
    if (vec->dict != NULL)
        return vec->dict->views[alm_vec_code(vec, i)];
    const alm_view view = ((const alm_view *)vec->data)[vec->is_const ? 0 : i];
    if (view.len <= ALM_VIEW_INLINE || view.len == ALM_VIEW_NULL || vec->heap == NULL)
        return view;
    return alm_view_of(alm_view_str(&view, vec->heap));
}

static inline bool text_null_at(const alm_vec *vec, size_t i)
{
    if (vec->dict != NULL)
        return alm_vec_code(vec, i) == 0;
    return alm_view_is_null(&((const alm_view *)vec->data)[vec->is_const ? 0 : i]);
}

static alm_status pick_keep(const alm_call *call, pick_text *text, const alm_vec *vec, size_t i)
{
    const alm_view view = pick_text_at(vec, i);
    text->seen = 1;
    text->view = view;
    if (vec->dict != NULL || view.len <= ALM_VIEW_INLINE || alm_view_is_null(&view))
        return ALM_OK;
    if (text->cap < view.len) {
        const size_t cap = ALM_MAX((size_t)view.len + view.len / 2, (size_t)64);
        ALM_TRY(alm_arena_bytes(call->cx, call->arena, cap, &text->own));
        text->cap = (uint32_t)ALM_MIN(cap, (size_t)UINT32_MAX);
    }
    memcpy(text->own, alm_view_ptr(&view, NULL), view.len);
    text->view = alm_view_of((alm_str){text->own, view.len});
    return ALM_OK;
}

static alm_status first_text(const alm_call *call, pick_text *text, size_t n_rows,
                             const alm_vec *vec, bool skip)
{
    for (size_t i = 0; i < n_rows && !text->seen; i++)
        if (!skip || !text_null_at(vec, i))
            return pick_keep(call, text, vec, i);
    return ALM_OK;
}

static alm_status last_text(const alm_call *call, pick_text *text, size_t n_rows,
                            const alm_vec *vec, bool skip)
{
    for (size_t i = n_rows; i-- > 0;)
        if (!skip || !text_null_at(vec, i))
            return pick_keep(call, text, vec, i);
    return ALM_OK;
}

static alm_status first_text_groups(const alm_call *call, pick_text *all, const uint32_t *group,
                                    size_t n_rows, const alm_vec *vec, bool skip)
{
    for (size_t i = 0; i < n_rows; i++)
        if (!all[group[i]].seen && !(skip && text_null_at(vec, i)))
            ALM_TRY(pick_keep(call, &all[group[i]], vec, i));
    return ALM_OK;
}

/* Rows are walked from the end, so that each group copies one text a batch: `pending` marks the
 * groups that have theirs, and a second walk takes the marks off. */
static alm_status last_text_groups(const alm_call *call, pick_text *all, const uint32_t *group,
                                   size_t n_rows, const alm_vec *vec, bool skip)
{
    static const alm_view mark;
    alm_status status = ALM_OK;
    for (size_t i = n_rows; i-- > 0 && status == ALM_OK;) {
        pick_text *text = &all[group[i]];
        if (text->pending == NULL && !(skip && text_null_at(vec, i))) {
            text->pending = &mark;
            status = pick_keep(call, text, vec, i);
        }
    }
    for (size_t i = 0; i < n_rows; i++)
        all[group[i]].pending = NULL;
    return status;
}

ALM_AGG_MERGE(first_text, pick_text, {
    if (!d->seen)
        *d = *p;
})
ALM_AGG_MERGE(last_text, pick_text, {
    if (p->seen)
        *d = *p;
})
ALM_AGG_FINISH(pick_text, pick_text, alm_view, s->view)

#define TEXT_CALLS(which, name, skip)                                                              \
    static alm_status name##_text_update(alm_call *call, void *state, size_t n,                    \
                                         const alm_vec *args)                                      \
    {                                                                                              \
        return which##_text(call, state, n, &args[0], skip);                                       \
    }                                                                                              \
    static alm_status name##_text_scatter(alm_call *call, void *states, const uint32_t *group,     \
                                          size_t n, const alm_vec *args)                           \
    {                                                                                              \
        return which##_text_groups(call, states, group, n, &args[0], skip);                        \
    }                                                                                              \
    static const alm_agg_ops name##_text_ops = {.state_bytes = sizeof(pick_text),                  \
                                                .init = pick_text_init,                            \
                                                .update = name##_text_update,                      \
                                                .scatter = name##_text_scatter,                    \
                                                .merge = which##_text_merge,                       \
                                                .finish = pick_text_finish};
TEXT_CALLS(first, first_any, false)
TEXT_CALLS(first, first_value, true)
TEXT_CALLS(last, last_any, false)
TEXT_CALLS(last, last_value, true)

/* -------------------------------------------------------------------- rows */

#define ROW(f, T, ops, flags, doc)                                                                 \
    ALM_AGG_ROW(f, "(" T ") " T, ops, ALM_FN_ROW_ORDER | (flags), doc, f "(price)")
#define SAME_ROW(f, T, ops, doc)                                                                   \
    ALM_AGG_ROW(f, "(" T ") SAME", ops, ALM_FN_ROW_ORDER, doc, f "(price)")
#define SMALL_ROWS_OF(f, name, doc)                                                                \
    ROW(f, "BYTE", name##_8_ops, 0, doc), ROW(f, "SHORT", name##_16_ops, 0, doc)
/* BYTE and SHORT have no null that could say there was no value: without rows of their own they are INT. */
#define ROWS_OF(f, name, doc)                                                                      \
    ROW(f, "BOOLEAN", name##_8_ops, 0, doc), ROW(f, "CHAR", name##_16_ops, 0, doc),                \
        ROW(f, "INT", name##_32_ops, 0, doc), ROW(f, "FLOAT", name##_32_ops, 0, doc),              \
        ROW(f, "LONG", name##_64_ops, 0, doc), ROW(f, "DOUBLE", name##_64_ops, 0, doc),            \
        ROW(f, "TIMESTAMP", name##_64_ops, 0, doc), ROW(f, "TIMESTAMP_NS", name##_64_ops, 0, doc), \
        ROW(f, "INTERVAL", name##_128_ops, 0, doc), ROW(f, "LONG256", name##_256_ops, 0, doc),     \
        SAME_ROW(f, "GEOHASH", name##_sized_ops, doc),                                             \
        SAME_ROW(f, "DECIMAL", name##_sized_ops, doc), ROW(f, "BINARY", name##_text_ops, 0, doc),  \
        SAME_ROW(f, "ARRAY", name##_text_ops, doc), ROW(f, "STRING", name##_text_ops, 0, doc),     \
        ROW(f, "VARCHAR", name##_text_ops, 0, doc),                                                \
        ROW(f, "SYMBOL", name##_text_ops, ALM_FN_SYMBOLS, doc)

#define FIRST_DOC          "Value of the first row."
#define LAST_DOC           "Value of the last row."
#define FIRST_NOT_NULL_DOC "First value that is not null; of BYTE and SHORT an INT."
#define LAST_NOT_NULL_DOC  "Last value that is not null; of BYTE and SHORT an INT."

/* By column `kernels` of type.def. */
#define PICKED(T, bits)                                                                            \
    ROW("first", T, first_any_##bits##_ops, 0, FIRST_DOC),                                         \
        ROW("last", T, last_any_##bits##_ops, 0, LAST_DOC),                                        \
        ROW("first_not_null", T, first_value_##bits##_ops, 0, FIRST_NOT_NULL_DOC),                 \
        ROW("last_not_null", T, last_value_##bits##_ops, 0, LAST_NOT_NULL_DOC),
#define PICKED_OWN(T)
#define PICKED_INT64(T)  PICKED(T, 64)
#define PICKED_UINT32(T) PICKED(T, 32)
#define PICKED_PAIR(T)   PICKED(T, 128)

static const alm_fn ROWS[] = {
    SMALL_ROWS_OF("first", first_any, FIRST_DOC),
    ROWS_OF("first", first_any, FIRST_DOC),
    SMALL_ROWS_OF("last", last_any, LAST_DOC),
    ROWS_OF("last", last_any, LAST_DOC),
    ROWS_OF("first_not_null", first_value, FIRST_NOT_NULL_DOC),
    ROWS_OF("last_not_null", last_value, LAST_NOT_NULL_DOC),
#define ALM_TYPE(id, name, width, null, form, kernels, ...) PICKED_##kernels(name)
#include "type/type.def"
#undef ALM_TYPE
};
ALM_FN_TABLE(pick, ROWS);
