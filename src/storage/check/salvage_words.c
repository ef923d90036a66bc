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
    words *phrase = arg;
    bool agrees = true;
    if (code == 0)
        return ALM_OK;
    if (phrase->learn)
        return alm_symbols_learn(cx, phrase->symbols, code, word, &agrees);
    if (alm_symbols_knows(phrase->symbols, code))
        phrase->contradicted =
            phrase->contradicted || !alm_str_eq(alm_symbols_text(phrase->symbols, code), word);
    return ALM_OK;
}

static alm_status words_of_part(words *phrase, alm_file *file)
{
    alm_part *part = NULL;
    char path[ALM_PATH_MAX];
    alm_part_claim claim;
    alm_ctx *cx = phrase->cx;
    if (!alm_file_id_is_parquet(file->id))
        return ALM_OK;
    alm_file_path(file, path, sizeof path);
    alm_file_claim(file, &claim);
    alm_status status = alm_part_open(cx, phrase->st->io, path, NULL, claim.table_id, NULL, &part);
    if (status == ALM_OK)
        status = alm_part_match(cx, part, &claim);
    const int32_t entry =
        status == ALM_OK ? alm_part_find(part, phrase->v->schema->cols[phrase->col].id, UINT32_MAX)
                         : -1;
    if (entry >= 0)
        status = alm_part_words(cx, part, (uint32_t)entry, one_word, phrase);
    alm_part_release(part);
    if (!alm_is_damage(status))
        return status;
    alm_error_clear(cx); /* it is reported where the part is saved */
    return ALM_OK;
}

static alm_status words_of_set(words *phrase, const alm_part_set *set)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++)
        ALM_TRY(words_of_part(phrase, set->parts[i]->file));
    return ALM_OK;
}

static alm_status words_of_parts(words *phrase, bool learn)
{
    phrase->learn = learn;
    ALM_TRY(words_of_set(phrase, phrase->v->parts));
    return words_of_set(phrase, phrase->v->detached);
}

/* What a repair that was cut off has written stands beside the file (dict_rebuild.c); it counts if it is what the catalogue means. */
static alm_status words_of_files(words *phrase, uint32_t count, uint32_t crc)
{
    static const char *const names[] = {"dict.repair", "dict"};
    char dir[ALM_PATH_MAX - 64], path[ALM_PATH_MAX];
    alm_storage_table_dir(phrase->st, phrase->v->table.id, dir, sizeof dir);
    for (size_t i = 0; i < ALM_COUNT(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%u.%s", dir, phrase->v->schema->cols[phrase->col].id,
                       names[i]);
        ALM_TRY(alm_symbols_learn_file(phrase->cx, phrase->symbols, phrase->st->io, path, count,
                                       crc, i == 0));
    }
    return ALM_OK;
}

alm_status alm_words_find(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                          uint32_t col)
{
    words phrase = {.cx = cx,
                    .st = storage,
                    .v = version,
                    .col = col,
                    .symbols = version->schema->symbols[col]};
    uint32_t count = 0, crc = 0;
    if (alm_symbols_lost(phrase.symbols) != NULL) {
        alm_symbols_in_file(phrase.symbols, alm_symbols_count(phrase.symbols), &count, &crc);
        ALM_TRY(words_of_files(&phrase, count, crc));
    }
    ALM_TRY(words_of_parts(&phrase, false));
    if (phrase.contradicted)
        ALM_TRY(alm_symbols_forget(cx, phrase.symbols, count > 0 ? count : UINT32_MAX));
    ALM_TRY(words_of_parts(&phrase, true));
    alm_symbols_view(phrase.symbols, alm_symbols_count(phrase.symbols),
                     &version->schema->dicts[col]);
    return ALM_OK;
}

static alm_status salvage_words_tell(alm_salvage *salvage, const alm_version *version, uint32_t col)
{
    char from[64], reason[2048];
    const alm_symbols *symbols = version->schema->symbols[col];
    const uint32_t count = alm_symbols_count(symbols);
    const char *why = alm_symbols_lost(symbols);
    uint32_t lost = 0;
    for (uint32_t code = 1; code < count; code++)
        lost += !alm_symbols_knows(symbols, code);
    if (lost == 0 && why == NULL)
        return ALM_OK;
    (void)snprintf(from, sizeof from, "tables/%" PRIu64 "/%u.dict", version->table.id,
                   version->schema->cols[col].id);
    (void)snprintf(reason, sizeof reason, "column '%.128s': %u of %u symbols are lost%s%s",
                   version->schema->cols[col].name, lost, count - 1, why != NULL ? ": " : "",
                   why != NULL ? why : "");
    return alm_salvage_note(salvage, version, from,
                            lost < count - 1 ? ALM_SAVED_PARTIAL : ALM_SAVED_LOST, reason);
}

alm_status alm_salvage_words(alm_salvage *salvage)
{
    for (size_t i = 0; i < salvage->st->current->n; i++) {
        const alm_version *version = alm_catver_at(salvage->st->current, i);
        for (uint32_t col = 0; col < version->schema->n_cols; col++) {
            const alm_symbols *symbols = version->schema->symbols[col];
            if (symbols == NULL || (alm_symbols_lost(symbols) == NULL && !salvage->gaps))
                continue;
            ALM_TRY(alm_words_find(salvage->cx, salvage->st, version, col));
            ALM_TRY(salvage_words_tell(salvage, version, col));
        }
    }
    return ALM_OK;
}
