/*
 * scalar_regex.c - ~, !~, regexp_replace and glob, by PCRE2.
 *
 * Prefilter   Bytes that every match must contain, and those it must end with, are read off the pattern
 *             where it is plain (regex_literal.c); texts without them are not given to the library.
 *
 * Syntax      Perl's, which covers what users of the reference write. Found anywhere in the text.
 * Null rule   Null text or pattern gives false for ~ and true for !~; null for regexp_replace.
 * Safety      Compiled once, just in time where the machine can; matching has a limit on steps and
 *             on memory, so that a hostile pattern ends in an error instead of an hour.
 * Ownership   The compiled pattern is freed with the query arena. Match data are per batch.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "func/args.h"
#include "func/dict.h"
#include "func/regex_literal.h"
#include "func/search.h"
#include "func/tables.h"
#include "func/text_out.h"

enum { MATCH_LIMIT = 1000000, DEPTH_LIMIT = 2000, HEAP_LIMIT_KIB = 4096 };

typedef struct regex {
    pcre2_code *code; /* NULL: the pattern is null */
    pcre2_match_context *limits;
    alm_str replacement; /* of regexp_replace */
    alm_regex_literals must;
} regex;

static void regex_free(void *arg)
{
    regex *r = arg;
    pcre2_match_context_free(r->limits);
    pcre2_code_free(r->code);
}

static alm_status compile(alm_ctx *cx, alm_str pattern, int32_t pos, regex **out)
{
    regex *r = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &r));
    *out = r;
    if (pattern.ptr == NULL)
        return ALM_OK;
    ALM_TRY(alm_arena_defer(cx, cx->arena, regex_free, r));
    int code = 0;
    PCRE2_SIZE at = 0;
    r->code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len,
                            PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY |
                                PCRE2_NEVER_BACKSLASH_C,
                            &code, &at, NULL);
    r->limits = pcre2_match_context_create(NULL);
    if (r->code == NULL) {
        PCRE2_UCHAR message[160] = "";
        (void)pcre2_get_error_message(code, message, sizeof message);
        return alm_fail(cx, ALM_E_ARG, pos, "%s near index %zu of '%.*s'", (const char *)message,
                        (size_t)at, (int)ALM_MIN(pattern.len, (size_t)200), pattern.ptr);
    }
    if (r->limits == NULL)
        return alm_fail(cx, ALM_E_MEMORY, pos, "no memory for a regular expression");
    (void)pcre2_set_match_limit(r->limits, MATCH_LIMIT);
    (void)pcre2_set_depth_limit(r->limits, DEPTH_LIMIT);
    (void)pcre2_set_heap_limit(r->limits, HEAP_LIMIT_KIB);
    (void)pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE); /* refused: the interpreter does it */
    return alm_regex_literals_of(cx, pattern, &r->must);
}

static alm_status bind_pattern(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                               uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                               void **data)
{
    if (args[1].value == NULL)
        return ALM_OK; /* only described */
    alm_str pattern;
    regex *r = NULL;
    ALM_TRY(alm_arg_text(cx, &args[1], &pattern));
    ALM_TRY(compile(cx, pattern, args[1].pos + 1, &r)); /* behind the quote */
    if (argc == 3 && args[2].value != NULL)
        ALM_TRY(alm_arg_text(cx, &args[2], &r->replacement));
    *data = r;
    return ALM_OK;
}

/* abc*, a?c, [a-z], [!a-z]: the whole text, as an expression. */
static alm_status regex_of_glob(alm_ctx *cx, alm_str glob, alm_str *out)
{
    enum { GROWTH = 2, FRAME = 16 };
    char *p = NULL;
    size_t len = 0;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, glob.len * GROWTH + FRAME, &p));
    memcpy(p, "(?s)\\A", 6);
    len = 6;
    for (size_t i = 0; i < glob.len; i++) {
        const char c = glob.ptr[i];
        const char *end = c == '[' && i + 2 < glob.len /* ] may be the first of the set */
                              ? memchr(glob.ptr + i + 2, ']', glob.len - i - 2)
                              : NULL;
        if (end != NULL) {
            const size_t set = (size_t)(end - glob.ptr) - i + 1;
            memcpy(p + len, glob.ptr + i, set);
            if (glob.ptr[i + 1] == '!')
                p[len + 1] = '^';
            len += set;
            i += set - 1;
        } else if (c == '*' || c == '?') {
            p[len++] = '.';
            if (c == '*')
                p[len++] = '*';
        } else {
            if (strchr("\\^$.|()[]{}+", c) != NULL && c != '\0')
                p[len++] = '\\';
            p[len++] = c;
        }
    }
    memcpy(p + len, "\\z", 2);
    *out = (alm_str){p, len + 2};
    return ALM_OK;
}

static alm_status bind_glob(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                            ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                            void **data)
{
    if (args[1].value == NULL)
        return ALM_OK; /* only described */
    alm_str glob;
    regex *r = NULL;
    ALM_TRY(alm_arg_text(cx, &args[1], &glob));
    if (glob.ptr != NULL)
        ALM_TRY(regex_of_glob(cx, glob, &glob));
    ALM_TRY(compile(cx, glob, args[1].pos, &r));
    *data = r;
    return ALM_OK;
}

static alm_status match_failed(const alm_call *call, int code)
{
    PCRE2_UCHAR message[160] = "";
    (void)pcre2_get_error_message(code, message, sizeof message);
    return alm_fail(call->cx, ALM_E_LIMIT, call->pos, "regular expression gave up: %s",
                    (const char *)message);
}

/* ------------------------------------------------------------------ matching */

/* o[i] = 1 where text i has what every match must have; 0 for null. */
static void find_candidates(const regex *r, const alm_vec *v, size_t n, uint8_t *o)
{
    const alm_view *views = v->data;
    const alm_str end = r->must.end;
    if (v->is_const)
        memset(o, !alm_view_is_null(&views[0]), n);
    else
        alm_search_views(views, v->heap, n, r->must.inside, o);
    if (v->is_const || end.len == 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (o[i] != 0) {
            const alm_str text = alm_view_str(&views[i], v->heap);
            o[i] =
                text.len >= end.len && memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0;
        }
}

static alm_status match_all(const alm_call *call, const alm_vec *v, size_t n, uint8_t differ,
                            uint8_t *o)
{
    const regex *r = call->data;
    if (r == NULL || r->code == NULL) {
        memset(o, differ, n);
        return ALM_OK;
    }
    pcre2_match_data *found = pcre2_match_data_create(1, NULL);
    if (found == NULL)
        return alm_fail(call->cx, ALM_E_MEMORY, call->pos, "no memory for a regular expression");
    alm_status st = ALM_OK;
    const alm_view *views = v->data;
    find_candidates(r, v, n, o);
    for (size_t i = 0; i < n && st == ALM_OK; i++) {
        const bool candidate = o[i] != 0;
        o[i] = differ;
        if (!candidate)
            continue;
        const alm_str text = alm_view_str(&views[v->is_const ? 0 : i], v->heap);
        const int rc = pcre2_match(r->code, (PCRE2_SPTR)text.ptr, text.len, 0, PCRE2_NO_UTF_CHECK,
                                   found, r->limits);
        if (rc >= 0)
            o[i] = !differ;
        else if (rc != PCRE2_ERROR_NOMATCH)
            st = match_failed(call, rc);
    }
    pcre2_match_data_free(found);
    return st;
}

static alm_status matches(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(matches, call, n, args, out);
    return match_all(call, &args[0], n, 0, out->data);
}

static alm_status matches_not(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(matches_not, call, n, args, out);
    return match_all(call, &args[0], n, 1, out->data);
}

/* ------------------------------------------------------------------ replacing */

/* All matches of one text; the result is cut from the writer's room, which grows as needed. */
static alm_status replace_one(const alm_call *call, const regex *r, pcre2_match_data *found,
                              alm_str text, alm_text_out *w, alm_view *out)
{
    size_t room = text.len * 2 + 64;
    for (int tries = 0; tries < 2; tries++) {
        char *p;
        ALM_TRY(alm_text_room(w, room, &p));
        PCRE2_SIZE len = room;
        const int rc =
            pcre2_substitute(r->code, (PCRE2_SPTR)text.ptr, text.len, 0,
                             PCRE2_NO_UTF_CHECK | PCRE2_SUBSTITUTE_GLOBAL |
                                 PCRE2_SUBSTITUTE_OVERFLOW_LENGTH | PCRE2_SUBSTITUTE_UNSET_EMPTY,
                             found, r->limits, (PCRE2_SPTR)r->replacement.ptr, r->replacement.len,
                             (PCRE2_UCHAR *)p, &len);
        if (rc >= 0) {
            *out = alm_text_take(w, len);
            return ALM_OK;
        }
        if (rc != PCRE2_ERROR_NOMEMORY)
            return match_failed(call, rc);
        room = len + 1;
    }
    return match_failed(call, PCRE2_ERROR_NOMEMORY);
}

static alm_status regexp_replace(alm_call *call, size_t n, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(regexp_replace, call, n, args, out);
    const regex *r = call->data;
    const alm_view *views = args[0].data;
    alm_view *o = out->data;
    alm_text_out w = alm_text_out_of(call);
    const bool null = r == NULL || r->code == NULL || r->replacement.ptr == NULL;
    pcre2_match_data *found = null ? NULL : pcre2_match_data_create_from_pattern(r->code, NULL);
    if (!null && found == NULL)
        return alm_fail(call->cx, ALM_E_MEMORY, call->pos, "no memory for a regular expression");
    alm_status st = ALM_OK;
    for (size_t i = 0; i < n && st == ALM_OK; i++) {
        const alm_view *view = &views[args[0].is_const ? 0 : i];
        o[i] = alm_view_null();
        if (found != NULL && !alm_view_is_null(view))
            st = replace_one(call, r, found, alm_view_str(view, args[0].heap), &w, &o[i]);
    }
    pcre2_match_data_free(found);
    return st;
}

/* -------------------------------------------------------------------- rows */

static const alm_fn ROWS[] = {
    {.name = "~",
     .signature = "(TEXT, TEXT const) BOOLEAN",
     .flags = ALM_FN_INTERNAL | ALM_FN_SYMBOLS | ALM_FN_NULL_OUT,
     .bind = bind_pattern,
     .kernel = matches,
     .doc = "Does the regular expression match anywhere in the text?",
     .example = "'BTC-USD' ~ '^BTC'",
     .since = "0.1"},
    {.name = "!~",
     .signature = "(TEXT, TEXT const) BOOLEAN",
     .flags = ALM_FN_INTERNAL | ALM_FN_SYMBOLS,
     .bind = bind_pattern,
     .kernel = matches_not,
     .doc = "Does the regular expression match nowhere in the text?",
     .example = "'BTC-USD' !~ '^BTC'",
     .since = "0.1"},
    {.name = "glob",
     .signature = "(TEXT, TEXT const) BOOLEAN",
     .flags = ALM_FN_SYMBOLS | ALM_FN_NULL_OUT,
     .bind = bind_glob,
     .kernel = matches,
     .doc =
         "Has the whole text this form? * stands for any characters, ? for one, [a-c] for one of a "
         "set, [!a-c] for one outside of it.",
     .example = "glob('BTC-USD', 'BTC*')",
     .since = "0.1"},
    {.name = "regexp_replace",
     .signature = "(TEXT, TEXT const, TEXT const) STRING",
     .flags = ALM_FN_SYMBOLS | ALM_FN_NULL_OUT | ALM_FN_WAITS,
     .bind = bind_pattern,
     .kernel = regexp_replace,
     .doc = "Every match replaced; $1 stands for the first group.",
     .example = "regexp_replace('abc123', '[0-9]+', '#')",
     .since = "0.1"},
};
ALM_FN_TABLE(regex, ROWS);
