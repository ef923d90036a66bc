/*
 * like.c - like and ilike.
 *
 * Pattern     % any text, _ one character, \ before a sign takes it as it is. The whole text must
 *             match.
 * Null rule   Null text or pattern gives false.
 * Method      A constant pattern is read once: without _ it is a list of pieces that must be found
 *             in order (equality, prefix, suffix, memmem); else a matcher with one point to return
 *             to, which is linear in practice. ilike matches folded copies of text and pattern, or
 *             bytes of ASCII directly.
 */
#include "base/utf8.h"
#include "func/operator/search.h"
#include "func/value/args.h"
#include "func/value/dict.h"
#include "func/value/tables.h"

typedef enum shape { EQUALS, PREFIX, SUFFIX, CONTAINS, GENERAL, NEVER } shape;

typedef struct pattern {
    shape shape;
    bool nocase;
    alm_str text;  /* unescaped bytes of the first four shapes, folded if nocase */
    alm_str whole; /* as written, folded if nocase: GENERAL */
    alm_str piece; /* GENERAL: the longest run of plain bytes that every match contains */
} pattern;

/* ------------------------------------------------------------------ folding */

static inline char fold_byte(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
}

/* Lower case by character; `out` has room for 4 bytes per input byte. */
static size_t fold_text(alm_str text, char *out)
{
    size_t count = 0;
    for (size_t offset = 0; offset < text.len;) {
        if ((unsigned char)text.ptr[offset] < 0x80)
            out[count++] = fold_byte(text.ptr[offset++]);
        else
            count += alm_utf8_put(alm_utf8_fold(alm_utf8_next(text, &offset)), out + count);
    }
    return count;
}

/* ------------------------------------------------------------------ matching */

static inline size_t like_char_bytes(alm_str text, size_t offset)
{
    size_t next = offset;
    if ((unsigned char)text.ptr[offset] < 0x80)
        return 1;
    (void)alm_utf8_next(text, &next);
    return next - offset;
}

/* When a text fails behind a %, only the last % has to be tried further on. */
static bool match_general(alm_str text, alm_str like)
{
    size_t t = 0, p = 0, back_t = 0, back_p = SIZE_MAX;
    while (t < text.len) {
        bool ok = false;
        if (p < like.len && like.ptr[p] == '%') {
            back_p = ++p;
            back_t = t;
            continue;
        }
        if (p < like.len && like.ptr[p] == '_') {
            t += like_char_bytes(text, t);
            p++;
            ok = true;
        } else if (p < like.len) {
            const size_t literal = like.ptr[p] == '\\' && p + 1 < like.len ? p + 1 : p;
            if (like.ptr[literal] == text.ptr[t]) {
                t++;
                p = literal + 1;
                ok = true;
            }
        }
        if (!ok) {
            if (back_p == SIZE_MAX)
                return false;
            back_t += like_char_bytes(text, back_t);
            t = back_t;
            p = back_p;
        }
    }
    while (p < like.len && like.ptr[p] == '%')
        p++;
    return p == like.len;
}

static inline bool like_match(const pattern *self, alm_str text)
{
    const size_t len = self->text.len;
    switch (self->shape) {
    case EQUALS:
        return text.len == len && memcmp(text.ptr, self->text.ptr, len) == 0;
    case PREFIX:
        return text.len >= len && memcmp(text.ptr, self->text.ptr, len) == 0;
    case SUFFIX:
        return text.len >= len && memcmp(text.ptr + text.len - len, self->text.ptr, len) == 0;
    case CONTAINS:
        return len == 0 ||
               (text.len >= len && memmem(text.ptr, text.len, self->text.ptr, len) != NULL);
    case GENERAL:
        return match_general(text, self->whole);
    case NEVER:
        break;
    }
    return false;
}

/* -------------------------------------------------------------- compilation */

/* The longest run of bytes of a pattern between its signs; `run` has room for all of it. */
static alm_str longest_piece(alm_str like, char *run)
{
    alm_str best = {run, 0};
    char *start = run, *end = run;
    for (size_t i = 0; i <= like.len; i++) {
        if (i == like.len || like.ptr[i] == '%' || like.ptr[i] == '_') {
            if ((size_t)(end - start) > best.len)
                best = (alm_str){start, (size_t)(end - start)};
            start = end;
            continue;
        }
        if (like.ptr[i] == '\\' && i + 1 < like.len)
            i++;
        *end++ = like.ptr[i];
    }
    return best;
}

/* Which signs stand where: % only at the ends makes a simple shape. */
static alm_status like_compile(alm_ctx *cx, alm_arena *arena, alm_str text, bool nocase,
                               pattern *out)
{
    *out = (pattern){.shape = NEVER, .nocase = nocase};
    if (text.ptr == NULL)
        return ALM_OK;
    char *whole = NULL, *plain = NULL;
    ALM_TRY(alm_arena_bytes(cx, arena, text.len * (nocase ? 4 : 1) + 1, &whole));
    size_t whole_len = text.len;
    if (nocase)
        whole_len = fold_text(text, whole);
    else
        memcpy(whole, text.ptr, text.len);
    ALM_TRY(alm_arena_bytes(cx, arena, whole_len + 1, &plain));

    size_t count = 0, i = 0;
    bool front = false, behind = false, simple = true;
    while (i < whole_len && whole[i] == '%') {
        front = true;
        i++;
    }
    for (; i < whole_len; i++) {
        if (whole[i] == '%') {
            behind = true;
            continue;
        }
        if (behind || whole[i] == '_') {
            simple = false;
            break;
        }
        if (whole[i] == '\\' && i + 1 < whole_len)
            i++;
        plain[count++] = whole[i];
    }
    out->whole = (alm_str){whole, whole_len};
    out->text = (alm_str){plain, count};
    if (!simple) {
        out->shape = GENERAL;
        out->piece = longest_piece(out->whole, plain);
    } else if (front) {
        out->shape = behind || count == 0 ? CONTAINS : SUFFIX;
    } else {
        out->shape = behind ? PREFIX : EQUALS;
    }
    return ALM_OK;
}

static alm_status like_bind_pattern(alm_ctx *cx, const alm_fn *fn, ALM_UNUSED int32_t pos,
                                    ALM_UNUSED uint32_t argc, alm_arg *args,
                                    ALM_UNUSED alm_type *result, void **data)
{
    if (args[1].value == NULL)
        return ALM_OK; /* compiled per row */
    pattern *self = NULL;
    alm_str text;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    ALM_TRY(alm_arg_text(cx, &args[1], &text));
    ALM_TRY(like_compile(cx, cx->arena, text, fn->name[0] == 'i', self));
    *data = self;
    return ALM_OK;
}

/* ------------------------------------------------------------------- kernels */

/* Prefixes of up to 4 bytes are decided in the view, without its text. */
static void short_prefix(const pattern *self, const alm_view *views, size_t n, uint8_t *out)
{
    uint32_t want = 0, mask = 0;
    memcpy(&want, self->text.ptr, self->text.len);
    memset(&mask, 0xff, self->text.len);
    for (size_t i = 0; i < n; i++) {
        uint32_t prefix;
        memcpy(&prefix, views[i].prefix, sizeof prefix);
        out[i] = (uint8_t)(((prefix & mask) == want) & (views[i].len >= self->text.len) &
                           (views[i].len != ALM_VIEW_NULL));
    }
}

/* Texts are folded into a buffer that grows with the longest. */
static alm_status match_folded(const alm_call *call, const pattern *self, const alm_vec *vec,
                               size_t n_rows, uint8_t *out)
{
    char *room = NULL;
    size_t cap = 0;
    const alm_view *views = vec->data;
    for (size_t i = 0; i < n_rows; i++) {
        out[i] = 0;
        if (alm_view_is_null(&views[i]))
            continue;
        const alm_str text = alm_view_str(&views[i], vec->heap);
        ALM_TRY(alm_text_work(call->cx, text.len));
        if (text.len * 4 + 1 > cap) {
            cap = text.len * 8 + 256;
            ALM_TRY(alm_arena_bytes(call->cx, call->arena, cap, &room));
        }
        out[i] = like_match(self, (alm_str){room, fold_text(text, room)});
    }
    return ALM_OK;
}

/* Of the rows that are set, those that match stay so. */
static alm_status match_found(const alm_call *call, const pattern *self, const alm_vec *vec,
                              size_t n_rows, uint8_t *out)
{
    const alm_view *views = vec->data;
    for (size_t i = 0; i < n_rows; i++) {
        if (out[i] == 0)
            continue;
        ALM_TRY(alm_text_work(call->cx, views[i].len));
        out[i] = like_match(self, alm_view_str(&views[i], vec->heap));
    }
    return ALM_OK;
}

static alm_status match_vector(const alm_call *call, const pattern *self, const alm_vec *vec,
                               size_t n_rows, uint8_t *out)
{
    if (self->shape == NEVER) {
        memset(out, 0, n_rows);
        return ALM_OK;
    }
    bool done = false;
    if (self->nocase && self->shape == CONTAINS)
        ALM_TRY(alm_search_views_nocase(call->cx, vec->data, vec->heap, n_rows, self->text, out,
                                        &done));
    if (done)
        return ALM_OK;
    if (self->nocase)
        return match_folded(call, self, vec, n_rows, out);
    const alm_view *views = vec->data;
    if (self->shape == PREFIX && self->text.len <= sizeof views->prefix) {
        short_prefix(self, views, n_rows, out);
        return ALM_OK;
    }
    if (self->shape == CONTAINS || (self->shape == GENERAL && self->piece.len > 1)) {
        ALM_TRY(alm_search_views(call->cx, views, vec->heap, n_rows,
                                 self->shape == CONTAINS ? self->text : self->piece, out));
        return self->shape == GENERAL ? match_found(call, self, vec, n_rows, out) : ALM_OK;
    }
    for (size_t i = 0; i < n_rows; i++)
        out[i] = !alm_view_is_null(&views[i]);
    return match_found(call, self, vec, n_rows, out);
}

static alm_status like(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(like, call, n_rows, args, out);
    uint8_t *results = out->data;
    if (call->data != NULL && (n_rows == 1 || !args[0].is_const))
        return match_vector(call, call->data, &args[0], n_rows, results);
    for (size_t i = 0; i < n_rows; i++) { /* the pattern changes from row to row */
        pattern self;
        alm_view text = ((const alm_view *)args[0].data)[args[0].is_const ? 0 : i];
        alm_vec one = args[0];
        one.data = &text;
        ALM_TRY(like_compile(call->cx, call->arena, alm_vec_text(&args[1], i),
                             call->fn->name[0] == 'i', &self));
        ALM_TRY(match_vector(call, &self, &one, 1, &results[i]));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------- starts_with */

static alm_status starts_with(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(starts_with, call, n_rows, args, out);
    uint8_t *results = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = alm_vec_text(&args[0], i), start = alm_vec_text(&args[1], i);
        results[i] = text.ptr != NULL && start.ptr != NULL && text.len >= start.len &&
                     memcmp(text.ptr, start.ptr, start.len) == 0;
    }
    return ALM_OK;
}

#define OP(op, example_)                                                                           \
    {.name = op,                                                                                   \
     .signature = "(TEXT, TEXT) BOOLEAN",                                                          \
     .flags = ALM_FN_INTERNAL | ALM_FN_SYMBOLS | ALM_FN_NULL_OUT,                                  \
     .bind = like_bind_pattern,                                                                    \
     .kernel = like,                                                                               \
     .doc = "Does the text match the pattern (% any, _ one character)?",                           \
     .example = example_,                                                                          \
     .since = "0.1"}

static const alm_fn ROWS[] = {
    OP("like", "'BTC-USD' like 'BTC%'"),
    OP("ilike", "'BTC-USD' ilike 'btc%'"),
    {.name = "starts_with",
     .signature = "(TEXT, TEXT) BOOLEAN",
     .flags = ALM_FN_SYMBOLS | ALM_FN_NULL_OUT,
     .kernel = starts_with,
     .doc = "Does the first text start with the second?",
     .example = "starts_with('BTC-USD', 'BTC')",
     .since = "0.1"},
};
ALM_FN_TABLE(like, ROWS);
