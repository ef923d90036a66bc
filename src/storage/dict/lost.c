/*
 * lost.c - a dictionary whose file is not the one that the catalogue means, or cannot be read: its table is closed, and
 * everything else is served.
 *
 * Codes       Parts and the log hold codes only. The codes of the lost values stay taken, by placeholders that nobody is shown, so
 *             that values which the log brings get the codes that they have there.
 * Kept        The catalogue goes on saying how many values the file must have, and their checksum, and has the values that came
 *             behind them itself, because no file is written. When the right file is back, the next start finds all values.
 */
#include <stdio.h>
#include <stdlib.h>

#include "storage/dict/impl.h"

/* What no text of a symbol is: it is no UTF-8. */
static const char PLACEHOLDER[] = "\xff\xfe";

alm_status alm_symbols_lose(alm_ctx *cx, alm_symbols *sym, uint32_t count, uint32_t crc,
                            const char *why)
{
    ALM_ASSERT(alm_symbols_count(sym) == 1 && sym->lost == NULL);
    sym->lost = strdup(why);
    if (sym->lost == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for a dictionary");
    sym->kept_count = count;
    sym->kept_crc = crc;
    return alm_symbols_pad(cx, sym, count);
}

static alm_str placeholder(uint32_t code, char *text, size_t size)
{
    const int len = snprintf(text, size, "%s%u", PLACEHOLDER, code);
    return (alm_str){text, (size_t)len};
}

alm_status alm_symbols_pad(alm_ctx *cx, alm_symbols *sym, uint32_t count)
{
    char text[32];
    for (uint32_t code = alm_symbols_count(sym); code < count; code++)
        ALM_TRY(alm_symbols_put(cx, sym, code, placeholder(code, text, sizeof(text))));
    return ALM_OK;
}

bool alm_symbols_knows(const alm_symbols *sym, uint32_t code)
{
    const size_t n = sizeof(PLACEHOLDER) - 1;
    if (code >= alm_symbols_count(sym))
        return false;
    const alm_str text = alm_symbols_text(sym, code);
    return code == 0 || text.len < n || memcmp(text.ptr, PLACEHOLDER, n) != 0;
}

alm_status alm_symbols_learn(alm_ctx *cx, alm_symbols *sym, uint32_t code, alm_str text,
                             bool *agrees)
{
    *agrees = true;
    ALM_TRY(alm_symbols_pad(cx, sym, code + 1));
    if (!alm_symbols_knows(sym, code))
        return alm_symbols_name(cx, sym, code, text);
    *agrees = alm_str_eq(alm_symbols_text(sym, code), text);
    return ALM_OK;
}

alm_status alm_symbols_forget(alm_ctx *cx, alm_symbols *sym, uint32_t count)
{
    char text[32];
    for (uint32_t code = 1; code < ALM_MIN(count, alm_symbols_count(sym)); code++)
        ALM_TRY(alm_symbols_name(cx, sym, code, placeholder(code, text, sizeof(text))));
    return ALM_OK;
}

const char *alm_symbols_lost(const alm_symbols *sym)
{
    return sym->lost;
}

void alm_symbols_in_file(alm_symbols *sym, uint32_t count, uint32_t *in_file, uint32_t *crc)
{
    *in_file = sym->lost != NULL ? sym->kept_count : count;
    *crc = sym->lost != NULL ? sym->kept_crc : alm_symbols_crc(sym, count);
    ALM_ASSERT(*in_file <= count);
}

alm_status alm_symbols_usable(alm_ctx *cx, const alm_symbols *sym)
{
    return sym->lost == NULL ? ALM_OK : alm_fail(cx, ALM_E_CORRUPT, -1, "%s", sym->lost);
}

/* ------------------------------------------------------------- a dictionary anew */

static bool any_begins(const alm_symbols *sym, const char *prefix)
{
    const size_t len = strlen(prefix);
    for (uint32_t code = 1; code < alm_symbols_count(sym); code++) {
        const alm_str text = alm_symbols_text(sym, code);
        if (text.len >= len && memcmp(text.ptr, prefix, len) == 0)
            return true;
    }
    return false;
}

alm_status alm_symbols_name_lost(alm_ctx *cx, alm_symbols *sym, char *prefix, size_t prefix_size,
                                 uint32_t *lost)
{
    char text[64];
    uint32_t number = 0;
    *lost = 0;
    do {
        number++;
        (void)snprintf(prefix, prefix_size, "lost symbol %u/", number);
    } while (any_begins(sym, prefix));
    for (uint32_t code = 1; code < alm_symbols_count(sym); code++) {
        if (alm_symbols_knows(sym, code))
            continue;
        const int len = snprintf(text, sizeof(text), "%s%u", prefix, code);
        ALM_TRY(alm_symbols_name(cx, sym, code, (alm_str){text, (size_t)len}));
        ++*lost;
    }
    return ALM_OK;
}

alm_status alm_symbols_regain(alm_ctx *cx, alm_symbols *sym, const alm_io *io, const char *path)
{
    char *why = sym->lost;
    alm_io_stat meta = {0};
    ALM_ASSERT(why != NULL && sym->saved_bytes == 0);
    sym->lost = NULL;
    alm_status status = alm_symbols_export(cx, sym, io, path, alm_symbols_count(sym));
    const int code = status == ALM_OK ? io->stat(io, path, &meta) : 0;
    if (code < 0)
        status = alm_io_fail(cx, code, path);
    if (status != ALM_OK) {
        sym->lost = why;
        return status;
    }
    free(why);
    sym->saved_count = alm_symbols_count(sym);
    sym->saved_bytes = meta.size_bytes;
    sym->saved_version = ALM_SYMBOLS_VERSION;
    return ALM_OK;
}
