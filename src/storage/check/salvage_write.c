/*
 * salvage_write.c - the Parquet files of a salvage: one directory for each table, rows as they come. They are plain files for any
 * reader, and no parts of a table.
 */
#include <stdio.h>

#include "codec/parquet/writer.h"
#include "storage/check/salvage.h"

enum { NAME_BYTES_MAX = 200 };

static alm_status to_file(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    alm_salvage_out *o = arg;
    ALM_TRY(alm_io_write_all(cx, o->s->io, o->handle, bytes, n, o->at, o->path));
    o->at += (int64_t)n;
    return ALM_OK;
}

/* The name of the table, if a directory may have it. */
static void dir_name(const alm_version *v, char *name, size_t size)
{
    const char *of = v->table.name;
    if (of[0] != 0 && of[0] != '.' && strchr(of, '/') == NULL && strlen(of) <= NAME_BYTES_MAX)
        (void)snprintf(name, size, "%s", of);
    else
        (void)snprintf(name, size, "table-%llu", (unsigned long long)v->table.id);
}

static alm_status new_writer(alm_salvage_out *o, const uint32_t *cols, uint32_t n)
{
    alm_pq_options options;
    alm_pq_column *columns = NULL;
    const alm_schema *schema = o->v->schema;
    alm_pq_options_init(&options);
    ALM_TRY(ALM_NEWN(o->s->cx, &o->s->arena, n, &columns));
    for (uint32_t i = 0; i < n; i++) {
        columns[i] =
            (alm_pq_column){.name = schema->cols[cols[i]].name, .type = schema->cols[cols[i]].type};
        if ((int32_t)cols[i] == o->v->table.ts_col)
            options.ts_col = (int32_t)i;
    }
    return alm_pq_writer_new(o->s->cx, columns, n, &options, to_file, o, &o->w);
}

alm_status alm_salvage_out_open(alm_salvage_out *o, alm_salvage *s, const alm_version *v,
                                const uint32_t *cols, uint32_t n, const char *stem)
{
    char dir[NAME_BYTES_MAX + 1];
    *o = (alm_salvage_out){.s = s, .v = v, .handle = -1};
    dir_name(v, dir, sizeof dir);
    int len = snprintf(o->path, sizeof o->path, "%s/%s", s->out, dir);
    const int e = len < (int)sizeof o->path ? s->io->mkdir(s->io, o->path) : 0;
    if (e < 0)
        return alm_io_fail(s->cx, e, o->path);
    len = snprintf(o->path, sizeof o->path, "%s/%s/%s.parquet", s->out, dir, stem);
    if (len < 0 || len >= (int)sizeof o->path)
        return alm_fail(s->cx, ALM_E_LIMIT, -1, "the path '%.64s...' is too long", s->out);
    o->name = o->path + strlen(s->out) + 1;
    o->handle = s->io->open(s->io, o->path, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (o->handle < 0)
        return alm_io_fail(s->cx, o->handle, o->path);
    return new_writer(o, cols, n);
}

alm_status alm_salvage_out_write(alm_salvage_out *o, const alm_batch *batch)
{
    o->rows += batch->rows;
    return alm_pq_write(o->s->cx, o->w, batch, 0, batch->rows);
}

alm_status alm_salvage_out_close(alm_salvage_out *o, alm_status st)
{
    const alm_io *io = o->s->io;
    if (st == ALM_OK)
        st = alm_pq_finish(o->s->cx, o->w);
    int e = st == ALM_OK ? io->sync(io, o->handle) : 0;
    if (o->handle >= 0) {
        const int closed = io->close(io, o->handle);
        e = e < 0 ? e : closed;
    }
    if (st == ALM_OK && e < 0)
        st = alm_io_fail(o->s->cx, e, o->path);
    alm_pq_writer_free(o->w);
    if (st == ALM_OK) {
        o->s->done->files++;
        o->s->done->rows += o->rows;
    }
    return st;
}

alm_status alm_salvage_codes(alm_salvage *s, alm_arena *arena, const alm_version *v, uint32_t col,
                             alm_vec *vec, uint32_t rows, int64_t *wordless)
{
    const alm_symbols *symbols = v->schema->symbols[col];
    const alm_dict *dict = &v->schema->dicts[col];
    uint32_t *codes = NULL;
    ALM_TRY(ALM_NEWN(s->cx, arena, rows, &codes));
    for (uint32_t i = 0; i < rows; i++) {
        codes[i] = alm_vec_code(vec, i);
        if (codes[i] < dict->count && alm_symbols_knows(symbols, codes[i]))
            continue;
        codes[i] = 0;
        ++*wordless;
    }
    *vec = (alm_vec){.type = vec->type, .width = sizeof *codes, .data = codes, .dict = dict};
    return ALM_OK;
}
