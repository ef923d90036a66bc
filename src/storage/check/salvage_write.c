/*
 * salvage_write.c - the Parquet files of a salvage: one directory for each table, rows as they come. They are plain files for any
 * reader, and no parts of a table.
 */
#include <stdio.h>

#include "codec/parquet/writer.h"
#include "storage/check/salvage.h"

enum { NAME_BYTES_MAX = 200 };

static alm_status salvage_write_to_file(alm_ctx *cx, void *arg, const void *bytes, size_t n)
{
    alm_salvage_out *out = arg;
    ALM_TRY(alm_io_write_all(cx, out->s->io, out->handle, bytes, n, out->at, out->path));
    out->at += (int64_t)n;
    return ALM_OK;
}

/* The name of the table, if a directory may have it. */
static void dir_name(const alm_version *version, char *name, size_t size)
{
    const char *of = version->table.name;
    if (of[0] != 0 && of[0] != '.' && strchr(of, '/') == NULL && strlen(of) <= NAME_BYTES_MAX)
        (void)snprintf(name, size, "%s", of);
    else
        (void)snprintf(name, size, "table-%llu", (unsigned long long)version->table.id);
}

static alm_status new_writer(alm_salvage_out *out, const uint32_t *cols, uint32_t n_cols)
{
    alm_pq_options options;
    alm_pq_column *columns = NULL;
    const alm_schema *schema = out->v->schema;
    alm_pq_options_init(&options);
    ALM_TRY(ALM_NEWN(out->s->cx, &out->s->arena, n_cols, &columns));
    for (uint32_t i = 0; i < n_cols; i++) {
        columns[i] =
            (alm_pq_column){.name = schema->cols[cols[i]].name, .type = schema->cols[cols[i]].type};
        if ((int32_t)cols[i] == out->v->table.ts_col)
            options.ts_col = (int32_t)i;
    }
    return alm_pq_writer_new(out->s->cx, columns, n_cols, &options, salvage_write_to_file, out,
                             &out->w);
}

alm_status alm_salvage_out_open(alm_salvage_out *out, alm_salvage *salvage,
                                const alm_version *version, const uint32_t *cols, uint32_t n,
                                const char *stem)
{
    char dir[NAME_BYTES_MAX + 1];
    *out = (alm_salvage_out){.s = salvage, .v = version, .handle = -1};
    dir_name(version, dir, sizeof dir);
    int len = snprintf(out->path, sizeof out->path, "%s/%s", salvage->out, dir);
    const int code = len < (int)sizeof out->path ? salvage->io->mkdir(salvage->io, out->path) : 0;
    if (code < 0)
        return alm_io_fail(salvage->cx, code, out->path);
    len = snprintf(out->path, sizeof out->path, "%s/%s/%s.parquet", salvage->out, dir, stem);
    if (len < 0 || len >= (int)sizeof out->path)
        return alm_fail(salvage->cx, ALM_E_LIMIT, -1, "the path '%.64s...' is too long",
                        salvage->out);
    out->name = out->path + strlen(salvage->out) + 1;
    out->handle =
        salvage->io->open(salvage->io, out->path, ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (out->handle < 0)
        return alm_io_fail(salvage->cx, out->handle, out->path);
    return new_writer(out, cols, n);
}

alm_status alm_salvage_out_write(alm_salvage_out *out, const alm_batch *batch)
{
    out->rows += batch->rows;
    return alm_pq_write(out->s->cx, out->w, batch, 0, batch->rows);
}

alm_status alm_salvage_out_close(alm_salvage_out *out, alm_status status)
{
    const alm_io *io = out->s->io;
    if (status == ALM_OK)
        status = alm_pq_finish(out->s->cx, out->w);
    int code = status == ALM_OK ? io->sync(io, out->handle) : 0;
    if (out->handle >= 0) {
        const int closed = io->close(io, out->handle);
        code = code < 0 ? code : closed;
    }
    if (status == ALM_OK && code < 0)
        status = alm_io_fail(out->s->cx, code, out->path);
    alm_pq_writer_free(out->w);
    if (status == ALM_OK) {
        out->s->done->files++;
        out->s->done->rows += out->rows;
    }
    return status;
}

alm_status alm_salvage_codes(alm_salvage *salvage, alm_arena *arena, const alm_version *version,
                             uint32_t col, alm_vec *vec, uint32_t rows, int64_t *wordless)
{
    const alm_symbols *symbols = version->schema->symbols[col];
    const alm_dict *dict = &version->schema->dicts[col];
    uint32_t *codes = NULL;
    ALM_TRY(ALM_NEWN(salvage->cx, arena, rows, &codes));
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
