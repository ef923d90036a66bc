/*
 * vector.h - column vectors and batches: the only form in which data moves through the engine.
 *
 * Shapes      A vector holds up to ALM_BATCH_ROWS elements of one type, or one element that stands
 *             for all rows (is_const). Fixed-width values are plain arrays. Text is an array of
 *             16-byte views. SYMBOL is an array of unsigned codes of 1, 2 or 4 bytes into a
 *             dictionary (dict != NULL), or views like other text (dict == NULL, width 16).
 * Null rule   Sentinels (type.def): no bitmap. Code 0 and a view of length ALM_VIEW_NULL are null.
 * Selection   A filter does not move data: it sets batch.sel. A column with `indirect` set is still
 *             in storage position: row i is data[sel[i]]. alm_batch_column makes it dense on first
 *             use (late materialisation), so kernels see only dense or const vectors.
 * Ownership   data, heap and dict are borrowed: they live as long as the batch (until the next call
 *             of next on the operator that made it) or longer (mapped parts, snapshot).
 */
#ifndef ALM_TYPE_VECTOR_H
#define ALM_TYPE_VECTOR_H

#include "type/type.h"

enum { ALM_BATCH_ROWS = 8192 };

/* Text of any length: up to 12 bytes inside, longer ones point into a heap. 16 bytes, on disk too
 * (little-endian). */
typedef struct alm_view {
    uint32_t len; /* bytes, or ALM_VIEW_NULL */
    char prefix[4];
    union {
        char tail[8]; /* len <= 12: bytes 4..11, zero filled */
        uint64_t off; /* len > 12: offset from vec.heap; an address where heap is NULL */
    };
} alm_view;
_Static_assert(sizeof(alm_view) == 16, "views are 16 bytes on disk");

#define ALM_VIEW_NULL UINT32_MAX
enum { ALM_VIEW_INLINE = 12 };

static inline bool alm_view_is_null(const alm_view *view)
{
    return view->len == ALM_VIEW_NULL;
}
/* Bytes of a view that is not null. */
static inline const char *alm_view_ptr(const alm_view *view, const char *heap)
{
    return view->len <= ALM_VIEW_INLINE ? view->prefix
                                        : (const char *)((uintptr_t)heap + (uintptr_t)view->off);
}
static inline alm_str alm_view_str(const alm_view *view, const char *heap)
{
    return (alm_str){alm_view_ptr(view, heap), view->len};
}
/* A view of borrowed bytes (address form for long text); text.ptr == NULL gives null. */
alm_view alm_view_of(alm_str text);
static inline alm_view alm_view_null(void)
{
    return (alm_view){.len = ALM_VIEW_NULL};
}
bool alm_view_eq(const alm_view *a, const char *heap_a, const alm_view *b, const char *heap_b);
int alm_view_cmp(const alm_view *a, const char *heap_a, const alm_view *b, const char *heap_b);

/*
 * Dictionary of a SYMBOL column as one snapshot sees it: codes 1..count-1, code 0 is null.
 * views[code] is in address form. The array is append-only; entries below count never change.
 */
typedef struct alm_dict {
    const alm_view *views; /* count entries; views[0] is the null view */
    uint32_t count;        /* codes in use + 1 */
    uint32_t id;           /* equal ids: same dictionary (codes comparable across vectors) */
    /* Code of a text, 0 for none. Thread safe. */
    uint32_t (*find)(const struct alm_dict *dict, alm_str text);
    void *owner;
} alm_dict;

typedef struct alm_vec {
    alm_type type;
    uint8_t width; /* bytes per element */
    bool is_const; /* data holds one element */
    bool no_nulls; /* known from statistics: no null in it */
    bool indirect; /* see Selection */
    void *data;    /* read-only unless the reader made it */
    const char *heap;
    const alm_dict *dict;
} alm_vec;

typedef struct alm_batch {
    uint32_t rows; /* rows of the batch, after selection */
    uint32_t n_cols;
    alm_vec *cols;
    const uint16_t *sel; /* rows entries, ascending; NULL: none pending */
} alm_batch;

/* Code of row i, whatever the width. */
static inline uint32_t alm_vec_code(const alm_vec *vec, size_t i)
{
    if (vec->is_const)
        i = 0;
    return vec->width == 1   ? ((const uint8_t *)vec->data)[i]
           : vec->width == 2 ? ((const uint16_t *)vec->data)[i]
                             : ((const uint32_t *)vec->data)[i];
}

/* Dense (or const) form of column `col`, gathered at most once; memory from `arena`. */
ALM_NODISCARD alm_status alm_batch_column(alm_ctx *cx, alm_arena *arena, alm_batch *batch,
                                          uint32_t col, alm_vec **out);
/* Gather rows idx[0..n) of a dense or const vector into fresh memory; views become address form. */
ALM_NODISCARD alm_status alm_vec_gather(alm_ctx *cx, alm_arena *arena, const alm_vec *vec,
                                        const uint32_t *idx, size_t n_rows, alm_vec *out);
/* A fresh flat vector of n elements (SYMBOL: 4-byte codes if dict is set later, else views). */
ALM_NODISCARD alm_status alm_vec_new(alm_ctx *cx, alm_arena *arena, alm_type type, size_t n_rows,
                                     alm_vec *out);
/* A const vector of n = 1 that holds null of the type. */
ALM_NODISCARD alm_status alm_vec_null(alm_ctx *cx, alm_arena *arena, alm_type type, alm_vec *out);
/* Null of the type at `out` (width bytes; SYMBOL: a view). Types without null: zero. */
void alm_value_set_null(alm_type type, void *out);
/* Flat form of a const vector, n elements. */
ALM_NODISCARD alm_status alm_vec_expand(alm_ctx *cx, alm_arena *arena, const alm_vec *vec,
                                        size_t n_rows, alm_vec *out);
/* SYMBOL codes to views; other text is passed through. Const stays const. */
ALM_NODISCARD alm_status alm_vec_decode(alm_ctx *cx, alm_arena *arena, const alm_vec *vec,
                                        size_t n_rows, alm_vec *out);
/* n values of the type from outside: of FLOAT and DOUBLE, what is not finite becomes null. Kernels rely on it. */
void alm_values_settle(alm_type type, void *values, size_t n);
/* Is row i null? By the null rule of the type; for control plane and tests, not for kernels. */
bool alm_vec_is_null(const alm_vec *vec, size_t i);
/* Text of row i of a text vector (codes are decoded); ptr NULL for null. */
alm_str alm_vec_text(const alm_vec *vec, size_t i);

#endif
