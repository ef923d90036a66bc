/*
 * salvage_words.c - the symbols of damaged dictionaries: from sound records of the file, and from Parquet parts, which have their words.
 * A code whose word is not found stays without one. Where a Parquet part contradicts the file, the file is another one, and does not count.
 */
#include <inttypes.h>
#include <stdio.h>

#include "storage/check/salvage.h"

typedef struct words {
    alm_ctx *cx;
    alm_storage *st;
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
    alm_ctx *cx = w->cx;
    if (!alm_file_id_is_parquet(file->id))
        return ALM_OK;
    alm_file_path(file, path, sizeof path);
    alm_file_claim(file, &claim);
    alm_status st = alm_part_open(cx, w->st->io, path, NULL, claim.table_id, NULL, &part);
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

/* What a repair that was cut off has written stands beside the file (dict_rebuild.c); it counts if it is what the catalogue means. */
static alm_status words_of_files(words *w, uint32_t count, uint32_t crc)
{
    static const char *const names[] = {"dict.repair", "dict"};
    char dir[ALM_PATH_MAX - 64], path[ALM_PATH_MAX];
    alm_storage_table_dir(w->st, w->v->table.id, dir, sizeof dir);
    for (size_t i = 0; i < ALM_COUNT(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%u.%s", dir, w->v->schema->cols[w->col].id, names[i]);
        ALM_TRY(alm_symbols_learn_file(w->cx, w->symbols, w->st->io, path, count, crc, i == 0));
    }
    return ALM_OK;
}

alm_status alm_words_find(alm_ctx *cx, alm_storage *st, const alm_version *v, uint32_t col)
{
    words w = {.cx = cx, .st = st, .v = v, .col = col, .symbols = v->schema->symbols[col]};
    uint32_t count = 0, crc = 0;
    if (alm_symbols_lost(w.symbols) != NULL) {
        alm_symbols_in_file(w.symbols, alm_symbols_count(w.symbols), &count, &crc);
        ALM_TRY(words_of_files(&w, count, crc));
    }
    ALM_TRY(words_of_parts(&w, false));
    if (w.contradicted)
        ALM_TRY(alm_symbols_forget(cx, w.symbols, count > 0 ? count : UINT32_MAX));
    ALM_TRY(words_of_parts(&w, true));
    alm_symbols_view(w.symbols, alm_symbols_count(w.symbols), &v->schema->dicts[col]);
    return ALM_OK;
}

static alm_status tell(alm_salvage *s, const alm_version *v, uint32_t col)
{
    char from[64], reason[2048];
    const alm_symbols *symbols = v->schema->symbols[col];
    const uint32_t count = alm_symbols_count(symbols);
    const char *why = alm_symbols_lost(symbols);
    uint32_t lost = 0;
    for (uint32_t code = 1; code < count; code++)
        lost += !alm_symbols_knows(symbols, code);
    if (lost == 0 && why == NULL)
        return ALM_OK;
    (void)snprintf(from, sizeof from, "tables/%" PRIu64 "/%u.dict", v->table.id,
                   v->schema->cols[col].id);
    (void)snprintf(reason, sizeof reason, "column '%.128s': %u of %u symbols are lost%s%s",
                   v->schema->cols[col].name, lost, count - 1, why != NULL ? ": " : "",
                   why != NULL ? why : "");
    return alm_salvage_note(s, v, from, lost < count - 1 ? ALM_SAVED_PARTIAL : ALM_SAVED_LOST,
                            reason);
}

alm_status alm_salvage_words(alm_salvage *s)
{
    for (size_t i = 0; i < s->st->current->n; i++) {
        const alm_version *v = alm_catver_at(s->st->current, i);
        for (uint32_t c = 0; c < v->schema->n_cols; c++) {
            const alm_symbols *symbols = v->schema->symbols[c];
            if (symbols == NULL || (alm_symbols_lost(symbols) == NULL && !s->gaps))
                continue;
            ALM_TRY(alm_words_find(s->cx, s->st, v, c));
            ALM_TRY(tell(s, v, c));
        }
    }
    return ALM_OK;
}
