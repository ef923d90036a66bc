/*
 * salvage_report.c - OUT/report.csv: what was saved and what was not, a line for each part. Written as the work goes on, so that a
 * run that ends early has said what it did.
 */
#include <inttypes.h>
#include <stdio.h>

#include "codec/result_text.h"
#include "storage/check/salvage.h"

static const char HEAD[] = "table,partition,part,file,rows,result,reason\n";

static const char *salvage_report_name_of(alm_saved saved)
{
    static const char *const names[] = {[ALM_SAVED] = "saved",
                                        [ALM_SAVED_PARTIAL] = "partial",
                                        [ALM_SAVED_FOUND] = "found",
                                        [ALM_SAVED_LOST] = "lost"};
    return names[saved];
}

static alm_status salvage_report_append(alm_salvage *salvage, const char *bytes, size_t n)
{
    ALM_TRY(alm_io_write_all(salvage->cx, salvage->io, salvage->report, bytes, n,
                             salvage->report_at, "report.csv"));
    salvage->report_at += (int64_t)n;
    return ALM_OK;
}

alm_status alm_salvage_report_open(alm_salvage *salvage)
{
    char path[ALM_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/report.csv", salvage->out);
    salvage->report =
        salvage->io->open(salvage->io, path, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (salvage->report < 0)
        return alm_io_fail(salvage->cx, salvage->report, path);
    return salvage_report_append(salvage, HEAD, sizeof HEAD - 1);
}

alm_status alm_salvage_report_close(alm_salvage *salvage)
{
    int code = salvage->io->sync(salvage->io, salvage->report);
    const int closed = salvage->io->close(salvage->io, salvage->report);
    salvage->report = -1;
    code = code < 0 ? code : closed;
    return code < 0 ? alm_io_fail(salvage->cx, code, "report.csv") : ALM_OK;
}

static alm_status salvage_report_put_line(alm_ctx *cx, alm_buf *buf, const alm_salvage_line *line)
{
    char rows[32] = "";
    const char *const texts[] = {line->v != NULL ? line->v->table.name : "", line->partition,
                                 line->from, line->to};
    for (size_t i = 0; i < ALM_COUNT(texts); i++) {
        if (texts[i][0] != 0)
            ALM_TRY(alm_csv_put_quoted(cx, buf, alm_str_of(texts[i])));
        ALM_TRY(alm_buf_append(cx, buf, ",", 1));
    }
    if (line->rows >= 0)
        (void)snprintf(rows, sizeof rows, "%" PRId64, line->rows);
    ALM_TRY(alm_buf_append(cx, buf, rows, strlen(rows)));
    ALM_TRY(alm_buf_append(cx, buf, ",", 1));
    ALM_TRY(alm_buf_append(cx, buf, salvage_report_name_of(line->saved),
                           strlen(salvage_report_name_of(line->saved))));
    ALM_TRY(alm_buf_append(cx, buf, ",", 1));
    if (line->reason[0] != 0)
        ALM_TRY(alm_csv_put_quoted(cx, buf, alm_str_of(line->reason)));
    return alm_buf_append(cx, buf, "\n", 1);
}

static void salvage_report_tell(const alm_salvage *salvage, const alm_salvage_line *salvage_line)
{
    char line[ALM_PATH_MAX + 2048];
    (void)snprintf(line, sizeof line, "%s '%s'%s%.128s%s: %s",
                   salvage_report_name_of(salvage_line->saved), salvage_line->from,
                   salvage_line->v != NULL ? " of table '" : "",
                   salvage_line->v != NULL ? salvage_line->v->table.name : "",
                   salvage_line->v != NULL ? "'" : "", salvage_line->reason);
    if (salvage->tell != NULL)
        salvage->tell(salvage->tell_arg, line);
}

alm_status alm_salvage_report(alm_salvage *salvage, const alm_salvage_line *line)
{
    alm_buf buf;
    alm_buf_init(&buf, NULL);
    alm_status status = salvage_report_put_line(salvage->cx, &buf, line);
    if (status == ALM_OK)
        status = salvage_report_append(salvage, buf.ptr, buf.len);
    alm_buf_deinit(&buf);
    salvage->done->findings += line->saved != ALM_SAVED;
    if (line->saved != ALM_SAVED)
        salvage_report_tell(salvage, line);
    return status;
}

alm_status alm_salvage_note(alm_salvage *salvage, const alm_version *version, const char *from,
                            alm_saved saved, const char *reason)
{
    const alm_salvage_line line = {.v = version,
                                   .partition = "",
                                   .from = from,
                                   .to = "",
                                   .rows = -1,
                                   .saved = saved,
                                   .reason = reason};
    return alm_salvage_report(salvage, &line);
}
