/*
 * regex.c - ~, !~, regexp_replace and glob, by PCRE2.
 *
 * Prefilter   Bytes that every match must contain, and those it must end with, are read off the pattern
 *             where it is plain (regex_literal.c); texts without them are not given to the library.
 *
 * Syntax      Perl's, which covers what users of the reference write. Found anywhere in the text.
 * Null rule   Null text or pattern gives false for ~ and true for !~; null for regexp_replace.
 * Safety      Compiled once, just in time where the machine can; matching has a limit on steps and
 *             on memory, so that a hostile pattern ends in an error instead of an hour. These count for each place where a
 *             match may begin, so in long texts they are tried window by window, with a look at cancel and the time limit.
 * Ownership   The compiled pattern is freed with the query arena. Match data are per batch.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "func/operator/regex_literal.h"
#include "func/operator/search.h"
#include "func/value/args.h"
#include "func/value/dict.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

enum { MATCH_LIMIT = 1000000, DEPTH_LIMIT = 2000, HEAP_LIMIT_KIB = 4096 };
enum {
    WINDOW_BYTES = 16384,
    MATCH_WORK = 16384
}; /* of a text; as many as a match may cost (alm_text_work) */

typedef struct regex {
    pcre2_code *code; /* NULL: the pattern is null */
    pcre2_match_context *limits;
    alm_str replacement; /* of regexp_replace */
    alm_regex_literals must;
} regex;

static void regex_free(void *arg)
{
    regex *self = arg;
    pcre2_match_context_free(self->limits);
    pcre2_code_free(self->code);
}

static alm_status regex_compile(alm_ctx *cx, alm_str pattern, int32_t pos, regex **out)
{
    regex *self = NULL;
    ALM_TRY(ALM_NEW(cx, cx->arena, &self));
    *out = self;
    if (pattern.ptr == NULL)
        return ALM_OK;
    ALM_TRY(alm_arena_defer(cx, cx->arena, regex_free, self));
    int code = 0;
    PCRE2_SIZE offset = 0;
    self->code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len,
                               PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY |
                                   PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT,
                               &code, &offset, NULL);
    self->limits = pcre2_match_context_create(NULL);
    if (self->code == NULL) {
        PCRE2_UCHAR message[160] = "";
        (void)pcre2_get_error_message(code, message, sizeof message);
        return alm_fail(cx, ALM_E_ARG, pos, "%s near index %zu of '%.*s'", (const char *)message,
                        (size_t)offset, (int)ALM_MIN(pattern.len, (size_t)200), pattern.ptr);
    }
    if (self->limits == NULL)
        return alm_fail(cx, ALM_E_MEMORY, pos, "no memory for a regular expression");
    (void)pcre2_set_match_limit(self->limits, MATCH_LIMIT);
    (void)pcre2_set_depth_limit(self->limits, DEPTH_LIMIT);
    (void)pcre2_set_heap_limit(self->limits, HEAP_LIMIT_KIB);
    (void)pcre2_jit_compile(self->code, PCRE2_JIT_COMPLETE); /* refused: the interpreter does it */
    return alm_regex_literals_of(cx, pattern, &self->must);
}

static alm_status regex_bind_pattern(alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                                     ALM_UNUSED int32_t pos, uint32_t argc, alm_arg *args,
                                     ALM_UNUSED alm_type *result, void **data)
{
    if (args[1].value == NULL)
        return ALM_OK; /* only described */
    alm_str pattern;
    regex *self = NULL;
    ALM_TRY(alm_arg_text(cx, &args[1], &pattern));
    ALM_TRY(regex_compile(cx, pattern, args[1].pos + 1, &self)); /* behind the quote */
    if (argc == 3 && args[2].value != NULL)
        ALM_TRY(alm_arg_text(cx, &args[2], &self->replacement));
    *data = self;
    return ALM_OK;
}

/* abc*, a?byte, [a-z], [!a-z]: the whole text, as an expression. */
static alm_status regex_of_glob(alm_ctx *cx, alm_str glob, alm_str *out)
{
    enum { GROWTH = 2, FRAME = 16 };
    char *ptr = NULL;
    size_t len = 0;
    ALM_TRY(alm_arena_bytes(cx, cx->arena, glob.len * GROWTH + FRAME, &ptr));
    memcpy(ptr, "(?s)\\A", 6);
    len = 6;
    for (size_t i = 0; i < glob.len; i++) {
        const char byte = glob.ptr[i];
        const char *end = byte == '[' && i + 2 < glob.len /* ] may be the first of the set */
                              ? memchr(glob.ptr + i + 2, ']', glob.len - i - 2)
                              : NULL;
        if (end != NULL) {
            const size_t set = (size_t)(end - glob.ptr) - i + 1;
            memcpy(ptr + len, glob.ptr + i, set);
            if (glob.ptr[i + 1] == '!')
                ptr[len + 1] = '^';
            len += set;
            i += set - 1;
        } else if (byte == '*' || byte == '?') {
            ptr[len++] = '.';
            if (byte == '*')
                ptr[len++] = '*';
        } else {
            if (strchr("\\^$.|()[]{}+", byte) != NULL && byte != '\0')
                ptr[len++] = '\\';
            ptr[len++] = byte;
        }
    }
    memcpy(ptr + len, "\\z", 2);
    *out = (alm_str){ptr, len + 2};
    return ALM_OK;
}

static alm_status bind_glob(alm_ctx *cx, ALM_UNUSED const alm_fn *fn, ALM_UNUSED int32_t pos,
                            ALM_UNUSED uint32_t argc, alm_arg *args, ALM_UNUSED alm_type *result,
                            void **data)
{
    if (args[1].value == NULL)
        return ALM_OK; /* only described */
    alm_str glob;
    regex *self = NULL;
    ALM_TRY(alm_arg_text(cx, &args[1], &glob));
    if (glob.ptr != NULL)
        ALM_TRY(regex_of_glob(cx, glob, &glob));
    ALM_TRY(regex_compile(cx, glob, args[1].pos, &self));
    *data = self;
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

/* One search. The limits of a pattern are shared by threads; a window is a search's own. */
typedef struct search {
    alm_ctx *cx;
    const regex *r;
    pcre2_match_data *found;
    pcre2_match_context *window; /* NULL: no text was longer than one */
} search;

static alm_status search_new(const alm_call *call, bool groups, search *out)
{
    *out = (search){.cx = call->cx, .r = call->data};
    out->found = groups ? pcre2_match_data_create_from_pattern(out->r->code, NULL)
                        : pcre2_match_data_create(1, NULL);
    return out->found != NULL
               ? ALM_OK
               : alm_fail(call->cx, ALM_E_MEMORY, call->pos, "no memory for a regular expression");
}

static void search_free(search *self)
{
    pcre2_match_data_free(self->found);
    pcre2_match_context_free(self->window);
}

/* A match at or behind `from`; *code as pcre2_match gives it. */
static alm_status search_from(search *self, alm_str text, size_t from, uint32_t options, int *code)
{
    options |= PCRE2_NO_UTF_CHECK;
    ALM_TRY(alm_text_work(self->cx, MATCH_WORK));
    if (text.len - from <= WINDOW_BYTES) {
        *code = pcre2_match(self->r->code, (PCRE2_SPTR)text.ptr, text.len, from, options,
                            self->found, self->r->limits);
        return ALM_OK;
    }
    if (self->window == NULL)
        self->window = pcre2_match_context_copy(self->r->limits);
    if (self->window == NULL)
        return alm_fail(self->cx, ALM_E_MEMORY, -1, "no memory for a regular expression");
    *code = PCRE2_ERROR_NOMATCH;
    while (*code == PCRE2_ERROR_NOMATCH && from <= text.len) {
        size_t last = ALM_MIN(from + WINDOW_BYTES, text.len);
        while (last < text.len && ((uint8_t)text.ptr[last] & 0xc0) == 0x80)
            last++; /* the next window begins with a character */
        (void)pcre2_set_offset_limit(self->window, last);
        *code = pcre2_match(self->r->code, (PCRE2_SPTR)text.ptr, text.len, from, options,
                            self->found, self->window);
        if ((options & PCRE2_ANCHORED) != 0 || last == text.len)
            break;
        from = last;
        ALM_TRY(alm_check(self->cx));
    }
    return ALM_OK;
}

/* out[i] = 1 where text i has what every match must have; 0 for null. */
static alm_status find_candidates(alm_ctx *cx, const regex *self, const alm_vec *vec, size_t n_rows,
                                  uint8_t *out)
{
    const alm_view *views = vec->data;
    const alm_str end = self->must.end;
    if (vec->is_const)
        memset(out, !alm_view_is_null(&views[0]), n_rows);
    else
        ALM_TRY(alm_search_views(cx, views, vec->heap, n_rows, self->must.inside, out));
    if (vec->is_const || end.len == 0)
        return ALM_OK;
    for (size_t i = 0; i < n_rows; i++)
        if (out[i] != 0) {
            const alm_str text = alm_view_str(&views[i], vec->heap);
            out[i] =
                text.len >= end.len && memcmp(text.ptr + text.len - end.len, end.ptr, end.len) == 0;
        }
    return ALM_OK;
}

static alm_status match_all(const alm_call *call, const alm_vec *vec, size_t n_rows, uint8_t differ,
                            uint8_t *out)
{
    const regex *r = call->data;
    if (r == NULL || r->code == NULL) {
        memset(out, differ, n_rows);
        return ALM_OK;
    }
    search self;
    ALM_TRY(search_new(call, false, &self));
    const alm_view *views = vec->data;
    alm_status status = find_candidates(call->cx, r, vec, n_rows, out);
    for (size_t i = 0; i < n_rows && status == ALM_OK; i++) {
        const bool candidate = out[i] != 0;
        out[i] = differ;
        if (!candidate)
            continue;
        int code = 0;
        status =
            search_from(&self, alm_view_str(&views[vec->is_const ? 0 : i], vec->heap), 0, 0, &code);
        if (status == ALM_OK && code >= 0)
            out[i] = !differ;
        else if (status == ALM_OK && code != PCRE2_ERROR_NOMATCH)
            status = match_failed(call, code);
    }
    search_free(&self);
    return status;
}

static alm_status matches(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(matches, call, n_rows, args, out);
    return match_all(call, &args[0], n_rows, 0, out->data);
}

static alm_status matches_not(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(matches_not, call, n_rows, args, out);
    return match_all(call, &args[0], n_rows, 1, out->data);
}

/* ------------------------------------------------------------------ replacing */

/* All matches of one text; the result is cut from the writer's room, which grows as needed. */
static alm_status replace_short(const alm_call *call, const regex *self, pcre2_match_data *found,
                                alm_str text, alm_text_out *writer, alm_view *out)
{
    size_t room = text.len * 2 + 64;
    for (int tries = 0; tries < 2; tries++) {
        char *ptr;
        ALM_TRY(alm_text_room(writer, room, &ptr));
        PCRE2_SIZE len = room;
        const int code =
            pcre2_substitute(self->code, (PCRE2_SPTR)text.ptr, text.len, 0,
                             PCRE2_NO_UTF_CHECK | PCRE2_SUBSTITUTE_GLOBAL |
                                 PCRE2_SUBSTITUTE_OVERFLOW_LENGTH | PCRE2_SUBSTITUTE_UNSET_EMPTY,
                             found, self->limits, (PCRE2_SPTR)self->replacement.ptr,
                             self->replacement.len, (PCRE2_UCHAR *)ptr, &len);
        if (code >= 0) {
            *out = alm_text_take(writer, len);
            return ALM_OK;
        }
        if (code != PCRE2_ERROR_NOMEMORY)
            return match_failed(call, code);
        room = len + 1;
    }
    return match_failed(call, PCRE2_ERROR_NOMEMORY);
}

/* What stands for the match that was found last. */
static alm_status put_replacement(const alm_call *call, const search *self, alm_str text,
                                  alm_buf *to)
{
    const regex *r = self->r;
    size_t room = r->replacement.len * 2 + 64;
    for (int tries = 0; tries < 2; tries++) {
        ALM_TRY(alm_buf_reserve(call->cx, to, room));
        PCRE2_SIZE len = room;
        const int code = pcre2_substitute(
            r->code, (PCRE2_SPTR)text.ptr, text.len, 0,
            PCRE2_NO_UTF_CHECK | PCRE2_SUBSTITUTE_MATCHED | PCRE2_SUBSTITUTE_REPLACEMENT_ONLY |
                PCRE2_SUBSTITUTE_OVERFLOW_LENGTH | PCRE2_SUBSTITUTE_UNSET_EMPTY,
            self->found, r->limits, (PCRE2_SPTR)r->replacement.ptr, r->replacement.len,
            (PCRE2_UCHAR *)to->ptr + to->len, &len);
        if (code >= 0) {
            to->len += len;
            return ALM_OK;
        }
        if (code != PCRE2_ERROR_NOMEMORY)
            return match_failed(call, code);
        room = len + 1;
    }
    return match_failed(call, PCRE2_ERROR_NOMEMORY);
}

/* As pcre2_substitute does it: behind an empty match another one may begin at the same place that is not empty. */
static alm_status replace_into(const alm_call *call, search *self, alm_str text, alm_buf *to)
{
    size_t offset = 0, from = 0;
    uint32_t options = 0;
    while (from <= text.len) {
        int code = 0;
        ALM_TRY(search_from(self, text, from, options, &code));
        if (code == PCRE2_ERROR_NOMATCH && options == 0)
            break;
        if (code == PCRE2_ERROR_NOMATCH) { /* one character stays as it is */
            options = 0;
            for (from++; from < text.len && ((uint8_t)text.ptr[from] & 0xc0) == 0x80;)
                from++;
            continue;
        }
        if (code < 0)
            return match_failed(call, code);
        const size_t *place = pcre2_get_ovector_pointer(self->found);
        const size_t begin = place[0], end = place[1];
        if (begin < from || end < begin) /* \K in a lookaround: pcre2_substitute refuses it, too */
            return match_failed(call, PCRE2_ERROR_BADSUBSPATTERN);
        ALM_TRY(alm_buf_append(call->cx, to, text.ptr + offset, begin - offset));
        ALM_TRY(put_replacement(call, self, text, to));
        ALM_TRY(alm_text_bounded(call, to->len));
        offset = from = end;
        options = begin == end ? PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED : 0;
    }
    return alm_buf_append(call->cx, to, text.ptr + offset, text.len - offset);
}

static alm_status replace_long(const alm_call *call, search *self, alm_str text,
                               alm_text_out *writer, alm_view *out)
{
    alm_buf made;
    alm_buf_init(&made, call->cx->mem);
    alm_status status = replace_into(call, self, text, &made);
    if (status == ALM_OK)
        status = alm_text_copy(writer, (alm_str){made.len > 0 ? made.ptr : "", made.len}, out);
    alm_buf_deinit(&made);
    return status;
}

static alm_status regex_replace_one(const alm_call *call, search *self, alm_str text,
                                    alm_text_out *writer, alm_view *out)
{
    if (text.len > WINDOW_BYTES)
        return replace_long(call, self, text, writer, out);
    ALM_TRY(alm_text_work(call->cx, MATCH_WORK + text.len));
    return replace_short(call, self->r, self->found, text, writer, out);
}

static alm_status regexp_replace(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    ALM_OVER_DICT(regexp_replace, call, n_rows, args, out);
    const regex *r = call->data;
    const alm_view *views = args[0].data;
    alm_view *o = out->data;
    alm_text_out writer = alm_text_out_of(call);
    const bool null = r == NULL || r->code == NULL || r->replacement.ptr == NULL;
    search self = {0};
    alm_status status = null ? ALM_OK : search_new(call, true, &self);
    for (size_t i = 0; i < n_rows && status == ALM_OK; i++) {
        const alm_view *view = &views[args[0].is_const ? 0 : i];
        o[i] = alm_view_null();
        if (!null && !alm_view_is_null(view))
            status =
                regex_replace_one(call, &self, alm_view_str(view, args[0].heap), &writer, &o[i]);
    }
    search_free(&self);
    return status;
}

/* -------------------------------------------------------------------- rows */

static const alm_fn ROWS[] = {
    {.name = "~",
     .signature = "(TEXT, TEXT const) BOOLEAN",
     .flags = ALM_FN_INTERNAL | ALM_FN_SYMBOLS | ALM_FN_NULL_OUT,
     .bind = regex_bind_pattern,
     .kernel = matches,
     .doc = "Does the regular expression match anywhere in the text?",
     .example = "'BTC-USD' ~ '^BTC'",
     .since = "0.1"},
    {.name = "!~",
     .signature = "(TEXT, TEXT const) BOOLEAN",
     .flags = ALM_FN_INTERNAL | ALM_FN_SYMBOLS,
     .bind = regex_bind_pattern,
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
     .bind = regex_bind_pattern,
     .kernel = regexp_replace,
     .doc = "Every match replaced; $1 stands for the first group.",
     .example = "regexp_replace('abc123', '[0-9]+', '#')",
     .since = "0.1"},
};
ALM_FN_TABLE(regex, ROWS);
