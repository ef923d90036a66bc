/* copy_text.c - records and fields of COPY's text format. */
#include "codec/copy/copy_state.h"

void alm_copy_line(alm_csv_reader *reader, size_t end, bool found, alm_csv_record *out)
{
    alm_csv_line(reader, end, found, out);
    const char *from = reader->buf.ptr + reader->at;
    if (out->len == 2 && from[0] == '\\' && from[1] == '.')
        reader->ended = out->skip = true;
}

/* Is the byte at `end` escaped: does an odd number of backslashes stand before it? */
static bool is_escaped(const char *from, size_t end)
{
    size_t i = end;
    while (i > 0 && from[i - 1] == '\\')
        i--;
    return (end - i) % 2 == 1;
}

static alm_status copy_text_find_record(alm_ctx *cx, alm_csv_reader *reader, bool last,
                                        alm_csv_record *out)
{
    const char *from = reader->buf.ptr + reader->at;
    const size_t left = reader->buf.len - reader->at;
    size_t i = reader->scanned;
    (void)cx;
    for (;;) {
        const char *line_end = i < left ? memchr(from + i, '\n', left - i) : NULL;
        if (line_end == NULL) {
            reader->scanned = left;
            if (last)
                alm_copy_line(reader, left, false, out);
            return ALM_OK;
        }
        const size_t end = (size_t)(line_end - from);
        if (!is_escaped(from, end)) {
            alm_copy_line(reader, end, true, out);
            return ALM_OK;
        }
        i = end + 1;
    }
}

static void copy_text_split_record(alm_csv_reader *reader, size_t base, size_t n, uint32_t row)
{
    const char *from = reader->buf.ptr + base;
    const alm_str null = reader->copy->null;
    const bool plain = n == 0 || memchr(from, '\\', n) == NULL;
    uint32_t col = 0;
    for (size_t i = 0;; i++) {
        const size_t start = i;
        bool coded = false;
        if (plain && i < n) {
            const char *end = memchr(from + i, reader->delimiter, n - i);
            i = end != NULL ? (size_t)(end - from) : n;
        }
        for (; i < n && from[i] != reader->delimiter; i++) {
            coded |= from[i] == '\\';
            i += from[i] == '\\' && i + 1 < n;
        }
        const alm_str raw = {from + start, i - start};
        const alm_csv_field field = {.off = (uint32_t)(base + start),
                                     .len = (uint32_t)raw.len,
                                     .null = alm_str_eq(raw, null),
                                     .coded = coded};
        (void)alm_csv_put(reader, row, col++, field);
        if (i >= n)
            break;
    }
    alm_csv_fill(reader, row, col, base);
}

static int copy_text_digit_of(char byte, int base)
{
    const int d = byte >= '0' && byte <= '9'   ? byte - '0'
                  : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                  : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                               : 99;
    return d < base ? d : -1;
}

/* Up to `max` digits at raw[*i]; *i goes behind them. */
static char copy_text_number_at(alm_str raw, size_t *i, int base, int max)
{
    int value = 0;
    for (int k = 0; k < max && *i < raw.len && copy_text_digit_of(raw.ptr[*i], base) >= 0; k++)
        value = value * base + copy_text_digit_of(raw.ptr[(*i)++], base);
    return (char)(value & 0xff);
}

static size_t copy_text_decode(const alm_csv_block *block, alm_str raw, char *dest)
{
    static const char letters[] = "bfnrtv", bytes[] = "\b\f\n\r\t\v";
    size_t count = 0;
    (void)block;
    for (size_t i = 0; i < raw.len;) {
        char byte = raw.ptr[i++];
        if (byte != '\\' || i == raw.len) {
            dest[count++] = byte;
            continue;
        }
        byte = raw.ptr[i];
        const char *letter = byte != 0 ? strchr(letters, byte) : NULL;
        if (copy_text_digit_of(byte, 8) >= 0) {
            byte = copy_text_number_at(raw, &i, 8, 3);
        } else if (byte == 'x' && i + 1 < raw.len && copy_text_digit_of(raw.ptr[i + 1], 16) >= 0) {
            i++;
            byte = copy_text_number_at(raw, &i, 16, 2);
        } else {
            byte = letter != NULL ? bytes[letter - letters] : byte;
            i++;
        }
        dest[count++] = byte;
    }
    return count;
}

const alm_csv_rules alm_copy_text_rules = {
    .find = copy_text_find_record, .split = copy_text_split_record, .decode = copy_text_decode};
