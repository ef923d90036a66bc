/* copy_text.c - records and fields of COPY's text format. */
#include "codec/copy/copy_state.h"

void alm_copy_line(alm_csv_reader *r, size_t end, bool found, alm_csv_record *out)
{
    alm_csv_line(r, end, found, out);
    const char *from = r->buf.ptr + r->at;
    if (out->len == 2 && from[0] == '\\' && from[1] == '.')
        r->ended = out->skip = true;
}

/* Is the byte at `end` escaped: does an odd number of backslashes stand before it? */
static bool is_escaped(const char *from, size_t end)
{
    size_t i = end;
    while (i > 0 && from[i - 1] == '\\')
        i--;
    return (end - i) % 2 == 1;
}

static alm_status find_record(alm_ctx *cx, alm_csv_reader *r, bool last, alm_csv_record *out)
{
    const char *from = r->buf.ptr + r->at;
    const size_t left = r->buf.len - r->at;
    size_t i = r->scanned;
    (void)cx;
    for (;;) {
        const char *lf = i < left ? memchr(from + i, '\n', left - i) : NULL;
        if (lf == NULL) {
            r->scanned = left;
            if (last)
                alm_copy_line(r, left, false, out);
            return ALM_OK;
        }
        const size_t end = (size_t)(lf - from);
        if (!is_escaped(from, end)) {
            alm_copy_line(r, end, true, out);
            return ALM_OK;
        }
        i = end + 1;
    }
}

static void split_record(alm_csv_reader *r, size_t base, size_t n, uint32_t row)
{
    const char *from = r->buf.ptr + base;
    const alm_str null = r->copy->null;
    const bool plain = n == 0 || memchr(from, '\\', n) == NULL;
    uint32_t col = 0;
    for (size_t i = 0;; i++) {
        const size_t start = i;
        bool coded = false;
        if (plain && i < n) {
            const char *end = memchr(from + i, r->delimiter, n - i);
            i = end != NULL ? (size_t)(end - from) : n;
        }
        for (; i < n && from[i] != r->delimiter; i++) {
            coded |= from[i] == '\\';
            i += from[i] == '\\' && i + 1 < n;
        }
        const alm_str raw = {from + start, i - start};
        const alm_csv_field field = {.off = (uint32_t)(base + start),
                                     .len = (uint32_t)raw.len,
                                     .null = alm_str_eq(raw, null),
                                     .coded = coded};
        (void)alm_csv_put(r, row, col++, field);
        if (i >= n)
            break;
    }
    alm_csv_fill(r, row, col, base);
}

static int digit_of(char c, int base)
{
    const int d = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : 99;
    return d < base ? d : -1;
}

/* Up to `max` digits at raw[*i]; *i goes behind them. */
static char number_at(alm_str raw, size_t *i, int base, int max)
{
    int value = 0;
    for (int k = 0; k < max && *i < raw.len && digit_of(raw.ptr[*i], base) >= 0; k++)
        value = value * base + digit_of(raw.ptr[(*i)++], base);
    return (char)(value & 0xff);
}

static size_t decode(const alm_csv_block *block, alm_str raw, char *to)
{
    static const char letters[] = "bfnrtv", bytes[] = "\b\f\n\r\t\v";
    size_t n = 0;
    (void)block;
    for (size_t i = 0; i < raw.len;) {
        char c = raw.ptr[i++];
        if (c != '\\' || i == raw.len) {
            to[n++] = c;
            continue;
        }
        c = raw.ptr[i];
        const char *letter = c != 0 ? strchr(letters, c) : NULL;
        if (digit_of(c, 8) >= 0) {
            c = number_at(raw, &i, 8, 3);
        } else if (c == 'x' && i + 1 < raw.len && digit_of(raw.ptr[i + 1], 16) >= 0) {
            i++;
            c = number_at(raw, &i, 16, 2);
        } else {
            c = letter != NULL ? bytes[letter - letters] : c;
            i++;
        }
        to[n++] = c;
    }
    return n;
}

const alm_csv_rules alm_copy_text_rules = {
    .find = find_record, .split = split_record, .decode = decode};
