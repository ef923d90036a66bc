/*
 * asset.h - content that stays the same: files that are part of the program (tools/embed_assets.c), and documents
 * made once. By RFC 9110: strong ETag by content, If-None-Match and If-Match, one range of bytes with If-Range,
 * forms packed beforehand by Accept-Encoding. Private to net/http.
 *
 * Ranges      of the form that is sent. Several ranges of one request are answered with the whole, which a server may.
 * Pages       Those of the program run under a strict Content-Security-Policy: scripts and styles are files of the same
 *             server, and nothing is made of texts (no eval, no inner HTML where Trusted Types are known).
 * Caching     Names that carry a hash of their content may be kept for ever; all else is asked for again, by ETag.
 */
#ifndef ALM_NET_HTTP_ASSET_H
#define ALM_NET_HTTP_ASSET_H

#include "net/http/exchange/http.h"

typedef enum alm_asset_form {
    ALM_ASSET_PLAIN,
    ALM_ASSET_GZIP,
    ALM_ASSET_ZSTD,
    ALM_ASSET_FORMS
} alm_asset_form;

typedef struct alm_asset_part {
    uint64_t from, to;
} alm_asset_part;

typedef struct alm_asset {
    const char *path; /* of the URL; its ending tells the type */
    const char *etag; /* without quotes */
    bool hashed;      /* the name tells the content */
    bool foreign;     /* no part of the program: its pages may hold styles of their own */
    struct {
        const char *ptr;
        size_t n;
    } forms[ALM_ASSET_FORMS]; /* ptr NULL: not there, or not smaller */
    /* The bytes of the plain form are not at ptr: the answer is begun (alm_http_whole_begin), and the caller sends those that are
     * told here; NULL: they are, and all is sent. */
    alm_asset_part *part;
} alm_asset;

/* Made when the program is built, of the web console, or of src/net/http/assets. */
extern const alm_asset alm_assets[];
extern const size_t alm_asset_count;

/* NULL: there is none. */
const alm_asset *alm_asset_find(alm_str path);
/* text/html; charset=utf-8 ... by the ending of a path; what is not known is application/octet-stream. */
const char *alm_asset_type(alm_str path);
void alm_asset_reply(alm_http *http, const alm_asset *asset);

#endif
