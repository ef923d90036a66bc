/* multipart.c - see multipart.h. Phases: before the first boundary, head of a part, data of a part. */
#include "net/http/exchange/multipart.h"

#include "base/conf.h"

enum { PREAMBLE, PART_HEAD, PART_DATA, EPILOGUE };

static bool multipart_is_space(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Value of a parameter `name` in "type; a=b; c=\"d\"". */
static alm_str parameter(alm_str header, const char *name)
{
    const alm_str want = alm_str_of(name);
    size_t offset = 0;
    while (offset < header.len) {
        const char *semi = memchr(header.ptr + offset, ';', header.len - offset);
        if (semi == NULL)
            break;
        offset = (size_t)(semi - header.ptr) + 1;
        while (offset < header.len && multipart_is_space(header.ptr[offset]))
            offset++;
        const size_t start = offset;
        while (offset < header.len && header.ptr[offset] != '=' && header.ptr[offset] != ';')
            offset++;
        const alm_str key = {header.ptr + start, offset - start};
        if (offset == header.len || header.ptr[offset] == ';')
            continue;
        offset++;
        alm_str value = {header.ptr + offset, 0};
        if (offset < header.len && header.ptr[offset] == '"') {
            const char *close = memchr(header.ptr + offset + 1, '"', header.len - offset - 1);
            if (close == NULL)
                return (alm_str){0};
            value = (alm_str){header.ptr + offset + 1, (size_t)(close - header.ptr) - offset - 1};
            offset += value.len + 2;
        } else {
            while (offset < header.len && header.ptr[offset] != ';' &&
                   !multipart_is_space(header.ptr[offset]))
                offset++;
            value.len = offset - (size_t)(value.ptr - header.ptr);
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

alm_status alm_multipart_init(alm_ctx *cx, alm_multipart *multipart, alm_str boundary,
                              const alm_multipart_events *events)
{
    ALM_ASSERT(boundary.len > 0 && boundary.len <= ALM_BOUNDARY_MAX);
    *multipart = (alm_multipart){.events = *events};
    (void)memcpy(multipart->mark, "\r\n--", 4);
    (void)memcpy(multipart->mark + 4, boundary.ptr, boundary.len);
    multipart->mark_len = boundary.len + 4;
    alm_buf_init(&multipart->kept, NULL);
    return alm_buf_text(cx, &multipart->kept,
                        "\r\n"); /* the first boundary needs no line end before it */
}

void alm_multipart_deinit(alm_multipart *multipart)
{
    alm_buf_deinit(&multipart->kept);
}

static void multipart_drop(alm_multipart *multipart, size_t n)
{
    (void)memmove(multipart->kept.ptr, multipart->kept.ptr + n, multipart->kept.len - n);
    multipart->kept.len -= n;
}

/* Content-Disposition of a part head. */
static alm_status start_part(alm_ctx *cx, alm_multipart *multipart, alm_str head)
{
    static const alm_str want = {"content-disposition:", 20};
    size_t offset = 0;
    while (offset < head.len) {
        const char *cr = memmem(head.ptr + offset, head.len - offset, "\r\n", 2);
        const size_t end = cr != NULL ? (size_t)(cr - head.ptr) : head.len;
        const alm_str line = {head.ptr + offset, end - offset};
        offset = end + 2;
        if (line.len < want.len || !alm_str_ieq((alm_str){line.ptr, want.len}, want))
            continue;
        return multipart->events.part(cx, multipart->events.arg, parameter(line, "name"),
                                      parameter(line, "filename"));
    }
    return alm_fail(cx, ALM_E_PROTOCOL, -1,
                    "a part of the multipart body has no Content-Disposition header");
}

/* The kept bytes start behind a boundary: "--" ends the body, CRLF starts a part head. */
static alm_status part_head(alm_ctx *cx, alm_multipart *multipart, bool *more)
{
    *more = false;
    if (multipart->kept.len < 2)
        return ALM_OK;
    if (multipart->kept.ptr[0] == '-' && multipart->kept.ptr[1] == '-') {
        multipart->phase = EPILOGUE;
        multipart->done = true;
        multipart->kept.len = 0;
        return ALM_OK;
    }
    const char *end = memmem(multipart->kept.ptr, multipart->kept.len, "\r\n\r\n", 4);
    const size_t n = end != NULL ? (size_t)(end - multipart->kept.ptr) : multipart->kept.len;
    const int64_t most =
        cx->conf != NULL ? cx->conf->http_multipart_header_buffer_size : ALM_MULTIPART_HEAD_MAX;
    if ((int64_t)n > most)
        return alm_fail(cx, ALM_E_LIMIT, -1,
                        "the head of a part is longer than %lld bytes "
                        "(http.multipart.header.buffer.size)",
                        (long long)most);
    if (end == NULL)
        return ALM_OK;
    ALM_TRY(start_part(cx, multipart, (alm_str){multipart->kept.ptr, n}));
    /* An empty part may have its boundary right here, with the blank line as its line end: that line
     * end is kept, and is no data. */
    multipart_drop(multipart, n + 2);
    multipart->lead = 2;
    multipart->phase = PART_DATA;
    *more = true;
    return ALM_OK;
}

/* The bytes in front of what could be the start of the mark, which is not there as a whole. */
static size_t before_tail(const alm_multipart *multipart, const char *bytes, size_t n)
{
    size_t from = n - ALM_MIN(multipart->mark_len - 1, n);
    while (from < n && memcmp(bytes + from, multipart->mark, n - from) != 0)
        from++;
    return from;
}

static alm_status part_data(alm_ctx *cx, alm_multipart *multipart, bool *more)
{
    *more = false;
    const char *mark =
        memmem(multipart->kept.ptr, multipart->kept.len, multipart->mark, multipart->mark_len);
    const size_t n = mark != NULL
                         ? (size_t)(mark - multipart->kept.ptr)
                         : before_tail(multipart, multipart->kept.ptr, multipart->kept.len);
    if (n > multipart->lead && multipart->phase == PART_DATA)
        ALM_TRY(multipart->events.bytes(
            cx, multipart->events.arg, multipart->kept.ptr + multipart->lead, n - multipart->lead));
    if (mark == NULL) {
        if (n >= multipart->lead) {
            multipart_drop(multipart, n);
            multipart->lead = 0;
        }
        return ALM_OK;
    }
    multipart->lead = 0;
    multipart_drop(multipart, n + multipart->mark_len);
    multipart->phase = PART_HEAD;
    *more = true;
    return ALM_OK;
}

alm_status alm_multipart_feed(alm_ctx *cx, alm_multipart *multipart, const char *bytes, size_t n)
{
    if (multipart->phase == EPILOGUE)
        return ALM_OK;
    if (multipart->phase == PART_DATA && multipart->kept.len == 0 && n > 0 &&
        memmem(bytes, n, multipart->mark, multipart->mark_len) ==
            NULL) { /* most of a file: nothing to keep */
        const size_t data = before_tail(multipart, bytes, n);
        if (data > 0)
            ALM_TRY(multipart->events.bytes(cx, multipart->events.arg, bytes, data));
        bytes += data;
        n -= data;
    }
    ALM_TRY(alm_buf_append(cx, &multipart->kept, bytes, n));
    bool more = true;
    while (more && multipart->phase != EPILOGUE)
        ALM_TRY(multipart->phase == PART_HEAD ? part_head(cx, multipart, &more)
                                              : part_data(cx, multipart, &more));
    return ALM_OK;
}

alm_status alm_multipart_end(alm_ctx *cx, const alm_multipart *multipart)
{
    if (!multipart->done)
        return alm_fail(cx, ALM_E_PROTOCOL, -1,
                        "the multipart body ends without its last boundary");
    return ALM_OK;
}
