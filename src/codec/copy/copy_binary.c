/*
 * copy_binary.c - COPY's binary format: a head, tuples of fields with their lengths, a mark at the end.
 * Line numbers are those of the tuples.
 */
#include "codec/copy/copy_state.h"
#include "codec/pg/pg_value.h"

enum { HEAD_BYTES = 19, FLAG_CRITICAL = (int)0xffff0000U };

/* Signature, flags, extension. Its bytes are taken like a record that is none. */
static alm_status take_head(alm_ctx *cx, alm_csv_reader *reader, bool last, alm_csv_record *out)
{
    const char *from = reader->buf.ptr + reader->at;
    const size_t left = reader->buf.len - reader->at;
    if (memcmp(from, ALM_COPY_SIGNATURE, ALM_MIN(left, sizeof(ALM_COPY_SIGNATURE))) != 0)
        return alm_fail(cx, ALM_E_COPY_FORMAT, -1, "COPY file signature not recognized");
    if (left < HEAD_BYTES)
        return last ? alm_fail(cx, ALM_E_COPY_FORMAT, -1, "invalid COPY file header") : ALM_OK;
    const uint32_t flags = alm_be_get32(from + 11), extension = alm_be_get32(from + 15);
    if ((flags & (uint32_t)FLAG_CRITICAL) != 0)
        return alm_fail(cx, ALM_E_COPY_FORMAT, -1,
                        "unrecognized critical flags in COPY file header");
    if (extension > reader->record_max)
        return alm_fail(cx, ALM_E_COPY_FORMAT, -1, "invalid COPY file header (wrong length)");
    if (left < HEAD_BYTES + (size_t)extension)
        return last ? alm_fail(cx, ALM_E_COPY_FORMAT, -1, "invalid COPY file header") : ALM_OK;
    reader->headed = true;
    *out = (alm_csv_record){.found = true, .skip = true, .next = HEAD_BYTES + (size_t)extension};
    return ALM_OK;
}

static alm_status cut_short(alm_ctx *cx, const alm_csv_reader *reader, bool last)
{
    if (!last)
        return ALM_OK;
    return alm_fail(cx, ALM_E_COPY_FORMAT, -1, "row %llu: unexpected EOF in COPY data",
                    (unsigned long long)reader->line);
}

static alm_status copy_binary_find_record(alm_ctx *cx, alm_csv_reader *reader, bool last,
                                          alm_csv_record *out)
{
    if (!reader->headed)
        return take_head(cx, reader, last, out);
    const char *from = reader->buf.ptr + reader->at;
    const size_t left = reader->buf.len - reader->at;
    if (left < 2)
        return cut_short(cx, reader, last);
    const int16_t n = (int16_t)alm_be_get16(from);
    if (n == -1) {
        reader->ended = true;
        *out = (alm_csv_record){.found = true, .skip = true, .next = 2};
        return ALM_OK;
    }
    if (n < 0 || (uint32_t)n != reader->cols)
        return alm_fail(cx, ALM_E_COPY_FORMAT, -1, "row %llu: row field count is %d, expected %u",
                        (unsigned long long)reader->line, n, reader->cols);
    size_t offset = 2;
    for (uint32_t i = 0; i < reader->cols; i++) {
        if (left < offset + 4)
            return cut_short(cx, reader, last);
        const int32_t bytes = (int32_t)alm_be_get32(from + offset);
        if (bytes < -1 || (bytes > 0 && (size_t)bytes > reader->record_max))
            return alm_fail(cx, ALM_E_COPY_FORMAT, -1, "row %llu: invalid field size %d",
                            (unsigned long long)reader->line, bytes);
        offset += 4 + (bytes > 0 ? (size_t)bytes : 0);
    }
    if (left < offset)
        return cut_short(cx, reader, last);
    *out = (alm_csv_record){.found = true, .len = offset, .next = offset, .newlines = 1};
    return ALM_OK;
}

static void copy_binary_split_record(alm_csv_reader *reader, size_t base, size_t n, uint32_t row)
{
    const char *from = reader->buf.ptr + base;
    size_t offset = 2;
    (void)n;
    for (uint32_t col = 0; col < reader->cols; col++) {
        const int32_t bytes = (int32_t)alm_be_get32(from + offset);
        offset += 4;
        const alm_csv_field field = {.off = (uint32_t)(base + offset),
                                     .len = bytes > 0 ? (uint32_t)bytes : 0,
                                     .null = bytes < 0};
        (void)alm_csv_put(reader, row, col, field);
        offset += field.len;
    }
    reader->ragged[row] = 0;
}

const alm_csv_rules alm_copy_binary_rules = {
    .find = copy_binary_find_record, .split = copy_binary_split_record, .ends_all = true};

alm_status alm_copy_reader_new(alm_ctx *cx, alm_arena *arena, alm_mem *mem,
                               const alm_copy_format *format, uint32_t cols, size_t record_max,
                               alm_csv_reader **out)
{
    static const alm_csv_rules *const rules[] = {[ALM_COPY_TEXT] = &alm_copy_text_rules,
                                                 [ALM_COPY_CSV] = &alm_copy_csv_rules,
                                                 [ALM_COPY_BINARY] = &alm_copy_binary_rules};
    ALM_TRY(alm_csv_reader_make(cx, arena, mem, rules[format->kind], cols, record_max, out));
    (*out)->copy = format;
    (*out)->delimiter = format->delimiter;
    (*out)->started = true; /* a byte order mark is data */
    return ALM_OK;
}

alm_status alm_copy_complete(alm_ctx *cx, const alm_csv_reader *reader)
{
    if (reader->copy->kind == ALM_COPY_BINARY && !reader->headed)
        return alm_fail(cx, ALM_E_COPY_FORMAT, -1, "COPY file signature not recognized");
    return ALM_OK;
}
