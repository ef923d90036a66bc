/*
 * regex_literal.c - see regex_literal.h.
 *
 * A pattern is walked from left to right. Plain characters collect in a run; whatever else stands there
 * ends the run, and a repeat that allows zero times takes back its last character.
 */
#include "func/operator/regex_literal.h"

typedef struct walk {
    alm_str in;
    size_t at;
    char *run;        /* bytes of the run at hand, in a buffer as long as the pattern */
    size_t len, last; /* of the run; where its last character starts */
    alm_regex_literals best;
} walk;

static void end_run(walk *w)
{
    if (w->len > w->best.inside.len)
        w->best.inside = (alm_str){w->run, w->len};
    w->run += w->len;
    w->len = w->last = 0;
}

static bool peek(const walk *w, char c)
{
    return w->at < w->in.len && w->in.ptr[w->at] == c;
}

/* Behind a class or a group that starts at `at`; SIZE_MAX: it is not plain. */
static size_t skip_class(const walk *w, size_t at)
{
    at++;
    if (at < w->in.len && w->in.ptr[at] == '^')
        at++;
    if (at < w->in.len && w->in.ptr[at] == ']')
        at++;
    for (; at < w->in.len && w->in.ptr[at] != ']'; at++) {
        if (w->in.ptr[at] == '[') /* [:alpha:] and the like */
            return SIZE_MAX;
        if (w->in.ptr[at] == '\\')
            at++;
    }
    return at < w->in.len ? at + 1 : SIZE_MAX;
}

static size_t skip_group(const walk *w, size_t at)
{
    uint32_t depth = 0;
    while (at < w->in.len) {
        const char c = w->in.ptr[at];
        if (c == '[') {
            at = skip_class(w, at);
            if (at == SIZE_MAX)
                return SIZE_MAX;
            continue;
        }
        if (c == '\\')
            at++;
        else if (c == '(' && at + 1 < w->in.len && w->in.ptr[at + 1] == '?')
            return SIZE_MAX; /* options, assertions */
        else if (c == '(')
            depth++;
        else if (c == ')' && --depth == 0)
            return at + 1;
        at++;
    }
    return SIZE_MAX;
}

static void add_char(walk *w, size_t bytes)
{
    w->last = w->len;
    memcpy(w->run + w->len, w->in.ptr + w->at, bytes);
    w->len += bytes;
    w->at += bytes;
}

static size_t char_bytes(const walk *w)
{
    size_t n = 1;
    while (w->at + n < w->in.len && ((unsigned char)w->in.ptr[w->at + n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* A repeat behind the last character, if there is one. */
static void take_repeat(walk *w)
{
    if (peek(w, '*') || peek(w, '?') || peek(w, '{')) {
        w->len = w->last;
        end_run(w);
        if (peek(w, '{'))
            while (w->at < w->in.len && !peek(w, '}'))
                w->at++;
        w->at++;
    } else if (peek(w, '+')) {
        end_run(w);
        w->at++;
    } else {
        return;
    }
    if (peek(w, '?') || peek(w, '+')) /* lazy, possessive */
        w->at++;
}

/* One step; false: not plain. */
static bool step(walk *w)
{
    const char c = w->in.ptr[w->at];
    if (c == '|')
        return false;
    if (c == '(' || c == '[') {
        end_run(w);
        w->at = c == '(' ? skip_group(w, w->at) : skip_class(w, w->at);
        if (w->at == SIZE_MAX)
            return false;
    } else if (c == '.' || c == '^') {
        end_run(w);
        w->at++;
    } else if (c == '$') {
        if (w->at + 1 == w->in.len)
            w->best.end = (alm_str){w->run, w->len};
        end_run(w);
        w->at++;
    } else if (c == '\\') {
        w->at++;
        if (w->at >= w->in.len)
            return false;
        const unsigned char e = (unsigned char)w->in.ptr[w->at];
        const bool letter =
            (e >= 'a' && e <= 'z') || (e >= 'A' && e <= 'Z') || (e >= '0' && e <= '9');
        if (e >= 0x80 || (letter && strchr("dDwWsSbBAzZ", e) == NULL))
            return false; /* hexadecimal digits, properties, quotations, references ... */
        if (letter) {
            end_run(w);
            w->at++;
        } else {
            add_char(w, 1);
        }
    } else {
        add_char(w, char_bytes(w));
    }
    take_repeat(w);
    return true;
}

alm_status alm_regex_literals_of(alm_ctx *cx, alm_str pattern, alm_regex_literals *out)
{
    walk w = {.in = pattern};
    *out = (alm_regex_literals){0};
    ALM_TRY(alm_arena_bytes(cx, cx->arena, pattern.len + 1, &w.run));
    while (w.at < pattern.len)
        if (!step(&w))
            return ALM_OK;
    end_run(&w);
    *out = w.best;
    return ALM_OK;
}
