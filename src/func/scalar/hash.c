/*
 * hash.c - md5, sha1, sha256 of texts as hexadecimal digits.
 *
 * Null rule   Null in, null out. The empty text has a digest.
 */
#include <openssl/evp.h>

#include "func/value/dict.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

static void put_hex(const uint8_t *bytes, size_t n_bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n_bytes; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
}

static alm_status digest_all(const alm_call *call, const EVP_MD *method, size_t n_rows,
                             const alm_vec *args, alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    EVP_MD_CTX *CTX = EVP_MD_CTX_new();
    alm_status status = ALM_OK;
    for (size_t i = 0; i < n_rows && status == ALM_OK; i++) {
        const alm_str text = alm_vec_text(&args[0], i);
        views[i] = alm_view_null();
        if (text.ptr == NULL)
            continue;
        status = alm_text_work(call->cx, 4 * text.len);
        if (status != ALM_OK)
            break;
        uint8_t bytes[EVP_MAX_MD_SIZE];
        unsigned len = 0;
        char *ptr;
        if (CTX == NULL || EVP_DigestInit_ex(CTX, method, NULL) != 1 ||
            EVP_DigestUpdate(CTX, text.ptr, text.len) != 1 ||
            EVP_DigestFinal_ex(CTX, bytes, &len) != 1) {
            status = alm_fail(call->cx, ALM_E_UNSUPPORTED, call->pos,
                              "the cryptographic library refuses %s", call->fn->name);
            break;
        }
        status = alm_text_room(&writer, (size_t)len * 2, &ptr);
        if (status == ALM_OK) {
            put_hex(bytes, len, ptr);
            views[i] = alm_text_take(&writer, (size_t)len * 2);
        }
    }
    EVP_MD_CTX_free(CTX);
    return status;
}

#define DIGEST(name, method)                                                                       \
    static alm_status name(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)            \
    {                                                                                              \
        ALM_OVER_DICT(name, call, n, args, out);                                                   \
        return digest_all(call, method(), n, args, out);                                           \
    }
DIGEST(md5, EVP_md5)
DIGEST(sha1, EVP_sha1)
DIGEST(sha256, EVP_sha256)

#define ROW(f, type)                                                                               \
    {.name = #f,                                                                                   \
     .signature = "(" type ") VARCHAR",                                                            \
     .flags = ALM_FN_SYMBOLS | ALM_FN_NULL_OUT,                                                    \
     .kernel = f,                                                                                  \
     .doc = "Digest " #f " of the bytes, as hexadecimal digits.",                                  \
     .example = #f "('abc')",                                                                      \
     .since = "0.1"}

static const alm_fn ROWS[] = {ROW(md5, "TEXT"),   ROW(sha1, "TEXT"),   ROW(sha256, "TEXT"),
                              ROW(md5, "BINARY"), ROW(sha1, "BINARY"), ROW(sha256, "BINARY")};
ALM_FN_TABLE(hash, ROWS);
