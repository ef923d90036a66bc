/*
 * salvage_words.c - the symbols of damaged dictionaries: from sound records of the file, and from Parquet parts, which have their words.
 * A code whose word is not found stays without one. Where a Parquet part contradicts the file, the file is another one, and does not count.
 */
#include <inttypes.h>
#include <stdio.h>

#include "storage/salvage.h"

typedef struct words {
    alm_salvage *s;
    const alm_version *v;
    uint32_t col; /* position */
    alm_symbols *symbols;
    bool learn; /* else they are only compared */
    bool contradicted;
} words;

static alm_status one_word(alm_ctx *cx, void *arg, uint32_t code, alm_str word)
{
    words *w = arg;
    bool agrees = true;
    if (code == 0)
        return ALM_OK;
    if (w->learn)
        return alm_symbols_learn(cx, w->symbols, code, word, &agrees);
    if (alm_symbols_knows(w->symbols, code))
        w->contradicted = w->contradicted || !alm_str_eq(alm_symbols_text(w->symbols, code), word);
    return ALM_OK;
}

static alm_status words_of_part(words *w, alm_file *file)
{
    alm_part *part = NULL;
    char path[ALM_PATH_MAX];
    alm_part_claim claim;
    alm_ctx *cx = w->s->cx;
    if (!alm_file_id_is_parquet(file->id))
        return ALM_OK;
    alm_file_path(file, path, sizeof path);
    alm_file_claim(file, &claim);
    alm_status st = alm_part_open(cx, w->s->io, path, NULL, claim.table_id, NULL, &part);
    if (st == ALM_OK)
        st = alm_part_match(cx, part, &claim);
    const int32_t entry =
        st == ALM_OK ? alm_part_find(part, w->v->schema->cols[w->col].id, UINT32_MAX) : -1;
    if (entry >= 0)
        st = alm_part_words(cx, part, (uint32_t)entry, one_word, w);
    alm_part_release(part);
    if (!alm_is_damage(st))
        return st;
    alm_error_clear(cx); /* it is reported where the part is saved */
    return ALM_OK;
}

static alm_status words_of_set(words *w, const alm_part_set *set)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++)
        ALM_TRY(words_of_part(w, set->parts[i]->file));
    return ALM_OK;
}

static alm_status words_of_parts(words *w, bool learn)
{
    w->learn = learn;
    ALM_TRY(words_of_set(w, w->v->parts));
    return words_of_set(w, w->v->detached);
}

static alm_status tell(const words *w)
{
    char from[64], reason[2048];
    const uint32_t count = alm_symbols_count(w->symbols);
    const char *why = alm_symbols_lost(w->symbols);
    uint32_t lost = 0;
    for (uint32_t code = 1; code < count; code++)
        lost += !alm_symbols_knows(w->symbols, code);
    if (lost == 0 && why == NULL)
        return ALM_OK;
    (void)snprintf(from, sizeof from, "tables/%" PRIu64 "/%u.dict", w->v->table.id,
                   w->v->schema->cols[w->col].id);
    (void)snprintf(reason, sizeof reason, "column '%.128s': %u of %u symbols are lost%s%s",
                   w->v->schema->cols[w->col].name, lost, count - 1, why != NULL ? ": " : "",
                   why != NULL ? why : "");
    return alm_salvage_note(w->s, w->v, from, lost < count - 1 ? ALM_SAVED_PARTIAL : ALM_SAVED_LOST,
                            reason);
}

static alm_status words_of_column(words *w)
{
    char dir[ALM_PATH_MAX - 64], path[ALM_PATH_MAX];
    uint32_t count = 0, crc = 0;
    alm_ctx *cx = w->s->cx;
    alm_storage_table_dir(w->s->st, w->v->table.id, dir, sizeof dir);
    (void)snprintf(path, sizeof path, "%s/%u.dict", dir, w->v->schema->cols[w->col].id);
    if (alm_symbols_lost(w->symbols) != NULL) {
        alm_symbols_in_file(w->symbols, alm_symbols_count(w->symbols), &count, &crc);
        ALM_TRY(alm_symbols_learn_file(cx, w->symbols, w->s->io, path, count, crc));
    }
    ALM_TRY(words_of_parts(w, false));
    if (w->contradicted)
        ALM_TRY(alm_symbols_forget(cx, w->symbols, count > 0 ? count : UINT32_MAX));
    ALM_TRY(words_of_parts(w, true));
    alm_symbols_view(w->symbols, alm_symbols_count(w->symbols), &w->v->schema->dicts[w->col]);
    return tell(w);
}

alm_status alm_salvage_words(alm_salvage *s)
{
    for (size_t i = 0; i < s->st->current->n; i++) {
        const alm_version *v = alm_catver_at(s->st->current, i);
        for (uint32_t c = 0; c < v->schema->n_cols; c++) {
            words w = {.s = s, .v = v, .col = c, .symbols = v->schema->symbols[c]};
            if (w.symbols != NULL && (alm_symbols_lost(w.symbols) != NULL || s->gaps))
                ALM_TRY(words_of_column(&w));
        }
    }
    return ALM_OK;
}
