/*
 * embed_assets - makes files part of the program: every file below a folder, as it is and packed.
 *
 *     embed_assets FOLDER OUT_FOLDER OUT.c [NAME=VALUE...]
 *
 * Writes the packed forms (gzip, zstd; where they are smaller) to OUT_FOLDER, and a table of them, which takes the
 * bytes in by the assembler's .incbin. In .html files @NAME@ becomes VALUE. The ETag is of the content: SHA-256.
 */
#include <dirent.h>
#include <libdeflate.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

enum { PATH_BYTES = 4096, GZIP_LEVEL = 12, ZSTD_LEVEL = 19 };

typedef struct bytes {
    unsigned char *ptr;
    size_t n;
} bytes;

typedef struct job {
    const char *folder, *out_folder;
    char **defines;
    int n_defines, n_files;
    FILE *out, *rows;
} job;

static void stop(const char *what, const char *path)
{
    (void)fprintf(stderr, "embed_assets: %s %s\n", what, path);
    exit(1);
}

static void *need(void *memory)
{
    if (memory == NULL)
        stop("out of", "memory");
    return memory;
}

static bytes read_file(const char *path)
{
    struct stat meta;
    FILE *f = fopen(path, "rb");
    if (f == NULL || stat(path, &meta) != 0)
        stop("cannot read", path);
    bytes b = {need(malloc((size_t)meta.st_size + 1)), (size_t)meta.st_size};
    if (fread(b.ptr, 1, b.n, f) != b.n)
        stop("cannot read", path);
    (void)fclose(f);
    return b;
}

static void write_file(const char *path, bytes b)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(b.ptr, 1, b.n, f) != b.n || fclose(f) != 0)
        stop("cannot write", path);
}

static const char *extension(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? dot + 1 : "";
}

/* @NAME@ by its value, as often as it is there. */
static bytes replace(bytes b, const char *define)
{
    char mark[256];
    const char *eq = strchr(define, '=');
    if (eq == NULL)
        stop("no NAME=VALUE:", define);
    (void)snprintf(mark, sizeof(mark), "@%.*s@", (int)(eq - define), define);
    const size_t mark_n = strlen(mark), value_n = strlen(eq + 1);
    for (unsigned char *at = b.ptr; (at = memmem(at, b.n - (size_t)(at - b.ptr), mark, mark_n));) {
        const size_t before = (size_t)(at - b.ptr);
        unsigned char *grown = need(malloc(b.n + value_n + 1));
        (void)memcpy(grown, b.ptr, before);
        (void)memcpy(grown + before, eq + 1, value_n);
        (void)memcpy(grown + before + value_n, at + mark_n, b.n - before - mark_n);
        free(b.ptr);
        b = (bytes){grown, b.n - mark_n + value_n};
        at = grown + before + value_n;
    }
    return b;
}

static bytes gzip(bytes b)
{
    struct libdeflate_compressor *c = need(libdeflate_alloc_compressor(GZIP_LEVEL));
    const size_t max = libdeflate_gzip_compress_bound(c, b.n);
    bytes out = {need(malloc(max)), 0};
    out.n = libdeflate_gzip_compress(c, b.ptr, b.n, out.ptr, max);
    libdeflate_free_compressor(c);
    return out;
}

static bytes zstd(bytes b)
{
    const size_t max = ZSTD_compressBound(b.n);
    bytes out = {need(malloc(max)), 0};
    out.n = ZSTD_compress(out.ptr, max, b.ptr, b.n, ZSTD_LEVEL);
    if (ZSTD_isError(out.n))
        stop("cannot pack:", ZSTD_getErrorName(out.n));
    return out;
}

/* Build tools put a hash into names, as in index-B4xk29Qz.js: such a file never changes. */
static bool is_hashed(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *dash = NULL;
    bool digit = false;
    if (dot == NULL)
        return false;
    for (const char *at = name; at < dot; at++)
        if (*at == '-' || *at == '.')
            dash = at;
    if (dash == NULL || dot - dash - 1 < 8)
        return false;
    for (const char *at = dash + 1; at < dot; at++) {
        const bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_';
        digit = digit || (*at >= '0' && *at <= '9');
        if (!letter && !(*at >= '0' && *at <= '9'))
            return false;
    }
    return digit;
}

static void digest(bytes b, char out[33])
{
    unsigned char hash[32];
    unsigned int n = 0;
    if (EVP_Digest(b.ptr, b.n, hash, &n, EVP_sha256(), NULL) != 1)
        stop("cannot hash", "");
    for (int i = 0; i < 16; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

/* One form: its file, its symbol, its place in the row. */
static void put_form(job *j, bytes b, const char *form, bool there)
{
    char path[PATH_BYTES];
    if (!there) {
        (void)fprintf(j->rows, "{NULL, 0}, ");
        return;
    }
    (void)snprintf(path, sizeof(path), "%s/asset_%d.%s", j->out_folder, j->n_files, form);
    write_file(path, b);
    (void)fprintf(
        j->out,
        "__asm__(\".section .rodata\\nasset_%d_%s:\\n.incbin \\\"%s\\\"\\n.previous\\n\");\n"
        "extern const char asset_%d_%s[];\n",
        j->n_files, form, path, j->n_files, form);
    (void)fprintf(j->rows, "{asset_%d_%s, %zu}, ", j->n_files, form, b.n);
}

static void put_file(job *j, const char *path, const char *url)
{
    char hash[33];
    bytes plain = read_file(path);
    for (int i = 0; i < j->n_defines && strcmp(extension(url), "html") == 0; i++)
        plain = replace(plain, j->defines[i]);
    bytes gz = gzip(plain), zst = zstd(plain);
    digest(plain, hash);
    (void)fprintf(j->rows, "    {.path = \"%s\", .etag = \"%s\", .hashed = %s, .forms = {", url,
                  hash, is_hashed(url) ? "true" : "false");
    put_form(j, plain, "plain", true);
    put_form(j, gz, "gzip", gz.n > 0 && gz.n < plain.n);
    put_form(j, zst, "zstd", zst.n < plain.n);
    (void)fprintf(j->rows, "}},\n");
    j->n_files++;
    free(plain.ptr);
    free(gz.ptr);
    free(zst.ptr);
}

static void walk(job *j, const char *below)
{
    char folder[PATH_BYTES];
    struct dirent **names = NULL;
    (void)snprintf(folder, sizeof(folder), "%s%s", j->folder, below);
    const int n = scandir(folder, &names, NULL, alphasort);
    if (n < 0)
        stop("cannot list", folder);
    for (int i = 0; i < n; i++) {
        char path[2 * PATH_BYTES], url[PATH_BYTES];
        struct stat meta;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        (void)snprintf(url, sizeof(url), "%.2000s/%s", below, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && stat(path, &meta) == 0) {
            if (S_ISDIR(meta.st_mode))
                walk(j, url);
            else
                put_file(j, path, url);
        }
        free(names[i]);
    }
    free(names);
}

int main(int argc, char **argv)
{
    char *rows = NULL;
    size_t n = 0;
    if (argc < 4)
        stop("usage:", "embed_assets FOLDER OUT_FOLDER OUT.c [NAME=VALUE...]");
    job j = {.folder = argv[1], .out_folder = argv[2], .defines = argv + 4, .n_defines = argc - 4};
    (void)mkdir(argv[2], 0777);
    j.out = fopen(argv[3], "w");
    j.rows = open_memstream(&rows, &n);
    if (j.out == NULL || j.rows == NULL)
        stop("cannot write", argv[3]);
    (void)fprintf(j.out, "/* Made by tools/embed_assets.c. */\n#include \"net/http/asset.h\"\n\n");
    walk(&j, "");
    (void)fclose(j.rows);
    (void)fprintf(j.out,
                  "\nconst alm_asset alm_assets[] = {\n%s};\nconst size_t alm_asset_count = %d;\n",
                  rows, j.n_files);
    free(rows);
    return fclose(j.out) != 0;
}
