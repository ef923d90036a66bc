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

static void salvage_part_say(saving *self, const char *format, ...) ALM_PRINTF(2, 3);
static void salvage_part_say(saving *self, const char *format, ...)
{
    va_list args;
    if (self->reason_len + 64 > sizeof self->reason)
        return; /* there is enough to see */
    if (self->reason_len > 0)
        self->reason_len += (size_t)snprintf(self->reason + self->reason_len, 3, "; ");
    va_start(args, format);
    const int n = vsnprintf(self->reason + self->reason_len, sizeof self->reason - self->reason_len,
                            format, args);
    va_end(args);
    self->reason_len = ALM_MIN(self->reason_len + (size_t)ALM_MAX(n, 0), sizeof self->reason - 1);
}

/* The error of what is read goes into the report. */
static alm_status salvage_part_settle(saving *self, alm_status status, bool *good)
{
    *good = status == ALM_OK;
    if (!alm_is_damage(status))
        return status;
    salvage_part_say(self, "%s", self->s->cx->err.msg);
    alm_error_clear(self->s->cx);
    return ALM_OK;
}

/* ------------------------------------------------------------------ what is there */

static uint32_t block_rows(const saving *self, uint32_t block)
{
    return (uint32_t)ALM_MIN(self->rows - (int64_t)block * ALM_STATS_BLOCK_ROWS,
                             (int64_t)ALM_STATS_BLOCK_ROWS);
}

static uint32_t n_blocks(const saving *self)
{
    return (uint32_t)((self->rows + ALM_STATS_BLOCK_ROWS - 1) / ALM_STATS_BLOCK_ROWS);
}

static const alm_column *salvage_part_column_of(const saving *self, const part_col *c)
{
    return &self->v->schema->cols[c->at];
}

static alm_status examine(saving *self, part_col *c)
{
    const alm_column *col = salvage_part_column_of(self, c);
    bool good = c->part != NULL;
    ALM_TRY(ALM_NEWN(self->s->cx, &self->s->arena, n_blocks(self), &c->damaged));
    if (good && c->entry >= 0 &&
        !alm_type_eq(alm_part_col_at(c->part, (uint32_t)c->entry)->type, col->type)) {
        salvage_part_say(self, "column '%s' has another type in the part than in the table",
                         col->name);
        c->part = NULL;
    }
    for (uint32_t block = 0; block < n_blocks(self); block++) {
        ALM_TRY(alm_check(self->s->cx));
        good = c->part != NULL;
        if (good && c->entry >= 0)
            ALM_TRY(salvage_part_settle(self,
                                        alm_part_touch(self->s->cx, c->part, (uint32_t)c->entry,
                                                       (int64_t)block * ALM_STATS_BLOCK_ROWS,
                                                       block_rows(self, block)),
                                        &good));
        c->damaged[block] = !good;
        c->lost += good ? 0 : block_rows(self, block);
    }
    if (c->lost == 0)
        return ALM_OK;
    c->left_out = alm_type_info_of(col->type)->null == ALM_NULL_NONE;
    if (c->left_out)
        salvage_part_say(self, "column '%s' is left out, because its type has no null", col->name);
    else
        salvage_part_say(self, "column '%s' is null in %" PRId64 " rows that cannot be read",
                         col->name, c->lost);
    return ALM_OK;
}

static alm_status salvage_part_open_file(saving *self, const alm_file *file, alm_part **out,
                                         bool *good)
{
    char path[ALM_PATH_MAX];
    alm_part_claim claim;
    alm_part_place place;
    bool shared = false;
    alm_file_where(file, path, sizeof path, &place, &shared);
    alm_file_claim(file, &claim);
    ALM_TRY(salvage_part_settle(self,
                                alm_part_open(self->s->cx, self->s->io, path,
                                              shared ? &place : NULL, claim.table_id, NULL, out),
                                good));
    if (*good)
        ALM_TRY(salvage_part_settle(self, alm_part_match(self->s->cx, *out, &claim), good));
    if (!*good) {
        alm_part_release(*out);
        *out = NULL;
    }
    return ALM_OK;
}

/* The overlay over the column, or the part. */
static alm_status salvage_find_part(saving *self, const alm_part_ref *ref, part_col *c)
{
    const uint32_t id = salvage_part_column_of(self, c)->id;
    bool good = true;
    c->part = self->part;
    for (uint32_t i = 0; ref != NULL && i < ref->n_overlays; i++) {
        if (ref->overlays[i].col_id != id)
            continue;
        c->part = NULL;
        ALM_TRY(salvage_part_open_file(self, ref->overlays[i].file, &c->part, &good));
        self->overlays[self->n_overlays++] = c->part;
    }
    c->entry = c->part != NULL ? alm_part_find(c->part, id, UINT32_MAX) : -1;
    return ALM_OK;
}

/* `ref` NULL: the columns that the file has, and no others. */
static alm_status examine_all(saving *self, const alm_part_ref *ref)
{
    const uint32_t n_cols = self->v->schema->n_cols;
    ALM_TRY(ALM_NEWN(self->s->cx, &self->s->arena, n_cols, &self->cols));
    if (ref != NULL && ref->n_overlays > 0)
        ALM_TRY(ALM_NEWN(self->s->cx, &self->s->arena, ref->n_overlays, &self->overlays));
    self->rows = alm_part_info(self->part)->rows;
    for (uint32_t place = 0; place < n_cols; place++) {
        part_col *c = &self->cols[self->n_cols];
        *c = (part_col){.at = place};
        ALM_TRY(salvage_find_part(self, ref, c));
        if (ref == NULL && c->entry < 0)
            continue;
        ALM_TRY(examine(self, c));
        self->n_cols++;
    }
    return ALM_OK;
}

/* ----------------------------------------------------------------------- writing */

static alm_status salvage_part_value_of(saving *self, part_col *c, uint32_t block, alm_arena *arena,
                                        alm_vec *out)
{
    const alm_column *col = salvage_part_column_of(self, c);
    if (c->damaged[block] || c->entry < 0)
        return alm_vec_null(self->s->cx, arena, col->type, out);
    const alm_part_col *stored = alm_part_col_at(c->part, (uint32_t)c->entry);
    const char *data = alm_part_data(c->part, (uint32_t)c->entry);
    *out = (alm_vec){.type = col->type, .width = (uint8_t)stored->width};
    out->data = (void *)(uintptr_t)(data + (size_t)block * ALM_STATS_BLOCK_ROWS * stored->width);
    if (alm_type_has_heap(col->type))
        out->heap = alm_part_heap(c->part, (uint32_t)c->entry);
    return col->type.id == ALM_T_SYMBOL ? alm_salvage_codes(self->s, arena, self->v, c->at, out,
                                                            block_rows(self, block), &c->wordless)
                                        : ALM_OK;
}

static alm_status write_blocks(saving *self, alm_salvage_out *out, alm_arena *arena)
{
    alm_batch batch = {0};
    ALM_TRY(ALM_NEWN(self->s->cx, &self->s->arena, self->n_cols, &batch.cols));
    for (uint32_t block = 0; block < n_blocks(self); block++) {
        ALM_TRY(alm_check(self->s->cx));
        alm_arena_reset(arena);
        batch.rows = block_rows(self, block);
        batch.n_cols = 0;
        for (uint32_t i = 0; i < self->n_cols; i++)
            if (!self->cols[i].left_out)
                ALM_TRY(salvage_part_value_of(self, &self->cols[i], block, arena,
                                              &batch.cols[batch.n_cols++]));
        ALM_TRY(alm_salvage_out_write(out, &batch));
    }
    return ALM_OK;
}

static alm_status salvage_part_write_file(saving *self, alm_salvage_out *out, const char *stem)
{
    uint32_t *cols = NULL, count = 0;
    alm_arena arena;
    ALM_TRY(ALM_NEWN(self->s->cx, &self->s->arena, self->n_cols, &cols));
    for (uint32_t i = 0; i < self->n_cols; i++)
        if (!self->cols[i].left_out)
            cols[count++] = self->cols[i].at;
    alm_arena_init(&arena, NULL);
    alm_status status = alm_salvage_out_open(out, self->s, self->v, cols, count, stem);
    if (status == ALM_OK)
        status = write_blocks(self, out, &arena);
    status = alm_salvage_out_close(out, status);
    alm_arena_deinit(&arena);
    for (uint32_t i = 0; i < self->n_cols; i++)
        if (self->cols[i].wordless > 0)
            salvage_part_say(self, "column '%s' is null in %" PRId64 " rows whose symbols are lost",
                             salvage_part_column_of(self, &self->cols[i])->name,
                             self->cols[i].wordless);
    return status;
}

/* Is there a value that could be saved? */
static bool has_any(const saving *self)
{
    bool any = false;
    for (uint32_t i = 0; i < self->n_cols; i++)
        any = any || (!self->cols[i].left_out && self->cols[i].entry >= 0 &&
                      self->cols[i].lost < self->rows);
    return any;
}

static void salvage_part_finish(saving *self)
{
    for (uint32_t i = 0; i < self->n_overlays; i++)
        alm_part_release(self->overlays[i]);
    alm_part_release(self->part);
    alm_arena_reset(&self->s->arena);
}

/* The line of the report; rows that are not known to be the newest count as saved in part. */
static alm_status salvage_part_tell(saving *self, alm_salvage_line *line)
{
    alm_salvage_result *done = self->s->done;
    line->reason = self->reason;
    done->whole += line->saved == ALM_SAVED;
    done->partial += line->saved == ALM_SAVED_PARTIAL || line->saved == ALM_SAVED_FOUND;
    done->found += line->saved == ALM_SAVED_FOUND;
    done->lost += line->saved == ALM_SAVED_LOST;
    return alm_salvage_report(self->s, line);
}

/* ------------------------------------------------------------------------- parts */

/* Below ROOT/db. */
static const char *salvage_part_from_of(const alm_salvage *salvage, const char *path)
{
    return path + strlen(salvage->st->root) + 1;
}

static void salvage_part_partition_of(const alm_version *version, int64_t bucket, char *name,
                                      size_t size)
{
    alm_partition_name(version->table.partition, alm_version_is_ns(version), bucket, name, size);
}

alm_status alm_salvage_part(alm_salvage *salvage, const alm_version *version,
                            const alm_part_ref *ref, bool detached)
{
    char path[ALM_PATH_MAX], partition[64], stem[128];
    alm_part_place place;
    bool shared = false, good = false;
    saving self = {.s = salvage, .v = version};
    alm_salvage_out out = {.name = ""};
    alm_file_where(ref->file, path, sizeof path, &place, &shared);
    salvage_part_partition_of(version, ref->bucket, partition, sizeof partition);
    (void)snprintf(stem, sizeof stem, "%s.%016" PRIx64, partition,
                   ref->file->id & ~ALM_FILE_FORMATS);
    alm_salvage_line line = {.v = version,
                             .partition = partition,
                             .from = salvage_part_from_of(salvage, path),
                             .to = "",
                             .rows = ref->rows,
                             .saved = ALM_SAVED_LOST};
    alm_status status = salvage_part_open_file(&self, ref->file, &self.part, &good);
    if (status == ALM_OK && good)
        status = examine_all(&self, ref);
    const bool any = status == ALM_OK && good && has_any(&self);
    if (any)
        status = salvage_part_write_file(&self, &out, stem);
    if (any)
        line.saved = self.reason_len > 0 ? ALM_SAVED_PARTIAL : ALM_SAVED;
    if (detached)
        salvage_part_say(&self, "the partition was detached");
    line.to = any ? out.name : "";
    if (status == ALM_OK)
        status = salvage_part_tell(&self, &line);
    salvage_part_finish(&self);
    if (status == ALM_OK && !good)
        status =
            alm_salvage_misplaced(salvage, version, path, shared ? &place : NULL, ref->file->id);
    return status;
}

alm_status alm_salvage_found_part(alm_salvage *salvage, const alm_version *version,
                                  const char *path, const alm_part_place *place, uint64_t id,
                                  const char *reason)
{
    char partition[64] = "", stem[160];
    saving self = {.s = salvage, .v = version};
    bool good = false;
    alm_salvage_out out = {.name = ""};
    alm_salvage_line line = {.v = version,
                             .partition = partition,
                             .from = salvage_part_from_of(salvage, path),
                             .to = "",
                             .rows = -1,
                             .saved = ALM_SAVED_LOST};
    alm_status status = salvage_part_settle(
        &self,
        alm_part_open(salvage->cx, salvage->io, path, place, version->table.id, NULL, &self.part),
        &good);
    if (status == ALM_OK && good) {
        const alm_part_footer *footer = alm_part_info(self.part);
        const alm_part_claim claim = {.table_id = version->table.id,
                                      .database_id = salvage->st->database_id,
                                      .min_ts = INT64_MAX,
                                      .max_ts = INT64_MIN};
        status = salvage_part_settle(&self, alm_part_match(salvage->cx, self.part, &claim), &good);
        line.rows = footer->rows;
        if (footer->min_ts <= footer->max_ts && version->table.ts_col >= 0)
            salvage_part_partition_of(version,
                                      alm_partition_floor(version->table.partition,
                                                          alm_version_is_ns(version),
                                                          footer->min_ts),
                                      partition, sizeof partition);
    }
    if (status == ALM_OK && good)
        status = examine_all(&self, NULL);
    const bool any = status == ALM_OK && good && has_any(&self);
    if (any && self.reason_len == 0)
        line.saved = ALM_SAVED_FOUND;
    else if (any)
        line.saved = ALM_SAVED_PARTIAL;
    (void)snprintf(stem, sizeof stem, "found-%s%s%016" PRIx64, partition, partition[0] ? "." : "",
                   id & ~ALM_FILE_FORMATS);
    if (place != NULL)
        (void)snprintf(stem + strlen(stem), sizeof stem - strlen(stem), "-%" PRId64, place->offset);
    if (any)
        status = salvage_part_write_file(&self, &out, stem);
    line.to = any ? out.name : "";
    salvage_part_say(&self, "%s", reason);
    if (status == ALM_OK)
        status = salvage_part_tell(&self, &line);
    salvage_part_finish(&self);
    return status;
}

/* -------------------------------------------------------------------------- head */

static alm_status write_chunk(saving *self, alm_salvage_out *out, const alm_lane_chunk *chunk)
{
    alm_batch batch = {.rows = chunk->rows, .n_cols = self->n_cols};
    const alm_schema *has = chunk->chunk->schema;
    ALM_TRY(ALM_NEWN(self->s->cx, &self->s->arena, self->n_cols, &batch.cols));
    for (uint32_t i = 0; i < self->n_cols; i++) {
        part_col *c = &self->cols[i];
        const alm_column *col = salvage_part_column_of(self, c);
        const int32_t place = alm_schema_find(has, col->id);
        alm_vec *vec = &batch.cols[i];
        if (place < 0) {
            ALM_TRY(alm_vec_null(self->s->cx, &self->s->arena, col->type, vec));
            continue;
        }
        const uint32_t width =
            col->type.id == ALM_T_SYMBOL ? sizeof(uint32_t) : alm_type_width(col->type);
        *vec = (alm_vec){
            .type = col->type, .width = (uint8_t)width, .data = chunk->chunk->cols[(size_t)place]};
        if (col->type.id == ALM_T_SYMBOL)
            ALM_TRY(alm_salvage_codes(self->s, &self->s->arena, self->v, c->at, vec, chunk->rows,
                                      &c->wordless));
    }
    return alm_salvage_out_write(out, &batch);
}

static alm_status write_lanes(saving *self, alm_salvage_out *out)
{
    for (uint32_t i = 0; i < self->v->n_lanes; i++)
        for (uint32_t j = 0; j < self->v->lanes[i].n_chunks; j++) {
            ALM_TRY(alm_check(self->s->cx));
            ALM_TRY(write_chunk(self, out, &self->v->lanes[i].chunks[j]));
        }
    return ALM_OK;
}

alm_status alm_salvage_head(alm_salvage *salvage, const alm_version *version)
{
    char stem[64];
    saving self = {.s = salvage, .v = version, .n_cols = version->schema->n_cols};
    alm_salvage_out out = {.name = ""};
    uint32_t *cols = NULL;
    if (version->n_lanes == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(salvage->cx, &salvage->arena, self.n_cols, &self.cols));
    ALM_TRY(ALM_NEWN(salvage->cx, &salvage->arena, self.n_cols, &cols));
    for (uint32_t i = 0; i < self.n_cols; i++) {
        self.cols[i] = (part_col){.at = i};
        cols[i] = i;
    }
    (void)snprintf(stem, sizeof stem, "rows-of-the-log.%" PRIu64, version->table.id);
    alm_status status = alm_salvage_out_open(&out, salvage, version, cols, self.n_cols, stem);
    if (status == ALM_OK)
        status = write_lanes(&self, &out);
    status = alm_salvage_out_close(&out, status);
    for (uint32_t i = 0; i < self.n_cols; i++)
        if (self.cols[i].wordless > 0)
            salvage_part_say(
                &self, "column '%s' is null in %" PRId64 " rows whose symbols are lost",
                salvage_part_column_of(&self, &self.cols[i])->name, self.cols[i].wordless);
    alm_salvage_line line = {.v = version,
                             .partition = "",
                             .from = "wal",
                             .to = out.name,
                             .rows = out.rows,
                             .saved = self.reason_len > 0 ? ALM_SAVED_PARTIAL : ALM_SAVED};
    if (status == ALM_OK)
        status = salvage_part_tell(&self, &line);
    salvage_part_finish(&self);
    return status;
}
