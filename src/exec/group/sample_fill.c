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

alm_status alm_sample_fill_new(alm_ctx *cx, alm_sample *s, struct alm_sample_fill **out)
{
    fill *f = NULL;
    const uint32_t n_keys = s->spec->n_keys;
    ALM_TRY(ALM_NEW(cx, cx->arena, &f));
    alm_pool_init(&f->pool, cx->mem, "fill");
    alm_arena_init(&f->scratch, cx->mem);
    *out = f;
    f->keyed = n_keys > 0;
    ALM_TRY(ALM_NEWN(cx, cx->arena, s->spec->n_aggs + 1, &f->way));
    ALM_TRY(alm_rows_init(cx, &f->rows, &f->pool, s->op.plan->cols, s->op.plan->n_cols));
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_keys + 1, &types));
    for (uint32_t k = 0; k < n_keys; k++)
        types[k] = s->spec->keys[k]->type;
    if (f->keyed)
        ALM_TRY(alm_keymap_new(cx, &f->pool, types, n_keys, &f->map));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &f->out_bucket));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &f->out_key));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &f->out_real));
    ALM_TRY(ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &f->out_prev));
    return ALM_NEWN(cx, cx->arena, ALM_BATCH_ROWS, &f->out_next);
}

void alm_sample_fill_close(struct alm_sample_fill *f)
{
    if (f == NULL)
        return;
    alm_pool_deinit(&f->pool);
    alm_arena_deinit(&f->scratch);
}

/* ----------------------------------------------------------------------------------- loading */

static alm_status key_arrays(alm_ctx *cx, fill *f)
{
    const size_t n = f->n_keys + 1;
    uint32_t **array[] = {&f->first, &f->prev, &f->real, &f->ahead};
    for (size_t i = 0; i < ALM_COUNT(array); i++) {
        ALM_TRY(alm_pool_alloc(cx, &f->pool, n * sizeof(uint32_t), array[i]));
        memset(*array[i], 0xff, n * sizeof(uint32_t)); /* NO_ROW */
    }
    ALM_TRY(alm_pool_alloc(cx, &f->pool, ((size_t)f->rows.n + 1) * 4, &f->next));
    for (uint32_t i = f->rows.n; i-- > 0;) {
        const uint32_t key = f->keyed ? f->key[i] : 0;
        f->next[i] = f->first[key];
        f->first[key] = i;
    }
    memcpy(f->ahead, f->first, n * sizeof(uint32_t));
    return ALM_OK;
}

/* The values of call i, of type DOUBLE, of all rows. */
static const double *values_of(const alm_sample *s, const fill *f, uint32_t i)
{
    return (const double *)(const void *)f->rows.col[1 + s->spec->n_keys + i].data;
}

static alm_status link_ways(alm_ctx *cx, const alm_sample *s, fill *f)
{
    for (uint32_t i = 0; i < s->spec->n_aggs; i++)
        if (f->way[i].n > 0)
            ALM_TRY(alm_sample_way_link(cx, &f->pool, values_of(s, f, i), f->next, &f->way[i]));
    return ALM_OK;
}

static int64_t row_bucket(const fill *f, uint32_t row)
{
    return ((const int64_t *)(const void *)f->rows.col[0].data)[row];
}

/* From where to where: data, or FROM and TO. */
static alm_status set_range(alm_ctx *cx, alm_sample *s, fill *f)
{
    const alm_sample_spec *spec = s->spec;
    f->ended = f->rows.n == 0 && !(spec->has_from && spec->has_to);
    f->n_keys = f->keyed ? alm_keymap_count(f->map) : 1;
    if (f->ended || f->n_keys == 0) {
        f->ended = true;
        return ALM_OK;
    }
    if (!s->have_bucketer)
        ALM_TRY(alm_sample_bucketer(cx, s, row_bucket(f, 0)));
    f->bucket = spec->has_from ? alm_bucket_start(&s->bucketer, spec->from) : row_bucket(f, 0);
    f->inclusive = !spec->has_to;
    f->end = spec->has_to ? spec->to : row_bucket(f, f->rows.n - 1);
    ALM_TRY(key_arrays(cx, f));
    return link_ways(cx, s, f);
}

static alm_status load(alm_ctx *cx, alm_sample *s, fill *f, alm_sample_rows rows)
{
    uint32_t cap = 0;
    for (;;) {
        alm_batch *in = NULL;
        ALM_TRY(alm_check(cx));
        ALM_TRY(rows(cx, s, &in));
        if (in == NULL)
            return set_range(cx, s, f);
        const uint32_t at = f->rows.n;
        alm_arena_reset(&f->scratch);
        for (uint32_t i = 0; i < s->spec->n_aggs; i++)
            if (alm_sample_way_of(s, i) != NULL)
                ALM_TRY(alm_sample_way_add(cx, s, i, &f->pool, in->rows, &f->way[i]));
        ALM_TRY(alm_rows_append(cx, &f->rows, &f->scratch, in));
        if (!f->keyed)
            continue;
        if (f->rows.n > cap) {
            const uint32_t more = ALM_MAX(f->rows.n, 2 * cap);
            ALM_TRY(alm_pool_grow(cx, &f->pool, &f->key, (size_t)at * 4, (size_t)more * 4));
            cap = more;
        }
        ALM_TRY(alm_keymap_add(cx, f->map, in->cols + 1, in->rows, f->key + at));
    }
}

/* -------------------------------------------------------------------------- buckets and keys */

/* Enters the bucket at hand: which keys have rows in it. */
static void enter_bucket(fill *f)
{
    for (; f->row_at < f->rows.n && row_bucket(f, f->row_at) <= f->bucket; f->row_at++) {
        const uint32_t key = f->keyed ? f->key[f->row_at] : 0;
        if (row_bucket(f, f->row_at) == f->bucket)
            f->real[key] = f->row_at;
        else /* a row off the grid (cannot be, unless FROM cuts it) counts as past */
            f->prev[key] = f->row_at;
        f->ahead[key] = f->next[f->row_at];
    }
    f->key_at = 0;
    f->in_bucket = true;
}

static void leave_bucket(const alm_sample *s, fill *f)
{
    for (uint32_t k = 0; k < f->n_keys; k++)
        if (f->real[k] != NO_ROW) {
            f->prev[k] = f->real[k];
            f->real[k] = NO_ROW;
        }
    const int64_t next = alm_bucket_next(&s->bucketer, f->bucket);
    f->ended = next <= f->bucket || next == INT64_MAX;
    f->bucket = next;
    f->in_bucket = false;
}

/* Chooses the rows of the next batch. */
static uint32_t choose_rows(const alm_sample *s, fill *f)
{
    uint32_t n = 0;
    while (n < ALM_BATCH_ROWS && !f->ended) {
        if (!f->in_bucket) {
            if (f->inclusive ? f->bucket > f->end : f->bucket >= f->end) {
                f->ended = true;
                break;
            }
            enter_bucket(f);
        }
        for (; f->key_at < f->n_keys && n < ALM_BATCH_ROWS; f->key_at++, n++) {
            f->out_bucket[n] = f->bucket;
            f->out_key[n] = f->first[f->key_at];
            f->out_real[n] = f->real[f->key_at];
            f->out_prev[n] = f->prev[f->key_at];
            f->out_next[n] = f->ahead[f->key_at];
        }
        if (f->key_at == f->n_keys)
            leave_bucket(s, f);
    }
    return n;
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

static void take(const fill *f, uint32_t width, uint32_t n, const void *own, const void *from,
                 const void *other, void *to)
{
    (width == 1    ? take_8
     : width == 2  ? take_16
     : width == 4  ? take_32
     : width == 8  ? take_64
     : width == 16 ? take_128
                   : take_256)(f, n, own, from, other, to);
}

static alm_status plain_column(alm_ctx *cx, alm_sample *s, fill *f, uint32_t col, uint32_t agg,
                               uint32_t n, alm_vec *out)
{
    const alm_rows_col *c = &f->rows.col[col];
    const alm_fill_spec *spec = &s->spec->fill[agg];
    const alm_rows_col *from = spec->kind != 'p' ? NULL
                               : spec->prev == 0
                                   ? c
                                   : &f->rows.col[1 + s->spec->n_keys + spec->prev - 1];
    alm_vec other;
    char value[32] = {0}; /* the widest type */
    char *data = NULL;
    if (spec->kind == 'v')
        ALM_TRY(alm_exec_constant(cx, spec->value, &other));
    else
        ALM_TRY(alm_vec_null(cx, &s->op.batch, c->type, &other));
    if (c->dict == NULL) /* codes: 0 is null, and there are no values of SYMBOL type */
        alm_blend_copy(&other, 1, value, c->width);
    ALM_TRY(alm_arena_bytes(cx, &s->op.batch, (size_t)n * c->width, &data));
    ALM_DASSERT(from == NULL || from->width == c->width);
    take(f, c->width, n, c->data, from == NULL ? NULL : from->data, value, data);
    *out = (alm_vec){.type = c->type, .width = c->width, .dict = c->dict, .data = data};
    return ALM_OK;
}

static bool is_null_at(const alm_rows_col *c, uint32_t row)
{
    alm_vec v = {.type = c->type, .width = c->width, .is_const = true};
    union {
        const char *in;
        void *out;
    } cast = {.in = c->data + (size_t)row * c->width};
    v.data = cast.out;
    return alm_vec_is_null(&v, 0);
}

/* Where between the rows before and behind, at `part` of the `whole` way. */
static double real_between(const alm_rows_col *c, uint32_t prev, uint32_t next, uint64_t part,
                           uint64_t whole)
{
    double a, b;
    if (c->type.id == ALM_T_FLOAT) {
        a = (double)((const float *)(const void *)c->data)[prev];
        b = (double)((const float *)(const void *)c->data)[next];
    } else {
        a = ((const double *)(const void *)c->data)[prev];
        b = ((const double *)(const void *)c->data)[next];
    }
    const double t = (double)part / (double)whole;
    return __builtin_isfinite(b - a) ? a + (b - a) * t : a * (1 - t) + b * t;
}

static int64_t whole_at(const alm_rows_col *c, uint32_t row)
{
    switch (c->width) {
    case 1:
        return ((const int8_t *)c->data)[row];
    case 2:
        return ((const int16_t *)(const void *)c->data)[row];
    case 4:
        return ((const int32_t *)(const void *)c->data)[row];
    default:
        return ((const int64_t *)(const void *)c->data)[row];
    }
}

/* Exact, the fraction cut off: doubles do not hold all of 64 bits. */
static int64_t whole_between(const alm_rows_col *c, uint32_t prev, uint32_t next, uint64_t part,
                             uint64_t whole)
{
    const int64_t a = whole_at(c, prev), b = whole_at(c, next);
    const int halve = whole > INT64_MAX; /* centuries of nanoseconds: the product has 127 bits */
    const __int128 all = whole >> halve, way = ((__int128)b - a) * (part >> halve);
    __int128 x = way / all;
    if (way % all < 0) /* down to the whole number below ... */
        x--;
    x += a;
    return (int64_t)(way % all != 0 && x < 0 ? x + 1 : x); /* ... and towards zero */
}

static void store_between(const alm_rows_col *c, uint32_t prev, uint32_t next, uint64_t part,
                          uint64_t whole, char *to)
{
    if (alm_type_info_of(c->type)->cls == ALM_TC_FLOATING) {
        const double x = real_between(c, prev, next, part, whole);
        if (c->type.id == ALM_T_FLOAT)
            memcpy(to, &(float){(float)x}, sizeof(float));
        else
            memcpy(to, &x, sizeof x);
        return;
    }
    const int64_t x = whole_between(c, prev, next, part, whole);
    switch (c->width) {
    case 1:
        memcpy(to, &(int8_t){(int8_t)x}, 1);
        return;
    case 2:
        memcpy(to, &(int16_t){(int16_t)x}, 2);
        return;
    case 4:
        memcpy(to, &(int32_t){(int32_t)x}, 4);
        return;
    default:
        memcpy(to, &x, sizeof x);
    }
}

static alm_status linear_column(alm_ctx *cx, alm_sample *s, fill *f, uint32_t col, uint32_t n,
                                alm_vec *out)
{
    const alm_rows_col *c = &f->rows.col[col];
    char *data = NULL;
    const alm_type_class cls = alm_type_info_of(c->type)->cls;
    if (cls != ALM_TC_INTEGER && cls != ALM_TC_FLOATING && cls != ALM_TC_TIME)
        return alm_fail(cx, ALM_E_TYPE, s->op.plan->pos, "LINEAR cannot fill a column of type %s",
                        alm_type_name(c->type));
    ALM_TRY(alm_arena_bytes(cx, &s->op.batch, (size_t)n * c->width, &data));
    for (uint32_t i = 0; i < n; i++) {
        char *to = data + (size_t)i * c->width;
        const uint32_t real = f->out_real[i], prev = f->out_prev[i], next = f->out_next[i];
        if (real != NO_ROW) {
            memcpy(to, c->data + (size_t)real * c->width, c->width);
            continue;
        }
        if (prev == NO_ROW || next == NO_ROW || is_null_at(c, prev) || is_null_at(c, next))
            alm_value_set_null(c->type, to);
        else
            store_between(c, prev, next, (uint64_t)f->out_bucket[i] - (uint64_t)row_bucket(f, prev),
                          (uint64_t)row_bucket(f, next) - (uint64_t)row_bucket(f, prev), to);
    }
    *out = (alm_vec){.type = c->type, .width = c->width, .data = data};
    return ALM_OK;
}

static alm_status way_column(alm_ctx *cx, alm_sample *s, const fill *f, uint32_t i, uint32_t n,
                             alm_vec *out)
{
    const double *value = values_of(s, f, i);
    double *data = NULL;
    ALM_TRY(alm_arena_bytes(cx, &s->op.batch, (size_t)n * sizeof *data, &data));
    for (uint32_t k = 0; k < n; k++)
        data[k] = alm_sample_way_value(s, &f->way[i], i, value, f->out_bucket[k], f->out_real[k],
                                       f->out_prev[k], f->out_next[k]);
    *out = (alm_vec){.type = ALM_TY(DOUBLE), .width = sizeof *data, .data = data};
    return ALM_OK;
}

alm_status alm_sample_fill_next(alm_ctx *cx, alm_sample *s, alm_sample_rows rows, alm_batch **out)
{
    fill *f = s->fill;
    const uint32_t n_keys = s->spec->n_keys;
    *out = NULL;
    if (!f->loaded)
        ALM_TRY(load(cx, s, f, rows));
    f->loaded = true;
    const uint32_t n = choose_rows(s, f);
    if (n == 0)
        return ALM_OK;
    alm_arena_reset(&s->op.batch);
    if (f->keyed) { /* keys from the first row of each; then the other columns over them */
        ALM_TRY(alm_rows_gather(cx, &f->rows, &s->op.batch, f->out_key, n, s->op.out.cols));
    }
    s->op.out.cols[0] =
        (alm_vec){.type = s->op.plan->cols[0].type, .width = 8, .data = f->out_bucket};
    for (uint32_t i = 0; i < s->spec->n_aggs; i++) {
        const uint32_t col = 1 + n_keys + i;
        ALM_TRY(f->way[i].n > 0 ? way_column(cx, s, f, i, n, &s->op.out.cols[col])
                : s->spec->fill[i].kind == 'l'
                    ? linear_column(cx, s, f, col, n, &s->op.out.cols[col])
                    : plain_column(cx, s, f, col, i, n, &s->op.out.cols[col]));
    }
    s->op.out.rows = n;
    s->op.out.sel = NULL;
    *out = &s->op.out;
    return ALM_OK;
}
