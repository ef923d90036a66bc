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

static alm_status ast_name_put_bytes(sink *self, const char *ptr, size_t n)
{
    n = ALM_MIN(n, self->max - self->len);
    if (self->len + n > self->cap) {
        char *grown = NULL;
        const size_t cap = ALM_MAX(self->cap * 2, self->len + n);
        ALM_TRY(alm_arena_bytes(self->cx, self->cx->arena, cap, &grown));
        if (self->len > 0)
            (void)memcpy(grown, self->ptr, self->len);
        self->ptr = grown;
        self->cap = cap;
    }
    if (n > 0)
        (void)memcpy(self->ptr + self->len, ptr, n);
    self->len += n;
    return ALM_OK;
}

static alm_status put_str(sink *self, alm_str text)
{
    return ast_name_put_bytes(self, text.ptr, text.len);
}
static alm_status ast_name_put(sink *self, const char *text)
{
    return ast_name_put_bytes(self, text, strlen(text));
}
static alm_status ast_name_put_node(sink *self, const alm_ast *node);

/* ------------------------------------------------------------------ precedence */

/* Of an operator node; 0 for what never needs brackets. */
static uint32_t precedence(const alm_ast *node)
{
    if (node->kind == ALM_AST_BINARY || node->kind == ALM_AST_QUANTIFIED)
        return alm_str_eq(node->text, ALM_STR("||")) ? 0 : alm_op_precedence(node->text);
    if (node->kind == ALM_AST_IS_NULL)
        return ALM_PREC_EQUAL;
    if (node->kind == ALM_AST_UNARY)
        return alm_str_eq(node->text, ALM_STR("not")) ? ALM_PREC_NOT : ALM_PREC_SIGN;
    if ((node->kind == ALM_AST_IN || node->kind == ALM_AST_BETWEEN) && node->negated)
        return ALM_PREC_SET;
    return 0;
}

static alm_status ast_name_put_operand(sink *self, const alm_ast *node, bool brackets)
{
    if (brackets)
        ALM_TRY(ast_name_put(self, "("));
    ALM_TRY(ast_name_put_node(self, node));
    return brackets ? ast_name_put(self, ")") : ALM_OK;
}

static alm_status put_args(sink *self, alm_ast *const *arg, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (self->len >= self->max)
            break; /* nothing more can show */
        if (i > 0)
            ALM_TRY(ast_name_put(self, ", "));
        ALM_TRY(ast_name_put_node(self, arg[i]));
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ kinds */

static bool is_concat(const alm_ast *node)
{
    return (node->kind == ALM_AST_BINARY && alm_str_eq(node->text, ALM_STR("||"))) ||
           (node->kind == ALM_AST_CALL && alm_str_ieq(node->text, ALM_STR("concat")) &&
            node->n_args > 0);
}

/* a || b || concat(c, d) is one concat of all. */
static alm_status put_concat_args(sink *self, const alm_ast *node, bool *first)
{
    for (uint32_t i = 0; i < node->n_args; i++) {
        if (is_concat(node->arg[i])) {
            ALM_TRY(put_concat_args(self, node->arg[i], first));
            continue;
        }
        if (!*first)
            ALM_TRY(ast_name_put(self, ", "));
        *first = false;
        ALM_TRY(ast_name_put_node(self, node->arg[i]));
    }
    return ALM_OK;
}

static alm_status put_concat(sink *self, const alm_ast *node)
{
    bool first = true;
    ALM_TRY(ast_name_put(self, "concat("));
    ALM_TRY(put_concat_args(self, node, &first));
    return ast_name_put(self, ")");
}

static alm_status ast_name_put_binary(sink *self, const alm_ast *node)
{
    if (is_concat(node))
        return put_concat(self, node);
    const uint32_t prec = precedence(node);
    const uint32_t right = precedence(node->arg[1]);
    const bool chain = node->arg[1]->balanced && alm_str_eq(node->arg[1]->text, node->text);
    ALM_TRY(ast_name_put_operand(self, node->arg[0], precedence(node->arg[0]) > prec));
    ALM_TRY(ast_name_put(self, " "));
    ALM_TRY(put_str(self, node->text));
    ALM_TRY(ast_name_put(self, " "));
    /* signs bind tightest and show brackets of their own */
    return ast_name_put_operand(self, node->arg[1], right >= prec && !chain);
}

static alm_status put_unary(sink *self, const alm_ast *node)
{
    ALM_TRY(put_str(self, node->text));
    return ast_name_put_operand(self, node->arg[0], true);
}

static alm_status ast_put_name(sink *self, const alm_ast *node)
{
    if (node->table.len > 0) {
        ALM_TRY(put_str(self, node->table));
        ALM_TRY(ast_name_put(self, "."));
    }
    return put_str(self, node->text);
}

static alm_status ast_name_put_call(sink *self, const alm_ast *node)
{
    if (node->raw.len > 0)
        return put_str(self, node->raw); /* current_user */
    if (node->n_args == 0 && alm_str_ieq(node->text, ALM_STR("current_user")))
        return put_str(self,
                       node->text); /* with brackets or without: one column name for clients */
    if (node->table.len > 0) {
        ALM_TRY(put_str(self, node->table));
        ALM_TRY(ast_name_put(self, "."));
    }
    if (node->distinct && alm_str_ieq(node->text, ALM_STR("count")))
        ALM_TRY(ast_name_put(self, "count_distinct"));
    else if (node->distinct && alm_str_ieq(node->text, ALM_STR("string_agg")))
        ALM_TRY(ast_name_put(self, "string_distinct_agg"));
    else
        ALM_TRY(put_str(self, node->text));
    ALM_TRY(ast_name_put(self, "("));
    ALM_TRY(put_args(self, node->arg, node->n_args));
    return ast_name_put(self, ")");
}

/* decimal(10,2) is written decimal_10_2, geohash(5c) geohash5c. */
static alm_status put_type(sink *self, alm_str type)
{
    const char *open = memchr(type.ptr, '(', type.len);
    if (open == NULL)
        return put_str(self, type);
    const bool decimal = type.len >= 7 && alm_str_ieq((alm_str){type.ptr, 7}, ALM_STR("decimal"));
    for (size_t i = 0; i < type.len; i++) {
        const char byte = type.ptr[i];
        if (byte == ' ' || byte == ')' || (byte == '(' && !decimal))
            continue;
        ALM_TRY(ast_name_put_bytes(self, byte == '(' || byte == ',' ? "_" : type.ptr + i, 1));
    }
    return ALM_OK;
}

static alm_status put_cast(sink *self, const alm_ast *node)
{
    const alm_ast *arg = node->arg[0];
    const bool brackets = (precedence(arg) > 0 || arg->kind == ALM_AST_BETWEEN ||
                           (arg->kind == ALM_AST_CASE && arg->arg[0] == NULL));
    ALM_TRY(ast_name_put_operand(self, arg, brackets));
    ALM_TRY(ast_name_put(self, "::"));
    return put_type(self, node->type_name);
}

static alm_status put_case(sink *self, const alm_ast *node)
{
    if (node->arg[0] != NULL) {
        ALM_TRY(ast_name_put(self, "switch("));
        ALM_TRY(put_args(self, node->arg, node->n_args));
        if (node->else_arg != NULL) {
            ALM_TRY(ast_name_put(self, ", "));
            ALM_TRY(ast_name_put_node(self, node->else_arg));
        }
        return ast_name_put(self, ")");
    }
    ALM_TRY(ast_name_put(self, "case"));
    for (uint32_t i = 1; i + 1 < node->n_args; i += 2) {
        ALM_TRY(ast_name_put(self, " when "));
        ALM_TRY(ast_name_put_node(self, node->arg[i]));
        ALM_TRY(ast_name_put(self, " then "));
        ALM_TRY(ast_name_put_node(self, node->arg[i + 1]));
    }
    if (node->else_arg != NULL) {
        ALM_TRY(ast_name_put(self, " else "));
        ALM_TRY(ast_name_put_node(self, node->else_arg));
    }
    return ast_name_put(self, " end");
}

/* sym in 'A', sym in ('A', 'B'), qty between (1, 3), not(...) around when negated */
static alm_status put_set(sink *self, const alm_ast *node, const char *op)
{
    if (node->negated)
        ALM_TRY(ast_name_put(self, "not("));
    ALM_TRY(ast_name_put_node(self, node->arg[0]));
    ALM_TRY(ast_name_put(self, " "));
    ALM_TRY(ast_name_put(self, op));
    ALM_TRY(ast_name_put(self, " "));
    if (node->select != NULL) {
        ALM_TRY(ast_name_put(self, "(select)"));
    } else {
        const bool list = node->n_args > 2;
        ALM_TRY(ast_name_put(self, list ? "(" : ""));
        ALM_TRY(put_args(self, node->arg + 1, node->n_args - 1));
        ALM_TRY(ast_name_put(self, list ? ")" : ""));
    }
    return node->negated ? ast_name_put(self, ")") : ALM_OK;
}

static alm_status put_index(sink *self, const alm_ast *node)
{
    if (node->n_args == 2) {
        ALM_TRY(ast_name_put_node(self, node->arg[0]));
        ALM_TRY(ast_name_put(self, "["));
        ALM_TRY(ast_name_put_node(self, node->arg[1]));
        return ast_name_put(self, "]");
    }
    ALM_TRY(ast_name_put(self, "[]("));
    ALM_TRY(put_args(self, node->arg, node->n_args));
    return ast_name_put(self, ")");
}

static alm_status put_slice(sink *self, const alm_ast *node)
{
    const alm_ast *lo = node->arg[0], *hi = node->arg[1];
    if (lo != NULL && hi != NULL) {
        ALM_TRY(ast_name_put_node(self, lo));
        ALM_TRY(ast_name_put(self, " : "));
        return ast_name_put_node(self, hi);
    }
    ALM_TRY(ast_name_put(self, ":("));
    if (lo != NULL || hi != NULL)
        ALM_TRY(ast_name_put_node(self, lo != NULL ? lo : hi));
    return ast_name_put(self, ")");
}

static alm_status ast_name_put_node(sink *self, const alm_ast *node)
{
    if (self->len >= self->max)
        return ALM_OK;
    switch (node->kind) {
    case ALM_AST_NULL:
    case ALM_AST_BOOL:
    case ALM_AST_STRING:
    case ALM_AST_NUMBER:
    case ALM_AST_GEOHASH:
    case ALM_AST_SUBQUERY:
    case ALM_AST_EXISTS:
    case ALM_AST_PARAM:
        return put_str(self, node->raw.len > 0 ? node->raw : node->text);
    case ALM_AST_VAR:
        ALM_TRY(ast_name_put(self, "@"));
        return put_str(self, node->text);
    case ALM_AST_NAME:
    case ALM_AST_STAR:
        return ast_put_name(self, node);
    case ALM_AST_UNARY:
        return put_unary(self, node);
    case ALM_AST_BINARY:
        return ast_name_put_binary(self, node);
    case ALM_AST_CALL:
        return ast_name_put_call(self, node);
    case ALM_AST_CAST:
        return put_cast(self, node);
    case ALM_AST_CASE:
        return put_case(self, node);
    case ALM_AST_IN:
        return put_set(self, node, "in");
    case ALM_AST_BETWEEN:
        return put_set(self, node, "between");
    case ALM_AST_IS_NULL:
        ALM_TRY(
            ast_name_put_operand(self, node->arg[0], precedence(node->arg[0]) > ALM_PREC_EQUAL));
        ALM_TRY(ast_name_put(self, node->negated ? " != " : " = "));
        return put_str(self, node->raw);
    case ALM_AST_QUANTIFIED:
        ALM_TRY(ast_name_put_node(self, node->arg[0]));
        ALM_TRY(ast_name_put(self, " "));
        ALM_TRY(put_str(self, node->text));
        ALM_TRY(ast_name_put(self, node->number == 2 ? " all(" : " any("));
        if (node->n_args > 1)
            ALM_TRY(ast_name_put_node(self, node->arg[1]));
        return ast_name_put(self, ")");
    case ALM_AST_ARRAY:
        ALM_TRY(ast_name_put(self, "ARRAY["));
        ALM_TRY(put_args(self, node->arg, node->n_args));
        return ast_name_put(self, "]");
    case ALM_AST_INDEX:
        return put_index(self, node);
    case ALM_AST_SLICE:
        return put_slice(self, node);
    case ALM_AST_TYPED:
        ALM_TRY(put_str(self, node->raw));
        ALM_TRY(ast_name_put(self, "::"));
        return put_type(self, node->type_name);
    case ALM_AST_ROW:
        ALM_TRY(ast_name_put(self, "("));
        ALM_TRY(put_args(self, node->arg, node->n_args));
        return ast_name_put(self, ")");
    case ALM_AST_INTERVAL:
        ALM_TRY(ast_name_put(self, "interval "));
        return put_str(self, node->raw);
    }
    return ALM_OK;
}

/* ------------------------------------------------------------------ names */

alm_status alm_ast_text(alm_ctx *cx, const alm_ast *expr, const char **out)
{
    sink self = {.cx = cx, .max = TEXT_BYTES_MAX};
    ALM_TRY(ast_name_put_node(&self, expr));
    return alm_arena_zstr(cx, cx->arena, (alm_str){self.ptr, self.len}, out);
}

/* Last dot that does not stand inside double quotes. */
static bool has_dot(alm_str text)
{
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        quoted ^= text.ptr[i] == '"';
        if (text.ptr[i] == '.' && !quoted)
            return true;
    }
    return false;
}

/* Not more than `max` bytes, whole characters. */
static size_t ast_name_cut(alm_str text, size_t max)
{
    size_t n = ALM_MIN(text.len, max);
    while (n > 0 && n < text.len && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
        n--;
    return n;
}

alm_status alm_ast_name_nth(alm_ctx *cx, const alm_ast *expr, uint32_t n, const char **out)
{
    char suffix[16] = "";
    size_t tail = 0;
    if (n > 1) {
        char digits[12];
        for (uint32_t value = n; value > 0; value /= 10)
            digits[tail++] = (char)('0' + value % 10);
        suffix[0] = '_';
        for (size_t i = 0; i < tail; i++)
            suffix[1 + i] = digits[tail - 1 - i];
        suffix[++tail] = 0;
    }
    sink self = {.cx = cx, .max = TEXT_BYTES_MAX}; /* a dot far behind the cut still quotes */
    const bool column = expr->kind == ALM_AST_NAME;
    ALM_TRY(column ? put_str(&self, expr->text) : ast_name_put_node(&self, expr));
    const alm_str text = {self.ptr, self.len};
    const bool quote = !column &&
                       (has_dot(text) || (text.len > 0 && alm_op_precedence(text) > 0)) &&
                       !(text.len > 1 && text.ptr[0] == '"' && text.ptr[text.len - 1] == '"');
    if (quote) {
        const size_t keep = ast_name_cut(text, NAME_BYTES_MAX - 3 - tail);
        return alm_arena_printf(cx, cx->arena, out, "\"%.*s%s\"", (int)keep, text.ptr, suffix);
    }
    size_t keep = ast_name_cut(text, NAME_BYTES_MAX - tail);
    while (keep > 1 && text.ptr[keep - 1] == ' ')
        keep--;
    return alm_arena_printf(cx, cx->arena, out, "%.*s%s", (int)keep,
                            text.ptr == NULL ? "" : text.ptr, suffix);
}

alm_status alm_ast_name(alm_ctx *cx, const alm_ast *expr, const char **out)
{
    return alm_ast_name_nth(cx, expr, 1, out);
}
