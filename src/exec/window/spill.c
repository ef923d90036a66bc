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
    alm_window_spill *s = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &s));
    *s = (alm_window_spill){
        .who = who, .run = run, .n_in = n_in, .n_out = n_out, .key = key, .n_keys = n_keys};
    alm_arena_init(&s->scratch, cx->mem);
    alm_pool_init(&s->pool, cx->mem, who);
    *out = s;
    int64_t limit = 0;
    (void)alm_pool_room(&s->pool, &limit);
    s->n_buckets = (uint32_t)ALM_MAX((int64_t)BUCKETS_MIN,
                                     ALM_MIN((int64_t)BUCKETS_MAX, limit / BUCKET_BYTES));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_MAX(n_in, n_out) + 1, &s->cols));
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->n_buckets, &s->from));
    ALM_TRY(alm_spill_new(cx, run->env.spill, n_in + 1, who, &s->in));
    for (uint32_t b = 0, no = 0; b < s->n_buckets; b++)
        ALM_TRY(alm_spill_run(cx, s->in, &no));
    return ALM_OK;
}

void alm_window_spill_free(alm_window_spill *s)
{
    if (s == NULL)
        return;
    alm_spill_reader_free(s->reader);
    for (uint32_t b = 0; s->from != NULL && b < s->n_buckets; b++)
        alm_spill_reader_free(s->from[b]);
    alm_spill_free(s->in);
    alm_spill_free(s->out);
    alm_pool_deinit(&s->pool);
    alm_arena_deinit(&s->scratch);
}

uint32_t alm_window_spill_buckets(const alm_window_spill *s)
{
    return s->n_buckets;
}

/* ---------------------------------------------------------------------------------- buckets */

/* Symbols count by their text: their codes may change from batch to batch. */
static alm_status hash_rows(alm_ctx *cx, alm_window_spill *s, const alm_vec *cols, uint32_t n,
                            uint64_t *hash)
{
    for (uint32_t k = 0; k < s->n_keys; k++) {
        alm_vec key = cols[s->key[k]];
        if (key.dict != NULL)
            ALM_TRY(alm_vec_decode(cx, &s->scratch, &cols[s->key[k]], n, &key));
        if (k == 0)
            alm_vec_hash(&key, n, hash);
        else
            alm_vec_hash_combine(&key, n, hash);
    }
    return ALM_OK;
}

alm_status alm_window_spill_add(alm_ctx *cx, alm_window_spill *s, const alm_vec *cols, uint32_t n)
{
    uint64_t *hash = NULL;
    uint32_t *pick = NULL, *start = NULL;
    int64_t *row = NULL;
    alm_arena_reset(&s->scratch);
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, ((size_t)n + 1) * sizeof *hash, &hash));
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, ((size_t)n + 1) * sizeof *pick, &pick));
    ALM_TRY(alm_arena_bytes(cx, &s->scratch, ((size_t)n + 1) * sizeof *row, &row));
    ALM_TRY(ALM_NEWN(cx, &s->scratch, s->n_buckets + 2, &start));
    ALM_TRY(hash_rows(cx, s, cols, n, hash));
    for (uint32_t i = 0; i < n; i++)
        start[2 + hash[i] % s->n_buckets]++;
    for (uint32_t b = 2; b < s->n_buckets + 2; b++)
        start[b] += start[b - 1];
    for (uint32_t i = 0; i < n; i++)
        pick[start[1 + hash[i] % s->n_buckets]++] = i;
    for (uint32_t b = 0; b < s->n_buckets; b++) {
        const uint32_t lo = start[b], m = start[b + 1] - lo;
        if (m == 0)
            continue;
        for (uint32_t c = 0; c < s->n_in; c++)
            ALM_TRY(alm_vec_gather(cx, &s->scratch, &cols[c], pick + lo, m, &s->cols[c]));
        for (uint32_t i = 0; i < m; i++)
            row[lo + i] = s->n + pick[lo + i];
        s->cols[s->n_in] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = row + lo};
        ALM_TRY(alm_spill_append(cx, s->in, b, s->cols, m));
    }
    s->n += n;
    return ALM_OK;
}

alm_status alm_window_spill_turn(alm_ctx *cx, alm_window_spill *s)
{
    for (uint32_t b = 0; b < s->n_buckets; b++)
        ALM_TRY(alm_spill_end(cx, s->in, b));
    ALM_TRY(alm_spill_new(cx, s->run->env.spill, s->n_out + 1, s->who, &s->out));
    return ALM_OK;
}

alm_status alm_window_spill_load(alm_ctx *cx, alm_window_spill *s, uint32_t bucket, alm_batch **in)
{
    if (s->loading != bucket + 1) {
        uint32_t no = 0;
        alm_spill_reader_free(s->reader);
        s->reader = NULL;
        ALM_TRY(alm_spill_reader_new(cx, s->in, bucket, &s->reader));
        ALM_TRY(alm_spill_run(cx, s->out, &no));
        ALM_ASSERT(no == bucket);
        s->loading = bucket + 1;
        s->n_rows = s->put = 0;
    }
    ALM_TRY(alm_spill_read(cx, s->reader, in));
    if (*in == NULL)
        return ALM_OK;
    const uint32_t n = (*in)->rows, need = s->n_rows + n;
    const alm_vec *row = &(*in)->cols[s->n_in];
    if (need > s->cap_rows) {
        const uint32_t cap = ALM_MAX(need, 2 * s->cap_rows);
        ALM_TRY(
            alm_pool_grow(cx, &s->pool, &s->row, s->n_rows * sizeof *s->row, cap * sizeof *s->row));
        s->cap_rows = cap;
    }
    for (uint32_t i = 0; i < n; i++)
        s->row[s->n_rows + i] = ((const int64_t *)row->data)[row->is_const ? 0 : i];
    s->n_rows += n;
    return ALM_OK;
}

alm_status alm_window_spill_put(alm_ctx *cx, alm_window_spill *s, uint32_t bucket,
                                const alm_vec *cols, uint32_t n)
{
    memcpy(s->cols, cols, s->n_out * sizeof *cols);
    s->cols[s->n_out] = (alm_vec){.type = ALM_TY(LONG), .width = 8, .data = s->row + s->put};
    s->put += n;
    ALM_TRY(alm_spill_append(cx, s->out, bucket, s->cols, n));
    return s->put < s->n_rows ? ALM_OK : alm_spill_end(cx, s->out, bucket);
}

/* ----------------------------------------------------------------------------------- results */

/* Symbols come as texts, so that all buckets have one form; long texts are copied. */
static alm_status place(alm_ctx *cx, alm_arena *arena, const alm_vec *from, uint32_t lo, uint32_t m,
                        const uint32_t *to, alm_vec *out)
{
    alm_vec v = *from;
    if (from->dict != NULL)
        ALM_TRY(alm_vec_decode(cx, arena, from, (size_t)lo + m, &v));
    const bool views = alm_has_views(out->type);
    for (uint32_t i = 0; i < m; i++) {
        char *at = (char *)out->data + (size_t)to[i] * out->width;
        memcpy(at, (const char *)v.data + (v.is_const ? 0 : (size_t)(lo + i) * v.width), v.width);
        alm_view *view = (alm_view *)(void *)at;
        if (!views || alm_view_is_null(view) || view->len <= ALM_VIEW_INLINE)
            continue;
        alm_str copy = {0};
        ALM_TRY(alm_arena_copy(cx, arena, alm_view_str(view, v.heap), &copy));
        *view = alm_view_of(copy);
    }
    return ALM_OK;
}

/* Rows of a bucket below `end` to their places. */
static alm_status take_bucket(alm_ctx *cx, alm_window_spill *s, alm_arena *arena, uint32_t b,
                              int64_t end, uint32_t *to, alm_vec *cols)
{
    for (;;) {
        const alm_batch *in = s->batch[b];
        if (in == NULL || s->at[b] == in->rows) {
            if (s->from[b] == NULL)
                return ALM_OK;
            ALM_TRY(alm_spill_read(cx, s->from[b], &s->batch[b]));
            s->at[b] = 0;
            if (s->batch[b] == NULL) {
                alm_spill_reader_free(s->from[b]);
                s->from[b] = NULL;
                return ALM_OK;
            }
            continue;
        }
        const alm_vec *row = &in->cols[s->n_out];
        const int64_t *number = row->data;
        const uint32_t lo = s->at[b];
        uint32_t m = 0;
        for (; lo + m < in->rows && number[row->is_const ? 0 : lo + m] < end; m++)
            to[m] = (uint32_t)(number[row->is_const ? 0 : lo + m] - s->given);
        for (uint32_t c = 0; c < s->n_out && m > 0; c++)
            ALM_TRY(place(cx, arena, &in->cols[c], lo, m, to, &cols[c]));
        s->at[b] += m;
        if (s->at[b] < in->rows)
            return ALM_OK;
    }
}

alm_status alm_window_spill_next(alm_ctx *cx, alm_window_spill *s, alm_arena *arena,
                                 const alm_plan_col *types, alm_vec *cols, uint32_t *n)
{
    uint32_t *to = NULL;
    *n = (uint32_t)ALM_MIN((int64_t)ALM_BATCH_ROWS, s->n - s->given);
    if (*n == 0)
        return ALM_OK;
    if (s->given == 0)
        for (uint32_t b = 0; b < s->n_buckets; b++)
            if (alm_spill_rows(s->out, b) > 0)
                ALM_TRY(alm_spill_reader_new(cx, s->out, b, &s->from[b]));
    ALM_TRY(alm_check(cx));
    ALM_TRY(alm_arena_bytes(cx, arena, *n * sizeof *to, &to));
    for (uint32_t c = 0; c < s->n_out; c++)
        ALM_TRY(alm_vec_new(cx, arena, types[c].type, *n, &cols[c]));
    for (uint32_t b = 0; b < s->n_buckets; b++)
        ALM_TRY(take_bucket(cx, s, arena, b, s->given + *n, to, cols));
    s->given += *n;
    return ALM_OK;
}
