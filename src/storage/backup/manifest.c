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

alm_status alm_manifest_add(alm_ctx *cx, alm_manifest *manifest, const alm_backup_file *file)
{
    if (manifest->n == manifest->cap) {
        const size_t cap = ALM_MAX((size_t)64, manifest->cap * 2);
        alm_backup_file *bigger = realloc(manifest->files, cap * sizeof *bigger);
        if (bigger == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "no memory for the list of files of a backup");
        manifest->files = bigger;
        manifest->cap = cap;
    }
    manifest->files[manifest->n++] = *file;
    return ALM_OK;
}

void alm_manifest_free(alm_manifest *manifest)
{
    free(manifest->files);
    *manifest = (alm_manifest){0};
}

static int manifest_by_name(const void *a, const void *b)
{
    const alm_backup_file *x = a, *y = b;
    return strcmp(x->name, y->name);
}

const alm_backup_file *alm_manifest_find(const alm_manifest *manifest, const char *name)
{
    alm_backup_file key = {.bytes = 0};
    if (manifest->n == 0)
        return NULL;
    (void)snprintf(key.name, sizeof key.name, "%s", name);
    return bsearch(&key, manifest->files, manifest->n - 1, sizeof *manifest->files,
                   manifest_by_name);
}

static alm_status manifest_put_text(alm_ctx *cx, alm_buf *buf, const alm_manifest *manifest)
{
    ALM_TRY(alm_buf_printf(cx, buf,
                           "almanac backup %d\ngeneration %" PRIu32 "\nlsn %" PRIu64
                           "\ntime %" PRId64 "\ndatabase %016" PRIx64 "\narchive %s\nfiles %zu\n",
                           MANIFEST_VERSION, manifest->generation, manifest->lsn, manifest->time_us,
                           manifest->database_id, manifest->archive, manifest->n));
    for (size_t i = 0; i < manifest->n; i++)
        ALM_TRY(alm_buf_printf(cx, buf, "%s %s %" PRId64 " %08" PRIx32 "\n",
                               manifest->files[i].name, manifest->files[i].path,
                               manifest->files[i].bytes, manifest->files[i].crc));
    return alm_buf_printf(cx, buf, "end %08" PRIx32 "\n", alm_crc32c(0, buf->ptr, buf->len));
}

alm_status alm_manifest_write(alm_ctx *cx, const alm_io *io, const char *dir,
                              alm_manifest *manifest)
{
    char name[32];
    alm_buf buf;
    ALM_ASSERT(manifest->n > 0);
    qsort(manifest->files, manifest->n - 1, sizeof *manifest->files, manifest_by_name);
    manifest_name(manifest->generation, name, sizeof name);
    alm_buf_init(&buf, NULL);
    alm_status status = manifest_put_text(cx, &buf, manifest);
    if (status == ALM_OK)
        status = alm_io_replace(cx, io, dir, name, buf.ptr, buf.len);
    alm_buf_deinit(&buf);
    return status;
}

/* ---------------------------------------------------------------------- reading */

static alm_status manifest_damaged(alm_ctx *cx, const char *path, const char *what)
{
    return alm_fail(cx, ALM_E_CORRUPT, -1, "'%s' is damaged: %s", path, what);
}

static alm_status manifest_read_text(alm_ctx *cx, const alm_io *io, const char *path, alm_buf *out)
{
    alm_io_stat meta;
    int code = io->stat(io, path, &meta);
    const int handle = code < 0 ? code : io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return alm_io_fail(cx, handle, path);
    alm_status status = ALM_OK;
    if (meta.size_bytes > MANIFEST_BYTES_MAX)
        status = manifest_damaged(cx, path, "it is too long");
    if (status == ALM_OK)
        status = alm_buf_reserve(cx, out, (size_t)meta.size_bytes + 1);
    if (status == ALM_OK)
        status = alm_io_read_all(cx, io, handle, out->ptr, (size_t)meta.size_bytes, 0, path);
    if (status == ALM_OK) {
        out->len = (size_t)meta.size_bytes;
        out->ptr[out->len] = 0;
    }
    (void)io->close(io, handle);
    return status;
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
        return manifest_damaged(cx, path, "its checksum does not match");
    if (sscanf(text->ptr, "almanac backup %d\n", &version) != 1)
        return manifest_damaged(cx, path, "it is no manifest");
    if (version > MANIFEST_VERSION)
        return alm_fail(cx, ALM_E_UNSUPPORTED, -1,
                        "'%s' has format version %d, this program reads up to %d", path, version,
                        MANIFEST_VERSION);
    return ALM_OK;
}

/* Names come into paths: nothing but what this program writes. */
static bool manifest_is_name(const char *name)
{
    if (name[0] == 0 || name[0] == '/' || strstr(name, "..") != NULL)
        return false;
    return strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz-./") == strlen(name);
}

static alm_status read_files(alm_ctx *cx, const char *path, const char *ptr, size_t n,
                             alm_manifest *manifest)
{
    for (size_t i = 0; i < n; i++) {
        alm_backup_file file = {.bytes = 0};
        if (sscanf(ptr, "%95s %95s %" SCNd64 " %" SCNx32, file.name, file.path, &file.bytes,
                   &file.crc) != 4 ||
            !manifest_is_name(file.name) || !manifest_is_name(file.path) || file.bytes < 0)
            return manifest_damaged(cx, path, "a line is not that of a file");
        ALM_TRY(alm_manifest_add(cx, manifest, &file));
        ptr = strchr(ptr, '\n');
        if (ptr++ == NULL)
            return manifest_damaged(cx, path, "a line is missing");
    }
    return strncmp(ptr, "end ", 4) == 0 && n > 0 ? ALM_OK
                                                 : manifest_damaged(cx, path, "files are missing");
}

static alm_status manifest_parse(alm_ctx *cx, const char *path, const alm_buf *text,
                                 alm_manifest *manifest)
{
    size_t n = 0;
    ALM_TRY(check_sum(cx, path, text));
    if (sscanf(text->ptr,
               "almanac backup %*d\ngeneration %" SCNu32 "\nlsn %" SCNu64 "\ntime %" SCNd64,
               &manifest->generation, &manifest->lsn, &manifest->time_us) != 3)
        return manifest_damaged(cx, path, "its header");
    const char *database = strstr(text->ptr, "\ndatabase "); /* not in version 1 */
    if (database != NULL && sscanf(database, "\ndatabase %" SCNx64, &manifest->database_id) != 1)
        return manifest_damaged(cx, path, "its header");
    const char *archive = strstr(text->ptr, "\narchive ");
    const char *files = archive == NULL ? NULL : strchr(archive + 1, '\n');
    if (files == NULL || sscanf(files, "\nfiles %zu", &n) != 1)
        return manifest_damaged(cx, path, "its header");
    archive += strlen("\narchive ");
    (void)snprintf(manifest->archive, sizeof manifest->archive, "%.*s", (int)(files - archive),
                   archive);
    files = strchr(files + 1, '\n');
    return files == NULL ? manifest_damaged(cx, path, "its header")
                         : read_files(cx, path, files + 1, n, manifest);
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
    alm_status status = manifest_read_text(cx, io, path, &text);
    if (status == ALM_OK)
        status = manifest_parse(cx, path, &text, out);
    if (status == ALM_OK && out->generation != generation)
        status = manifest_damaged(cx, path, "it is that of another generation");
    alm_buf_deinit(&text);
    if (status != ALM_OK)
        alm_manifest_free(out);
    return status;
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
static bool is_manifest(const listing *self, const char *name)
{
    alm_io_stat meta = {0};
    return strlen(name) == 17 && strcmp(name + 8, ".manifest") == 0 &&
           strspn(name, "0123456789") == 8 &&
           self->io->stat_in(self->io, self->dir, name, &meta) >= 0 && meta.is_file;
}

static int manifest_list_one(void *arg, const char *name)
{
    listing *self = arg;
    if (!is_manifest(self, name))
        return 0;
    if (self->n == self->cap) {
        self->cap = ALM_MAX((size_t)16, self->cap * 2);
        uint32_t *bigger = realloc(self->rows, self->cap * sizeof *bigger);
        if (bigger == NULL) {
            self->st = alm_fail(self->cx, ALM_E_MEMORY, -1, "no memory for the list of backups");
            return 1;
        }
        self->rows = bigger;
    }
    self->rows[self->n++] = (uint32_t)strtoul(name, NULL, 10); /* names come in order */
    return 0;
}

alm_status alm_manifest_list(alm_ctx *cx, const alm_io *io, const char *dir, uint32_t **out,
                             size_t *n)
{
    listing self = {.cx = cx, .io = io, .st = ALM_OK};
    self.dir = io->open_dir(io, dir);
    int code = self.dir;
    if (code >= 0) {
        code = io->list(io, dir, manifest_list_one, &self);
        (void)io->close(io, self.dir);
    }
    if (code < 0)
        self.st = alm_io_fail(cx, code, dir);
    if (self.st != ALM_OK) {
        free(self.rows);
        return self.st;
    }
    *out = self.rows;
    *n = self.n;
    return ALM_OK;
}
