/*
 * sample_fill.c - FILL: a row for each bucket from the first to the last (or FROM to TO), and with
 * keys for each key of the result.
 *
 * The rows with data are kept; filled rows are made batch by batch and never stored. For each output
 * row three row numbers are known: the row with data, the key's last row before, the key's next row;
 * each column is then one loop.
 *
 * Rules       NULL null; a value that value; PREV what the key's last row had, null included, in the
 *             same column or another of its type; LINEAR
 *             on the line between the rows before and after, null where one of them is null or
 *             missing; integers are cut towards zero. Real rows stay as they are, but for
 *             what is measured along a way (sample_way.c).
 */
#include "exec/data/blend.h"
#include "exec/data/wide.h"
#include "exec/group/sample.h"

#define NO_ROW ALM_SAMPLE_NO_ROW

typedef struct alm_sample_fill {
    alm_pool pool;
    alm_rows rows;
    alm_arena scratch;
    alm_keymap *map;
    uint32_t *key;   /* of each row */
    uint32_t *next;  /* row -> the same key's next row */
    uint32_t *first; /* key -> its first row */
    uint32_t *prev;  /* key -> its last row before the bucket at hand */
    uint32_t *real;  /* key -> its row in the bucket at hand */
    uint32_t *ahead; /* key -> its first row after the bucket at hand */
    uint32_t n_keys;
    bool keyed;
    int64_t bucket, end; /* the bucket at hand; first one not wanted */
    bool inclusive;      /* `end` is the last one wanted */
    uint32_t row_at;     /* first row not yet passed */
    uint32_t key_at;     /* next key of the bucket at hand */
    bool loaded, ended, in_bucket;
    alm_sample_way *way; /* by call; those without `between` have none */
    /* one batch */
    int64_t *out_bucket;
    uint32_t *out_key, *out_real, *out_prev, *out_next;
} fill;

alm_status alm_sample_fill_new(alm_ctx *cx, alm_sample *sample, struct alm_sample_fill **out)
{
    fill *self = NULL;
    const uint32_t n_keys = sample->spec->n_keys;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    alm_pool_init(&self->pool, cx->mem, "fill");
    alm_arena_init(&self->scratch, cx->mem);
    *out = self;
    self->keyed = n_keys > 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, sample->spec->n_aggs + 1, &self->way));
    ALM_TRY(alm_rows_init(cx, &self->rows, &self->pool, sample->op.plan->cols,
                          sample->op.plan->n_cols));
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &types));
    for (uint32_t key = 0; key < n_keys; key++)
        types[key] = sample->spec->keys[key]->type;
    if (self->keyed)
        ALM_TRY(alm_keymap_new(cx, &self->pool, types, n_keys, &self->map));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &self->out_bucket));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &self->out_key));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &self->out_real));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &self->out_prev));
    return ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &self->out_next);
}

void alm_sample_fill_close(struct alm_sample_fill *sample_fill)
{
    if (sample_fill == NULL)
        return;
    alm_pool_deinit(&sample_fill->pool);
    alm_arena_deinit(&sample_fill->scratch);
}

/* ----------------------------------------------------------------------------------- loading */

static alm_status key_arrays(alm_ctx *cx, fill *self)
{
    const size_t n = self->n_keys + 1;
    uint32_t **array[] = {&self->first, &self->prev, &self->real, &self->ahead};
    for (size_t i = 0; i < ALM_COUNT(array); i++) {
        ALM_TRY(alm_pool_alloc(cx, &self->pool, n * sizeof(uint32_t), array[i]));
        memset(*array[i], 0xff, n * sizeof(uint32_t)); /* NO_ROW */
    }
    ALM_TRY(alm_pool_alloc(cx, &self->pool, ((size_t)self->rows.n + 1) * 4, &self->next));
    for (uint32_t i = self->rows.n; i-- > 0;) {
        const uint32_t key = self->keyed ? self->key[i] : 0;
        self->next[i] = self->first[key];
        self->first[key] = i;
    }
    memcpy(self->ahead, self->first, n * sizeof(uint32_t));
    return ALM_OK;
}

/* The values of call i, of type DOUBLE, of all rows. */
static const double *values_of(const alm_sample *sample, const fill *self, uint32_t i)
{
    return (const double *)(const void *)self->rows.col[1 + sample->spec->n_keys + i].data;
}

static alm_status link_ways(alm_ctx *cx, const alm_sample *sample, fill *self)
{
    for (uint32_t i = 0; i < sample->spec->n_aggs; i++)
        if (self->way[i].n > 0)
            ALM_TRY(alm_sample_way_link(cx, &self->pool, values_of(sample, self, i), self->next,
                                        &self->way[i]));
    return ALM_OK;
}

static int64_t row_bucket(const fill *self, uint32_t row)
{
    return ((const int64_t *)(const void *)self->rows.col[0].data)[row];
}

/* From where to where: data, or FROM and TO. */
static alm_status set_range(alm_ctx *cx, alm_sample *sample, fill *self)
{
    const alm_sample_spec *spec = sample->spec;
    self->ended = self->rows.n == 0 && !(spec->has_from && spec->has_to);
    self->n_keys = self->keyed ? alm_keymap_count(self->map) : 1;
    if (self->ended || self->n_keys == 0) {
        self->ended = true;
        return ALM_OK;
    }
    if (!sample->have_bucketer)
        ALM_TRY(alm_sample_bucketer(cx, sample, row_bucket(self, 0)));
    self->bucket =
        spec->has_from ? alm_bucket_start(&sample->bucketer, spec->from) : row_bucket(self, 0);
    self->inclusive = !spec->has_to;
    self->end = spec->has_to ? spec->to : row_bucket(self, self->rows.n - 1);
    ALM_TRY(key_arrays(cx, self));
    return link_ways(cx, sample, self);
}

static alm_status sample_fill_load(alm_ctx *cx, alm_sample *sample, fill *self,
                                   alm_sample_rows rows)
{
    uint32_t cap = 0;
    for (;;) {
        alm_batch *batch = NULL;
        ALM_TRY(alm_check(cx));
        ALM_TRY(rows(cx, sample, &batch));
        if (batch == NULL)
            return set_range(cx, sample, self);
        const uint32_t place = self->rows.n;
        alm_arena_reset(&self->scratch);
        for (uint32_t i = 0; i < sample->spec->n_aggs; i++)
            if (alm_sample_way_of(sample, i) != NULL)
                ALM_TRY(alm_sample_way_add(cx, sample, i, &self->pool, batch->rows, &self->way[i]));
        ALM_TRY(alm_rows_append(cx, &self->rows, &self->scratch, batch));
        if (!self->keyed)
            continue;
        if (self->rows.n > cap) {
            const uint32_t more = ALM_MAX(self->rows.n, 2 * cap);
            ALM_TRY(
                alm_pool_grow(cx, &self->pool, &self->key, (size_t)place * 4, (size_t)more * 4));
            cap = more;
        }
        ALM_TRY(alm_keymap_add(cx, self->map, batch->cols + 1, batch->rows, self->key + place));
    }
}

/* -------------------------------------------------------------------------- buckets and keys */

/* Enters the bucket at hand: which keys have rows in it. */
static void enter_bucket(fill *self)
{
    for (; self->row_at < self->rows.n && row_bucket(self, self->row_at) <= self->bucket;
         self->row_at++) {
        const uint32_t key = self->keyed ? self->key[self->row_at] : 0;
        if (row_bucket(self, self->row_at) == self->bucket)
            self->real[key] = self->row_at;
        else /* a row off the grid (cannot be, unless FROM cuts it) counts as past */
            self->prev[key] = self->row_at;
        self->ahead[key] = self->next[self->row_at];
    }
    self->key_at = 0;
    self->in_bucket = true;
}

static void leave_bucket(const alm_sample *sample, fill *self)
{
    for (uint32_t key = 0; key < self->n_keys; key++)
        if (self->real[key] != NO_ROW) {
            self->prev[key] = self->real[key];
            self->real[key] = NO_ROW;
        }
    const int64_t next = alm_bucket_next(&sample->bucketer, self->bucket);
    self->ended = next <= self->bucket || next == INT64_MAX;
    self->bucket = next;
    self->in_bucket = false;
}

/* Chooses the rows of the next batch. */
static uint32_t sample_fill_choose_rows(const alm_sample *sample, fill *self)
{
    uint32_t count = 0;
    while (count < ALM_BATCH_ROWS && !self->ended) {
        if (!self->in_bucket) {
            if (self->inclusive ? self->bucket > self->end : self->bucket >= self->end) {
                self->ended = true;
                break;
            }
            enter_bucket(self);
        }
        for (; self->key_at < self->n_keys && count < ALM_BATCH_ROWS; self->key_at++, count++) {
            self->out_bucket[count] = self->bucket;
            self->out_key[count] = self->first[self->key_at];
            self->out_real[count] = self->real[self->key_at];
            self->out_prev[count] = self->prev[self->key_at];
            self->out_next[count] = self->ahead[self->key_at];
        }
        if (self->key_at == self->n_keys)
            leave_bucket(sample, self);
    }
    return count;
}

/* ------------------------------------------------------------------------------------ columns */

/* out[i]: element real[i] of `own`, or else prev[i] of `from` (NULL: none), or else `other`. */
#define DEFINE_TAKE(bits, type)                                                                    \
    static void take_##bits(const fill *f, uint32_t n, const void *own, const void *from,          \
                            const void *other, void *to)                                           \
    {                                                                                              \
        const uint32_t *restrict real = f->out_real, *restrict prev = f->out_prev;                 \
        const type *restrict a = own, *restrict b = from;                                          \
        type *restrict out = to, missing;                                                          \
        memcpy(&missing, other, sizeof missing);                                                   \
        for (uint32_t i = 0; i < n; i++)                                                           \
            if (real[i] != NO_ROW)                                                                 \
                out[i] = a[real[i]];                                                               \
            else                                                                                   \
                out[i] = b != NULL && prev[i] != NO_ROW ? b[prev[i]] : missing;                    \
    }
DEFINE_TAKE(8, uint8_t)
DEFINE_TAKE(16, uint16_t)
DEFINE_TAKE(32, uint32_t)
DEFINE_TAKE(64, uint64_t)
DEFINE_TAKE(128, alm_wide16)
DEFINE_TAKE(256, alm_wide32)

static void sample_fill_take(const fill *self, uint32_t width, uint32_t n, const void *own,
                             const void *from, const void *other, void *dest)
{
    (width == 1    ? take_8
     : width == 2  ? take_16
     : width == 4  ? take_32
     : width == 8  ? take_64
     : width == 16 ? take_128
                   : take_256)(self, n, own, from, other, dest);
}

static alm_status sample_fill_plain_column(alm_ctx *cx, alm_sample *sample, fill *self,
                                           uint32_t col, uint32_t agg, uint32_t n_rows,
                                           alm_vec *out)
{
    const alm_rows_col *rows_col = &self->rows.col[col];
    const alm_fill_spec *spec = &sample->spec->fill[agg];
    const alm_rows_col *from = spec->kind != 'p' ? NULL
                               : spec->prev == 0
                                   ? rows_col
                                   : &self->rows.col[1 + sample->spec->n_keys + spec->prev - 1];
    alm_vec other;
    char value[32] = {0}; /* the widest type */
    char *data = NULL;
    if (spec->kind == 'v')
        ALM_TRY(alm_exec_constant(cx, spec->value, &other));
    else
        ALM_TRY(alm_vec_null(cx, &sample->op.batch, rows_col->type, &other));
    if (rows_col->dict == NULL) /* codes: 0 is null, and there are no values of SYMBOL type */
        alm_blend_copy(&other, 1, value, rows_col->width);
    ALM_TRY(alm_arena_bytes(cx, &sample->op.batch, (size_t)n_rows * rows_col->width, &data));
    ALM_DASSERT(from == NULL || from->width == rows_col->width);
    sample_fill_take(self, rows_col->width, n_rows, rows_col->data,
                     from == NULL ? NULL : from->data, value, data);
    *out = (alm_vec){
        .type = rows_col->type, .width = rows_col->width, .dict = rows_col->dict, .data = data};
    return ALM_OK;
}

static bool is_null_at(const alm_rows_col *col, uint32_t row)
{
    alm_vec vec = {.type = col->type, .width = col->width, .is_const = true};
    union {
        const char *in;
        void *out;
    } cast = {.in = col->data + (size_t)row * col->width};
    vec.data = cast.out;
    return alm_vec_is_null(&vec, 0);
}

/* Where between the rows before and behind, at `part` of the `whole` way. */
static double real_between(const alm_rows_col *col, uint32_t prev, uint32_t next, uint64_t part,
                           uint64_t whole)
{
    double a, b;
    if (col->type.id == ALM_T_FLOAT) {
        a = (double)((const float *)(const void *)col->data)[prev];
        b = (double)((const float *)(const void *)col->data)[next];
    } else {
        a = ((const double *)(const void *)col->data)[prev];
        b = ((const double *)(const void *)col->data)[next];
    }
    const double t = (double)part / (double)whole;
    return __builtin_isfinite(b - a) ? a + (b - a) * t : a * (1 - t) + b * t;
}

static int64_t whole_at(const alm_rows_col *col, uint32_t row)
{
    switch (col->width) {
    case 1:
        return ((const int8_t *)col->data)[row];
    case 2:
        return ((const int16_t *)(const void *)col->data)[row];
    case 4:
        return ((const int32_t *)(const void *)col->data)[row];
    default:
        return ((const int64_t *)(const void *)col->data)[row];
    }
}

/* Exact, the fraction cut off: doubles do not hold all of 64 bits. */
static int64_t whole_between(const alm_rows_col *col, uint32_t prev, uint32_t next, uint64_t part,
                             uint64_t whole)
{
    const int64_t a = whole_at(col, prev), b = whole_at(col, next);
    const int halve = whole > INT64_MAX; /* centuries of nanoseconds: the product has 127 bits */
    const __int128 all = whole >> halve, way = ((__int128)b - a) * (part >> halve);
    __int128 int128 = way / all;
    if (way % all < 0) /* down to the whole number below ... */
        int128--;
    int128 += a;
    return (int64_t)(way % all != 0 && int128 < 0 ? int128 + 1 : int128); /* ... and towards zero */
}

static void store_between(const alm_rows_col *col, uint32_t prev, uint32_t next, uint64_t part,
                          uint64_t whole, char *dest)
{
    if (alm_type_info_of(col->type)->cls == ALM_TC_FLOATING) {
        const double value = real_between(col, prev, next, part, whole);
        if (col->type.id == ALM_T_FLOAT)
            memcpy(dest, &(float){(float)value}, sizeof(float));
        else
            memcpy(dest, &value, sizeof value);
        return;
    }
    const int64_t x = whole_between(col, prev, next, part, whole);
    switch (col->width) {
    case 1:
        memcpy(dest, &(int8_t){(int8_t)x}, 1);
        return;
    case 2:
        memcpy(dest, &(int16_t){(int16_t)x}, 2);
        return;
    case 4:
        memcpy(dest, &(int32_t){(int32_t)x}, 4);
        return;
    default:
        memcpy(dest, &x, sizeof x);
    }
}

static alm_status linear_column(alm_ctx *cx, alm_sample *sample, fill *self, uint32_t col,
                                uint32_t n_rows, alm_vec *out)
{
    const alm_rows_col *rows_col = &self->rows.col[col];
    char *data = NULL;
    const alm_type_class cls = alm_type_info_of(rows_col->type)->cls;
    if (cls != ALM_TC_INTEGER && cls != ALM_TC_FLOATING && cls != ALM_TC_TIME)
        return alm_fail(cx, ALM_E_TYPE, sample->op.plan->pos,
                        "LINEAR cannot fill a column of type %s", alm_type_name(rows_col->type));
    ALM_TRY(alm_arena_bytes(cx, &sample->op.batch, (size_t)n_rows * rows_col->width, &data));
    for (uint32_t i = 0; i < n_rows; i++) {
        char *dest = data + (size_t)i * rows_col->width;
        const uint32_t real = self->out_real[i], prev = self->out_prev[i], next = self->out_next[i];
        if (real != NO_ROW) {
            memcpy(dest, rows_col->data + (size_t)real * rows_col->width, rows_col->width);
            continue;
        }
        if (prev == NO_ROW || next == NO_ROW || is_null_at(rows_col, prev) ||
            is_null_at(rows_col, next))
            alm_value_set_null(rows_col->type, dest);
        else
            store_between(rows_col, prev, next,
                          (uint64_t)self->out_bucket[i] - (uint64_t)row_bucket(self, prev),
                          (uint64_t)row_bucket(self, next) - (uint64_t)row_bucket(self, prev),
                          dest);
    }
    *out = (alm_vec){.type = rows_col->type, .width = rows_col->width, .data = data};
    return ALM_OK;
}

static alm_status way_column(alm_ctx *cx, alm_sample *sample, const fill *self, uint32_t i,
                             uint32_t n_rows, alm_vec *out)
{
    const double *value = values_of(sample, self, i);
    double *data = NULL;
    ALM_TRY(alm_arena_bytes(cx, &sample->op.batch, (size_t)n_rows * sizeof *data, &data));
    for (uint32_t k = 0; k < n_rows; k++)
        data[k] = alm_sample_way_value(sample, &self->way[i], i, value, self->out_bucket[k],
                                       self->out_real[k], self->out_prev[k], self->out_next[k]);
    *out = (alm_vec){.type = ALM_TY(DOUBLE), .width = sizeof *data, .data = data};
    return ALM_OK;
}

alm_status alm_sample_fill_next(alm_ctx *cx, alm_sample *sample, alm_sample_rows rows,
                                alm_batch **out)
{
    fill *f = sample->fill;
    const uint32_t n_keys = sample->spec->n_keys;
    *out = NULL;
    if (!f->loaded)
        ALM_TRY(sample_fill_load(cx, sample, f, rows));
    f->loaded = true;
    const uint32_t n = sample_fill_choose_rows(sample, f);
    if (n == 0)
        return ALM_OK;
    alm_arena_reset(&sample->op.batch);
    if (f->keyed) { /* keys from the first row of each; then the other columns over them */
        ALM_TRY(
            alm_rows_gather(cx, &f->rows, &sample->op.batch, f->out_key, n, sample->op.out.cols));
    }
    sample->op.out.cols[0] =
        (alm_vec){.type = sample->op.plan->cols[0].type, .width = 8, .data = f->out_bucket};
    for (uint32_t i = 0; i < sample->spec->n_aggs; i++) {
        const uint32_t col = 1 + n_keys + i;
        ALM_TRY(
            f->way[i].n > 0 ? way_column(cx, sample, f, i, n, &sample->op.out.cols[col])
            : sample->spec->fill[i].kind == 'l'
                ? linear_column(cx, sample, f, col, n, &sample->op.out.cols[col])
                : sample_fill_plain_column(cx, sample, f, col, i, n, &sample->op.out.cols[col]));
    }
    sample->op.out.rows = n;
    sample->op.out.sel = NULL;
    *out = &sample->op.out;
    return ALM_OK;
}
