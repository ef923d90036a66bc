/*
 * format.c - format(): a text with the arguments put in, as PostgreSQL does it.
 *
 * Pattern     %s the argument as text, %I as a name, %L as a literal, %% a percent sign; %2$s takes the
 *             second argument, and those without a number go on behind it. No widths.
 * Null rule   A null pattern gives null. A null argument is nothing for %s, NULL for %L, and refused
 *             for %I.
 * Types       What is not text is cast to STRING before.
 */
#include "func/value/by_row.h"
#include "func/value/quote.h"
#include "func/value/tables.h"
#include "func/value/text_out.h"

typedef struct pattern {
    alm_str left;
    uint32_t next; /* argument that comes next; 0 is the pattern */
} pattern;

typedef struct piece {
    alm_str text; /* as it stands, where kind is 0 */
    char kind;    /* s, I, L */
    uint32_t arg;
} piece;

static alm_status bind_format(ALM_UNUSED alm_ctx *cx, ALM_UNUSED const alm_fn *fn,
                              ALM_UNUSED int32_t pos, uint32_t argc, alm_arg *args,
                              ALM_UNUSED alm_type *result, ALM_UNUSED void **data)
{
    for (uint32_t i = 0; i < argc; i++)
        args[i].type = ALM_TY(STRING);
    return ALM_OK;
}

/* Digits and a dollar sign name the argument. */
static void scalar_format_take_number(pattern *self)
{
    uint32_t number = 0;
    size_t i = 0;
    for (; i < self->left.len && i < 4 && self->left.ptr[i] >= '0' && self->left.ptr[i] <= '9'; i++)
        number = number * 10 + (uint32_t)(self->left.ptr[i] - '0');
    if (i == 0 || i == self->left.len || self->left.ptr[i] != '$')
        return;
    self->next = number;
    self->left = (alm_str){self->left.ptr + i + 1, self->left.len - i - 1};
}

static alm_status scalar_format_next_piece(const alm_call *call, pattern *self, piece *out)
{
    const char *percent = memchr(self->left.ptr, '%', self->left.len);
    const size_t plain = percent == NULL ? self->left.len : (size_t)(percent - self->left.ptr);
    *out = (piece){.text = {self->left.ptr, plain}};
    self->left = (alm_str){self->left.ptr + plain, self->left.len - plain};
    if (plain > 0)
        return ALM_OK;
    self->left = (alm_str){self->left.ptr + 1, self->left.len - 1};
    scalar_format_take_number(self);
    const char kind = self->left.len == 0 ? 0 : self->left.ptr[0];
    if (kind != '%' && kind != 's' && kind != 'I' && kind != 'L')
        return alm_fail(call->cx, ALM_E_ARG, call->pos,
                        "format: %%s, %%I, %%L or %%%% expected in the pattern");
    out->text = (alm_str){self->left.ptr, 1};
    self->left = (alm_str){self->left.ptr + 1, self->left.len - 1};
    if (kind == '%')
        return ALM_OK;
    out->kind = kind;
    out->arg = self->next++;
    if (out->arg == 0 || out->arg >= call->argc)
        return alm_fail(call->cx, ALM_E_ARG, call->pos,
                        "format: too few arguments for the pattern");
    return ALM_OK;
}

/* Bytes that the piece takes, at the most. */
static size_t scalar_format_room_for(const piece *one, alm_str arg)
{
    return one->kind == 0 ? one->text.len : 2 * arg.len + sizeof "NULL";
}

static alm_status put_piece(const alm_call *call, const piece *one, alm_str arg, char *dest,
                            size_t *len)
{
    const alm_str text = one->kind == 0 ? one->text : arg;
    if (text.ptr == NULL && one->kind == 'I')
        return alm_fail(call->cx, ALM_E_VALUE, call->pos,
                        "null values cannot be formatted as an SQL identifier");
    if (one->kind == 'L' && text.ptr != NULL)
        *len += alm_quote(text, '\'', dest + *len);
    else if (one->kind == 'I' && !alm_name_is_plain(text))
        *len += alm_quote(text, '"', dest + *len);
    else {
        const alm_str shown = one->kind == 'L' ? ALM_STR("NULL") : text;
        if (shown.len > 0)
            memcpy(dest + *len, shown.ptr, shown.len);
        *len += shown.len;
    }
    return ALM_OK;
}

static alm_str arg_at(const alm_vec *args, uint32_t k, size_t i)
{
    return k == 0 ? (alm_str){0} : alm_vec_text(&args[k], args[k].is_const ? 0 : i);
}

/* Once for the room, once to write. */
static alm_status format_one(const alm_call *call, alm_text_out *writer, alm_str text,
                             const alm_vec *args, size_t i, alm_view *out)
{
    size_t bytes = 0, len = 0;
    piece one;
    char *dest = NULL;
    for (pattern self = {text, 1}; self.left.len > 0;) {
        ALM_TRY(scalar_format_next_piece(call, &self, &one));
        bytes += scalar_format_room_for(&one, arg_at(args, one.arg, i));
    }
    ALM_TRY(alm_text_room(writer, bytes, &dest));
    for (pattern self = {text, 1}; self.left.len > 0;) {
        ALM_TRY(scalar_format_next_piece(call, &self, &one));
        ALM_TRY(put_piece(call, &one, arg_at(args, one.arg, i), dest, &len));
    }
    *out = alm_text_take(writer, len);
    return ALM_OK;
}

static alm_status format(alm_call *call, size_t n_rows, const alm_vec *args, alm_vec *out)
{
    alm_text_out writer = alm_text_out_of(call);
    alm_view *views = out->data;
    for (size_t i = 0; i < n_rows; i++) {
        const alm_str text = alm_vec_text(&args[0], args[0].is_const ? 0 : i);
        views[i] = alm_view_null();
        if (text.ptr == NULL)
            continue;
        const alm_status status = format_one(call, &writer, text, args, i, &views[i]);
        /* a pattern that is none, or a null that is to be a name */
        if (!alm_row_is_null(call, status,
                             alm_by_row(args, 0, status == ALM_E_VALUE ? call->argc : 1)))
            ALM_TRY(status);
    }
    return ALM_OK;
}

static const alm_fn ROWS[] = {
    {.name = "format",
     .signature = "(ANY, ANY...) STRING",
     .bind = bind_format,
     .kernel = format,
     .doc = "The text with the arguments put in: %s as text, %I as a name, %L as a literal, %% a "
            "percent sign. A null is nothing for %s and NULL for %L.",
     .example = "format('%s %I %L', 7, 'a b', 'it''s')",
     .since = "0.1"},
};
ALM_FN_TABLE(format, ROWS);
