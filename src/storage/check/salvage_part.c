/*
 * salvage_part.c - one part as a Parquet file of what is whole in it; the rows of a table that are in no part yet.
 *
 * Damage      Blocks of a column whose checksum does not fit are null, the others stay. Null would be a value in a BOOLEAN, BYTE or
 *             SHORT: such a column is left out if a block of it is damaged. So is no column an older value: where an overlay is
 *             damaged, the values below it do not count.
 * Passes      All blocks are compared before the file is begun, because that says which columns it has.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "storage/check/salvage.h"
#include "storage/part/pack.h"

enum { REASON_BYTES = 4096 };

typedef struct part_col {
    uint32_t at;    /* position in the schema */
    alm_part *part; /* that has it, borrowed or of an overlay; NULL: it cannot be read */
    int32_t entry;  /* -1: null in all rows */
    bool *damaged;  /* by block */
    int64_t lost;   /* rows of these */
    int64_t wordless;
    bool left_out;
} part_col;

typedef struct saving {
    alm_salvage *s;
    const alm_version *v;
    alm_part *part;
    int64_t rows;
    uint32_t n_cols;
    part_col *cols;
    alm_part **overlays;
    uint32_t n_overlays;
    char reason[REASON_BYTES];
    size_t reason_len;
} saving;

static void say(saving *p, const char *format, ...) ALM_PRINTF(2, 3);
static void say(saving *p, const char *format, ...)
{
    va_list args;
    if (p->reason_len + 64 > sizeof p->reason)
        return; /* there is enough to see */
    if (p->reason_len > 0)
        p->reason_len += (size_t)snprintf(p->reason + p->reason_len, 3, "; ");
    va_start(args, format);
    const int n =
        vsnprintf(p->reason + p->reason_len, sizeof p->reason - p->reason_len, format, args);
    va_end(args);
    p->reason_len = ALM_MIN(p->reason_len + (size_t)ALM_MAX(n, 0), sizeof p->reason - 1);
}

/* The error of what is read goes into the report. */
static alm_status settle(saving *p, alm_status st, bool *good)
{
    *good = st == ALM_OK;
    if (!alm_is_damage(st))
        return st;
    say(p, "%s", p->s->cx->err.msg);
    alm_error_clear(p->s->cx);
    return ALM_OK;
}

/* ------------------------------------------------------------------ what is there */

static uint32_t block_rows(const saving *p, uint32_t b)
{
    return (uint32_t)ALM_MIN(p->rows - (int64_t)b * ALM_STATS_BLOCK_ROWS,
                             (int64_t)ALM_STATS_BLOCK_ROWS);
}

static uint32_t n_blocks(const saving *p)
{
    return (uint32_t)((p->rows + ALM_STATS_BLOCK_ROWS - 1) / ALM_STATS_BLOCK_ROWS);
}

static const alm_column *column_of(const saving *p, const part_col *c)
{
    return &p->v->schema->cols[c->at];
}

static alm_status examine(saving *p, part_col *c)
{
    const alm_column *col = column_of(p, c);
    bool good = c->part != NULL;
    ALM_TRY(ALM_NEWN(p->s->cx, &p->s->arena, n_blocks(p), &c->damaged));
    if (good && c->entry >= 0 &&
        !alm_type_eq(alm_part_col_at(c->part, (uint32_t)c->entry)->type, col->type)) {
        say(p, "column '%s' has another type in the part than in the table", col->name);
        c->part = NULL;
    }
    for (uint32_t b = 0; b < n_blocks(p); b++) {
        ALM_TRY(alm_check(p->s->cx));
        good = c->part != NULL;
        if (good && c->entry >= 0)
            ALM_TRY(settle(p,
                           alm_part_touch(p->s->cx, c->part, (uint32_t)c->entry,
                                          (int64_t)b * ALM_STATS_BLOCK_ROWS, block_rows(p, b)),
                           &good));
        c->damaged[b] = !good;
        c->lost += good ? 0 : block_rows(p, b);
    }
    if (c->lost == 0)
        return ALM_OK;
    c->left_out = alm_type_info_of(col->type)->null == ALM_NULL_NONE;
    if (c->left_out)
        say(p, "column '%s' is left out, because its type has no null", col->name);
    else
        say(p, "column '%s' is null in %" PRId64 " rows that cannot be read", col->name, c->lost);
    return ALM_OK;
}

static alm_status open_file(saving *p, const alm_file *file, alm_part **out, bool *good)
{
    char path[ALM_PATH_MAX];
    alm_part_claim claim;
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, path, sizeof path, &place, &shared);
    alm_file_claim(file, &claim);
    ALM_TRY(settle(
        p,
        alm_part_open(p->s->cx, p->s->io, path, shared ? &place : NULL, claim.table_id, NULL, out),
        good));
    if (*good)
        ALM_TRY(settle(p, alm_part_match(p->s->cx, *out, &claim), good));
    if (!*good) {
        alm_part_release(*out);
        *out = NULL;
    }
    return ALM_OK;
}

/* The overlay over the column, or the part. */
static alm_status find_part(saving *p, const alm_part_ref *ref, part_col *c)
{
    const uint32_t id = column_of(p, c)->id;
    bool good = true;
    c->part = p->part;
    for (uint32_t i = 0; ref != NULL && i < ref->n_overlays; i++) {
        if (ref->overlays[i].col_id != id)
            continue;
        c->part = NULL;
        ALM_TRY(open_file(p, ref->overlays[i].file, &c->part, &good));
        p->overlays[p->n_overlays++] = c->part;
    }
    c->entry = c->part != NULL ? alm_part_find(c->part, id, UINT32_MAX) : -1;
    return ALM_OK;
}

/* `ref` NULL: the columns that the file has, and no others. */
static alm_status examine_all(saving *p, const alm_part_ref *ref)
{
    const uint32_t n = p->v->schema->n_cols;
    ALM_TRY(ALM_NEWN(p->s->cx, &p->s->arena, n, &p->cols));
    if (ref != NULL && ref->n_overlays > 0)
        ALM_TRY(ALM_NEWN(p->s->cx, &p->s->arena, ref->n_overlays, &p->overlays));
    p->rows = alm_part_info(p->part)->rows;
    for (uint32_t at = 0; at < n; at++) {
        part_col *c = &p->cols[p->n_cols];
        *c = (part_col){.at = at};
        ALM_TRY(find_part(p, ref, c));
        if (ref == NULL && c->entry < 0)
            continue;
        ALM_TRY(examine(p, c));
        p->n_cols++;
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------------- writing */

static alm_status value_of(saving *p, part_col *c, uint32_t b, alm_arena *arena, alm_vec *out)
{
    const alm_column *col = column_of(p, c);
    if (c->damaged[b] || c->entry < 0)
        return alm_vec_null(p->s->cx, arena, col->type, out);
    const alm_part_col *stored = alm_part_col_at(c->part, (uint32_t)c->entry);
    const char *data = alm_part_data(c->part, (uint32_t)c->entry);
    *out = (alm_vec){.type = col->type, .width = (uint8_t)stored->width};
    out->data = (void *)(uintptr_t)(data + (size_t)b * ALM_STATS_BLOCK_ROWS * stored->width);
    if (alm_type_has_heap(col->type))
        out->heap = alm_part_heap(c->part, (uint32_t)c->entry);
    return col->type.id == ALM_T_SYMBOL
               ? alm_salvage_codes(p->s, arena, p->v, c->at, out, block_rows(p, b), &c->wordless)
               : ALM_OK;
}

static alm_status write_blocks(saving *p, alm_salvage_out *o, alm_arena *arena)
{
    alm_batch batch = {0};
    ALM_TRY(ALM_NEWN(p->s->cx, &p->s->arena, p->n_cols, &batch.cols));
    for (uint32_t b = 0; b < n_blocks(p); b++) {
        ALM_TRY(alm_check(p->s->cx));
        alm_arena_reset(arena);
        batch.rows = block_rows(p, b);
        batch.n_cols = 0;
        for (uint32_t i = 0; i < p->n_cols; i++)
            if (!p->cols[i].left_out)
                ALM_TRY(value_of(p, &p->cols[i], b, arena, &batch.cols[batch.n_cols++]));
        ALM_TRY(alm_salvage_out_write(o, &batch));
    }
    return ALM_OK;
}

static alm_status write_file(saving *p, alm_salvage_out *o, const char *stem)
{
    uint32_t *cols = NULL, n = 0;
    alm_arena arena;
    ALM_TRY(ALM_NEWN(p->s->cx, &p->s->arena, p->n_cols, &cols));
    for (uint32_t i = 0; i < p->n_cols; i++)
        if (!p->cols[i].left_out)
            cols[n++] = p->cols[i].at;
    alm_arena_init(&arena, NULL);
    alm_status st = alm_salvage_out_open(o, p->s, p->v, cols, n, stem);
    if (st == ALM_OK)
        st = write_blocks(p, o, &arena);
    st = alm_salvage_out_close(o, st);
    alm_arena_deinit(&arena);
    for (uint32_t i = 0; i < p->n_cols; i++)
        if (p->cols[i].wordless > 0)
            say(p, "column '%s' is null in %" PRId64 " rows whose symbols are lost",
                column_of(p, &p->cols[i])->name, p->cols[i].wordless);
    return st;
}

/* Is there a value that could be saved? */
static bool has_any(const saving *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->n_cols; i++)
        any = any || (!p->cols[i].left_out && p->cols[i].entry >= 0 && p->cols[i].lost < p->rows);
    return any;
}

static void finish(saving *p)
{
    for (uint32_t i = 0; i < p->n_overlays; i++)
        alm_part_release(p->overlays[i]);
    alm_part_release(p->part);
    alm_arena_reset(&p->s->arena);
}

/* The line of the report; rows that are not known to be the newest count as saved in part. */
static alm_status tell(saving *p, alm_salvage_line *line)
{
    alm_salvage_result *done = p->s->done;
    line->reason = p->reason;
    done->whole += line->saved == ALM_SAVED;
    done->partial += line->saved == ALM_SAVED_PARTIAL || line->saved == ALM_SAVED_FOUND;
    done->found += line->saved == ALM_SAVED_FOUND;
    done->lost += line->saved == ALM_SAVED_LOST;
    return alm_salvage_report(p->s, line);
}

/* ------------------------------------------------------------------------- parts */

/* Below ROOT/db. */
static const char *from_of(const alm_salvage *s, const char *path)
{
    return path + strlen(s->st->root) + 1;
}

static void partition_of(const alm_version *v, int64_t bucket, char *name, size_t size)
{
    alm_partition_name(v->table.partition, alm_version_is_ns(v), bucket, name, size);
}

alm_status alm_salvage_part(alm_salvage *s, const alm_version *v, const alm_part_ref *ref,
                            bool detached)
{
    char path[ALM_PATH_MAX], partition[64], stem[128];
    alm_part_place place;
    bool shared = false, good = false;
    saving p = {.s = s, .v = v};
    alm_salvage_out out = {.name = ""};
    alm_file_where(ref->file, path, sizeof path, &place, &shared);
    partition_of(v, ref->bucket, partition, sizeof partition);
    (void)snprintf(stem, sizeof stem, "%s.%016" PRIx64, partition,
                   ref->file->id & ~ALM_FILE_FORMATS);
    alm_salvage_line line = {.v = v,
                             .partition = partition,
                             .from = from_of(s, path),
                             .to = "",
                             .rows = ref->rows,
                             .saved = ALM_SAVED_LOST};
    alm_status st = open_file(&p, ref->file, &p.part, &good);
    if (st == ALM_OK && good)
        st = examine_all(&p, ref);
    const bool any = st == ALM_OK && good && has_any(&p);
    if (any)
        st = write_file(&p, &out, stem);
    if (any)
        line.saved = p.reason_len > 0 ? ALM_SAVED_PARTIAL : ALM_SAVED;
    if (detached)
        say(&p, "the partition was detached");
    line.to = any ? out.name : "";
    if (st == ALM_OK)
        st = tell(&p, &line);
    finish(&p);
    if (st == ALM_OK && !good)
        st = alm_salvage_misplaced(s, v, path, shared ? &place : NULL, ref->file->id);
    return st;
}

alm_status alm_salvage_found_part(alm_salvage *s, const alm_version *v, const char *path,
                                  const alm_part_place *place, uint64_t id, const char *reason)
{
    char partition[64] = "", stem[160];
    saving p = {.s = s, .v = v};
    bool good = false;
    alm_salvage_out out = {.name = ""};
    alm_salvage_line line = {.v = v,
                             .partition = partition,
                             .from = from_of(s, path),
                             .to = "",
                             .rows = -1,
                             .saved = ALM_SAVED_LOST};
    alm_status st =
        settle(&p, alm_part_open(s->cx, s->io, path, place, v->table.id, NULL, &p.part), &good);
    if (st == ALM_OK && good) {
        const alm_part_footer *f = alm_part_info(p.part);
        const alm_part_claim claim = {.table_id = v->table.id,
                                      .database_id = s->st->database_id,
                                      .min_ts = INT64_MAX,
                                      .max_ts = INT64_MIN};
        st = settle(&p, alm_part_match(s->cx, p.part, &claim), &good);
        line.rows = f->rows;
        if (f->min_ts <= f->max_ts && v->table.ts_col >= 0)
            partition_of(v,
                         alm_partition_floor(v->table.partition, alm_version_is_ns(v), f->min_ts),
                         partition, sizeof partition);
    }
    if (st == ALM_OK && good)
        st = examine_all(&p, NULL);
    const bool any = st == ALM_OK && good && has_any(&p);
    if (any && p.reason_len == 0)
        line.saved = ALM_SAVED_FOUND;
    else if (any)
        line.saved = ALM_SAVED_PARTIAL;
    (void)snprintf(stem, sizeof stem, "found-%s%s%016" PRIx64, partition, partition[0] ? "." : "",
                   id & ~ALM_FILE_FORMATS);
    if (place != NULL)
        (void)snprintf(stem + strlen(stem), sizeof stem - strlen(stem), "-%" PRId64, place->offset);
    if (any)
        st = write_file(&p, &out, stem);
    line.to = any ? out.name : "";
    say(&p, "%s", reason);
    if (st == ALM_OK)
        st = tell(&p, &line);
    finish(&p);
    return st;
}

/* -------------------------------------------------------------------------- head */

static alm_status write_chunk(saving *p, alm_salvage_out *o, const alm_lane_chunk *chunk)
{
    alm_batch batch = {.rows = chunk->rows, .n_cols = p->n_cols};
    const alm_schema *has = chunk->chunk->schema;
    ALM_TRY(ALM_NEWN(p->s->cx, &p->s->arena, p->n_cols, &batch.cols));
    for (uint32_t i = 0; i < p->n_cols; i++) {
        part_col *c = &p->cols[i];
        const alm_column *col = column_of(p, c);
        const int32_t at = alm_schema_find(has, col->id);
        alm_vec *v = &batch.cols[i];
        if (at < 0) {
            ALM_TRY(alm_vec_null(p->s->cx, &p->s->arena, col->type, v));
            continue;
        }
        const uint32_t width =
            col->type.id == ALM_T_SYMBOL ? sizeof(uint32_t) : alm_type_width(col->type);
        *v = (alm_vec){
            .type = col->type, .width = (uint8_t)width, .data = chunk->chunk->cols[(size_t)at]};
        if (col->type.id == ALM_T_SYMBOL)
            ALM_TRY(
                alm_salvage_codes(p->s, &p->s->arena, p->v, c->at, v, chunk->rows, &c->wordless));
    }
    return alm_salvage_out_write(o, &batch);
}

static alm_status write_lanes(saving *p, alm_salvage_out *o)
{
    for (uint32_t i = 0; i < p->v->n_lanes; i++)
        for (uint32_t j = 0; j < p->v->lanes[i].n_chunks; j++) {
            ALM_TRY(alm_check(p->s->cx));
            ALM_TRY(write_chunk(p, o, &p->v->lanes[i].chunks[j]));
        }
    return ALM_OK;
}

alm_status alm_salvage_head(alm_salvage *s, const alm_version *v)
{
    char stem[64];
    saving p = {.s = s, .v = v, .n_cols = v->schema->n_cols};
    alm_salvage_out out = {.name = ""};
    uint32_t *cols = NULL;
    if (v->n_lanes == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(s->cx, &s->arena, p.n_cols, &p.cols));
    ALM_TRY(ALM_NEWN(s->cx, &s->arena, p.n_cols, &cols));
    for (uint32_t i = 0; i < p.n_cols; i++) {
        p.cols[i] = (part_col){.at = i};
        cols[i] = i;
    }
    (void)snprintf(stem, sizeof stem, "rows-of-the-log.%" PRIu64, v->table.id);
    alm_status st = alm_salvage_out_open(&out, s, v, cols, p.n_cols, stem);
    if (st == ALM_OK)
        st = write_lanes(&p, &out);
    st = alm_salvage_out_close(&out, st);
    for (uint32_t i = 0; i < p.n_cols; i++)
        if (p.cols[i].wordless > 0)
            say(&p, "column '%s' is null in %" PRId64 " rows whose symbols are lost",
                column_of(&p, &p.cols[i])->name, p.cols[i].wordless);
    alm_salvage_line line = {.v = v,
                             .partition = "",
                             .from = "wal",
                             .to = out.name,
                             .rows = out.rows,
                             .saved = p.reason_len > 0 ? ALM_SAVED_PARTIAL : ALM_SAVED};
    if (st == ALM_OK)
        st = tell(&p, &line);
    finish(&p);
    return st;
}
