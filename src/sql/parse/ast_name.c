/*
 * ast_name.c - the text of an expression as the dialect writes it, and the column name made of it.
 *
 * Clients bind to these names, so they follow the reference to the letter: operators in lower case
 * with blanks around them, brackets only where precedence needs them, functions as the user wrote
 * them, `a is null` as `a = null`, cast(a as t) as a::t, `a || b` as concat(a, b), a CASE with an
 * operand as switch(...). A name that holds a dot is put in double quotes. At most 64 bytes, 63
 * with quotes; never a part of a character, never a blank at the end.
 */
#include "sql/parse/parse.h"

enum { NAME_BYTES_MAX = 64, TEXT_BYTES_MAX = 16 * 1024 };

/* Text under way. What goes over the limit is dropped: names are cut far below it. */
typedef struct sink {
    alm_ctx *cx;
    char *ptr;
    size_t len, cap, max;
} sink;

static alm_status put_bytes(sink *s, const char *ptr, size_t n)
{
    n = ALM_MIN(n, s->max - s->len);
    if (s->len + n > s->cap) {
        char *grown = NULL;
        const size_t cap = ALM_MAX(s->cap * 2, s->len + n);
        ALM_TRY(alm_arena_bytes(s->cx, s->cx->arena, cap, &grown));
        if (s->len > 0)
            (void)memcpy(grown, s->ptr, s->len);
        s->ptr = grown;
        s->cap = cap;
    }
    if (n > 0)
        (void)memcpy(s->ptr + s->len, ptr, n);
    s->len += n;
    return ALM_OK;
}

static alm_status put_str(sink *s, alm_str text)
{
    return put_bytes(s, text.ptr, text.len);
}
static alm_status put(sink *s, const char *text)
{
    return put_bytes(s, text, strlen(text));
}
static alm_status put_node(sink *s, const alm_ast *e);

/* ------------------------------------------------------------------ precedence */

/* Of an operator node; 0 for what never needs brackets. */
static uint32_t precedence(const alm_ast *e)
{
    if (e->kind == ALM_AST_BINARY || e->kind == ALM_AST_QUANTIFIED)
        return alm_str_eq(e->text, ALM_STR("||")) ? 0 : alm_op_precedence(e->text);
    if (e->kind == ALM_AST_IS_NULL)
        return ALM_PREC_EQUAL;
    if (e->kind == ALM_AST_UNARY)
        return alm_str_eq(e->text, ALM_STR("not")) ? ALM_PREC_NOT : ALM_PREC_SIGN;
    if ((e->kind == ALM_AST_IN || e->kind == ALM_AST_BETWEEN) && e->negated)
        return ALM_PREC_SET;
    return 0;
}

static alm_status put_operand(sink *s, const alm_ast *e, bool brackets)
{
    if (brackets)
        ALM_TRY(put(s, "("));
    ALM_TRY(put_node(s, e));
    return brackets ? put(s, ")") : ALM_OK;
}

static alm_status put_args(sink *s, alm_ast *const *arg, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (s->len >= s->max)
            break; /* nothing more can show */
        if (i > 0)
            ALM_TRY(put(s, ", "));
        ALM_TRY(put_node(s, arg[i]));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ kinds */

static bool is_concat(const alm_ast *e)
{
    return (e->kind == ALM_AST_BINARY && alm_str_eq(e->text, ALM_STR("||"))) ||
           (e->kind == ALM_AST_CALL && alm_str_ieq(e->text, ALM_STR("concat")) && e->n_args > 0);
}

/* a || b || concat(c, d) is one concat of all. */
static alm_status put_concat_args(sink *s, const alm_ast *e, bool *first)
{
    for (uint32_t i = 0; i < e->n_args; i++) {
        if (is_concat(e->arg[i])) {
            ALM_TRY(put_concat_args(s, e->arg[i], first));
            continue;
        }
        if (!*first)
            ALM_TRY(put(s, ", "));
        *first = false;
        ALM_TRY(put_node(s, e->arg[i]));
    }
    return ALM_OK;
}

static alm_status put_concat(sink *s, const alm_ast *e)
{
    bool first = true;
    ALM_TRY(put(s, "concat("));
    ALM_TRY(put_concat_args(s, e, &first));
    return put(s, ")");
}

static alm_status put_binary(sink *s, const alm_ast *e)
{
    if (is_concat(e))
        return put_concat(s, e);
    const uint32_t prec = precedence(e);
    const uint32_t right = precedence(e->arg[1]);
    const bool chain = e->arg[1]->balanced && alm_str_eq(e->arg[1]->text, e->text);
    ALM_TRY(put_operand(s, e->arg[0], precedence(e->arg[0]) > prec));
    ALM_TRY(put(s, " "));
    ALM_TRY(put_str(s, e->text));
    ALM_TRY(put(s, " "));
    /* signs bind tightest and show brackets of their own */
    return put_operand(s, e->arg[1], right >= prec && !chain);
}

static alm_status put_unary(sink *s, const alm_ast *e)
{
    ALM_TRY(put_str(s, e->text));
    return put_operand(s, e->arg[0], true);
}

static alm_status put_name(sink *s, const alm_ast *e)
{
    if (e->table.len > 0) {
        ALM_TRY(put_str(s, e->table));
        ALM_TRY(put(s, "."));
    }
    return put_str(s, e->text);
}

static alm_status put_call(sink *s, const alm_ast *e)
{
    if (e->raw.len > 0)
        return put_str(s, e->raw); /* current_user */
    if (e->n_args == 0 && alm_str_ieq(e->text, ALM_STR("current_user")))
        return put_str(s, e->text); /* with brackets or without: one column name for clients */
    if (e->table.len > 0) {
        ALM_TRY(put_str(s, e->table));
        ALM_TRY(put(s, "."));
    }
    if (e->distinct && alm_str_ieq(e->text, ALM_STR("count")))
        ALM_TRY(put(s, "count_distinct"));
    else if (e->distinct && alm_str_ieq(e->text, ALM_STR("string_agg")))
        ALM_TRY(put(s, "string_distinct_agg"));
    else
        ALM_TRY(put_str(s, e->text));
    ALM_TRY(put(s, "("));
    ALM_TRY(put_args(s, e->arg, e->n_args));
    return put(s, ")");
}

/* decimal(10,2) is written decimal_10_2, geohash(5c) geohash5c. */
static alm_status put_type(sink *s, alm_str type)
{
    const char *open = memchr(type.ptr, '(', type.len);
    if (open == NULL)
        return put_str(s, type);
    const bool decimal = type.len >= 7 && alm_str_ieq((alm_str){type.ptr, 7}, ALM_STR("decimal"));
    for (size_t i = 0; i < type.len; i++) {
        const char c = type.ptr[i];
        if (c == ' ' || c == ')' || (c == '(' && !decimal))
            continue;
        ALM_TRY(put_bytes(s, c == '(' || c == ',' ? "_" : type.ptr + i, 1));
    }
    return ALM_OK;
}

static alm_status put_cast(sink *s, const alm_ast *e)
{
    const alm_ast *arg = e->arg[0];
    const bool brackets = (precedence(arg) > 0 || arg->kind == ALM_AST_BETWEEN ||
                           (arg->kind == ALM_AST_CASE && arg->arg[0] == NULL));
    ALM_TRY(put_operand(s, arg, brackets));
    ALM_TRY(put(s, "::"));
    return put_type(s, e->type_name);
}

static alm_status put_case(sink *s, const alm_ast *e)
{
    if (e->arg[0] != NULL) {
        ALM_TRY(put(s, "switch("));
        ALM_TRY(put_args(s, e->arg, e->n_args));
        if (e->else_arg != NULL) {
            ALM_TRY(put(s, ", "));
            ALM_TRY(put_node(s, e->else_arg));
        }
        return put(s, ")");
    }
    ALM_TRY(put(s, "case"));
    for (uint32_t i = 1; i + 1 < e->n_args; i += 2) {
        ALM_TRY(put(s, " when "));
        ALM_TRY(put_node(s, e->arg[i]));
        ALM_TRY(put(s, " then "));
        ALM_TRY(put_node(s, e->arg[i + 1]));
    }
    if (e->else_arg != NULL) {
        ALM_TRY(put(s, " else "));
        ALM_TRY(put_node(s, e->else_arg));
    }
    return put(s, " end");
}

/* sym in 'A', sym in ('A', 'B'), qty between (1, 3), not(...) around when negated */
static alm_status put_set(sink *s, const alm_ast *e, const char *op)
{
    if (e->negated)
        ALM_TRY(put(s, "not("));
    ALM_TRY(put_node(s, e->arg[0]));
    ALM_TRY(put(s, " "));
    ALM_TRY(put(s, op));
    ALM_TRY(put(s, " "));
    if (e->select != NULL) {
        ALM_TRY(put(s, "(select)"));
    } else {
        const bool list = e->n_args > 2;
        ALM_TRY(put(s, list ? "(" : ""));
        ALM_TRY(put_args(s, e->arg + 1, e->n_args - 1));
        ALM_TRY(put(s, list ? ")" : ""));
    }
    return e->negated ? put(s, ")") : ALM_OK;
}

static alm_status put_index(sink *s, const alm_ast *e)
{
    if (e->n_args == 2) {
        ALM_TRY(put_node(s, e->arg[0]));
        ALM_TRY(put(s, "["));
        ALM_TRY(put_node(s, e->arg[1]));
        return put(s, "]");
    }
    ALM_TRY(put(s, "[]("));
    ALM_TRY(put_args(s, e->arg, e->n_args));
    return put(s, ")");
}

static alm_status put_slice(sink *s, const alm_ast *e)
{
    const alm_ast *lo = e->arg[0], *hi = e->arg[1];
    if (lo != NULL && hi != NULL) {
        ALM_TRY(put_node(s, lo));
        ALM_TRY(put(s, " : "));
        return put_node(s, hi);
    }
    ALM_TRY(put(s, ":("));
    if (lo != NULL || hi != NULL)
        ALM_TRY(put_node(s, lo != NULL ? lo : hi));
    return put(s, ")");
}

static alm_status put_node(sink *s, const alm_ast *e)
{
    if (s->len >= s->max)
        return ALM_OK;
    switch (e->kind) {
    case ALM_AST_NULL:
    case ALM_AST_BOOL:
    case ALM_AST_STRING:
    case ALM_AST_NUMBER:
    case ALM_AST_GEOHASH:
    case ALM_AST_SUBQUERY:
    case ALM_AST_EXISTS:
    case ALM_AST_PARAM:
        return put_str(s, e->raw.len > 0 ? e->raw : e->text);
    case ALM_AST_VAR:
        ALM_TRY(put(s, "@"));
        return put_str(s, e->text);
    case ALM_AST_NAME:
    case ALM_AST_STAR:
        return put_name(s, e);
    case ALM_AST_UNARY:
        return put_unary(s, e);
    case ALM_AST_BINARY:
        return put_binary(s, e);
    case ALM_AST_CALL:
        return put_call(s, e);
    case ALM_AST_CAST:
        return put_cast(s, e);
    case ALM_AST_CASE:
        return put_case(s, e);
    case ALM_AST_IN:
        return put_set(s, e, "in");
    case ALM_AST_BETWEEN:
        return put_set(s, e, "between");
    case ALM_AST_IS_NULL:
        ALM_TRY(put_operand(s, e->arg[0], precedence(e->arg[0]) > ALM_PREC_EQUAL));
        ALM_TRY(put(s, e->negated ? " != " : " = "));
        return put_str(s, e->raw);
    case ALM_AST_QUANTIFIED:
        ALM_TRY(put_node(s, e->arg[0]));
        ALM_TRY(put(s, " "));
        ALM_TRY(put_str(s, e->text));
        ALM_TRY(put(s, e->number == 2 ? " all(" : " any("));
        if (e->n_args > 1)
            ALM_TRY(put_node(s, e->arg[1]));
        return put(s, ")");
    case ALM_AST_ARRAY:
        ALM_TRY(put(s, "ARRAY["));
        ALM_TRY(put_args(s, e->arg, e->n_args));
        return put(s, "]");
    case ALM_AST_INDEX:
        return put_index(s, e);
    case ALM_AST_SLICE:
        return put_slice(s, e);
    case ALM_AST_TYPED:
        ALM_TRY(put_str(s, e->raw));
        ALM_TRY(put(s, "::"));
        return put_type(s, e->type_name);
    case ALM_AST_ROW:
        ALM_TRY(put(s, "("));
        ALM_TRY(put_args(s, e->arg, e->n_args));
        return put(s, ")");
    case ALM_AST_INTERVAL:
        ALM_TRY(put(s, "interval "));
        return put_str(s, e->raw);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ names */

alm_status alm_ast_text(alm_ctx *cx, const alm_ast *expr, const char **out)
{
    sink s = {.cx = cx, .max = TEXT_BYTES_MAX};
    ALM_TRY(put_node(&s, expr));
    return alm_arena_zstr(cx, cx->arena, (alm_str){s.ptr, s.len}, out);
}

/* Last dot that does not stand inside double quotes. */
static bool has_dot(alm_str t)
{
    bool quoted = false;
    for (size_t i = 0; i < t.len; i++) {
        quoted ^= t.ptr[i] == '"';
        if (t.ptr[i] == '.' && !quoted)
            return true;
    }
    return false;
}

/* Not more than `max` bytes, whole characters. */
static size_t cut(alm_str t, size_t max)
{
    size_t n = ALM_MIN(t.len, max);
    while (n > 0 && n < t.len && ((unsigned char)t.ptr[n] & 0xc0) == 0x80)
        n--;
    return n;
}

alm_status alm_ast_name_nth(alm_ctx *cx, const alm_ast *expr, uint32_t n, const char **out)
{
    char suffix[16] = "";
    size_t tail = 0;
    if (n > 1) {
        char digits[12];
        for (uint32_t v = n; v > 0; v /= 10)
            digits[tail++] = (char)('0' + v % 10);
        suffix[0] = '_';
        for (size_t i = 0; i < tail; i++)
            suffix[1 + i] = digits[tail - 1 - i];
        suffix[++tail] = 0;
    }
    sink s = {.cx = cx, .max = TEXT_BYTES_MAX}; /* a dot far behind the cut still quotes */
    const bool column = expr->kind == ALM_AST_NAME;
    ALM_TRY(column ? put_str(&s, expr->text) : put_node(&s, expr));
    const alm_str text = {s.ptr, s.len};
    const bool quote = !column &&
                       (has_dot(text) || (text.len > 0 && alm_op_precedence(text) > 0)) &&
                       !(text.len > 1 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"');
    if (quote) {
        const size_t keep = cut(text, NAME_BYTES_MAX - 3 - tail);
        return alm_arena_printf(cx, cx->arena, out, "\"%.*s%s\"", (int)keep, text.ptr, suffix);
    }
    size_t keep = cut(text, NAME_BYTES_MAX - tail);
    while (keep > 1 && text.ptr[keep - 1] == ' ')
        keep--;
    return alm_arena_printf(cx, cx->arena, out, "%.*s%s", (int)keep,
                            text.ptr == NULL ? "" : text.ptr, suffix);
}

alm_status alm_ast_name(alm_ctx *cx, const alm_ast *expr, const char **out)
{
    return alm_ast_name_nth(cx, expr, 1, out);
}
