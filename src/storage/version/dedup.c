/*
 * dedup.c - DEDUP UPSERT KEYS among rows that are sorted by time already (merge.h).
 *
 * Cost        One compare of times per row; keys are looked at only where times are equal. Groups of
 *             up to 16 rows are compared pairwise, larger ones (thousands of devices that report in
 *             the same second) through a hash table.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "storage/version/merge.h"

enum { SMALL_GROUP = 16 };

static inline uint32_t dedup_row_of(uint64_t place)
{
    return (uint32_t)place;
}

static inline size_t dedup_element(const alm_vec *vec, uint64_t place)
{
    return vec->is_const ? 0 : dedup_row_of(place);
}

static inline uint32_t code_of(const alm_vec *vec, uint64_t place)
{
    return vec->width == sizeof(alm_view)
               ? 0
               : alm_vec_code(vec, dedup_row_of(place)); /* null view: missing */
}

/* A fixed-width key in 32 bytes: all NaNs are one null, and -0.0 is 0.0, as they are to GROUP BY. */
static void key_bits(const alm_vec *vec, uint64_t place, uint64_t out[4])
{
    out[0] = out[1] = out[2] = out[3] = 0;
    if (vec->type.id == ALM_T_SYMBOL) {
        out[0] = code_of(vec, place);
        return;
    }
    memcpy(out, (const char *)vec->data + dedup_element(vec, place) * vec->width, vec->width);
    double value;
    float f;
    memcpy(&value, out, sizeof(value));
    memcpy(&f, out, sizeof(f));
    if ((vec->type.id == ALM_T_DOUBLE && value != value) || (vec->type.id == ALM_T_FLOAT && f != f))
        out[0] = UINT64_MAX;
    else if ((vec->type.id == ALM_T_DOUBLE && value == 0) ||
             (vec->type.id == ALM_T_FLOAT && f == 0))
        out[0] = 0;
}

static bool dedup_is_text(const alm_vec *vec)
{
    return alm_type_has_heap(vec->type);
}

static bool dedup_same_keys(const alm_dedup_src *srcs, uint32_t n_keys, uint64_t a, uint64_t b)
{
    for (uint32_t key = 0; key < n_keys; key++) {
        const alm_vec *vec = &srcs[a >> 32].keys[key], *vb = &srcs[b >> 32].keys[key];
        if (dedup_is_text(vec)) {
            if (!alm_view_eq((const alm_view *)vec->data + dedup_element(vec, a), vec->heap,
                             (const alm_view *)vb->data + dedup_element(vb, b), vb->heap))
                return false;
            continue;
        }
        uint64_t ka[4], kb[4];
        key_bits(vec, a, ka);
        key_bits(vb, b, kb);
        if (memcmp(ka, kb, sizeof ka) != 0)
            return false;
    }
    return true;
}

static uint64_t hash_keys(const alm_dedup_src *srcs, uint32_t n_keys, uint64_t place)
{
    uint64_t hash = 0;
    for (uint32_t key = 0; key < n_keys; key++) {
        const alm_vec *vec = &srcs[place >> 32].keys[key];
        if (dedup_is_text(vec)) {
            const alm_view *view = (const alm_view *)vec->data + dedup_element(vec, place);
            hash = alm_hash_combine(
                hash, alm_view_is_null(view) ? 0 : alm_hash_str(alm_view_str(view, vec->heap)));
        } else {
            uint64_t bits[4];
            key_bits(vec, place, bits);
            hash = alm_hash_combine(hash, alm_hash_u128(bits[0], bits[1]));
            if (vec->width > 16)
                hash = alm_hash_combine(hash, alm_hash_u128(bits[2], bits[3]));
        }
    }
    return hash;
}

/* Does a row go, of which an equal one stays already? Those that stay are of the last source. */
static inline bool dedup_replaced(alm_dedup_kind kind, uint64_t row, uint64_t stays)
{
    return kind == ALM_DEDUP_ROWS || row >> 32 != stays >> 32;
}

/* Both group functions move the rows that stay to the end of rows[0..n), in order, and return how
 * many they are: walking backward, the first of equals seen is the last. */
static int64_t group_pairwise(alm_dedup_kind kind, const alm_dedup_src *srcs, uint32_t n_keys,
                              uint64_t *rows, int64_t n)
{
    int64_t kept = n; /* rows[kept..n) stay */
    for (int64_t i = n; i-- > 0;) {
        bool seen = false;
        for (int64_t k = kept; k < n && !seen; k++)
            seen = dedup_same_keys(srcs, n_keys, rows[i], rows[k]) &&
                   dedup_replaced(kind, rows[i], rows[k]);
        if (!seen)
            rows[--kept] = rows[i];
    }
    return n - kept;
}

static alm_status group_hashed(alm_ctx *cx, alm_dedup_kind kind, const alm_dedup_src *srcs,
                               uint32_t n_keys, uint64_t *rows, int64_t n, int64_t *out)
{
    uint64_t slots = 64;
    while (slots < (uint64_t)n * 2)
        slots *= 2;
    int64_t *table = calloc(slots, sizeof(*table)); /* index in rows + 1, 0 empty */
    if (table == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory to compare the keys of %lld rows",
                        (long long)n);
    int64_t kept = n;
    for (int64_t i = n; i-- > 0;) {
        uint64_t place = hash_keys(srcs, n_keys, rows[i]) & (slots - 1);
        while (table[place] != 0 && !dedup_same_keys(srcs, n_keys, rows[i], rows[table[place] - 1]))
            place = (place + 1) & (slots - 1);
        if (table[place] != 0 && dedup_replaced(kind, rows[i], rows[table[place] - 1]))
            continue;
        rows[--kept] = rows[i];
        table[place] = kept + 1;
    }
    free(table);
    *out = n - kept;
    return ALM_OK;
}

/* Without keys all rows of one time are equal. */
static int64_t group_alike(alm_dedup_kind kind, const uint64_t *rows, int64_t n)
{
    int64_t stay = 1;
    while (kind == ALM_DEDUP_SOURCES && stay < n && rows[n - 1 - stay] >> 32 == rows[n - 1] >> 32)
        stay++;
    return stay;
}

alm_status alm_dedup_rows(alm_ctx *cx, alm_dedup_kind kind, const alm_dedup_src *srcs,
                          uint32_t n_keys, uint64_t *rows, int64_t n_rows, int64_t *kept)
{
    int64_t out = 0;
    for (int64_t i = 0; i < n_rows;) {
        const int64_t ts = srcs[rows[i] >> 32].ts[dedup_row_of(rows[i])];
        int64_t end = i + 1;
        while (end < n_rows && srcs[rows[end] >> 32].ts[dedup_row_of(rows[end])] == ts)
            end++;
        int64_t stay = 1;
        if (n_keys == 0)
            stay = group_alike(kind, rows + i, end - i);
        else if (end - i > SMALL_GROUP)
            ALM_TRY(group_hashed(cx, kind, srcs, n_keys, rows + i, end - i, &stay));
        else if (end - i > 1)
            stay = group_pairwise(kind, srcs, n_keys, rows + i, end - i);
        for (int64_t k = 0; k < stay; k++)
            rows[out + k] = rows[end - stay + k];
        out += stay;
        i = end;
    }
    *kept = out;
    return ALM_OK;
}
