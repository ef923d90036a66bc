/* write_lists.c - see write_lists.h. */
#include "codec/parquet/write_lists.h"

#include "type/array.h"

void alm_pq_lists_init(alm_pq_lists *lists, alm_mem *mem)
{
    *lists = (alm_pq_lists){0};
    alm_buf_init(&lists->repetition, mem);
    alm_buf_init(&lists->definition, mem);
    alm_buf_init(&lists->numbers, mem);
}

void alm_pq_lists_deinit(alm_pq_lists *lists)
{
    alm_buf_deinit(&lists->repetition);
    alm_buf_deinit(&lists->definition);
    alm_buf_deinit(&lists->numbers);
}

void alm_pq_lists_reset(alm_pq_lists *lists)
{
    lists->repetition.len = lists->definition.len = lists->numbers.len = 0;
    lists->n_levels = lists->n_nulls = 0;
}

static alm_status add_level(alm_ctx *cx, alm_pq_lists *lists, uint32_t definition)
{
    const uint32_t repetition = 0;
    lists->n_levels++;
    lists->n_nulls++;
    ALM_TRY(alm_buf_append(cx, &lists->repetition, &repetition, sizeof(repetition)));
    return alm_buf_append(cx, &lists->definition, &definition, sizeof(definition));
}

alm_status alm_pq_lists_add_null(alm_ctx *cx, alm_pq_lists *lists)
{
    return add_level(cx, lists, 0);
}

/* The dimension at which the list that number i begins is new; `dims` where it goes on. */
static uint32_t new_list(const uint32_t *len, uint32_t dims, size_t i)
{
    uint32_t level = dims;
    for (size_t size = 1; level > 0; level--) {
        size *= len[level - 1];
        if (i % size != 0)
            break;
    }
    return level;
}

static void *write_lists_room(alm_buf *buf, size_t n)
{
    void *ptr = buf->ptr + buf->len;
    buf->len += n;
    return ptr;
}

alm_status alm_pq_lists_add(alm_ctx *cx, alm_pq_lists *lists, uint32_t dims, alm_str array)
{
    uint32_t len[ALM_ARRAY_DIMS_MAX];
    size_t count = 1;
    ALM_ASSERT(dims >= 1 && dims <= ALM_ARRAY_DIMS_MAX && array.len >= dims * sizeof(uint32_t));
    (void)memcpy(len, array.ptr, dims * sizeof(uint32_t));
    for (uint32_t dim = 0; dim < dims; dim++)
        count *= len[dim];
    ALM_ASSERT(array.len == dims * sizeof(uint32_t) + count * sizeof(double));
    if (count == 0)
        return add_level(cx, lists, 1);
    if (lists->n_levels + count > INT32_MAX)
        return alm_fail(cx, ALM_E_LIMIT, -1, "the arrays of a page have over 2^31 numbers");
    ALM_TRY(alm_buf_reserve(cx, &lists->repetition, count * sizeof(uint32_t)));
    ALM_TRY(alm_buf_reserve(cx, &lists->definition, count * sizeof(uint32_t)));
    ALM_TRY(alm_buf_reserve(cx, &lists->numbers, count * sizeof(double)));
    uint32_t *repetition = write_lists_room(&lists->repetition, count * sizeof(uint32_t));
    uint32_t *definition = write_lists_room(&lists->definition, count * sizeof(uint32_t));
    double *number = (double *)(void *)(lists->numbers.ptr + lists->numbers.len);
    const char *from = array.ptr + dims * sizeof(uint32_t);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = alm_array_at(from, i);
        const bool null = __builtin_isfinite(value) == 0;
        repetition[i] = dims == 1 ? i > 0 : new_list(len, dims, i);
        definition[i] = 2 * dims + !null;
        number[n] = value;
        n += !null;
    }
    lists->numbers.len += n * sizeof(double);
    lists->n_levels += (uint32_t)count;
    lists->n_nulls += (uint32_t)(count - n);
    return ALM_OK;
}
