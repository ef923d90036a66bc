/* spill.c - see spill.h. Numbers of rows are the last column of the files. */
#include "exec/window/spill.h"

#include "exec/data/blend.h"
#include "storage/spill/spill.h"
#include "type/value.h"

/* Each bucket costs buffers: of a few megabytes of memory one has a share. */
enum { BUCKETS_MIN = 4, BUCKETS_MAX = 64, BUCKET_BYTES = 6 << 20 };

struct alm_window_spill {
    const char *who;
    alm_run *run;
    uint32_t n_buckets, n_in, n_out;
    const uint32_t *key;
    uint32_t n_keys;
    alm_spill *in, *out;
    alm_spill_reader *reader; /* of the bucket that is loaded */
    uint32_t loading;         /* 1 + that bucket */
    alm_arena scratch;
    alm_pool pool;
    alm_vec *cols;    /* of one append: columns, number of the row */
    int64_t n, given; /* rows added, rows given out */
    /* numbers of the rows of the bucket under way, and how many have their results */
    int64_t *row;
    uint32_t n_rows, cap_rows, put;
    /* results: a reader per bucket with its present batch */
    alm_spill_reader **from;
    alm_batch *batch[BUCKETS_MAX];
    uint32_t at[BUCKETS_MAX];
};

alm_status alm_window_spill_new(alm_ctx *cx, alm_run *run, const char *who, uint32_t n_in,
                                const uint32_t *key, uint32_t n_keys, uint32_t n_out,
                                alm_window_spill **out)
{
    alm_window_spill *spill = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &spill));
    *spill = (alm_window_spill){
        .who = who, .run = run, .n_in = n_in, .n_out = n_out, .key = key, .n_keys = n_keys};
    alm_arena_init(&spill->scratch, cx->mem);
    alm_pool_init(&spill->pool, cx->mem, who);
    *out = spill;
    int64_t limit = 0;
    (void)alm_pool_room(&spill->pool, &limit);
    spill->n_buckets = (uint32_t)ALM_MAX((int64_t)BUCKETS_MIN,
                                         ALM_MIN((int64_t)BUCKETS_MAX, limit / BUCKET_BYTES));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_MAX(n_in, n_out) + 1, &spill->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, spill->n_buckets, &spill->from));
    ALM_TRY(alm_spill_new(cx, run->env.spill, n_in + 1, who, &spill->in));
    for (uint32_t bucket = 0, no = 0; bucket < spill->n_buckets; bucket++)
        ALM_TRY(alm_spill_run(cx, spill->in, &no));
    return ALM_OK;
}

void alm_window_spill_free(alm_window_spill *spill)
{
    if (spill == NULL)
        return;
    alm_spill_reader_free(spill->reader);
    for (uint32_t bucket = 0; spill->from != NULL && bucket < spill->n_buckets; bucket++)
        alm_spill_reader_free(spill->from[bucket]);
    alm_spill_free(spill->in);
    alm_spill_free(spill->out);
    alm_pool_deinit(&spill->pool);
    alm_arena_deinit(&spill->scratch);
}

uint32_t alm_window_spill_buckets(const alm_window_spill *spill)
{
    return spill->n_buckets;
}

/* ---------------------------------------------------------------------------------- buckets */

/* Symbols count by their text: their codes may change from batch to batch. */
static alm_status window_spill_hash_rows(alm_ctx *cx, alm_window_spill *spill, const alm_vec *cols,
                                         uint32_t n, uint64_t *hash)
{
    for (uint32_t k = 0; k < spill->n_keys; k++) {
        alm_vec key = cols[spill->key[k]];
        if (key.dict != NULL)
            ALM_TRY(alm_vec_decode(cx, &spill->scratch, &cols[spill->key[k]], n, &key));
        if (k == 0)
            alm_vec_hash(&key, n, hash);
        else
            alm_vec_hash_combine(&key, n, hash);
    }
    return ALM_OK;
}

alm_status alm_window_spill_add(alm_ctx *cx, alm_window_spill *spill, const alm_vec *cols,
                                uint32_t n)
{
    uint64_t *hash = NULL;
    uint32_t *pick = NULL, *start = NULL;
    int64_t *row = NULL;
    alm_arena_reset(&spill->scratch);
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_arena_bytes(cx, &spill->scratch, ((size_t)n + 1) * sizeof *hash, &hash));
    ALM_TRY(alm_arena_bytes(cx, &spill->scratch, ((size_t)n + 1) * sizeof *pick, &pick));
    ALM_TRY(alm_arena_bytes(cx, &spill->scratch, ((size_t)n + 1) * sizeof *row, &row));
    ALM_TRY(ALM_NEWN(cx, &spill->scratch, spill->n_buckets + 2, &start));
    ALM_TRY(window_spill_hash_rows(cx, spill, cols, n, hash));
    for (uint32_t i = 0; i < n; i++)
        start[2 + hash[i] % spill->n_buckets]++;
    for (uint32_t bucket = 2; bucket < spill->n_buckets + 2; bucket++)
        start[bucket] += start[bucket - 1];
    for (uint32_t i = 0; i < n; i++)
        pick[start[1 + hash[i] % spill->n_buckets]++] = i;
    for (uint32_t bucket = 0; bucket < spill->n_buckets; bucket++) {
        const uint32_t lo = start[bucket], m = start[bucket + 1] - lo;
        if (m == 0)
            continue;
        for (uint32_t col = 0; col < spill->n_in; col++)
            ALM_TRY(
                alm_vec_gather(cx, &spill->scratch, &cols[col], pick + lo, m, &spill->cols[col]));
        for (uint32_t i = 0; i < m; i++)
            row[lo + i] = spill->n + pick[lo + i];
        spill->cols[spill->n_in] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = row + lo};
        ALM_TRY(alm_spill_append(cx, spill->in, bucket, spill->cols, m));
    }
    spill->n += n;
    return ALM_OK;
}

alm_status alm_window_spill_turn(alm_ctx *cx, alm_window_spill *spill)
{
    for (uint32_t bucket = 0; bucket < spill->n_buckets; bucket++)
        ALM_TRY(alm_spill_end(cx, spill->in, bucket));
    ALM_TRY(alm_spill_new(cx, spill->run->env.spill, spill->n_out + 1, spill->who, &spill->out));
    return ALM_OK;
}

alm_status alm_window_spill_load(alm_ctx *cx, alm_window_spill *spill, uint32_t bucket,
                                 alm_batch **batch)
{
    if (spill->loading != bucket + 1) {
        uint32_t no = 0;
        alm_spill_reader_free(spill->reader);
        spill->reader = NULL;
        ALM_TRY(alm_spill_reader_new(cx, spill->in, bucket, &spill->reader));
        ALM_TRY(alm_spill_run(cx, spill->out, &no));
        ALM_ASSERT(no == bucket);
        spill->loading = bucket + 1;
        spill->n_rows = spill->put = 0;
    }
    ALM_TRY(alm_spill_read(cx, spill->reader, batch));
    if (*batch == NULL)
        return ALM_OK;
    const uint32_t n = (*batch)->rows, need = spill->n_rows + n;
    const alm_vec *row = &(*batch)->cols[spill->n_in];
    if (need > spill->cap_rows) {
        const uint32_t cap = ALM_MAX(need, 2 * spill->cap_rows);
        ALM_TRY(alm_pool_grow(cx, &spill->pool, &spill->row, spill->n_rows * sizeof *spill->row,
                              cap * sizeof *spill->row));
        spill->cap_rows = cap;
    }
    for (uint32_t i = 0; i < n; i++)
        spill->row[spill->n_rows + i] = ((const int64_t *)row->data)[row->is_const ? 0 : i];
    spill->n_rows += n;
    return ALM_OK;
}

alm_status alm_window_spill_put(alm_ctx *cx, alm_window_spill *spill, uint32_t bucket,
                                const alm_vec *cols, uint32_t n_rows)
{
    memcpy(spill->cols, cols, spill->n_out * sizeof *cols);
    spill->cols[spill->n_out] =
        (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = spill->row + spill->put};
    spill->put += n_rows;
    ALM_TRY(alm_spill_append(cx, spill->out, bucket, spill->cols, n_rows));
    return spill->put < spill->n_rows ? ALM_OK : alm_spill_end(cx, spill->out, bucket);
}

/* ----------------------------------------------------------------------------------- results */

/* Symbols come as texts, so that all buckets have one form; long texts are copied. */
static alm_status window_spill_place(alm_ctx *cx, alm_arena *arena, const alm_vec *from,
                                     uint32_t lo, uint32_t m, const uint32_t *dest, alm_vec *out)
{
    alm_vec vec = *from;
    if (from->dict != NULL)
        ALM_TRY(alm_vec_decode(cx, arena, from, (size_t)lo + m, &vec));
    const bool views = alm_has_views(out->type);
    for (uint32_t i = 0; i < m; i++) {
        char *ptr = (char *)out->data + (size_t)dest[i] * out->width;
        memcpy(ptr, (const char *)vec.data + (vec.is_const ? 0 : (size_t)(lo + i) * vec.width),
               vec.width);
        alm_view *view = (alm_view *)(void *)ptr;
        if (!views || alm_view_is_null(view) || view->len <= ALM_VIEW_INLINE)
            continue;
        alm_str copy = {0};
        ALM_TRY(alm_arena_copy(cx, arena, alm_view_str(view, vec.heap), &copy));
        *view = alm_view_of(copy);
    }
    return ALM_OK;
}

/* Rows of a bucket below `end` to their places. */
static alm_status take_bucket(alm_ctx *cx, alm_window_spill *spill, alm_arena *arena,
                              uint32_t bucket, int64_t end, uint32_t *dest, alm_vec *cols)
{
    for (;;) {
        const alm_batch *batch = spill->batch[bucket];
        if (batch == NULL || spill->at[bucket] == batch->rows) {
            if (spill->from[bucket] == NULL)
                return ALM_OK;
            ALM_TRY(alm_spill_read(cx, spill->from[bucket], &spill->batch[bucket]));
            spill->at[bucket] = 0;
            if (spill->batch[bucket] == NULL) {
                alm_spill_reader_free(spill->from[bucket]);
                spill->from[bucket] = NULL;
                return ALM_OK;
            }
            continue;
        }
        const alm_vec *row = &batch->cols[spill->n_out];
        const int64_t *number = row->data;
        const uint32_t lo = spill->at[bucket];
        uint32_t m = 0;
        for (; lo + m < batch->rows && number[row->is_const ? 0 : lo + m] < end; m++)
            dest[m] = (uint32_t)(number[row->is_const ? 0 : lo + m] - spill->given);
        for (uint32_t out = 0; out < spill->n_out && m > 0; out++)
            ALM_TRY(window_spill_place(cx, arena, &batch->cols[out], lo, m, dest, &cols[out]));
        spill->at[bucket] += m;
        if (spill->at[bucket] < batch->rows)
            return ALM_OK;
    }
}

alm_status alm_window_spill_next(alm_ctx *cx, alm_window_spill *spill, alm_arena *arena,
                                 const alm_plan_col *types, alm_vec *cols, uint32_t *n)
{
    uint32_t *dest = NULL;
    *n = (uint32_t)ALM_MIN((int64_t)ALM_BATCH_ROWS, spill->n - spill->given);
    if (*n == 0)
        return ALM_OK;
    if (spill->given == 0)
        for (uint32_t bucket = 0; bucket < spill->n_buckets; bucket++)
            if (alm_spill_rows(spill->out, bucket) > 0)
                ALM_TRY(alm_spill_reader_new(cx, spill->out, bucket, &spill->from[bucket]));
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_arena_bytes(cx, arena, *n * sizeof *dest, &dest));
    for (uint32_t out = 0; out < spill->n_out; out++)
        ALM_TRY(alm_vec_new(cx, arena, types[out].type, *n, &cols[out]));
    for (uint32_t bucket = 0; bucket < spill->n_buckets; bucket++)
        ALM_TRY(take_bucket(cx, spill, arena, bucket, spill->given + *n, dest, cols));
    spill->given += *n;
    return ALM_OK;
}
