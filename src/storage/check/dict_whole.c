/*
 * dict_whole.c - what the file of a lost dictionary still says: the values of its sound records.
 *
 * Trust       A record has a checksum, which from version 3 on covers the number of its first code, too. Before, that number counts
 *             where it continues the record before, or, behind a gap, where the record that follows or the count of the dictionary
 *             agrees with it.
 *             All values together have a checksum in the catalogue: a file that has them all and another checksum is another
 *             one, and nothing of it counts; one whose header is damaged counts only if this checksum fits.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "storage/dict/impl.h"

typedef struct whole_file {
    alm_ctx *cx;
    alm_symbols *sym;
    const char *path, *map;
    size_t size;
    uint32_t version;  /* 0: the header is damaged */
    uint32_t count;    /* 0: not known */
    uint32_t next;     /* code behind the last record that counts */
    uint32_t missing;  /* codes before it that no record has */
    uint32_t crc;      /* of the values, if none is missing */
    bool learn;        /* else they are only summed up */
    bool contradicted; /* a code has another text already */
} whole_file;

static bool is_record(const whole_file *f, uint32_t version, size_t offset, alm_dict_record *head,
                      const char **lens)
{
    const alm_dict_bytes file = {f->path, f->map, f->size, version};
    const bool good = alm_dict_find_record(f->cx, &file, offset, head->first, head, lens) == ALM_OK;
    alm_error_clear(f->cx);
    return good;
}

/* Where the version is not known, one of the two checksums must fit. */
static bool dict_whole_record_at(const whole_file *f, size_t offset, alm_dict_record *head,
                                 const char **lens)
{
    if (f->size - offset < sizeof *head)
        return false;
    memcpy(head, f->map + offset, sizeof *head);
    if (head->magic != ALM_DICT_RECORD_MAGIC || head->n == 0 || head->first == 0 ||
        head->n > UINT32_MAX - head->first)
        return false;
    return f->version != 0 ? is_record(f, f->version, offset, head, lens)
                           : is_record(f, ALM_DICT_SUMMED, offset, head, lens) ||
                                 is_record(f, 1, offset, head, lens);
}

static size_t dict_whole_end_of(size_t offset, const alm_dict_record *head)
{
    return offset + sizeof *head + (size_t)head->n * 4 + (size_t)head->text_bytes;
}

static bool number_counts(const whole_file *f, size_t offset, const alm_dict_record *head)
{
    alm_dict_record after;
    const char *lens = NULL;
    if (head->first == f->next)
        return true;
    if (head->first < f->next || (f->count > 0 && head->first + head->n > f->count))
        return false;
    if (f->version >= ALM_DICT_SUMMED || head->first + head->n == f->count)
        return true;
    return dict_whole_record_at(f, dict_whole_end_of(offset, head), &after, &lens) &&
           after.first == head->first + head->n;
}

static alm_status dict_whole_take_record(whole_file *f, const alm_dict_record *head,
                                         const char *lens)
{
    const char *text = lens + (size_t)head->n * 4;
    uint64_t left = head->text_bytes;
    f->missing += head->first - f->next;
    for (uint32_t i = 0; i < head->n; i++) {
        uint32_t len;
        bool agrees = true;
        memcpy(&len, lens + (size_t)i * 4, 4);
        if (len > left)
            return ALM_OK; /* a wrong program wrote it: its checksum fits */
        f->crc = alm_crc32c(alm_crc32c(f->crc, &len, sizeof len), text, len);
        if (f->learn)
            ALM_TRY(
                alm_symbols_learn(f->cx, f->sym, head->first + i, (alm_str){text, len}, &agrees));
        f->contradicted = f->contradicted || !agrees;
        text += len;
        left -= len;
    }
    f->next = head->first + head->n;
    return ALM_OK;
}

static alm_status dict_whole_walk(whole_file *f, bool learn)
{
    alm_dict_record head;
    const char *lens = NULL;
    f->next = 1;
    f->missing = f->crc = 0;
    f->learn = learn;
    for (size_t offset = 0; offset < f->size && (f->count == 0 || f->next < f->count);) {
        if (!dict_whole_record_at(f, offset, &head, &lens) || !number_counts(f, offset, &head)) {
            offset++;
            continue;
        }
        ALM_TRY(alm_check(f->cx));
        ALM_TRY(dict_whole_take_record(f, &head, lens));
        offset = dict_whole_end_of(offset, &head);
    }
    return ALM_OK;
}

static alm_status learn_map(whole_file *f, uint32_t crc, bool proven)
{
    alm_dict_form form = {0};
    const bool is_ours =
        alm_dict_check_header(f->cx, f->sym, f->path, f->map, f->size, &form) == ALM_OK;
    f->version = is_ours ? form.version : 0;
    alm_error_clear(f->cx);
    ALM_TRY(dict_whole_walk(f, false));
    const bool complete = f->count > 0 && f->next == f->count && f->missing == 0;
    const bool fits = complete && crc != 0 && f->crc == crc;
    if (is_ours && !proven ? complete && crc != 0 && !fits : !fits)
        return ALM_OK; /* the file of another dictionary, or of another time */
    ALM_TRY(dict_whole_walk(f, true));
    return f->contradicted && f->count > 0 ? alm_symbols_forget(f->cx, f->sym, f->count) : ALM_OK;
}

alm_status alm_symbols_learn_file(alm_ctx *cx, alm_symbols *sym, const alm_io *io, const char *path,
                                  uint32_t count, uint32_t crc, bool proven)
{
    whole_file f = {.cx = cx, .sym = sym, .path = path, .count = count};
    alm_io_stat meta = {0};
    const void *map = NULL;
    if (io->stat(io, path, &meta) < 0 || meta.is_dir || meta.size_bytes == 0)
        return ALM_OK;
    const int handle = io->open(io, path, ALM_IO_READ);
    if (handle < 0)
        return ALM_OK; /* it says nothing */
    f.size = (size_t)meta.size_bytes;
    const int code = io->map(io, handle, f.size, &map);
    (void)io->close(io, handle); /* read-only */
    if (code < 0)
        return ALM_OK;
    f.map = map;
    const alm_status status =
        io->prefetch(io, map, f.size) == -EFAULT ? ALM_OK : learn_map(&f, crc, proven);
    (void)io->unmap(io, map, f.size);
    return status;
}
