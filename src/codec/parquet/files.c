/* files.c - see files.h. */
#include "codec/parquet/files.h"

#include <errno.h>
#include <fnmatch.h>

#include "base/number.h"
#include "io/io.h"

/* ------------------------------------------------------------------------------------- one file */

static alm_status check_path(alm_ctx *cx, const char *path)
{
    bool good = path[0] != 0 && path[0] != '/';
    for (const char *ptr = path; good && *ptr != 0;) {
        const size_t len = strcspn(ptr, "/");
        good = !alm_str_eq((alm_str){ptr, len}, ALM_STR(".."));
        ptr += len + (ptr[len] == '/');
    }
    if (good)
        return ALM_OK;
    return alm_fail(
        cx, ALM_E_DENIED, -1,
        "file name must be relative to cairo.sql.copy.root or inside it, without '..' [file=%s]",
        path);
}

typedef struct mapped {
    const alm_io *io;
    const void *at;
    size_t n;
} mapped;

static void unmap(void *arg)
{
    const mapped *self = arg;
    (void)self->io->unmap(self->io, self->at, self->n);
}

static alm_status map_handle(alm_ctx *cx, alm_arena *arena, int handle, const char *path,
                             alm_str *out)
{
    const alm_io *io = cx->io;
    mapped *self = NULL;
    const int64_t n = io->size(io, handle);
    *out = ALM_STR("");
    if (n < 0)
        return alm_io_fail(cx, (int)n, path);
    if (n == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEW(cx, arena, &self));
    self->io = io;
    self->n = (size_t)n;
    const int code = io->map(io, handle, self->n, &self->at);
    if (code < 0)
        return alm_io_fail(cx, code, path);
    const alm_status status = alm_arena_defer(cx, arena, unmap, self);
    if (status != ALM_OK)
        unmap(self);
    *out = (alm_str){self->at, self->n};
    return status;
}

alm_status alm_pq_files_open(alm_ctx *cx, alm_arena *arena, const char *folder, const char *path,
                             const alm_pq_file **out)
{
    const alm_io *io = cx->io;
    alm_str bytes = {0};
    ALM_TRY(check_path(cx, path));
    const int handle = alm_io_open_below(io, folder, path);
    if (handle < 0)
        return alm_fail(cx, handle == -EXDEV || handle == -ELOOP ? ALM_E_DENIED : ALM_E_ARG, -1,
                        "no such file below cairo.sql.copy.root, or it leads out of it [file=%s]",
                        path);
    const alm_status status = map_handle(cx, arena, handle, path, &bytes);
    (void)io->close(io, handle); /* only read */
    ALM_TRY(status);
    return alm_pq_open(cx, arena, path, bytes, out);
}

/* ------------------------------------------------------------------------------------- patterns */

typedef struct finding {
    alm_ctx *cx;
    alm_arena *arena;
    int root; /* handle of the folder */
    const char **path;
    uint32_t n, cap;
} finding;

typedef struct listing {
    finding *f;
    const char **name;
    uint32_t n, cap;
    alm_status st;
} listing;

static alm_status parquet_files_grow(finding *self, const char ***array, uint32_t n, uint32_t *cap)
{
    const char **wider = NULL;
    if (n < *cap)
        return ALM_OK;
    if (n >= ALM_PQ_FILES_MAX)
        return alm_fail(self->cx, ALM_E_LIMIT, -1,
                        "the pattern finds more than %d files or folders", ALM_PQ_FILES_MAX);
    const uint32_t room = ALM_MAX(2 * *cap, 64U);
    ALM_TRY(ALM_NEWN(self->cx, self->arena, room, &wider));
    if (n > 0)
        memcpy(wider, *array, n * sizeof *wider);
    *array = wider;
    *cap = room;
    return ALM_OK;
}

static int parquet_files_take_name(void *arg, const char *name)
{
    listing *self = arg;
    if (name[0] == '.' || name[0] == '_') /* hidden, or of a writer: _SUCCESS, _temporary */
        return 0;
    self->st = parquet_files_grow(self->f, &self->name, self->n, &self->cap);
    if (self->st == ALM_OK)
        self->st =
            alm_arena_zstr(self->f->cx, self->f->arena, alm_str_of(name), &self->name[self->n++]);
    return self->st != ALM_OK;
}

static bool has_pattern(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strchr("*?[", text[i]) != NULL)
            return true;
    return false;
}

static alm_status parquet_files_find_in(finding *f, const char *base, const char *pattern,
                                        uint32_t deep);

/* One entry of a folder against the first part of a pattern; `rest` NULL: it is the last. */
static alm_status parquet_files_match(finding *self, const char *path, bool folder,
                                      const char *name, const char *part, const char *rest,
                                      const char *pattern, uint32_t deep)
{
    const bool any_depth = strcmp(part, "**") == 0;
    if (folder && any_depth)
        return parquet_files_find_in(self, path, pattern, deep + 1);
    if (fnmatch(part, name, 0) != 0)
        return ALM_OK;
    if (folder)
        return rest != NULL ? parquet_files_find_in(self, path, rest, deep + 1) : ALM_OK;
    if (rest != NULL)
        return ALM_OK;
    ALM_TRY(parquet_files_grow(self, &self->path, self->n, &self->cap));
    self->path[self->n++] = path;
    return ALM_OK;
}

/* The entries of the folder `dir`, which is `base`. What is neither a file nor a folder, as links are, is left out. */
static alm_status find_entries(finding *self, int dir, const char *base, const char *part,
                               const char *rest, const char *pattern, uint32_t deep)
{
    const alm_io *io = self->cx->io;
    listing l = {.f = self};
    (void)io->list_in(io, dir, parquet_files_take_name, &l);
    ALM_TRY(l.st);
    for (uint32_t i = 0; i < l.n; i++) {
        const char *path = NULL;
        alm_io_stat meta;
        if (io->stat_in(io, dir, l.name[i], &meta) < 0 || (!meta.is_dir && !meta.is_file))
            continue;
        ALM_TRY(alm_arena_printf(self->cx, self->arena, &path, "%s%s%s", base,
                                 base[0] != 0 ? "/" : "", l.name[i]));
        ALM_TRY(parquet_files_match(self, path, meta.is_dir, l.name[i], part, rest, pattern, deep));
    }
    return ALM_OK;
}

/* Depth is bounded by ALM_PQ_FOLDERS_DEEP. */
static alm_status parquet_files_find_in(finding *self, const char *base, const char *pattern,
                                        uint32_t deep)
{
    const alm_io *io = self->cx->io;
    const size_t len = strcspn(pattern, "/");
    const char *part = NULL, *path = NULL;
    const char *rest = pattern[len] == '/' ? pattern + len + 1 : NULL;
    if (deep > ALM_PQ_FOLDERS_DEEP)
        return ALM_OK;
    ALM_TRY(alm_check(self->cx));
    ALM_TRY(alm_arena_zstr(self->cx, self->arena, (alm_str){pattern, len}, &part));
    if (!has_pattern(part, len) && rest != NULL) {
        ALM_TRY(alm_arena_printf(self->cx, self->arena, &path, "%s%s%s", base,
                                 base[0] != 0 ? "/" : "", part));
        return parquet_files_find_in(self, path, rest, deep + 1);
    }
    if (strcmp(part, "**") == 0 && rest != NULL) /* no folder at all is one of its depths */
        ALM_TRY(parquet_files_find_in(self, base, rest, deep + 1));
    const int dir = io->open_dir_below(io, self->root, base, 0);
    if (dir < 0)
        return ALM_OK; /* a folder that is not there, or leads out, is empty */
    const alm_status status = find_entries(self, dir, base, part, rest, pattern, deep);
    (void)io->close(io, dir);
    return status;
}

alm_status alm_pq_files_find(alm_ctx *cx, alm_arena *arena, const char *folder, const char *pattern,
                             const char *const **out, uint32_t *n)
{
    finding self = {.cx = cx, .arena = arena};
    pattern = alm_io_path_below(folder, pattern);
    ALM_TRY(check_path(cx, pattern));
    if (!has_pattern(pattern, strlen(pattern))) {
        ALM_TRY(parquet_files_grow(&self, &self.path, 0, &self.cap));
        self.path[self.n++] = pattern;
    } else {
        self.root = cx->io->open_dir(cx->io, folder);
        const alm_status status =
            self.root >= 0 ? parquet_files_find_in(&self, "", pattern, 0) : ALM_OK;
        if (self.root >= 0)
            (void)cx->io->close(cx->io, self.root);
        ALM_TRY(status);
    }
    if (self.n == 0)
        return alm_fail(cx, ALM_E_ARG, -1, "no file below cairo.sql.copy.root matches '%s'",
                        pattern);
    *out = self.path;
    *n = self.n;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------- values of folders */

static alm_status parquet_files_decode(alm_ctx *cx, alm_arena *arena, alm_str text, alm_str *out)
{
    char *dest = NULL;
    size_t count = 0;
    ALM_TRY(alm_arena_bytes(cx, arena, text.len + 1, &dest));
    for (size_t i = 0; i < text.len; i++) {
        const int hi = text.ptr[i] == '%' && text.len - i > 2 ? alm_hex_digit(text.ptr[i + 1]) : -1;
        const int lo = hi >= 0 ? alm_hex_digit(text.ptr[i + 2]) : -1;
        dest[count++] = (char)(lo >= 0 ? hi << 4 | lo : text.ptr[i]);
        i += lo >= 0 ? 2 : 0;
    }
    dest[count] = 0;
    *out = (alm_str){dest, count};
    return ALM_OK;
}

alm_status alm_pq_folder_values(alm_ctx *cx, alm_arena *arena, const char *path,
                                alm_pq_folder_value **out, uint32_t *n)
{
    uint32_t most = 0;
    *n = 0;
    for (const char *ptr = path; *ptr != 0; ptr++)
        most += *ptr == '/';
    ALM_TRY(ALM_NEWN(cx, arena, most + 1, out));
    for (const char *ptr = path, *end; (end = strchr(ptr, '/')) != NULL; ptr = end + 1) {
        const char *equals = memchr(ptr, '=', (size_t)(end - ptr));
        if (equals == NULL || equals == ptr)
            continue;
        alm_pq_folder_value *value = &(*out)[(*n)++];
        ALM_TRY(
            parquet_files_decode(cx, arena, (alm_str){ptr, (size_t)(equals - ptr)}, &value->name));
        ALM_TRY(parquet_files_decode(cx, arena, (alm_str){equals + 1, (size_t)(end - equals - 1)},
                                     &value->value));
        if (alm_str_eq(value->value, ALM_STR("__HIVE_DEFAULT_PARTITION__")))
            value->value = (alm_str){0};
    }
    return ALM_OK;
}
