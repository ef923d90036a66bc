/*
 * prepare.c - PREPARE name (types) AS statement, EXECUTE name (values). DEALLOCATE is with the settings.
 */
#include "sql/parse/parse.h"
#include "type/type.h"

static alm_status statement_name(alm_parser *p, alm_str *out)
{
    if (p->tok.kind != ALM_TOK_NAME && p->tok.kind != ALM_TOK_QUOTED)
        return alm_parse_fail(p, p->tok.pos, "name of a prepared statement expected");
    *out = alm_token_text(p, p->tok);
    alm_parse_next(p);
    return ALM_OK;
}

/* unknown: what the statement makes of it. */
static alm_status param_types(alm_parser *p, alm_prepare_words *words)
{
    uint32_t cap = 0;
    if (!alm_take_op(p, ALM_OP_LPAREN))
        return ALM_OK;
    do {
        alm_str name;
        int32_t pos = 0;
        ALM_TRY(ALM_GROW(p, &words->types, words->n_types, &cap));
        ALM_TRY(alm_parse_type(p, &name, &pos));
        alm_type *type = &words->types[words->n_types++];
        *type = ALM_TY(NONE);
        if (alm_str_ieq(name, ALM_STR("unknown")))
            continue;
        ALM_TRY(alm_type_read(p->cx, pos, name, type));
        if (type->id == ALM_T_NONE)
            return alm_no_type(p->cx, pos, "unsupported type of a parameter", name);
    } while (alm_take_op(p, ALM_OP_COMMA));
    return alm_expect_op(p, ALM_OP_RPAREN, "',' or ')' expected");
}

alm_status alm_parse_prepare(alm_parser *p, alm_stmt *s)
{
    alm_prepare_words *words = NULL;
    const uint32_t n_params = p->n_params;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &words));
    s->ext = words;
    const int32_t pos = p->tok.pos;
    ALM_TRY(statement_name(p, &words->name));
    if (p->tok.kind == ALM_TOK_STRING && alm_str_ieq(words->name, ALM_STR("transaction")))
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, pos, "PREPARE TRANSACTION is not supported");
    ALM_TRY(param_types(p, words));
    ALM_TRY(alm_expect_kw(p, ALM_KW_AS, "'as' expected"));
    words->pos = p->tok.pos;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &s->inner));
    s->inner->pos = p->tok.pos;
    ALM_TRY(alm_parse_enter(p));
    ALM_TRY(alm_parse_statement(p, s->inner));
    p->nest--;
    if (s->inner->kind != ALM_STMT_SELECT && !alm_stmt_does_any(s->inner->kind, ALM_S_CHANGES))
        return alm_parse_fail(p, words->pos, "'select', 'insert', 'update' or 'delete' expected");
    words->text = alm_parse_slice(p, words->pos, p->prev.end);
    p->n_params = n_params; /* those are of the statement that is prepared */
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* The values are the items of a query without FROM. */
alm_status alm_parse_execute(alm_parser *p, alm_stmt *s)
{
    alm_execute_words *words = NULL;
    uint32_t cap = 0;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &words));
    s->ext = words;
    words->pos = p->tok.pos;
    ALM_TRY(statement_name(p, &words->name));
    if (!alm_take_op(p, ALM_OP_LPAREN))
        return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &s->select));
    s->select->pos = p->tok.pos;
    do {
        ALM_TRY(ALM_GROW(p, &s->select->items, s->select->n_items, &cap));
        ALM_TRY(alm_parse_expr(p, &s->select->items[s->select->n_items].expr));
        s->select->n_items++;
    } while (alm_take_op(p, ALM_OP_COMMA));
    words->n_values = s->select->n_items;
    ALM_TRY(alm_expect_op(p, ALM_OP_RPAREN, "',' or ')' expected"));
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}
