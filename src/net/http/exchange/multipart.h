/*
 * multipart.h - multipart/form-data (RFC 7578) as it streams in: parts with a name, and their bytes.
 *
 * Memory      Only what could be the start of a boundary, or an incomplete part head, is kept
 *             (bounded by http.multipart.header.buffer.size, without settings by ALM_MULTIPART_HEAD_MAX).
 */
#ifndef ALM_NET_HTTP_MULTIPART_H
#define ALM_NET_HTTP_MULTIPART_H

#include "base/base.h"

enum { ALM_MULTIPART_HEAD_MAX = 8192, ALM_BOUNDARY_MAX = 70 };

typedef struct alm_multipart_events {
    /* A part starts; filename.ptr NULL: none. */
    alm_status (*part)(alm_ctx *cx, void *arg, alm_str name, alm_str filename);
    /* Bytes of the current part. */
    alm_status (*bytes)(alm_ctx *cx, void *arg, const char *bytes, size_t n);
    void *arg;
} alm_multipart_events;

typedef struct alm_multipart {
    alm_multipart_events events;
    char mark[ALM_BOUNDARY_MAX + 8]; /* CRLF--boundary */
    size_t mark_len;
    alm_buf kept;
    size_t lead; /* kept bytes before the data of the part: the end of its head */
    int phase;
    bool done;
} alm_multipart;

/* Boundary of a Content-Type value, quoted or not (ptr NULL: not multipart/form-data, or none). */
alm_str alm_multipart_boundary(alm_str content_type);
ALM_NODISCARD alm_status alm_multipart_init(alm_ctx *cx, alm_multipart *multipart, alm_str boundary,
                                            const alm_multipart_events *events);
void alm_multipart_deinit(alm_multipart *multipart);
ALM_NODISCARD alm_status alm_multipart_feed(alm_ctx *cx, alm_multipart *multipart,
                                            const char *bytes, size_t n);
/* The body is over: was the last boundary there? */
ALM_NODISCARD alm_status alm_multipart_end(alm_ctx *cx, const alm_multipart *multipart);

#endif
