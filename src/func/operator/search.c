/*
 * search.c - see search.h.
 */
#include "func/operator/search.h"

enum {
    PLACES = 128, /* looked at together: a loop without branches, which the compiler vectorises */
    LOOK_BYTES = 1 << 20
};

/* What is looked for: bytes; with nocase, letters of either case. */
typedef struct needle {
    alm_str text; /* nocase: lower case */
    bool nocase;
    char first, last;           /* of text */
    char first_case, last_case; /* 0x20 for a letter that may have either case */
} needle;

static char either_case(bool nocase, char byte)
{
    return nocase && byte >= 'a' && byte <= 'z' ? 0x20 : 0;
}

static needle needle_of(alm_str text, bool nocase)
{
    const char first = text.ptr[0], last = text.ptr[text.len - 1];
    return (needle){.text = text,
                    .nocase = nocase,
                    .first = first,
                    .last = last,
                    .first_case = either_case(nocase, first),
                    .last_case = either_case(nocase, last)};
}

static bool equal_nocase(const char *ptr, alm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((ptr[i] | either_case(true, text.ptr[i])) != text.ptr[i])
            return false;
    return true;
}

static inline bool equal_inside(const char *ptr, const needle *what)
{
    const alm_str text = what->text;
    if (what->nocase)
        return equal_nocase(ptr, text);
    return text.len <= 2 || memcmp(ptr + 1, text.ptr + 1, text.len - 2) == 0;
}

/* The first of PLACES places whose first and last byte agree, and what lies between; PLACES: none. */
static size_t first_hit(const char *ptr, const uint8_t *agree, const needle *what)
{
    for (size_t k = 0; k < PLACES; k += 8) {
        uint64_t word;
        memcpy(&word, agree + k, sizeof word);
        for (; word != 0; word &= word - 1) { /* bytes are 0 or 1 */
            const size_t place = k + (size_t)__builtin_ctzll(word) / 8;
            if (equal_inside(ptr + place, what))
                return place;
        }
    }
    return PLACES;
}

/* Compares place after place, beginning with `from`. Returns the first match, or n if there is none. */
static inline size_t find_slowly(const char *input, size_t n, size_t from, const needle *what)
{
    const char first = what->first, last = what->last;
    const char first_case = what->first_case, last_case = what->last_case;
    const char *const behind = input + what->text.len - 1;
    for (size_t i = from; i + what->text.len <= n; i++)
        if ((char)(input[i] | first_case) == first && (char)(behind[i] | last_case) == last &&
            equal_inside(input + i, what))
            return i;
    return n;
}

ALM_SIMD static size_t search_find(const char *restrict input, size_t n, const needle *what)
{
    const char first = what->first, last = what->last;
    const char first_case = what->first_case, last_case = what->last_case;
    const size_t len = what->text.len;
    uint8_t agree[PLACES];
    size_t i = 0;
    if (n < len)
        return n;
    const size_t places = n - len + 1;
    for (; i + PLACES <= places; i += PLACES) {
        const char *restrict a = input + i, *restrict b = input + i + len - 1;
        uint8_t any = 0;
        for (size_t k = 0; k < PLACES; k++) {
            const uint8_t both = (uint8_t)(((char)(a[k] | first_case) == first) &
                                           ((char)(b[k] | last_case) == last));
            agree[k] = both;
            any |= both;
        }
        if (any == 0)
            continue;
        const size_t hit = first_hit(a, agree, what);
        if (hit < PLACES)
            return i + hit;
    }
    return find_slowly(input, n, i, what);
}

size_t alm_search_find(const char *input, size_t n, alm_str what)
{
    const needle sought = needle_of(what, false);
    return search_find(input, n, &sought);
}

static bool is_long(const alm_view *view)
{
    return view->len > ALM_VIEW_INLINE && view->len != ALM_VIEW_NULL;
}

/* Do the long texts lie in ascending order and nearly without gaps? [*lo, *hi): their bytes. Between
 * addresses (no heap) a gap may be anything: there must be none. */
static bool contiguous(const alm_view *views, const char *heap, size_t n, uint64_t *lo,
                       uint64_t *hi)
{
    uint64_t bytes = 0, first = UINT64_MAX, end = 0;
    bool rising = true;
    for (size_t i = 0; i < n; i++) {
        const bool in = is_long(&views[i]);
        const uint64_t from = in ? views[i].off : end, len = in ? views[i].len : 0;
        rising &= from >= end;
        first = in && first == UINT64_MAX ? from : first;
        end = from + len;
        bytes += len;
    }
    *lo = first;
    *hi = end;
    return rising && bytes > 0 && end - first <= (heap != NULL ? 2 : 1) * bytes;
}

/* The usual case at one look: all texts long, one behind the other. */
ALM_SIMD static bool all_long_rising(const alm_view *views, size_t n)
{
    uint32_t bad = views[0].len <= ALM_VIEW_INLINE || views[0].len == ALM_VIEW_NULL;
    for (size_t i = 1; i < n; i++) {
        const uint32_t len = views[i].len;
        bad |= (uint32_t)(len <= ALM_VIEW_INLINE) | (uint32_t)(len == ALM_VIEW_NULL) |
               (uint32_t)(views[i].off < views[i - 1].off + views[i - 1].len);
    }
    return bad == 0;
}

/* All long texts as one piece. */
static void search_piece(const alm_view *views, const char *heap, size_t n, const needle *what,
                         uint64_t lo, uint64_t hi, uint8_t *found)
{
    const char *base = (const char *)((uintptr_t)heap + (uintptr_t)lo);
    const size_t size = (size_t)(hi - lo);
    size_t row = 0;
    for (size_t offset = 0; offset < size;) {
        const size_t hit = offset + search_find(base + offset, size - offset, what);
        if (hit >= size)
            return;
        const uint64_t off = lo + hit;
        while (row < n && (!is_long(&views[row]) || views[row].off + views[row].len <= off))
            row++;
        if (row == n)
            return;
        const uint64_t end = views[row].off + views[row].len;
        found[row] |= off >= views[row].off && off + what->text.len <= end;
        offset = found[row] ? (size_t)(end - lo) : hit + 1;
    }
}

static void search_rows(const alm_view *views, const char *heap, size_t n, const needle *what,
                        uint8_t *found)
{
    uint64_t lo = 0, hi = 0;
    const bool piece = n > 1 && contiguous(views, heap, n, &lo, &hi);
    if (piece)
        search_piece(views, heap, n, what, lo, hi, found);
    for (size_t i = 0; i < n; i++) {
        if (alm_view_is_null(&views[i]) || views[i].len < what->text.len ||
            (piece && views[i].len > ALM_VIEW_INLINE))
            continue;
        const size_t len = views[i].len;
        const char *const text = alm_view_ptr(&views[i], heap);
        found[i] =
            (len < PLACES ? find_slowly(text, len, 0, what) : search_find(text, len, what)) < len;
    }
}

/* So many rows from the first on have long texts of LOOK_BYTES together. */
static size_t rows_of_a_look(const alm_view *views, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) /* has no branch, and settles nearly every batch */
        all += views[i].len == ALM_VIEW_NULL ? 0 : views[i].len;
    if (all < LOOK_BYTES)
        return n;
    size_t rows = 0;
    for (uint64_t bytes = 0; rows < n && bytes < LOOK_BYTES; rows++)
        bytes += is_long(&views[rows]) ? views[rows].len : 0;
    return rows;
}

static alm_status operator_search(alm_ctx *cx, const alm_view *views, const char *heap, size_t n,
                                  const needle *what, uint8_t *found)
{
    memset(found, 0, n);
    if (n > 1 && heap != NULL && all_long_rising(views, n) &&
        views[n - 1].off - views[0].off <= 128 * n) {
        search_piece(views, heap, n, what, views[0].off, views[n - 1].off + views[n - 1].len,
                     found);
        return ALM_OK;
    }
    for (size_t offset = 0, rows = 0; offset < n; offset += rows) {
        rows = rows_of_a_look(views + offset, n - offset);
        if (offset > 0)
            ALM_TRY(alm_check(cx));
        search_rows(views + offset, heap, rows, what, found + offset);
    }
    return ALM_OK;
}

alm_status alm_search_views(alm_ctx *cx, const alm_view *views, const char *heap, size_t n,
                            alm_str what, uint8_t *found)
{
    if (what.len == 0) {
        for (size_t i = 0; i < n; i++)
            found[i] = !alm_view_is_null(&views[i]);
        return ALM_OK;
    }
    const needle sought = needle_of(what, false);
    return operator_search(cx, views, heap, n, &sought, found);
}

ALM_SIMD static bool is_ascii(const char *input, size_t n)
{
    char all = 0;
    for (size_t i = 0; i < n; i++)
        all |= input[i];
    return all >= 0;
}

static bool rows_ascii(const alm_view *views, const char *heap, size_t n)
{
    uint64_t lo = 0, hi = 0;
    const bool piece = n > 1 && contiguous(views, heap, n, &lo, &hi);
    if (piece && !is_ascii((const char *)((uintptr_t)heap + (uintptr_t)lo), (size_t)(hi - lo)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!alm_view_is_null(&views[i]) && !(piece && views[i].len > ALM_VIEW_INLINE) &&
            !is_ascii(alm_view_ptr(&views[i], heap), views[i].len))
            return false;
    return true;
}

static alm_status all_ascii(alm_ctx *cx, const alm_view *views, const char *heap, size_t n,
                            bool *all)
{
    *all = true;
    for (size_t offset = 0, rows = 0; offset < n && *all; offset += rows) {
        rows = rows_of_a_look(views + offset, n - offset);
        if (offset > 0)
            ALM_TRY(alm_check(cx));
        *all = rows_ascii(views + offset, heap, rows);
    }
    return ALM_OK;
}

alm_status alm_search_views_nocase(alm_ctx *cx, const alm_view *views, const char *heap, size_t n,
                                   alm_str what, uint8_t *found, bool *done)
{
    *done = false;
    if (what.len == 0 || !is_ascii(what.ptr, what.len))
        return ALM_OK;
    ALM_TRY(all_ascii(cx, views, heap, n, done));
    if (!*done)
        return ALM_OK;
    const needle sought = needle_of(what, true);
    return operator_search(cx, views, heap, n, &sought, found);
}
