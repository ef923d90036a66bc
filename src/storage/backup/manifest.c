/*
 * manifest.c - the manifest of a backup as text: header, one line per file, a checksum.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "storage/backup/backup.h"

enum { MANIFEST_VERSION = 2, MANIFEST_BYTES_MAX = 1 << 30 };

static void manifest_name(uint32_t generation, char *name, size_t size)
{
    (void)snprintf(name, size, "%08" PRIu32 ".manifest", generation);
}

alm_status alm_manifest_add(alm_ctx *cx, alm_manifest *m, const alm_backup_file *file)
{
    if (m->n == m->cap) {
        const size_t cap = ALM_MAX((size_t)64, m->cap * 2);
        alm_backup_file *bigger = realloc(m->files, cap * sizeof *bigger);
        if (bigger == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the list of files of a backup");
        m->files = bigger;
        m->cap = cap;
    }
    m->files[m->n++] = *file;
    return ALM_OK;
}

void alm_manifest_free(alm_manifest *m)
{
    free(m->files);
    *m = (alm_manifest){0};
}

static int by_name(const void *a, const void *b)
{
    const alm_backup_file *x = a, *y = b;
    return strcmp(x->name, y->name);
}

const alm_backup_file *alm_manifest_find(const alm_manifest *m, const char *name)
{
    alm_backup_file key = {.bytes = 0};
    if (m->n == 0)
        return NULL;
    (void)snprintf(key.name, sizeof key.name, "%s", name);
    return bsearch(&key, m->files, m->n - 1, sizeof *m->files, by_name);
}

static alm_status put_text(alm_ctx *cx, alm_buf *buf, const alm_manifest *m)
{
    ALM_TRY(alm_buf_printf(cx, buf,
                           "almanac backup %d\ngeneration %" PRIu32 "\nlsn %" PRIu64
                           "\ntime %" PRId64 "\ndatabase %016" PRIx64 "\narchive %s\nfiles %zu\n",
                           MANIFEST_VERSION, m->generation, m->lsn, m->time_us, m->database_id,
                           m->archive, m->n));
    for (size_t i = 0; i < m->n; i++)
        ALM_TRY(alm_buf_printf(cx, buf, "%s %s %" PRId64 " %08" PRIx32 "\n", m->files[i].name,
                               m->files[i].path, m->files[i].bytes, m->files[i].crc));
    return alm_buf_printf(cx, buf, "end %08" PRIx32 "\n", alm_crc32c(0, buf->ptr, buf->len));
}

alm_status alm_manifest_write(alm_ctx *cx, const alm_io *io, const char *dir, alm_manifest *m)
{
    char name[32];
    alm_buf buf;
    ALM_ASSERT(m->n > 0);
    qsort(m->files, m->n - 1, sizeof *m->files, by_name);
    manifest_name(m->generation, name, sizeof name);
    alm_buf_init(&buf, NULL);
    alm_status st = put_text(cx, &buf, m);
    if (st == ALM_OK)
        st = alm_io_replace(cx, io, dir, name, buf.ptr, buf.len);
    alm_buf_deinit(&buf);
    return st;
}

/* ---------------------------------------------------------------------- reading */

static alm_status damaged(alm_ctx *cx, const char *path, const char *what)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is damaged: %s", path, what);
}

static alm_status read_text(alm_ctx *cx, const alm_io *io, const char *path, alm_buf *out)
{
    alm_io_stat meta;
    int e = io->stat(io, path, &meta);
    const int h = e < 0 ? e : io->open(io, path, ALM_IO_READ);
    if (h < 0)
        return alm_io_fail(cx, h, path);
    alm_status st = ALM_OK;
    if (meta.size_bytes > MANIFEST_BYTES_MAX)
        st = damaged(cx, path, "it is too long");
    if (st == ALM_OK)
        st = alm_buf_reserve(cx, out, (size_t)meta.size_bytes + 1);
    if (st == ALM_OK)
        st = alm_io_read_all(cx, io, h, out->ptr, (size_t)meta.size_bytes, 0, path);
    if (st == ALM_OK) {
        out->len = (size_t)meta.size_bytes;
        out->ptr[out->len] = 0;
    }
    (void)io->close(io, h);
    return st;
}

/* The last line is the checksum of what stands before it. */
static alm_status check_sum(alm_ctx *cx, const char *path, const alm_buf *text)
{
    enum { END_BYTES = 13 };
    char end[END_BYTES + 1] = "";
    int version = 0;
    if (text->len > END_BYTES)
        (void)snprintf(end, sizeof end, "end %08" PRIx32 "\n",
                       alm_crc32c(0, text->ptr, text->len - END_BYTES));
    if (text->len <= END_BYTES || memcmp(text->ptr + text->len - END_BYTES, end, END_BYTES) != 0)
        return damaged(cx, path, "its checksum does not match");
    if (sscanf(text->ptr, "almanac backup %d\n", &version) != 1)
        return damaged(cx, path, "it is no manifest");
    if (version > MANIFEST_VERSION)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                        "'%s' has format version %d, this program reads up to %d", path, version,
                        MANIFEST_VERSION);
    return ALM_OK;
}

/* Names come into paths: nothing but what this program writes. */
static bool is_name(const char *name)
{
    if (name[0] == 0 || name[0] == '/' || strstr(name, "..") != NULL)
        return false;
    return strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz-./") == strlen(name);
}

static alm_status read_files(alm_ctx *cx, const char *path, const char *at, size_t n,
                             alm_manifest *m)
{
    for (size_t i = 0; i < n; i++) {
        alm_backup_file f = {.bytes = 0};
        if (sscanf(at, "%95s %95s %" SCNd64 " %" SCNx32, f.name, f.path, &f.bytes, &f.crc) != 4 ||
            !is_name(f.name) || !is_name(f.path) || f.bytes < 0)
            return damaged(cx, path, "a line is not that of a file");
        ALM_TRY(alm_manifest_add(cx, m, &f));
        at = strchr(at, '\n');
        if (at++ == NULL)
            return damaged(cx, path, "a line is missing");
    }
    return strncmp(at, "end ", 4) == 0 && n > 0 ? ALM_OK : damaged(cx, path, "files are missing");
}

static alm_status parse(alm_ctx *cx, const char *path, const alm_buf *text, alm_manifest *m)
{
    size_t n = 0;
    ALM_TRY(check_sum(cx, path, text));
    if (sscanf(text->ptr,
               "almanac backup %*d\ngeneration %" SCNu32 "\nlsn %" SCNu64 "\ntime %" SCNd64,
               &m->generation, &m->lsn, &m->time_us) != 3)
        return damaged(cx, path, "its header");
    const char *database = strstr(text->ptr, "\ndatabase "); /* not in version 1 */
    if (database != NULL && sscanf(database, "\ndatabase %" SCNx64, &m->database_id) != 1)
        return damaged(cx, path, "its header");
    const char *archive = strstr(text->ptr, "\narchive ");
    const char *files = archive == NULL ? NULL : strchr(archive + 1, '\n');
    if (files == NULL || sscanf(files, "\nfiles %zu", &n) != 1)
        return damaged(cx, path, "its header");
    archive += strlen("\narchive ");
    (void)snprintf(m->archive, sizeof m->archive, "%.*s", (int)(files - archive), archive);
    files = strchr(files + 1, '\n');
    return files == NULL ? damaged(cx, path, "its header") : read_files(cx, path, files + 1, n, m);
}

alm_status alm_manifest_read(alm_ctx *cx, const alm_io *io, const char *dir, uint32_t generation,
                             alm_manifest *out)
{
    char path[ALM_PATH_MAX], name[32];
    alm_buf text;
    *out = (alm_manifest){0};
    manifest_name(generation, name, sizeof name);
    (void)snprintf(path, sizeof path, "%.*s/%s", ALM_PATH_MAX - 64, dir, name);
    alm_buf_init(&text, NULL);
    alm_status st = read_text(cx, io, path, &text);
    if (st == ALM_OK)
        st = parse(cx, path, &text, out);
    if (st == ALM_OK && out->generation != generation)
        st = damaged(cx, path, "it is that of another generation");
    alm_buf_deinit(&text);
    if (st != ALM_OK)
        alm_manifest_free(out);
    return st;
}

typedef struct listing {
    alm_ctx *cx;
    const alm_io *io;
    int dir;
    alm_status st;
    uint32_t *rows;
    size_t n, cap;
} listing;

/* A directory of such a name, somebody's backup say, is none. */
static bool is_manifest(const listing *l, const char *name)
{
    alm_io_stat meta = {0};
    return strlen(name) == 17 && strcmp(name + 8, ".manifest") == 0 &&
           strspn(name, "0123456789") == 8 && l->io->stat_in(l->io, l->dir, name, &meta) >= 0 &&
           meta.is_file;
}

static int list_one(void *arg, const char *name)
{
    listing *l = arg;
    if (!is_manifest(l, name))
        return 0;
    if (l->n == l->cap) {
        l->cap = ALM_MAX((size_t)16, l->cap * 2);
        uint32_t *bigger = realloc(l->rows, l->cap * sizeof *bigger);
        if (bigger == NULL) {
            l->st = alm_fail(l->cx, ALM_E_MEMORY, -1, "no memory for the list of backups");
            return 1;
        }
        l->rows = bigger;
    }
    l->rows[l->n++] = (uint32_t)strtoul(name, NULL, 10); /* names come in order */
    return 0;
}

alm_status alm_manifest_list(alm_ctx *cx, const alm_io *io, const char *dir, uint32_t **out,
                             size_t *n)
{
    listing l = {.cx = cx, .io = io, .st = ALM_OK};
    l.dir = io->open_dir(io, dir);
    int e = l.dir;
    if (e >= 0) {
        e = io->list(io, dir, list_one, &l);
        (void)io->close(io, l.dir);
    }
    if (e < 0)
        l.st = alm_io_fail(cx, e, dir);
    if (l.st != ALM_OK) {
        free(l.rows);
        return l.st;
    }
    *out = l.rows;
    *n = l.n;
    return ALM_OK;
}
