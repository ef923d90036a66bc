/*
 * parse.c - request heads by RFC 9112, form parameters by the URL standard. Works on bytes that may
 * be anything; nothing here trusts a length.
 */
#include "base/number.h"
#include "base/utf8.h"
#include "net/http/exchange/http.h"

/* What a character may be part of: a token (RFC 9110 5.6.2), and a name of a host (reg-name of RFC 3986 3.2.2, without
 * the signs that end it in some readers). A table, because each character of each header is looked at. */
enum { OF_TOKEN = 1, OF_HOST = 2, OF_BOTH = OF_TOKEN | OF_HOST };
static const unsigned char parts[256] = {
    ['0' ... '9'] = OF_BOTH, ['A' ... 'Z'] = OF_BOTH, ['a' ... 'z'] = OF_BOTH, ['!'] = OF_BOTH,
    ['$'] = OF_BOTH,         ['%'] = OF_BOTH,         ['&'] = OF_BOTH,         ['\''] = OF_BOTH,
    ['*'] = OF_BOTH,         ['+'] = OF_BOTH,         ['-'] = OF_BOTH,         ['.'] = OF_BOTH,
    ['_'] = OF_BOTH,         ['~'] = OF_BOTH,         ['#'] = OF_TOKEN,        ['^'] = OF_TOKEN,
    ['`'] = OF_TOKEN,        ['|'] = OF_TOKEN,        ['('] = OF_HOST,         [')'] = OF_HOST,
    [';'] = OF_HOST,         ['='] = OF_HOST,         [','] = OF_HOST,
};

static bool is_token(alm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((parts[(unsigned char)text.ptr[i]] & OF_TOKEN) == 0)
            return false;
    return text.len > 0;
}

static alm_str exchange_parse_trim(alm_str text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}

alm_str alm_http_header(const alm_http_request *req, const char *name)
{
    const alm_str want = alm_str_of(name);
    for (uint32_t i = 0; i < req->n_headers; i++)
        if (req->headers[i].name.len == want.len && alm_str_ieq(req->headers[i].name, want))
            return req->headers[i].value;
    return (alm_str){0};
}

alm_str alm_http_cookie(const alm_http_request *req, alm_str name)
{
    alm_str rest = alm_http_header(req, "Cookie");
    while (rest.len > 0) {
        const char *semi = memchr(rest.ptr, ';', rest.len);
        size_t n = semi != NULL ? (size_t)(semi - rest.ptr) : rest.len;
        if (n > name.len && memcmp(rest.ptr, name.ptr, name.len) == 0)
            return (alm_str){rest.ptr + name.len, n - name.len};
        n += semi != NULL;
        rest = (alm_str){rest.ptr + n, rest.len - n};
        while (rest.len > 0 && rest.ptr[0] == ' ')
            rest = (alm_str){rest.ptr + 1, rest.len - 1};
    }
    return (alm_str){0};
}

alm_str alm_http_param(const alm_http_request *req, const char *name)
{
    for (uint32_t i = req->n_params; i > 0; i--) {
        const alm_http_pair *pair = &req->params[i - 1];
        if (pair->name.len > 0 && pair->name.ptr[0] == name[0] && /* seldom more than that */
            alm_str_eq(pair->name, alm_str_of(name)))
            return pair->value;
    }
    return (alm_str){0};
}

bool alm_http_param_is(const alm_http_request *req, const char *name, const char *value)
{
    const alm_str found = alm_http_param(req, name);
    return found.ptr != NULL && alm_str_eq(found, alm_str_of(value));
}

/* ----------------------------------------------------------------- parameters */

/* The byte that two digits stand for; -1: they are none. */
static int escaped(const char *digits)
{
    static const int8_t values[256] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
        ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16}; /* plus one */
    const int high = values[(uint8_t)digits[0]], low = values[(uint8_t)digits[1]];
    return high == 0 || low == 0 ? -1 : (high - 1) * 16 + low - 1;
}

/* %XX and + decoded into arena memory. */
static bool exchange_parse_decode(alm_ctx *cx, alm_arena *arena, alm_str text, bool form,
                                  alm_str *out)
{
    char *dest = NULL;
    if (alm_arena_bytes(cx, arena, text.len + 1, &dest) != ALM_OK)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '%') {
            if (text.len - i < 3)
                return false;
            const int byte = escaped(text.ptr + i + 1);
            if (byte < 0)
                return false;
            dest[count++] = (char)byte;
            i += 2;
        } else {
            dest[count++] = form && text.ptr[i] == '+' ? ' ' : text.ptr[i];
        }
    }
    dest[count] = 0;
    *out = (alm_str){dest, count};
    return true;
}

bool alm_http_parse_params(alm_ctx *cx, alm_arena *arena, alm_str text, alm_http_request *req)
{
    if (req->params == NULL && /* not zeroed: those below n_params are set */
        alm_arena_bytes(cx, arena, ALM_HTTP_PARAMS_MAX * sizeof *req->params, &req->params) !=
            ALM_OK)
        return false;
    size_t offset = 0;
    while (offset < text.len) {
        const char *amp = memchr(text.ptr + offset, '&', text.len - offset);
        const size_t end = amp != NULL ? (size_t)(amp - text.ptr) : text.len;
        const alm_str pair = {text.ptr + offset, end - offset};
        offset = end + 1;
        if (pair.len == 0)
            continue;
        if (req->n_params == ALM_HTTP_PARAMS_MAX)
            return false;
        const char *eq = memchr(pair.ptr, '=', pair.len);
        const size_t name_len = eq != NULL ? (size_t)(eq - pair.ptr) : pair.len;
        const alm_str value =
            eq != NULL ? (alm_str){eq + 1, pair.len - name_len - 1} : (alm_str){"", 0};
        alm_http_pair *slot = &req->params[req->n_params];
        if (!exchange_parse_decode(cx, arena, (alm_str){pair.ptr, name_len}, true, &slot->name) ||
            !exchange_parse_decode(cx, arena, value, true, &slot->value))
            return false;
        req->n_params++;
    }
    return true;
}

/* ----------------------------------------------------------------------- head */

typedef struct head_parse {
    alm_ctx *cx;
    alm_arena *arena;
    alm_http_request *req;
    int *status;
    const char **why;
} head_parse;

static bool exchange_parse_bad(head_parse *parse, int status, const char *why)
{
    *parse->status = status;
    *parse->why = why;
    return false;
}

/* uri-host [":" port] of RFC 3986, as Host has it and the absolute form: letters of a name, no user, no blanks. */
static bool is_authority(alm_str text)
{
    size_t i = 0;
    if (text.len > 0 && text.ptr[0] == '[') {
        const char *end = memchr(text.ptr, ']', text.len);
        if (end == NULL || end == text.ptr + 1)
            return false;
        for (i = 1; text.ptr[i] != ']'; i++)
            if (alm_hex_digit(text.ptr[i]) < 0 && text.ptr[i] != ':' && text.ptr[i] != '.')
                return false;
        i++;
    } else {
        for (; i < text.len && text.ptr[i] != ':'; i++)
            if ((parts[(unsigned char)text.ptr[i]] & OF_HOST) == 0)
                return false;
    }
    if (i < text.len && text.ptr[i++] != ':')
        return false;
    for (; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return true;
}

/* The absolute form (RFC 9112 3.2.2): its authority is the host, whatever the header says. */
static bool take_authority(alm_http_request *req)
{
    static const alm_str schemes[] = {{"http://", 7}, {"https://", 8}};
    const alm_str target = req->target;
    if (target.len > 0 && target.ptr[0] == '/')
        return true;
    for (size_t i = 0; i < ALM_COUNT(schemes); i++) {
        const alm_str scheme = schemes[i];
        if (target.len <= scheme.len || !alm_str_ieq((alm_str){target.ptr, scheme.len}, scheme))
            continue;
        const alm_str rest = {target.ptr + scheme.len, target.len - scheme.len};
        size_t count = 0;
        while (count < rest.len && rest.ptr[count] != '/' && rest.ptr[count] != '?')
            count++; /* a fragment has no place here: its '#' is in no authority */
        req->host = (alm_str){rest.ptr, count};
        req->target = (alm_str){rest.ptr + count, rest.len - count};
        return count > 0 && rest.ptr[0] != ':' && is_authority(req->host);
    }
    return false;
}

static bool parse_target(head_parse *parse)
{
    alm_http_request *req = parse->req;
    if (alm_str_eq(req->target, ALM_STR("*")) && alm_str_eq(req->method, ALM_STR("OPTIONS"))) {
        req->path = req->target; /* asterisk form (RFC 9112 3.2.4): of the server as a whole */
        return alm_http_parse_params(parse->cx, parse->arena, (alm_str){0}, req) ||
               exchange_parse_bad(parse, 503, "out of memory");
    }
    if (!take_authority(req))
        return exchange_parse_bad(parse, 400, "Bad request target");
    const char *mark = memchr(req->target.ptr, '?', req->target.len);
    const size_t path_len = mark != NULL ? (size_t)(mark - req->target.ptr) : req->target.len;
    const alm_str path = path_len > 0 ? (alm_str){req->target.ptr, path_len} : ALM_STR("/");
    if (mark != NULL)
        req->query = (alm_str){mark + 1, req->target.len - path_len - 1};
    if (!exchange_parse_decode(parse->cx, parse->arena, path, false, &req->path))
        return exchange_parse_bad(parse, 400, "Bad escape in the path");
    if (memchr(req->path.ptr, 0, req->path.len) != NULL || !alm_utf8_is_valid(req->path))
        return exchange_parse_bad(parse, 400, "Bad bytes in the path");
    if (!alm_http_parse_params(parse->cx, parse->arena, req->query, req))
        return exchange_parse_bad(parse, 400, "Bad escape in the query, or too many parameters");
    return true;
}

static bool parse_request_line(head_parse *parse, alm_str line)
{
    alm_http_request *req = parse->req;
    const char *first = memchr(line.ptr, ' ', line.len);
    const char *last = memrchr(line.ptr, ' ', line.len);
    if (first == NULL || first == last)
        return exchange_parse_bad(parse, 400, "Bad request line");
    req->method = (alm_str){line.ptr, (size_t)(first - line.ptr)};
    req->target = (alm_str){first + 1, (size_t)(last - first - 1)};
    const alm_str version = {last + 1, (size_t)(line.ptr + line.len - last - 1)};
    if (!is_token(req->method))
        return exchange_parse_bad(parse, 400, "Bad method");
    if (version.len != 8 || memcmp(version.ptr, "HTTP/1.", 7) != 0 ||
        (version.ptr[7] != '0' && version.ptr[7] != '1'))
        return exchange_parse_bad(
            parse, version.len == 8 && memcmp(version.ptr, "HTTP/", 5) == 0 ? 505 : 400,
            "Bad HTTP version");
    req->minor = version.ptr[7] - '0';
    bool bad_byte = false; /* without a way out of the loop it takes many bytes at once */
    for (size_t i = 0; i < req->target.len; i++)
        bad_byte |= (unsigned char)req->target.ptr[i] <= ' ' || req->target.ptr[i] == 0x7f;
    if (bad_byte)
        return exchange_parse_bad(parse, 400, "Bad byte in the request target");
    return parse_target(parse);
}

bool alm_http_is_field(alm_str line)
{
    const char *colon = memchr(line.ptr, ':', line.len);
    if (colon == NULL || !is_token((alm_str){line.ptr, (size_t)(colon - line.ptr)}))
        return false;
    for (const char *c = colon + 1; c < line.ptr + line.len; c++)
        if ((unsigned char)*c < ' ' && *c != '\t')
            return false;
    return true;
}

static bool parse_header_line(head_parse *parse, alm_str line)
{
    alm_http_request *req = parse->req;
    const char *colon = memchr(line.ptr, ':', line.len);
    if (colon == NULL)
        return exchange_parse_bad(parse, 400, "Bad header line");
    const alm_str name = {line.ptr, (size_t)(colon - line.ptr)};
    const alm_str value = exchange_parse_trim((alm_str){colon + 1, line.len - name.len - 1});
    if (!is_token(name))
        return exchange_parse_bad(parse, 400, "Bad header name");
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.ptr[i] < ' ' && value.ptr[i] != '\t')
            return exchange_parse_bad(parse, 400, "Control character in a header");
    if (req->n_headers == ALM_HTTP_HEADERS_MAX)
        return exchange_parse_bad(parse, 431, "Too many headers");
    req->headers[req->n_headers++] = (alm_http_pair){name, value};
    return true;
}

/* The next element of a list with commas, *at behind it; false: there are no more. */
static bool next_element(alm_str list, size_t *at, alm_str *out)
{
    if (*at > list.len || list.ptr == NULL)
        return false;
    const char *comma = memchr(list.ptr + *at, ',', list.len - *at);
    const size_t end = comma != NULL ? (size_t)(comma - list.ptr) : list.len;
    *out = exchange_parse_trim((alm_str){list.ptr + *at, end - *at});
    *at = end + 1;
    return true;
}

static bool exchange_parse_list_has(alm_str list, const char *word)
{
    alm_str element;
    for (size_t offset = 0; next_element(list, &offset, &element);)
        if (alm_str_ieq(element, alm_str_of(word)))
            return true;
    return false;
}

/* 1 when none is given, 0 for what is no number. Other parameters are passed over. */
static int32_t q_of(alm_str params)
{
    while (params.len > 0) {
        const char *semi = memchr(params.ptr, ';', params.len);
        const size_t n = semi != NULL ? (size_t)(semi - params.ptr) : params.len;
        const alm_str one = exchange_parse_trim((alm_str){params.ptr, n});
        double q = 0;
        if (one.len >= 2 && (one.ptr[0] | 0x20) == 'q' && one.ptr[1] == '=')
            return alm_double_parse((alm_str){one.ptr + 2, one.len - 2}, &q) == ALM_NUM_OK &&
                           q > 0 && q <= 1
                       ? (int32_t)(q * 1000)
                       : 0;
        const size_t used = semi != NULL ? n + 1 : n;
        params = (alm_str){params.ptr + used, params.len - used};
    }
    return 1000;
}

int32_t alm_http_quality(alm_str list, alm_str name)
{
    alm_str element;
    for (size_t offset = 0; next_element(list, &offset, &element);) {
        const char *semi = memchr(element.ptr, ';', element.len);
        const size_t n = semi != NULL ? (size_t)(semi - element.ptr) : element.len;
        if (alm_str_ieq(exchange_parse_trim((alm_str){element.ptr, n}), name))
            return semi == NULL ? 1000 : q_of((alm_str){semi + 1, element.len - n - 1});
    }
    return -1;
}

static bool read_framing(head_parse *parse)
{
    alm_http_request *req = parse->req;
    req->content_length = -1;
    bool encoded = false, host = false;
    for (uint32_t i = 0; i < req->n_headers; i++) {
        const alm_http_pair *pair = &req->headers[i];
        if (alm_str_ieq(pair->name, ALM_STR("Host"))) {
            if (host) /* which of them routed the request here is not known */
                return exchange_parse_bad(parse, 400, "Two Host headers");
            if (!is_authority(pair->value))
                return exchange_parse_bad(parse, 400, "Bad Host header");
            host = true;
            if (req->host.ptr == NULL)
                req->host = pair->value;
        } else if (alm_str_ieq(pair->name, ALM_STR("Content-Length"))) {
            uint64_t n = 0;
            if (req->content_length >= 0)
                return exchange_parse_bad(parse, 400, "Two Content-Length headers");
            if (pair->value.len == 0 || pair->value.ptr[0] == '+' || pair->value.ptr[0] == '-' ||
                alm_uint64_parse(pair->value, &n) != ALM_NUM_OK || n > INT64_MAX)
                return exchange_parse_bad(parse, 400, "Bad Content-Length");
            req->content_length = (int64_t)n;
        } else if (alm_str_ieq(pair->name, ALM_STR("Transfer-Encoding"))) {
            if (encoded || !alm_str_ieq(pair->value, ALM_STR("chunked")))
                return exchange_parse_bad(parse, encoded ? 400 : 501,
                                          "Transfer-Encoding is not 'chunked'");
            encoded = true;
        }
    }
    if (!host && req->minor == 1)
        return exchange_parse_bad(parse, 400, "No Host header");
    if (encoded && req->content_length >= 0)
        return exchange_parse_bad(parse, 400, "Content-Length together with Transfer-Encoding");
    if (encoded && req->minor == 0)
        return exchange_parse_bad(parse, 400, "Transfer-Encoding in HTTP/1.0");
    req->chunked = encoded;
    req->has_body = encoded || req->content_length > 0;
    const alm_str connection = alm_http_header(req, "Connection");
    req->keep_alive = req->minor == 1;
    if (connection.ptr != NULL && exchange_parse_list_has(connection, "close"))
        req->keep_alive = false;
    else if (connection.ptr != NULL && exchange_parse_list_has(connection, "keep-alive"))
        req->keep_alive = true;
    const alm_str expect = alm_http_header(req, "Expect");
    if (expect.ptr != NULL && !alm_str_ieq(expect, ALM_STR("100-continue")))
        return exchange_parse_bad(parse, 417, "Expectation failed");
    req->expect_continue = expect.ptr != NULL && req->minor == 1;
    return true;
}

/* bare: lines end with LF alone, all of them (a mixture is a trick: what stands before it may read other lines). */
static bool parse_lines(head_parse *parse, alm_str head, bool bare)
{
    const size_t ending = bare ? 1 : 2;
    size_t offset = 0;
    bool first = true;
    while (offset < head.len) {
        const char *line_end = memchr(head.ptr + offset, '\n', head.len - offset);
        ALM_ASSERT(line_end != NULL);
        const alm_str ended = {head.ptr + offset, (size_t)(line_end - head.ptr) - offset};
        if (ended.len == 0 || memchr(ended.ptr, '\r', ended.len) != (bare ? NULL : line_end - 1))
            return exchange_parse_bad(parse, 400, "Bare CR or LF");
        const alm_str line = {ended.ptr, ended.len + 1 - ending};
        if (first ? !parse_request_line(parse, line) : !parse_header_line(parse, line))
            return false;
        first = false;
        offset += line.len + ending;
    }
    if (first || !read_framing(parse))
        return false;
    if (bare && alm_http_header(parse->req, "Transfer-Encoding").ptr != NULL)
        return exchange_parse_bad(parse, 400, "Lines of LF alone before a chunked body");
    return true;
}

/* CRLF and an empty line; NULL: not there yet. Line by line, as memmem looks at each byte of short needles. */
static const char *head_end(const char *from, size_t n)
{
    const char *end = from + n, *line_end = from;
    while ((line_end = memchr(line_end, '\n', (size_t)(end - line_end))) != NULL) {
        if (line_end > from && line_end[-1] == '\r' && end - line_end > 2 && line_end[1] == '\r' &&
            line_end[2] == '\n')
            return line_end - 1;
        line_end++;
    }
    return NULL;
}

/* Lines that end with LF alone (RFC 9112 2.2), as the first one does: the end of the last one. *mixed: CR stands among them. */
static const char *bare_head_end(const char *from, size_t n, bool *mixed)
{
    const char *end = memmem(from, n, "\n\n", 2);
    *mixed = memchr(from, '\r', end != NULL ? (size_t)(end - from) : n) != NULL;
    return end;
}

static bool starts_bare(const char *from, size_t n)
{
    const char *line_end = memchr(from, '\n', n);
    return line_end != NULL && line_end > from && line_end[-1] != '\r';
}

alm_http_parse alm_http_parse_head(alm_ctx *cx, alm_arena *arena, alm_str bytes, size_t limit,
                                   alm_http_request *req, size_t *taken, int *status,
                                   const char **why)
{
    size_t skip = 0; /* blank lines before a request are allowed (RFC 9112 2.2) */
    while (bytes.len - skip >= 2 && bytes.ptr[skip] == '\r' && bytes.ptr[skip + 1] == '\n')
        skip += 2;
    const char *from = bytes.ptr + skip;
    const size_t left = bytes.len - skip;
    const bool bare = starts_bare(from, ALM_MIN(left, limit));
    bool mixed = false;
    const char *end = bare ? bare_head_end(from, left, &mixed) : head_end(from, left);
    const size_t ending = bare ? 1 : 2;
    if (mixed) {
        *status = 400;
        *why = "Bare CR or LF";
        return ALM_HTTP_BAD;
    }
    if (end == NULL || (size_t)(end - from) > limit) {
        if (left <= limit && end == NULL) {
            /* a request that can never become one ends at once: no letter, no line end in sight */
            const bool half_blank = left == 1 && from[0] == '\r';
            if (left > 0 && !half_blank && (parts[(unsigned char)from[0]] & OF_TOKEN) == 0) {
                *status = 400;
                *why = "Bad request line";
                return ALM_HTTP_BAD;
            }
            if (left > 0 && (from[0] == '\n' || memmem(from, left, "\n\n", 2) != NULL ||
                             memmem(from, left, "\n\r\n", 3) != NULL)) {
                *status = 400;
                *why = "Bare LF";
                return ALM_HTTP_BAD;
            }
            return ALM_HTTP_MORE;
        }
        const bool line = memchr(from, '\n', ALM_MIN(left, limit)) == NULL;
        *status = line ? 414 : 431;
        *why = line ? "The request line is longer than http.request.header.buffer.size"
                    : "The headers are longer than http.request.header.buffer.size";
        return ALM_HTTP_BAD;
    }
    *req = (alm_http_request){.content_length = -1};
    head_parse parse = {cx, arena, req, status, why};
    alm_str head;
    *status = 503;
    *why = "out of memory";
    if (alm_arena_copy(cx, arena, (alm_str){from, (size_t)(end - from) + ending}, &head) !=
            ALM_OK ||
        alm_arena_bytes(cx, arena, ALM_HTTP_HEADERS_MAX * sizeof *req->headers, &req->headers) !=
            ALM_OK) /* not zeroed: those below n_headers are set */
        return ALM_HTTP_BAD;
    if (!parse_lines(&parse, head, bare))
        return ALM_HTTP_BAD;
    *taken = skip + (size_t)(end - from) + 2 * ending;
    return ALM_HTTP_DONE;
}
