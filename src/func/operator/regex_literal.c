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

static void end_run(walk *self)
{
    if (self->len > self->best.inside.len)
        self->best.inside = (alm_str){self->run, self->len};
    self->run += self->len;
    self->len = self->last = 0;
}

static bool regex_literal_peek(const walk *self, char byte)
{
    return self->at < self->in.len && self->in.ptr[self->at] == byte;
}

/* Behind a class or a group that starts at `offset`; SIZE_MAX: it is not plain. */
static size_t skip_class(const walk *self, size_t offset)
{
    offset++;
    if (offset < self->in.len && self->in.ptr[offset] == '^')
        offset++;
    if (offset < self->in.len && self->in.ptr[offset] == ']')
        offset++;
    for (; offset < self->in.len && self->in.ptr[offset] != ']'; offset++) {
        if (self->in.ptr[offset] == '[') /* [:alpha:] and the like */
            return SIZE_MAX;
        if (self->in.ptr[offset] == '\\')
            offset++;
    }
    return offset < self->in.len ? offset + 1 : SIZE_MAX;
}

static size_t skip_group(const walk *self, size_t offset)
{
    uint32_t depth = 0;
    while (offset < self->in.len) {
        const char byte = self->in.ptr[offset];
        if (byte == '[') {
            offset = skip_class(self, offset);
            if (offset == SIZE_MAX)
                return SIZE_MAX;
            continue;
        }
        if (byte == '\\')
            offset++;
        else if (byte == '(' && offset + 1 < self->in.len && self->in.ptr[offset + 1] == '?')
            return SIZE_MAX; /* options, assertions */
        else if (byte == '(')
            depth++;
        else if (byte == ')' && --depth == 0)
            return offset + 1;
        offset++;
    }
    return SIZE_MAX;
}

static void add_char(walk *self, size_t bytes)
{
    self->last = self->len;
    memcpy(self->run + self->len, self->in.ptr + self->at, bytes);
    self->len += bytes;
    self->at += bytes;
}

static size_t regex_literal_char_bytes(const walk *self)
{
    size_t n = 1;
    while (self->at + n < self->in.len &&
           ((unsigned char)self->in.ptr[self->at + n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* A repeat behind the last character, if there is one. */
static void take_repeat(walk *self)
{
    if (regex_literal_peek(self, '*') || regex_literal_peek(self, '?') ||
        regex_literal_peek(self, '{')) {
        self->len = self->last;
        end_run(self);
        if (regex_literal_peek(self, '{'))
            while (self->at < self->in.len && !regex_literal_peek(self, '}'))
                self->at++;
        self->at++;
    } else if (regex_literal_peek(self, '+')) {
        end_run(self);
        self->at++;
    } else {
        return;
    }
    if (regex_literal_peek(self, '?') || regex_literal_peek(self, '+')) /* lazy, possessive */
        self->at++;
}

/* One step; false: not plain. */
static bool regex_literal_step(walk *self)
{
    const char byte = self->in.ptr[self->at];
    if (byte == '|')
        return false;
    if (byte == '(' || byte == '[') {
        end_run(self);
        self->at = byte == '(' ? skip_group(self, self->at) : skip_class(self, self->at);
        if (self->at == SIZE_MAX)
            return false;
    } else if (byte == '.' || byte == '^') {
        end_run(self);
        self->at++;
    } else if (byte == '$') {
        if (self->at + 1 == self->in.len)
            self->best.end = (alm_str){self->run, self->len};
        end_run(self);
        self->at++;
    } else if (byte == '\\') {
        self->at++;
        if (self->at >= self->in.len)
            return false;
        const unsigned char e = (unsigned char)self->in.ptr[self->at];
        const bool letter =
            (e >= 'a' && e <= 'z') || (e >= 'A' && e <= 'Z') || (e >= '0' && e <= '9');
        if (e >= 0x80 || (letter && strchr("dDwWsSbBAzZ", e) == NULL))
            return false; /* hexadecimal digits, properties, quotations, references ... */
        if (letter) {
            end_run(self);
            self->at++;
        } else {
            add_char(self, 1);
        }
    } else {
        add_char(self, regex_literal_char_bytes(self));
    }
    take_repeat(self);
    return true;
}

alm_status alm_regex_literals_of(alm_ctx *cx, alm_str pattern, alm_regex_literals *out)
{
    walk self = {.in = pattern};
    *out = (alm_regex_literals){0};
    ALM_TRY(alm_arena_bytes(cx, cx->arena, pattern.len + 1, &self.run));
    while (self.at < pattern.len)
        if (!regex_literal_step(&self))
            return ALM_OK;
    end_run(&self);
    *out = self.best;
    return ALM_OK;
}
