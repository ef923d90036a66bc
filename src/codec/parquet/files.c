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
    for (const char *at = path; good && *at != 0;) {
        const size_t n = strcspn(at, "/");
        good = !alm_str_eq((alm_str){at, n}, ALM_STR(".."));
        at += n + (at[n] == '/');
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
    const mapped *m = arg;
    (void)m->io->unmap(m->io, m->at, m->n);
}

static alm_status map_handle(alm_ctx *cx, alm_arena *arena, int handle, const char *path,
                             alm_str *out)
{
    const alm_io *io = cx->io;
    mapped *m = NULL;
    const int64_t n = io->size(io, handle);
    *out = ALM_STR("");
    if (n < 0)
        return alm_io_fail(cx, (int)n, path);
    if (n == 0)
        return ALM_OK;
    ALM_TRY(ALM_NEW(cx, arena, &m));
    m->io = io;
    m->n = (size_t)n;
    const int code = io->map(io, handle, m->n, &m->at);
    if (code < 0)
        return alm_io_fail(cx, code, path);
    const alm_status st = alm_arena_defer(cx, arena, unmap, m);
    if (st != ALM_OK)
        unmap(m);
    *out = (alm_str){m->at, m->n};
    return st;
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
    const alm_status st = map_handle(cx, arena, handle, path, &bytes);
    (void)io->close(io, handle); /* only read */
    ALM_TRY(st);
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

static alm_status grow(finding *f, const char ***array, uint32_t n, uint32_t *cap)
{
    const char **wider = NULL;
    if (n < *cap)
        return ALM_OK;
    if (n >= ALM_PQ_FILES_MAX)
        return alm_fail(f->cx, ALM_E_LIMIT, -1, "the pattern finds more than %d files or folders",
                        ALM_PQ_FILES_MAX);
    const uint32_t room = ALM_MAX(2 * *cap, 64U);
    ALM_TRY(ALM_NEWN(f->cx, f->arena, room, &wider));
    if (n > 0)
        memcpy(wider, *array, n * sizeof *wider);
    *array = wider;
    *cap = room;
    return ALM_OK;
}

static int take_name(void *arg, const char *name)
{
    listing *l = arg;
    if (name[0] == '.' || name[0] == '_') /* hidden, or of a writer: _SUCCESS, _temporary */
        return 0;
    l->st = grow(l->f, &l->name, l->n, &l->cap);
    if (l->st == ALM_OK)
        l->st = alm_arena_zstr(l->f->cx, l->f->arena, alm_str_of(name), &l->name[l->n++]);
    return l->st != ALM_OK;
}

static bool has_pattern(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strchr("*?[", text[i]) != NULL)
            return true;
    return false;
}

static alm_status find_in(finding *f, const char *base, const char *pattern, uint32_t deep);

/* One entry of a folder against the first part of a pattern; `rest` NULL: it is the last. */
static alm_status match(finding *f, const char *path, bool folder, const char *name,
                        const char *part, const char *rest, const char *pattern, uint32_t deep)
{
    const bool any_depth = strcmp(part, "**") == 0;
    if (folder && any_depth)
        return find_in(f, path, pattern, deep + 1);
    if (fnmatch(part, name, 0) != 0)
        return ALM_OK;
    if (folder)
        return rest != NULL ? find_in(f, path, rest, deep + 1) : ALM_OK;
    if (rest != NULL)
        return ALM_OK;
    ALM_TRY(grow(f, &f->path, f->n, &f->cap));
    f->path[f->n++] = path;
    return ALM_OK;
}

/* The entries of the folder `dir`, which is `base`. What is neither a file nor a folder, as links are, is left out. */
static alm_status find_entries(finding *f, int dir, const char *base, const char *part,
                               const char *rest, const char *pattern, uint32_t deep)
{
    const alm_io *io = f->cx->io;
    listing l = {.f = f};
    (void)io->list_in(io, dir, take_name, &l);
    ALM_TRY(l.st);
    for (uint32_t i = 0; i < l.n; i++) {
        const char *path = NULL;
        alm_io_stat meta;
        if (io->stat_in(io, dir, l.name[i], &meta) < 0 || (!meta.is_dir && !meta.is_file))
            continue;
        ALM_TRY(alm_arena_printf(f->cx, f->arena, &path, "%s%s%s", base, base[0] != 0 ? "/" : "",
                                 l.name[i]));
        ALM_TRY(match(f, path, meta.is_dir, l.name[i], part, rest, pattern, deep));
    }
    return ALM_OK;
}

/* Depth is bounded by ALM_PQ_FOLDERS_DEEP. */
static alm_status find_in(finding *f, const char *base, const char *pattern, uint32_t deep)
{
    const alm_io *io = f->cx->io;
    const size_t n = strcspn(pattern, "/");
    const char *part = NULL, *path = NULL;
    const char *rest = pattern[n] == '/' ? pattern + n + 1 : NULL;
    if (deep > ALM_PQ_FOLDERS_DEEP)
        return ALM_OK;
    ALM_TRY(alm_check(f->cx));
    ALM_TRY(alm_arena_zstr(f->cx, f->arena, (alm_str){pattern, n}, &part));
    if (!has_pattern(part, n) && rest != NULL) {
        ALM_TRY(alm_arena_printf(f->cx, f->arena, &path, "%s%s%s", base, base[0] != 0 ? "/" : "",
                                 part));
        return find_in(f, path, rest, deep + 1);
    }
    if (strcmp(part, "**") == 0 && rest != NULL) /* no folder at all is one of its depths */
        ALM_TRY(find_in(f, base, rest, deep + 1));
    const int dir = io->open_dir_below(io, f->root, base, 0);
    if (dir < 0)
        return ALM_OK; /* a folder that is not there, or leads out, is empty */
    const alm_status st = find_entries(f, dir, base, part, rest, pattern, deep);
    (void)io->close(io, dir);
    return st;
}

alm_status alm_pq_files_find(alm_ctx *cx, alm_arena *arena, const char *folder, const char *pattern,
                             const char *const **out, uint32_t *n)
{
    finding f = {.cx = cx, .arena = arena};
    pattern = alm_io_path_below(folder, pattern);
    ALM_TRY(check_path(cx, pattern));
    if (!has_pattern(pattern, strlen(pattern))) {
        ALM_TRY(grow(&f, &f.path, 0, &f.cap));
        f.path[f.n++] = pattern;
    } else {
        f.root = cx->io->open_dir(cx->io, folder);
        const alm_status st = f.root >= 0 ? find_in(&f, "", pattern, 0) : ALM_OK;
        if (f.root >= 0)
            (void)cx->io->close(cx->io, f.root);
        ALM_TRY(st);
    }
    if (f.n == 0)
        return alm_fail(cx, ALM_E_ARG, -1, "no file below cairo.sql.copy.root matches '%s'",
                        pattern);
    *out = f.path;
    *n = f.n;
    return ALM_OK;
}

/* ---------------------------------------------------------------------------- values of folders */

static alm_status decode(alm_ctx *cx, alm_arena *arena, alm_str in, alm_str *out)
{
    char *to = NULL;
    size_t n = 0;
    ALM_TRY(alm_arena_bytes(cx, arena, in.len + 1, &to));
    for (size_t i = 0; i < in.len; i++) {
        const int hi = in.ptr[i] == '%' && in.len - i > 2 ? alm_hex_digit(in.ptr[i + 1]) : -1;
        const int lo = hi >= 0 ? alm_hex_digit(in.ptr[i + 2]) : -1;
        to[n++] = (char)(lo >= 0 ? hi << 4 | lo : in.ptr[i]);
        i += lo >= 0 ? 2 : 0;
    }
    to[n] = 0;
    *out = (alm_str){to, n};
    return ALM_OK;
}

alm_status alm_pq_folder_values(alm_ctx *cx, alm_arena *arena, const char *path,
                                alm_pq_folder_value **out, uint32_t *n)
{
    uint32_t most = 0;
    *n = 0;
    for (const char *at = path; *at != 0; at++)
        most += *at == '/';
    ALM_TRY(ALM_NEWN(cx, arena, most + 1, out));
    for (const char *at = path, *end; (end = strchr(at, '/')) != NULL; at = end + 1) {
        const char *equals = memchr(at, '=', (size_t)(end - at));
        if (equals == NULL || equals == at)
            continue;
        alm_pq_folder_value *v = &(*out)[(*n)++];
        ALM_TRY(decode(cx, arena, (alm_str){at, (size_t)(equals - at)}, &v->name));
        ALM_TRY(decode(cx, arena, (alm_str){equals + 1, (size_t)(end - equals - 1)}, &v->value));
        if (alm_str_eq(v->value, ALM_STR("__HIVE_DEFAULT_PARTITION__")))
            v->value = (alm_str){0};
    }
    return ALM_OK;
}
