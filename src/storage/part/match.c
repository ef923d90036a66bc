/*
 * match.c - is a part file the one that the catalogue, the log or a manifest means? Two files of a table may have one size, so
 * the checksum of the footer is compared, and what the footer says of itself. What a claim or a footer of an older program does not
 * say is not compared.
 */
#include <errno.h>

#include "storage/part/inner.h"
#include "storage/part/part.h"

static alm_status other(alm_ctx *cx, const alm_part *part, const char *what, uint64_t has,
                        uint64_t expected)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1,
                    "part file '%s' is another one than expected: it has %s %016llx, not %016llx",
                    part->path, what, (unsigned long long)has, (unsigned long long)expected);
}

static alm_status match_other_count(alm_ctx *cx, const alm_part *part, const char *what,
                                    int64_t has, int64_t expected)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1,
                    "part file '%s' is another one than expected: it has %s %lld, not %lld",
                    part->path, what, (long long)has, (long long)expected);
}

static bool differs(uint64_t has, uint64_t expected)
{
    return has != 0 && expected != 0 && has != expected;
}

static alm_status match_times(alm_ctx *cx, const alm_part *part, const alm_part_claim *claim)
{
    const alm_part_footer *footer = part->footer;
    if (footer->ts_entry < 0 || claim->min_ts > claim->max_ts)
        return ALM_OK;
    if (footer->min_ts != claim->min_ts)
        return match_other_count(cx, part, "first time", footer->min_ts, claim->min_ts);
    if (footer->max_ts != claim->max_ts)
        return match_other_count(cx, part, "last time", footer->max_ts, claim->max_ts);
    return ALM_OK;
}

alm_status alm_part_match(alm_ctx *cx, const alm_part *part, const alm_part_claim *claim)
{
    const alm_part_footer *footer = part->footer;
    if (differs(footer->database_id, claim->database_id))
        return other(cx, part, "database id", footer->database_id, claim->database_id);
    if (footer->table_id != claim->table_id)
        return other(cx, part, "table id", footer->table_id, claim->table_id);
    if (differs(footer->file_id, claim->file_id))
        return other(cx, part, "file id", footer->file_id, claim->file_id);
    if (claim->bytes != 0 && (int64_t)part->bytes != claim->bytes)
        return match_other_count(cx, part, "bytes", (int64_t)part->bytes, claim->bytes);
    if (claim->rows != 0 && footer->rows != claim->rows)
        return match_other_count(cx, part, "rows", footer->rows, claim->rows);
    ALM_TRY(match_times(cx, part, claim));
    if (differs(part->footer_crc, claim->footer_crc))
        return other(cx, part, "the footer with checksum", part->footer_crc, claim->footer_crc);
    return ALM_OK;
}

alm_status alm_part_no_file(alm_ctx *cx, int code, const char *path)
{
    switch (-code) {
    case ENOENT:
        return alm_fail(cx, ALM_E_CORRUPT, -1, "part file '%s' is missing", path);
    case EISDIR:
    case ENODEV: /* a map of a directory */
    case ENOTDIR:
    case ELOOP:
        return alm_fail(cx, ALM_E_CORRUPT, -1, "part file '%s' is no regular file", path);
    default:
        return alm_io_fail(cx, code, path);
    }
}

alm_status alm_part_is_file(alm_ctx *cx, const alm_io *io, const char *path)
{
    alm_io_stat meta;
    const int code = io->stat(io, path, &meta);
    if (code < 0)
        return alm_part_no_file(cx, code, path);
    return meta.is_dir ? alm_part_no_file(cx, -EISDIR, path) : ALM_OK;
}

alm_status alm_part_is(alm_ctx *cx, const alm_io *io, const char *path, const alm_part_claim *claim)
{
    alm_part *part = NULL;
    ALM_TRY(alm_part_open(cx, io, path, NULL, claim->table_id, NULL, &part));
    const alm_status status = alm_part_match(cx, part, claim);
    alm_part_release(part);
    return status;
}
