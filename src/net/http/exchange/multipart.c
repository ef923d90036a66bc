/* multipart.c - see multipart.h. Phases: before the first boundary, head of a part, data of a part. */
#include "net/http/exchange/multipart.h"

#include "base/conf.h"

enum { PREAMBLE, PART_HEAD, PART_DATA, EPILOGUE };

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Value of a parameter `name` in "type; a=b; c=\"d\"". */
static alm_str parameter(alm_str header, const char *name)
{
    const alm_str want = alm_str_of(name);
    size_t at = 0;
    while (at < header.len) {
        const char *semi = memchr(header.ptr + at, ';', header.len - at);
        if (semi == NULL)
            break;
        at = (size_t)(semi - header.ptr) + 1;
        while (at < header.len && is_space(header.ptr[at]))
            at++;
        const size_t start = at;
        while (at < header.len && header.ptr[at] != '=' && header.ptr[at] != ';')
            at++;
        const alm_str key = {header.ptr + start, at - start};
        if (at == header.len || header.ptr[at] == ';')
            continue;
        at++;
        alm_str value = {header.ptr + at, 0};
        if (at < header.len && header.ptr[at] == '"') {
            const char *close = memchr(header.ptr + at + 1, '"', header.len - at - 1);
            if (close == NULL)
                return (alm_str){0};
            value = (alm_str){header.ptr + at + 1, (size_t)(close - header.ptr) - at - 1};
            at += value.len + 2;
        } else {
            while (at < header.len && header.ptr[at] != ';' && !is_space(header.ptr[at]))
                at++;
            value.len = at - (size_t)(value.ptr - header.ptr);
        }
        if (alm_str_ieq(key, want))
            return value;
    }
    return (alm_str){0};
}

alm_str alm_multipart_boundary(alm_str content_type)
{
    static const alm_str type = {"multipart/form-data", 19};
    if (content_type.len <= type.len || !alm_str_ieq((alm_str){content_type.ptr, type.len}, type))
        return (alm_str){0};
    const alm_str found = parameter(content_type, "boundary");
    if (found.len == 0 || found.len > ALM_BOUNDARY_MAX)
        return (alm_str){0};
    return found;
}

alm_status alm_multipart_init(alm_ctx *cx, alm_multipart *m, alm_str boundary,
                              const alm_multipart_events *events)
{
    ALM_ASSERT(boundary.len > 0 && boundary.len <= ALM_BOUNDARY_MAX);
    *m = (alm_multipart){.events = *events};
    (void)memcpy(m->mark, "\r\n--", 4);
    (void)memcpy(m->mark + 4, boundary.ptr, boundary.len);
    m->mark_len = boundary.len + 4;
    alm_buf_init(&m->kept, NULL);
    return alm_buf_text(cx, &m->kept, "\r\n"); /* the first boundary needs no line end before it */
}

void alm_multipart_deinit(alm_multipart *m)
{
    alm_buf_deinit(&m->kept);
}

static void drop(alm_multipart *m, size_t n)
{
    (void)memmove(m->kept.ptr, m->kept.ptr + n, m->kept.len - n);
    m->kept.len -= n;
}

/* Content-Disposition of a part head. */
static alm_status start_part(alm_ctx *cx, alm_multipart *m, alm_str head)
{
    static const alm_str want = {"content-disposition:", 20};
    size_t at = 0;
    while (at < head.len) {
        const char *cr = memmem(head.ptr + at, head.len - at, "\r\n", 2);
        const size_t end = cr != NULL ? (size_t)(cr - head.ptr) : head.len;
        const alm_str line = {head.ptr + at, end - at};
        at = end + 2;
        if (line.len < want.len || !alm_str_ieq((alm_str){line.ptr, want.len}, want))
            continue;
        return m->events.part(cx, m->events.arg, parameter(line, "name"),
                              parameter(line, "filename"));
    }
    return alm_fail(cx, ALM_E_PROTOCOL, -1,
                    "a part of the multipart body has no Content-Disposition header");
}

/* The kept bytes start behind a boundary: "--" ends the body, CRLF starts a part head. */
static alm_status part_head(alm_ctx *cx, alm_multipart *m, bool *more)
{
    *more = false;
    if (m->kept.len < 2)
        return ALM_OK;
    if (m->kept.ptr[0] == '-' && m->kept.ptr[1] == '-') {
        m->phase = EPILOGUE;
        m->done = true;
        m->kept.len = 0;
        return ALM_OK;
    }
    const char *end = memmem(m->kept.ptr, m->kept.len, "\r\n\r\n", 4);
    const size_t n = end != NULL ? (size_t)(end - m->kept.ptr) : m->kept.len;
    const int64_t most =
        cx->conf != NULL ? cx->conf->http_multipart_header_buffer_size : ALM_MULTIPART_HEAD_MAX;
    if ((int64_t)n > most)
        return alm_fail(cx, ALM_E_LIMIT, -1,
                        "the head of a part is longer than %lld bytes "
                        "(http.multipart.header.buffer.size)",
                        (long long)most);
    if (end == NULL)
        return ALM_OK;
    ALM_TRY(start_part(cx, m, (alm_str){m->kept.ptr, n}));
    /* An empty part may have its boundary right here, with the blank line as its line end: that line
     * end is kept, and is no data. */
    drop(m, n + 2);
    m->lead = 2;
    m->phase = PART_DATA;
    *more = true;
    return ALM_OK;
}

/* The bytes in front of what could be the start of the mark, which is not there as a whole. */
static size_t before_tail(const alm_multipart *m, const char *bytes, size_t n)
{
    size_t from = n - ALM_MIN(m->mark_len - 1, n);
    while (from < n && memcmp(bytes + from, m->mark, n - from) != 0)
        from++;
    return from;
}

static alm_status part_data(alm_ctx *cx, alm_multipart *m, bool *more)
{
    *more = false;
    const char *mark = memmem(m->kept.ptr, m->kept.len, m->mark, m->mark_len);
    const size_t n =
        mark != NULL ? (size_t)(mark - m->kept.ptr) : before_tail(m, m->kept.ptr, m->kept.len);
    if (n > m->lead && m->phase == PART_DATA)
        ALM_TRY(m->events.bytes(cx, m->events.arg, m->kept.ptr + m->lead, n - m->lead));
    if (mark == NULL) {
        if (n >= m->lead) {
            drop(m, n);
            m->lead = 0;
        }
        return ALM_OK;
    }
    m->lead = 0;
    drop(m, n + m->mark_len);
    m->phase = PART_HEAD;
    *more = true;
    return ALM_OK;
}

alm_status alm_multipart_feed(alm_ctx *cx, alm_multipart *m, const char *bytes, size_t n)
{
    if (m->phase == EPILOGUE)
        return ALM_OK;
    if (m->phase == PART_DATA && m->kept.len == 0 && n > 0 &&
        memmem(bytes, n, m->mark, m->mark_len) == NULL) { /* most of a file: nothing to keep */
        const size_t data = before_tail(m, bytes, n);
        if (data > 0)
            ALM_TRY(m->events.bytes(cx, m->events.arg, bytes, data));
        bytes += data;
        n -= data;
    }
    ALM_TRY(alm_buf_append(cx, &m->kept, bytes, n));
    bool more = true;
    while (more && m->phase != EPILOGUE)
        ALM_TRY(m->phase == PART_HEAD ? part_head(cx, m, &more) : part_data(cx, m, &more));
    return ALM_OK;
}

alm_status alm_multipart_end(alm_ctx *cx, const alm_multipart *m)
{
    if (!m->done)
        return alm_fail(cx, ALM_E_PROTOCOL, -1,
                        "the multipart body ends without its last boundary");
    return ALM_OK;
}
