/*
 * compare_text.c - = != < <= > >= over STRING, VARCHAR and SYMBOL.
 *
 * Null rule   As compare.c: null equals null only; ordering with one null is false.
 * SYMBOL      Equality with a constant looks the constant up in the dictionary once a batch and
 *             compares codes. Two columns of one dictionary compare codes too. Ordering works per
 *             distinct value (value/dict.h).
 * Order       By bytes, which for UTF-8 is by code point.
 */
#include "func/value/dict.h"
#include "func/value/kernel.h"
#include "func/value/tables.h"

/* ------------------------------------------------------------------- codes */

#define CODE_LOOP(C)                                                                               \
    static ALM_SIMD void code_is_##C(const C *restrict codes, const C code, const uint8_t differ,  \
                                     uint8_t *restrict o, size_t n)                                \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            o[i] = (uint8_t)((codes[i] == code) ^ differ);                                         \
    }                                                                                              \
    static ALM_SIMD void codes_same_##C(const C *restrict a, const C *restrict b,                  \
                                        const uint8_t differ, uint8_t *restrict o, size_t n)       \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            o[i] = (uint8_t)((a[i] == b[i]) ^ differ);                                             \
    }
CODE_LOOP(uint8_t)
CODE_LOOP(uint16_t)
CODE_LOOP(uint32_t)

static void code_is(const alm_vec *vec, uint32_t code, uint8_t differ, uint8_t *out, size_t n_rows)
{
    if (vec->is_const)
        memset(out, (alm_vec_code(vec, 0) == code) ^ differ, n_rows);
    else if (vec->width == 1)
        code_is_uint8_t(vec->data, (uint8_t)code, differ, out, n_rows);
    else if (vec->width == 2)
        code_is_uint16_t(vec->data, (uint16_t)code, differ, out, n_rows);
    else
        code_is_uint32_t(vec->data, code, differ, out, n_rows);
}

/* Codes against a constant text. */
static void code_is_text(const alm_vec *vec, alm_str text, uint8_t differ, uint8_t *out,
                         size_t n_rows)
{
    uint32_t code = 0; /* of null */
    if (text.ptr != NULL) {
        code = vec->dict->find(vec->dict, text);
        /* not in the dictionary, or newer than the codes of this width can be: equal to nothing */
        if (code == 0 || (vec->width < 4 && code >> (8 * vec->width) != 0)) {
            memset(out, differ, n_rows);
            return;
        }
    }
    code_is(vec, code, differ, out, n_rows);
}

/* True if the comparison could be done on codes. */
static bool equal_by_code(const alm_vec *args, uint8_t differ, uint8_t *out, size_t n)
{
    const alm_vec *a = &args[0], *b = &args[1];
    if (a->dict == NULL) {
        const alm_vec *vec = a;
        a = b;
        b = vec;
    }
    if (a->dict == NULL)
        return false;
    if (b->is_const && !a->is_const) {
        code_is_text(a, alm_vec_text(b, 0), differ, out, n);
        return true;
    }
    if (b->dict == NULL || b->dict->id != a->dict->id || a->is_const || b->is_const ||
        a->width != b->width)
        return false;
    if (a->width == 1)
        codes_same_uint8_t(a->data, b->data, differ, out, n);
    else if (a->width == 2)
        codes_same_uint16_t(a->data, b->data, differ, out, n);
    else
        codes_same_uint32_t(a->data, b->data, differ, out, n);
    return true;
}

/* ------------------------------------------------------------------- views */

typedef struct words {
    uint64_t head, tail; /* length and first 4 bytes; next 8 bytes, or where the text is */
} words;

/* Against a short constant: two words say all. */
static ALM_SIMD void view_is_short(const words *restrict phrase, const words y,
                                   const uint8_t differ, uint8_t *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(((phrase[i].head == y.head) & (phrase[i].tail == y.tail)) ^ differ);
}

static ALM_SIMD void view_is_null(const alm_view *restrict views, const uint8_t differ,
                                  uint8_t *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((views[i].len == ALM_VIEW_NULL) ^ differ);
}

/* Before two texts are compared: those that are long may be equal up to their ends. */
static inline alm_status compare_text_look(const alm_call *call, const alm_view *view)
{
    enum { LONG_BYTES = 1 << 16 };
    return view->len < LONG_BYTES || alm_view_is_null(view) ? ALM_OK
                                                            : alm_text_work(call->cx, view->len);
}

static alm_status views_equal(const alm_call *call, const alm_vec *args, uint8_t differ,
                              uint8_t *out, size_t n)
{
    const alm_vec *a = &args[0], *b = &args[1];
    if (a->is_const && !b->is_const) {
        const alm_vec *vec = a;
        a = b;
        b = vec;
    }
    const alm_view *x = a->data, *y = b->data;
    if (b->is_const && alm_view_is_null(y)) {
        view_is_null(x, differ, out, n);
    } else if (b->is_const && y->len <= ALM_VIEW_INLINE) {
        words phrase;
        memcpy(&phrase, y, sizeof phrase);
        view_is_short((const words *)(const void *)x, phrase, differ, out, n);
    } else {
        const size_t step = b->is_const ? 0 : 1;
        for (size_t i = 0; i < n; i++) {
            ALM_TRY(compare_text_look(call, &x[i]));
            out[i] = (uint8_t)(alm_view_eq(&x[i], a->heap, &y[i * step], b->heap) ^ differ);
        }
    }
    return ALM_OK;
}

static alm_status equality(alm_scalar_kernel self, alm_call *call, size_t n_rows,
                           const alm_vec *args, alm_vec *out, uint8_t differ)
{
    if (equal_by_code(args, differ, out->data, n_rows))
        return ALM_OK;
    ALM_OVER_DICT(self, call, n_rows, args, out);
    return views_equal(call, args, differ, out->data, n_rows);
}

static alm_status eq_text(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return equality(eq_text, call, n_rows, args, out, 0);
}

static alm_status ne_text(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    return equality(ne_text, call, n_rows, args, out, 1);
}

/* ---------------------------------------------------------------- ordering */

/* sign of a <=> b is one of two wanted; two nulls are equal, one null is never right */
static alm_status views_ordered(const alm_call *call, const alm_vec *args, int want, bool or_equal,
                                uint8_t *out, size_t n)
{
    const alm_view *x = args[0].data, *y = args[1].data;
    const size_t sx = args[0].is_const ? 0 : 1, sy = args[1].is_const ? 0 : 1;
    const char *hx = args[0].heap, *hy = args[1].heap;
    for (size_t i = 0; i < n; i++) {
        const alm_view *a = &x[i * sx], *b = &y[i * sy];
        const bool null_a = alm_view_is_null(a), null_b = alm_view_is_null(b);
        bool yes;
        if (null_a || null_b) {
            yes = null_a && null_b && or_equal;
        } else {
            ALM_TRY(compare_text_look(call, a));
            const int c = alm_view_cmp(a, hx, b, hy);
            yes = c == 0 ? or_equal : (c < 0) == (want < 0);
        }
        out[i] = (uint8_t)yes;
    }
    return ALM_OK;
}

#define ORDERING(name, want, or_equal)                                                             \
    static alm_status name##_text(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)     \
    {                                                                                              \
        ALM_OVER_DICT(name##_text, call, n, args, out);                                            \
        return views_ordered(call, args, want, or_equal, out->data, n);                            \
    }
ORDERING(lt, -1, false)
ORDERING(le, -1, true)
ORDERING(gt, 1, false)
ORDERING(ge, 1, true)

#define OP(op, kernel_, doc_)                                                                      \
    {.name = op,                                                                                   \
     .signature = "(TEXT, TEXT) BOOLEAN",                                                          \
     .flags = ALM_FN_INTERNAL | ALM_FN_SYMBOLS | ALM_FN_LEAKPROOF,                                 \
     .kernel = kernel_,                                                                            \
     .doc = doc_,                                                                                  \
     .example = "'ETH' " op " 'BTC'",                                                              \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    OP("=", eq_text, "Equal texts; null equals null."),
    OP("!=", ne_text, "Different texts."),
    OP("<>", ne_text, "Different texts."),
    OP("<", lt_text, "Before, by code point; false for null."),
    OP("<=", le_text, "Before or equal."),
    OP(">", gt_text, "After, by code point; false for null."),
    OP(">=", ge_text, "After or equal."),
};
ALM_FN_TABLE(compare_text, ROWS);
