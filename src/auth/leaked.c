/* leaked.c - see leaked.h. */
#include "auth/leaked.h"

#include <openssl/evp.h>

#include "base/number.h"

enum { SHA1_BYTES = 20, SHA1_HEX = 40, LINE_MAX_BYTES = 256, PIECE_BYTES = 1 << 18 };
static const int64_t SCAN_BYTES = 2048; /* a range this short is read whole */

typedef struct leaked {
    alm_ctx *cx;
    const alm_io *io;
    const char *path;
    int file;
    int64_t size_bytes;
    char piece[PIECE_BYTES];
} leaked;

/* 0, 1: of the first 40 letters; false: they are no digits. */
static bool leaked_hash_of(const char *line, size_t n, uint8_t out[SHA1_BYTES])
{
    if (n < SHA1_HEX || (n > SHA1_HEX && strchr(":\r\n", line[SHA1_HEX]) == NULL))
        return false;
    for (size_t i = 0; i < SHA1_BYTES; i++) {
        const int hi = alm_hex_digit(line[2 * i]), lo = alm_hex_digit(line[2 * i + 1]);
        if (hi < 0 || lo < 0)
            return false;
        out[i] = (uint8_t)(hi << 4 | lo);
    }
    return true;
}

/* Bytes at `offset`, as many as there are. */
static alm_status leaked_read_piece(leaked *self, int64_t offset, size_t n, size_t *got)
{
    ALM_ASSERT(n <= PIECE_BYTES);
    *got = 0;
    while (*got < n) {
        const int64_t more = self->io->read(self->io, self->file, self->piece + *got, n - *got,
                                            offset + (int64_t)*got);
        if (more < 0)
            return alm_io_fail(self->cx, (int)more, self->path);
        if (more == 0)
            break;
        *got += (size_t)more;
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------------ hashes in order */

static alm_status no_hash(const leaked *self, int64_t offset)
{
    return alm_fail(self->cx, ALM_E_CORRUPT, -1, "%s: no SHA-1 in hexadecimal digits at byte %lld",
                    self->path, (long long)offset);
}

/* Offset of the first line that begins behind `offset`, and its hash; the offset is the size of the file if there is none. */
static alm_status line_behind(leaked *self, int64_t offset, int64_t *start,
                              uint8_t hash[SHA1_BYTES])
{
    size_t got = 0;
    ALM_TRY(leaked_read_piece(self, offset, 2 * LINE_MAX_BYTES, &got));
    const char *const end = memchr(self->piece, '\n', got);
    if (end == NULL && got == 2 * LINE_MAX_BYTES)
        return no_hash(self, offset);
    const size_t skip = end == NULL ? got : (size_t)(end - self->piece) + 1;
    *start = offset + (int64_t)skip;
    if (skip == got) {
        *start = self->size_bytes;
        return ALM_OK;
    }
    return leaked_hash_of(self->piece + skip, got - skip, hash) ? ALM_OK : no_hash(self, *start);
}

/* The lines that begin in [lo, hi). */
static alm_status scan_hashes(leaked *self, int64_t lo, int64_t hi,
                              const uint8_t wanted[SHA1_BYTES], bool *out)
{
    uint8_t hash[SHA1_BYTES];
    size_t got = 0;
    ALM_TRY(leaked_read_piece(self, lo, (size_t)(hi - lo) + LINE_MAX_BYTES, &got));
    for (size_t offset = 0; offset < got && lo + (int64_t)offset < hi;) {
        const char *const end = memchr(self->piece + offset, '\n', got - offset);
        const size_t n = end == NULL ? got - offset : (size_t)(end - (self->piece + offset));
        const bool is_blank = n == 0 || (n == 1 && self->piece[offset] == '\r');
        if (!is_blank && !leaked_hash_of(self->piece + offset, n, hash))
            return no_hash(self, lo + (int64_t)offset);
        *out = !is_blank && memcmp(hash, wanted, SHA1_BYTES) == 0;
        if (*out)
            return ALM_OK;
        offset += n + 1;
    }
    return ALM_OK;
}

static alm_status search_hashes(leaked *self, alm_str password, bool *out)
{
    uint8_t wanted[SHA1_BYTES], hash[SHA1_BYTES];
    int64_t lo = 0, hi = self->size_bytes, start = 0; /* the line begins in [lo, hi) */
    if (EVP_Q_digest(NULL, "SHA1", NULL, password.ptr, password.len, wanted, NULL) != 1)
        return alm_fail(self->cx, ALM_E_IO, -1, "SHA-1 is not there");
    while (hi - lo > SCAN_BYTES) {
        const int64_t middle = lo + (hi - lo) / 2;
        ALM_TRY(line_behind(self, middle, &start, hash));
        if (start >= hi) {
            hi = middle + 1;
            continue;
        }
        const int order = memcmp(hash, wanted, SHA1_BYTES);
        *out = order == 0;
        if (*out)
            return ALM_OK;
        if (order < 0)
            lo = start;
        else
            hi = start;
    }
    return scan_hashes(self, lo, hi, wanted, out);
}

/* ------------------------------------------------------------------------ plain lines */

static bool is_line(const char *line, size_t n, alm_str password)
{
    if (n > 0 && line[n - 1] == '\r' && n - 1 == password.len)
        n--;
    return n == password.len && memcmp(line, password.ptr, n) == 0;
}

static alm_status scan_lines(leaked *self, alm_str password, bool *out)
{
    size_t got = PIECE_BYTES;
    bool in_long = false; /* a line longer than a piece goes on */
    for (int64_t offset = 0; !*out && got == PIECE_BYTES;) {
        size_t from = 0;
        ALM_TRY(alm_check(self->cx));
        ALM_TRY(leaked_read_piece(self, offset, PIECE_BYTES, &got));
        for (const char *end;
             !*out && (end = memchr(self->piece + from, '\n', got - from)) != NULL;) {
            const size_t n = (size_t)(end - (self->piece + from));
            *out = !in_long && is_line(self->piece + from, n, password);
            in_long = false;
            from += n + 1;
        }
        if (got < PIECE_BYTES)
            *out = *out || (!in_long && is_line(self->piece + from, got - from, password));
        else if (from == 0)
            in_long = true;
        offset += (int64_t)(from == 0 ? got : from);
    }
    return ALM_OK;
}

alm_status alm_leaked_has(alm_ctx *cx, const alm_io *io, const char *path, alm_str password,
                          bool *out)
{
    leaked *self = NULL;
    size_t got = 0;
    uint8_t hash[SHA1_BYTES];
    *out = false;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    *self = (leaked){.cx = cx, .io = io, .path = path, .file = io->open(io, path, ALM_IO_READ)};
    if (self->file < 0)
        return alm_io_fail(cx, self->file, path);
    self->size_bytes = io->size(io, self->file);
    alm_status status = self->size_bytes < 0 ? alm_io_fail(cx, (int)self->size_bytes, path)
                                             : leaked_read_piece(self, 0, LINE_MAX_BYTES, &got);
    if (status == ALM_OK)
        status = leaked_hash_of(self->piece, got, hash) ? search_hashes(self, password, out)
                                                        : scan_lines(self, password, out);
    (void)io->close(io, self->file);
    return status;
}
