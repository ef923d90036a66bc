/*
 * blend.c - the typed loops of blend.h: one macro per element width, no branches on values.
 */
#include "exec/data/blend.h"

#include "exec/data/wide.h"

/* ------------------------------------------------------------------------------------- choose */

#define DEFINE_CHOOSE(name, type)                                                                  \
    ALM_SIMD static void choose_##name(const uint8_t *restrict when, const type *restrict then,    \
                                       bool then_const, size_t n, type *restrict out)              \
    {                                                                                              \
        if (then_const) {                                                                          \
            const type value = then[0];                                                            \
            for (size_t i = 0; i < n; i++)                                                         \
                out[i] = when[i] ? value : out[i];                                                 \
        } else {                                                                                   \
            for (size_t i = 0; i < n; i++)                                                         \
                out[i] = when[i] ? then[i] : out[i];                                               \
        }                                                                                          \
    }
DEFINE_CHOOSE(8, uint8_t)
DEFINE_CHOOSE(16, uint16_t)
DEFINE_CHOOSE(32, uint32_t)
DEFINE_CHOOSE(64, uint64_t)
DEFINE_CHOOSE(128, alm_wide16)
DEFINE_CHOOSE(256, alm_wide32)

static alm_view addressed(alm_view view, const char *heap)
{
    if (view.len > ALM_VIEW_INLINE && view.len != ALM_VIEW_NULL)
        view.off += (uint64_t)(uintptr_t)heap;
    return view;
}

static void blend_choose_views(const uint8_t *restrict when, const alm_vec *then, size_t n_rows,
                               alm_view *restrict out)
{
    const alm_view *from = then->data;
    const size_t step = then->is_const ? 0 : 1;
    for (size_t i = 0; i < n_rows; i++)
        if (when[i])
            out[i] = addressed(from[i * step], then->heap);
}

static void blend_choose(const uint8_t *when, const alm_vec *then, size_t n_rows, alm_vec *out)
{
    if (then->heap != NULL && then->width == sizeof(alm_view)) {
        blend_choose_views(when, then, n_rows, out->data);
        return;
    }
    switch (out->width) {
    case 1:
        choose_8(when, then->data, then->is_const, n_rows, out->data);
        return;
    case 2:
        choose_16(when, then->data, then->is_const, n_rows, out->data);
        return;
    case 4:
        choose_32(when, then->data, then->is_const, n_rows, out->data);
        return;
    case 8:
        choose_64(when, then->data, then->is_const, n_rows, out->data);
        return;
    case 32:
        choose_256(when, then->data, then->is_const, n_rows, out->data);
        return;
    default:
        ALM_DASSERT(out->width == 16);
        choose_128(when, then->data, then->is_const, n_rows, out->data);
    }
}

void alm_blend_case(const alm_vec *args, uint32_t n_args, size_t n_rows, alm_vec *out)
{
    ALM_DASSERT(n_args % 2 == 1);
    alm_blend_copy(&args[n_args - 1], n_rows, out->data, out->width);
    /* From the last condition to the first, so that the first true one wins. */
    for (uint32_t k = n_args - 1; k >= 2; k -= 2) {
        const alm_vec *when = &args[k - 2], *then = &args[k - 1];
        ALM_DASSERT(when->width == 1);
        if (!when->is_const)
            blend_choose(when->data, then, n_rows, out);
        else if (*(const uint8_t *)when->data)
            alm_blend_copy(then, n_rows, out->data, out->width);
    }
}

/* ------------------------------------------------------------------------------------ look up */

#define DEFINE_LOOKUP(bits, code_bits, type)                                                       \
    static void lookup_##bits##_##code_bits(const uint##code_bits##_t *restrict code,              \
                                            const type *restrict table, size_t n,                  \
                                            type *restrict out)                                    \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = table[code[i]];                                                               \
    }
#define DEFINE_LOOKUPS(bits, type)                                                                 \
    DEFINE_LOOKUP(bits, 8, type)                                                                   \
    DEFINE_LOOKUP(bits, 16, type)                                                                  \
    DEFINE_LOOKUP(bits, 32, type)                                                                  \
    static void lookup_##bits(const alm_vec *codes, const void *table, size_t n, void *out)        \
    {                                                                                              \
        if (codes->width == 1)                                                                     \
            lookup_##bits##_8(codes->data, table, n, out);                                         \
        else if (codes->width == 2)                                                                \
            lookup_##bits##_16(codes->data, table, n, out);                                        \
        else                                                                                       \
            lookup_##bits##_32(codes->data, table, n, out);                                        \
    }
DEFINE_LOOKUPS(8, uint8_t)
DEFINE_LOOKUPS(16, uint16_t)
DEFINE_LOOKUPS(32, uint32_t)
DEFINE_LOOKUPS(64, uint64_t)
DEFINE_LOOKUPS(128, alm_wide16)
DEFINE_LOOKUPS(256, alm_wide32)

void alm_blend_lookup(const alm_vec *codes, const void *table, uint32_t width, uint32_t count,
                      size_t n_rows, void *out)
{
    (void)count;
    ALM_DASSERT(codes->width <= 4 && count > 0);
    switch (width) {
    case 1:
        lookup_8(codes, table, n_rows, out);
        return;
    case 2:
        lookup_16(codes, table, n_rows, out);
        return;
    case 4:
        lookup_32(codes, table, n_rows, out);
        return;
    case 8:
        lookup_64(codes, table, n_rows, out);
        return;
    case 32:
        lookup_256(codes, table, n_rows, out);
        return;
    default:
        ALM_DASSERT(width == 16);
        lookup_128(codes, table, n_rows, out);
    }
}

/* --------------------------------------------------------------------------------------- copy */

static void blend_copy_views(const alm_vec *vec, size_t n_rows, alm_view *restrict out)
{
    const alm_view *from = vec->data;
    const size_t step = vec->is_const ? 0 : 1;
    for (size_t i = 0; i < n_rows; i++)
        out[i] = addressed(from[i * step], vec->heap);
}

#define DEFINE_FILL(bits, type)                                                                    \
    static void fill_##bits(type value, size_t n, type *restrict out)                              \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            out[i] = value;                                                                        \
    }
DEFINE_FILL(16, uint16_t)
DEFINE_FILL(32, uint32_t)
DEFINE_FILL(64, uint64_t)
DEFINE_FILL(128, alm_wide16)
DEFINE_FILL(256, alm_wide32)

void alm_blend_copy(const alm_vec *vec, size_t n_rows, void *out, uint32_t width)
{
    if (vec->dict != NULL) {
        if (vec->is_const)
            fill_128(((const alm_wide16 *)(const void *)vec->dict->views)[alm_vec_code(vec, 0)],
                     n_rows, out);
        else
            lookup_128(vec, vec->dict->views, n_rows, out);
        return;
    }
    ALM_DASSERT(vec->width == width);
    if (vec->heap != NULL && width == sizeof(alm_view)) {
        blend_copy_views(vec, n_rows, out);
        return;
    }
    if (!vec->is_const) {
        memcpy(out, vec->data, n_rows * width);
        return;
    }
    switch (width) {
    case 1:
        memset(out, *(const uint8_t *)vec->data, n_rows);
        return;
    case 2:
        fill_16(*(const uint16_t *)vec->data, n_rows, out);
        return;
    case 4:
        fill_32(*(const uint32_t *)vec->data, n_rows, out);
        return;
    case 8:
        fill_64(*(const uint64_t *)vec->data, n_rows, out);
        return;
    case 32:
        fill_256(*(const alm_wide32 *)vec->data, n_rows, out);
        return;
    default:
        fill_128(*(const alm_wide16 *)vec->data, n_rows, out);
    }
}
