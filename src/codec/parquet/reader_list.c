/*
 * reader_list.c - rows of lists as arrays: repetition levels say where lists begin, definition levels where they
 * are null or empty (the record shredding of Dremel, as parquet-format describes it).
 *
 * Shapes      A list of lists is an array of as many dimensions; lists side by side must be equally long.
 * Null rule   A null list is the null array, a null element the null number; a null list in a list is an error.
 * Errors      Whole numbers that DOUBLE cannot hold.
 */
#include "codec/parquet/cursor_state.h"
#include "type/array.h"

typedef struct row_shape {
    uint32_t count[ALM_PQ_LISTS_MAX]; /* of the list that is open, by depth */
    uint32_t len[ALM_PQ_LISTS_MAX];   /* of those that were closed */
    bool known[ALM_PQ_LISTS_MAX];
} row_shape;

/* ---------------------------------------------------------------------------------- elements */

static const char *reader_list_to_double(const alm_pq_leaf *leaf, const void *input, uint32_t k,
                                         double *out)
{
    static const int64_t exact = INT64_C(1) << 53;
    bool over = false;
    switch (leaf->type.id) {
    case ALM_T_BYTE:
        for (uint32_t i = 0; i < k; i++)
            out[i] = ((const int8_t *)input)[i];
        break;
    case ALM_T_SHORT:
        for (uint32_t i = 0; i < k; i++)
            out[i] = ((const int16_t *)input)[i];
        break;
    case ALM_T_INT:
        for (uint32_t i = 0; i < k; i++)
            out[i] = ((const int32_t *)input)[i];
        break;
    case ALM_T_LONG:
        for (uint32_t i = 0; i < k; i++) {
            const int64_t value = ((const int64_t *)input)[i];
            over |= value > exact || value < -exact;
            out[i] = (double)value;
        }
        break;
    case ALM_T_FLOAT:
        for (uint32_t i = 0; i < k; i++)
            out[i] = (double)((const float *)input)[i];
        break;
    default:
        memcpy(out, input, k * sizeof *out);
    }
    return over ? "a number in a list is beyond 2^53, what DOUBLE holds exactly" : NULL;
}

/* The next levels of the page and the values among them. */
static alm_status next_levels(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena)
{
    const alm_pq_leaf *leaf = cur->leaf;
    bool all = false;
    uint32_t present = 0;
    uint8_t most = 0;
    if (!cur->in_page || cur->page_left == 0)
        ALM_TRY(alm_pq_cursor_page(cx, cur, cur->row));
    const uint32_t k = ALM_MIN(cur->page_left, (uint32_t)ALM_PQ_STEP);
    if (!alm_pq_runs_levels(&cur->rep, k, UINT32_MAX, cur->rep_level, &all) ||
        !alm_pq_runs_levels(&cur->def, k, UINT32_MAX, cur->def_level, &all))
        return alm_pq_cursor_fail(cx, cur, "its levels end too early");
    for (uint32_t i = 0; i < k; i++) {
        present += cur->def_level[i] == leaf->max_def;
        most = ALM_MAX(most, cur->def_level[i]);
        if (cur->rep_level[i] > leaf->max_rep)
            most = UINT8_MAX;
    }
    if (most > leaf->max_def)
        return alm_pq_cursor_fail(cx, cur, "a level is beyond the schema");
    ALM_TRY(alm_pq_cursor_values(cx, cur, arena, present, cur->dense));
    const char *bad = reader_list_to_double(leaf, cur->dense, present, cur->element);
    if (bad != NULL)
        return alm_pq_cursor_fail(cx, cur, bad);
    cur->page_left -= k;
    cur->level = 0;
    cur->n_levels = k;
    cur->next_element = 0;
    return ALM_OK;
}

/* ------------------------------------------------------------------------------------ one row */

static const char *close_lists(row_shape *shape, uint32_t from, uint32_t dims)
{
    for (uint32_t k = from; k < dims; k++) {
        if (shape->known[k] && shape->len[k] != shape->count[k])
            return "lists in a list differ in length, which an array cannot hold";
        shape->known[k] = true;
        shape->len[k] = shape->count[k];
    }
    return NULL;
}

/* An entry that begins lists from depth `from`: one element in each that has one. */
static const char *open_lists(const alm_pq_leaf *leaf, row_shape *shape, uint32_t from,
                              uint32_t def)
{
    for (uint32_t k = from; k < leaf->max_rep; k++) {
        const uint32_t has = leaf->list_def[k];
        shape->count[k] = def >= has;
        if (def >= has)
            continue;
        if (k > 0 && def + 1 < has)
            return "a list in a list is null, which an array cannot hold";
        for (uint32_t inner = k + 1; inner < leaf->max_rep; inner++)
            shape->count[inner] = 0;
        break;
    }
    return NULL;
}

static alm_status make_array(alm_ctx *cx, const alm_pq_cursor *cur, alm_arena *arena,
                             const row_shape *shape, alm_view *out)
{
    alm_array_out writer;
    uint32_t len[ALM_ARRAY_DIMS_MAX] = {0};
    const alm_buf *elements = &cur->elements;
    const uint32_t dims = cur->leaf->max_rep;
    const size_t n = elements->len / sizeof(double);
    size_t room = 1;
    bool over = false;
    for (uint32_t k = 0; k < dims; k++) {
        len[k] = shape->len[k];
        over |= __builtin_mul_overflow(room, len[k], &room);
    }
    if (over || room != n) /* such as one that is empty and goes on */
        return alm_pq_cursor_fail(cx, cur, "the levels of a list contradict each other");
    ALM_TRY(alm_array_begin(cx, arena, -1, dims, len, &writer));
    ALM_ASSERT(writer.count == n);
    if (n > 0)
        memcpy(writer.at, elements->ptr, elements->len);
    *out = alm_array_finish(&writer);
    return ALM_OK;
}

/* One entry of a row: levels and, where there is one, an element. */
static alm_status take_entry(alm_ctx *cx, alm_pq_cursor *cur, row_shape *shape, bool first)
{
    const alm_pq_leaf *leaf = cur->leaf;
    const uint32_t i = cur->level++;
    const uint32_t rep = cur->rep_level[i], def = cur->def_level[i];
    const char *bad = NULL;
    if (first) {
        bad = open_lists(leaf, shape, 0, def);
    } else if (def < leaf->list_def[rep - 1]) {
        bad = "a level is beyond the schema";
    } else {
        bad = close_lists(shape, rep, leaf->max_rep);
        shape->count[rep - 1]++;
        if (bad == NULL)
            bad = open_lists(leaf, shape, rep, def);
    }
    if (bad != NULL)
        return alm_pq_cursor_fail(cx, cur, bad);
    if (def < leaf->list_def[leaf->max_rep - 1])
        return ALM_OK;
    const double value =
        def == leaf->max_def ? cur->element[cur->next_element++] : __builtin_nan("");
    return alm_buf_append(cx, &cur->elements, &value, sizeof value);
}

/* Are there more entries of the row that has begun? */
static alm_status row_goes_on(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena, bool *more)
{
    if (cur->level == cur->n_levels) {
        *more = false;
        if (cur->page_left == 0 && cur->values_left == 0)
            return ALM_OK;
        ALM_TRY(next_levels(cx, cur, arena));
    }
    *more = cur->rep_level[cur->level] > 0;
    return ALM_OK;
}

static alm_status take_row(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena, alm_view *out)
{
    const alm_pq_leaf *leaf = cur->leaf;
    row_shape shape = {0};
    bool more = true;
    if (cur->level == cur->n_levels)
        ALM_TRY(next_levels(cx, cur, arena));
    if (cur->rep_level[cur->level] != 0)
        return alm_pq_cursor_fail(cx, cur, "a row begins within a list");
    const bool null = cur->def_level[cur->level] + 1U < leaf->list_def[0];
    cur->elements.len = 0;
    for (bool first = true; more; first = false) {
        ALM_TRY(take_entry(cx, cur, &shape, first));
        ALM_TRY(row_goes_on(cx, cur, arena, &more));
    }
    cur->row++;
    const char *bad = close_lists(&shape, 0, leaf->max_rep);
    if (bad != NULL)
        return alm_pq_cursor_fail(cx, cur, bad);
    if (out == NULL)
        return ALM_OK;
    *out = alm_view_null();
    return null ? ALM_OK : make_array(cx, cur, arena, &shape, out);
}

alm_status alm_pq_cursor_lists(alm_ctx *cx, alm_pq_cursor *cur, alm_arena *arena, uint32_t n,
                               alm_view *out)
{
    for (uint32_t i = 0; i < n; i++) {
        ALM_TRY(take_row(cx, cur, arena, out != NULL ? &out[i] : NULL));
        if (i % ALM_PQ_STEP == 0)
            ALM_TRY(alm_check(cx));
    }
    return ALM_OK;
}
