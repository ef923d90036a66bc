/*
 * txn_part.c - see txn_part.h.
 */
#include "storage/write/txn_part.h"

#include <stdlib.h>

#include "storage/spill/spill.h"
#include "storage/state.h"

/*
 * An undo takes a quarter of the files at the most that would be kept else, and all undos of a chain together twice the
 * part, so that savepoints do not hold in memory what the disk can hold. One that takes a 64th, or few bytes, is always better.
 */
enum { WORTH = 4, ALWAYS_WORTH = 64, CHAIN_PARTS = 2, FEW_BYTES = 1024 };
/* Texts that no row has any more while a part is made: so many bytes, and as many as there are, are let go together. */
enum { LOOSE_TEXTS = 16 << 20 };

/* ------------------------------------------------------------------------ ownership */

alm_status alm_txn_part_new(alm_ctx *cx, alm_part_ref *ref, alm_part_ref *published,
                            alm_txn_part **out)
{
    alm_txn_part *part = NULL;
    ALM_TRY(alm_heap_bytes(cx, sizeof *part, "a part of a transaction", &part));
    *part = (alm_txn_part){.refs = 1,
                           .ref = alm_part_ref_retain(ref),
                           .published = published == NULL ? NULL : alm_part_ref_retain(published)};
    *out = part;
    return ALM_OK;
}

alm_txn_part *alm_txn_part_retain(alm_txn_part *part)
{
    ALM_ASSERT(part->refs > 0);
    part->refs++;
    return part;
}

static void free_undos(alm_txn_part *part)
{
    while (part->undo != NULL) {
        alm_undo *undo = part->undo;
        part->undo = undo->older;
        alm_undo_free(undo);
    }
    part->undo_bytes = 0;
}

/* The part needs the next one no more; the caller releases that. */
static alm_txn_part *leave_chain(alm_txn_part *part)
{
    alm_txn_part *next = part->next;
    if (next != NULL) {
        ALM_ASSERT(next->prev == part);
        next->prev = NULL;
    }
    part->next = NULL;
    free_undos(part);
    return next;
}

static void uncharge(alm_txn_part *part)
{
    if (part->kept_bytes > 0)
        alm_spill_space_leave(part->space, part->files, -1, part->kept_bytes);
    part->kept_bytes = 0;
}

void alm_txn_part_is_back(alm_txn_part *part)
{
    uncharge(part);
}

void alm_txn_part_release(alm_txn_part *part)
{
    while (part != NULL && --part->refs == 0) { /* a chain may be long: no recursion */
        ALM_ASSERT(part->prev == NULL);
        alm_txn_part *next = leave_chain(part);
        uncharge(part);
        if (part->ref != NULL)
            alm_part_ref_release(part->ref);
        if (part->published != NULL)
            alm_part_ref_release(part->published);
        free(part);
        part = next;
    }
}

/* ------------------------------------------------------------------------ replacing */

static bool has_file(const alm_part_ref *part, const alm_file *file)
{
    bool has = part != NULL && part->file == file;
    for (uint32_t i = 0; part != NULL && i < part->n_overlays && !has; i++)
        has = part->overlays[i].file == file;
    return has;
}

/* Bytes of the files of one that the other and the published part lack. */
static int64_t bytes_beside(const alm_part_ref *one, const alm_part_ref *other,
                            const alm_part_ref *published)
{
    int64_t bytes = 0;
    if (one == NULL)
        return 0;
    if (!has_file(other, one->file) && !has_file(published, one->file))
        bytes += one->file->bytes;
    for (uint32_t i = 0; i < one->n_overlays; i++) {
        const alm_file *file = one->overlays[i].file;
        if (!has_file(other, file) && !has_file(published, file) &&
            (i == 0 || file != one->overlays[i - 1].file))
            bytes += file->bytes;
    }
    return bytes;
}

/* What it costs to keep both: files that they do not share. The new ones may outlive their use here, too. */
static int64_t cost_of_both(const alm_txn_part *was, const alm_part_ref *now)
{
    return ALM_MAX(bytes_beside(was->ref, now, was->published),
                   bytes_beside(now, was->ref, was->published));
}

static bool is_worth(const alm_undo *undo, const alm_txn_part *part, int64_t files, int64_t whole)
{
    if (undo == NULL)
        return false;
    const int64_t bytes = undo->bytes + part->undo_bytes;
    return bytes <= FEW_BYTES || bytes <= files / ALWAYS_WORTH ||
           (bytes <= files / WORTH && part->chain_bytes + bytes <= CHAIN_PARTS * whole);
}

static alm_status keep_files(alm_ctx *cx, alm_storage *storage, alm_txn_part *part, int64_t bytes)
{
    if (part->kept_bytes > 0 || bytes == 0)
        return ALM_OK;
    part->space = &storage->spill;
    part->files = cx->files;
    ALM_TRY(alm_spill_space_charge(cx, part->space, part->files, bytes, "savepoint"));
    part->kept_bytes = bytes;
    return ALM_OK;
}

/* `part` is made of `now` from here on, by one more undo. */
static void undo_by(alm_txn_part *part, alm_txn_part *now, alm_undo **undo)
{
    ALM_ASSERT(part->next == NULL && now->prev == NULL);
    (*undo)->older = part->undo;
    part->undo = *undo;
    part->undo_bytes += (*undo)->bytes;
    *undo = NULL;
    part->next = alm_txn_part_retain(now);
    now->prev = part;
    now->chain_bytes = part->chain_bytes + part->undo_bytes;
    if (part->ref != NULL)
        alm_part_ref_release(part->ref);
    part->ref = NULL;
}

/* Nothing but the part before it in the chain needs `was`. */
static alm_status bridge(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                         alm_txn_part *was, alm_txn_part *now, alm_undo **undo)
{
    alm_txn_part *before = was->prev;
    const int64_t cost = now == NULL ? 0 : cost_of_both(was, now->ref);
    const int64_t whole = bytes_beside(was->ref, NULL, NULL);
    if (!is_worth(*undo, before, cost, whole)) {
        ALM_TRY(alm_txn_part_make(cx, storage, version, before));
        return keep_files(cx, storage, before,
                          bytes_beside(before->ref, was->ref, before->published));
    }
    before->next = NULL;
    was->prev = NULL;
    undo_by(before, now, undo);
    alm_txn_part_release(was);
    return ALM_OK;
}

alm_status alm_txn_part_replace(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                                alm_txn_part *was, alm_txn_part *now, alm_undo **undo)
{
    ALM_ASSERT(was->ref != NULL && was->next == NULL);
    if (was->refs == 1)
        return ALM_OK;
    if (was->prev != NULL && was->refs == 2)
        return bridge(cx, storage, version, was, now, undo);
    const int64_t cost = cost_of_both(was, now == NULL ? NULL : now->ref);
    if (now == NULL || !is_worth(*undo, was, cost, bytes_beside(was->ref, NULL, NULL)))
        return keep_files(cx, storage, was, cost);
    undo_by(was, now, undo);
    return ALM_OK;
}

/* --------------------------------------------------------------------- making again */

typedef struct maker {
    alm_arena arena;
    const alm_version *v;
    const alm_part_ref *from;
    const alm_undo **undos; /* in the order they are applied */
    size_t n_undos;
    int64_t rows; /* with all that come back */
    bool whole;   /* all columns are written */
} maker;

/* The part at the end of the chain, which has files, and the undos from there to `part`. */
static alm_status txn_part_collect(alm_ctx *cx, maker *self, const alm_txn_part *part)
{
    const alm_txn_part *end = part;
    size_t count = 0;
    for (; end->ref == NULL; end = end->next)
        for (const alm_undo *undo = end->undo; undo != NULL; undo = undo->older)
            count++;
    ALM_TRY(ALM_NEWN(cx, &self->arena, count + 1, &self->undos));
    self->from = end->ref;
    self->n_undos = count;
    self->rows = end->ref->rows;
    self->whole = alm_part_ref_is_parquet(end->ref);
    for (end = part; end->ref == NULL; end = end->next) { /* from the back: `part` comes last */
        size_t k = 0;
        for (const alm_undo *undo = end->undo; undo != NULL; undo = undo->older)
            k++;
        count -= k;
        k = count;
        for (const alm_undo *undo = end->undo; undo != NULL; undo = undo->older) {
            self->undos[k++] = undo;
            self->rows += undo->gone;
            self->whole = self->whole || undo->gone > 0;
        }
    }
    ALM_ASSERT(count == 0);
    return ALM_OK;
}

/* Long texts of the column to a new arena, so that those of no row go. */
static alm_status txn_part_gather_texts(alm_ctx *cx, alm_vec *column, int64_t rows,
                                        alm_arena *texts)
{
    alm_view *views = column->data;
    alm_arena fresh;
    alm_arena_init(&fresh, NULL);
    for (int64_t i = 0; i < rows; i++) {
        char *text = NULL;
        if (alm_view_is_null(&views[i]) || views[i].len <= ALM_VIEW_INLINE)
            continue;
        const alm_status status = alm_arena_bytes(cx, &fresh, views[i].len, &text);
        if (status != ALM_OK) {
            alm_arena_deinit(&fresh);
            return status;
        }
        memcpy(text, alm_view_ptr(&views[i], NULL), views[i].len);
        views[i].off = (uintptr_t)text;
    }
    alm_arena_deinit(texts);
    *texts = fresh;
    return ALM_OK;
}

static alm_status apply_all(alm_ctx *cx, maker *self, alm_arena *scratch, alm_arena *texts,
                            uint32_t col, alm_vec *column)
{
    const uint32_t id = self->v->table.cols[col].id;
    const bool has_text = alm_type_has_heap(self->v->table.cols[col].type);
    int64_t rows = self->from->rows, loose = 0;
    ALM_TRY(alm_overlay_column(cx, &self->arena, self->v, self->from, col, self->rows, column));
    for (size_t i = 0; i < self->n_undos; i++) {
        alm_arena_reset(scratch);
        ALM_TRY(alm_undo_apply(cx, texts, scratch, self->undos[i], id, column, &rows));
        loose += has_text ? alm_undo_unpacked(self->undos[i], id) : 0;
        if (loose <= LOOSE_TEXTS)
            continue;
        ALM_TRY(txn_part_gather_texts(cx, column, rows, texts));
        loose = 0;
    }
    ALM_ASSERT(rows == self->rows);
    return ALM_OK;
}

static bool changes(const maker *self, uint32_t col)
{
    bool changed = self->whole;
    for (size_t i = 0; i < self->n_undos && !changed; i++)
        changed = alm_undo_has(self->undos[i], self->v->table.cols[col].id);
    return changed;
}

static alm_status txn_part_write(alm_ctx *cx, alm_storage *storage, maker *self, alm_arena *scratch,
                                 alm_arena *texts, alm_part_ref **out)
{
    const uint32_t n_cols = self->v->table.n_cols;
    uint32_t *cols = NULL, count = 0;
    alm_column *columns = NULL;
    alm_vec *values = NULL;
    ALM_TRY(ALM_NEWN(cx, &self->arena, n_cols, &cols));
    ALM_TRY(ALM_NEWN(cx, &self->arena, n_cols, &columns));
    ALM_TRY(ALM_NEWN(cx, &self->arena, n_cols, &values));
    for (uint32_t col = 0; col < n_cols; col++) {
        if (!changes(self, col))
            continue;
        ALM_TRY(apply_all(cx, self, scratch, &texts[col], col, &values[count]));
        columns[count] = self->v->table.cols[col];
        cols[count++] = col;
    }
    if (self->whole)
        return alm_overlay_whole(cx, storage, &self->arena, self->v, self->from, self->rows, values,
                                 out);
    if (count == 0) { /* none of the values had changed */
        *out = alm_part_ref_retain((alm_part_ref *)(uintptr_t)self->from);
        return ALM_OK;
    }
    const alm_overlay_change change = {.cols = cols, .as = columns, .values = values, .n = count};
    return alm_overlay_put(cx, storage, &self->arena, self->v, self->from, &change, out);
}

static alm_status txn_part_make(alm_ctx *cx, alm_storage *storage, maker *self,
                                const alm_txn_part *part, alm_part_ref **out)
{
    const uint32_t n_cols = self->v->table.n_cols;
    alm_arena scratch, *texts = NULL;
    ALM_TRY(txn_part_collect(cx, self, part));
    ALM_TRY(ALM_NEWN(cx, &self->arena, n_cols, &texts));
    for (uint32_t col = 0; col < n_cols; col++)
        alm_arena_init(&texts[col], NULL);
    alm_arena_init(&scratch, NULL);
    const uint64_t before = alm_rewrite_begin(cx, storage); /* what is read is written again */
    const alm_status status = txn_part_write(cx, storage, self, &scratch, texts, out);
    alm_rewrite_end(cx, before);
    alm_arena_deinit(&scratch);
    for (uint32_t col = 0; col < n_cols; col++)
        alm_arena_deinit(&texts[col]);
    return status;
}

alm_status alm_txn_part_make(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                             alm_txn_part *part)
{
    maker self = {.v = version};
    if (part->ref != NULL)
        return ALM_OK;
    alm_arena_init(&self.arena, NULL);
    alm_part_ref *ref = NULL;
    const alm_status status = txn_part_make(cx, storage, &self, part, &ref);
    alm_arena_deinit(&self.arena);
    ALM_TRY(status);
    part->ref = ref;
    alm_txn_part_release(leave_chain(part));
    return ALM_OK;
}
