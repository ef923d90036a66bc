/*
 * salvage_report.c - OUT/report.csv: what was saved and what was not, a line for each part. Written as the work goes on, so that a
 * run that ends early has said what it did.
 */
#include <inttypes.h>
#include <stdio.h>

#include "codec/result_text.h"
#include "storage/check/salvage.h"

static const char HEAD[] = "table,partition,part,file,rows,result,reason\n";

static const char *name_of(alm_saved saved)
{
    static const char *const names[] = {[ALM_SAVED] = "saved",
                                        [ALM_SAVED_PARTIAL] = "partial",
                                        [ALM_SAVED_FOUND] = "found",
                                        [ALM_SAVED_LOST] = "lost"};
    return names[saved];
}

static alm_status append(alm_salvage *s, const char *bytes, size_t n)
{
    ALM_TRY(alm_io_write_all(s->cx, s->io, s->report, bytes, n, s->report_at, "report.csv"));
    s->report_at += (int64_t)n;
    return ALM_OK;
}

alm_status alm_salvage_report_open(alm_salvage *s)
{
    char path[ALM_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/report.csv", s->out);
    s->report = s->io->open(s->io, path, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (s->report < 0)
        return alm_io_fail(s->cx, s->report, path);
    return append(s, HEAD, sizeof HEAD - 1);
}

alm_status alm_salvage_report_close(alm_salvage *s)
{
    int e = s->io->sync(s->io, s->report);
    const int closed = s->io->close(s->io, s->report);
    s->report = -1;
    e = e < 0 ? e : closed;
    return e < 0 ? alm_io_fail(s->cx, e, "report.csv") : ALM_OK;
}

static alm_status put_line(alm_ctx *cx, alm_buf *buf, const alm_salvage_line *l)
{
    char rows[32] = "";
    const char *const texts[] = {l->v != NULL ? l->v->table.name : "", l->partition, l->from,
                                 l->to};
    for (size_t i = 0; i < ALM_COUNT(texts); i++) {
        if (texts[i][0] != 0)
            ALM_TRY(alm_csv_put_quoted(cx, buf, alm_str_of(texts[i])));
        ALM_TRY(alm_buf_append(cx, buf, ",", 1));
    }
    if (l->rows >= 0)
        (void)snprintf(rows, sizeof rows, "%" PRId64, l->rows);
    ALM_TRY(alm_buf_append(cx, buf, rows, strlen(rows)));
    ALM_TRY(alm_buf_append(cx, buf, ",", 1));
    ALM_TRY(alm_buf_append(cx, buf, name_of(l->saved), strlen(name_of(l->saved))));
    ALM_TRY(alm_buf_append(cx, buf, ",", 1));
    if (l->reason[0] != 0)
        ALM_TRY(alm_csv_put_quoted(cx, buf, alm_str_of(l->reason)));
    return alm_buf_append(cx, buf, "\n", 1);
}

static void tell(const alm_salvage *s, const alm_salvage_line *l)
{
    char line[ALM_PATH_MAX + 2048];
    (void)snprintf(line, sizeof line, "%s '%s'%s%.128s%s: %s", name_of(l->saved), l->from,
                   l->v != NULL ? " of table '" : "", l->v != NULL ? l->v->table.name : "",
                   l->v != NULL ? "'" : "", l->reason);
    if (s->tell != NULL)
        s->tell(s->tell_arg, line);
}

alm_status alm_salvage_report(alm_salvage *s, const alm_salvage_line *line)
{
    alm_buf buf;
    alm_buf_init(&buf, NULL);
    alm_status st = put_line(s->cx, &buf, line);
    if (st == ALM_OK)
        st = append(s, buf.ptr, buf.len);
    alm_buf_deinit(&buf);
    s->done->findings += line->saved != ALM_SAVED;
    if (line->saved != ALM_SAVED)
        tell(s, line);
    return st;
}

alm_status alm_salvage_note(alm_salvage *s, const alm_version *v, const char *from, alm_saved saved,
                            const char *reason)
{
    const alm_salvage_line line = {.v = v,
                                   .partition = "",
                                   .from = from,
                                   .to = "",
                                   .rows = -1,
                                   .saved = saved,
                                   .reason = reason};
    return alm_salvage_report(s, &line);
}
