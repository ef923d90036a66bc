/*
 * prepare.c - PREPARE name (types) AS statement, EXECUTE name (values). DEALLOCATE is with the settings.
 */
#include "sql/parse/parse.h"
#include "type/type.h"

static alm_status statement_name(alm_parser *parser, alm_str *out)
{
    if (parser->tok.kind != ALM_TOK_NAME && parser->tok.kind != ALM_TOK_QUOTED)
        return alm_parse_fail(parser, parser->tok.pos, "name of a prepared statement expected");
    *out = alm_token_text(parser, parser->tok);
    alm_parse_next(parser);
    return ALM_OK;
}

/* unknown: what the statement makes of it. */
static alm_status param_types(alm_parser *parser, alm_prepare_words *words)
{
    uint32_t cap = 0;
    if (!alm_take_op(parser, ALM_OP_LPAREN))
        return ALM_OK;
    do {
        alm_str name;
        int32_t pos = 0;
        ALM_TRY(ALM_GROW(parser, &words->types, words->n_types, &cap));
        ALM_TRY(alm_parse_type(parser, &name, &pos));
        alm_type *type = &words->types[words->n_types++];
        *type = ALM_TY(NONE);
        if (alm_str_ieq(name, ALM_STR("unknown")))
            continue;
        ALM_TRY(alm_type_read(parser->cx, pos, name, type));
        if (type->id == ALM_T_NONE)
            return alm_no_type(parser->cx, pos, "unsupported type of a parameter", name);
    } while (alm_take_op(parser, ALM_OP_COMMA));
    return alm_expect_op(parser, ALM_OP_RPAREN, "',' or ')' expected");
}

alm_status alm_parse_prepare(alm_parser *parser, alm_stmt *stmt)
{
    alm_prepare_words *words = NULL;
    const uint32_t n_params = parser->n_params;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &words));
    stmt->ext = words;
    const int32_t pos = parser->tok.pos;
    ALM_TRY(statement_name(parser, &words->name));
    if (parser->tok.kind == ALM_TOK_STRING && alm_str_ieq(words->name, ALM_STR("transaction")))
        return alm_fail(parser->cx, ALM_E_UNSUPPORTED, pos, "PREPARE TRANSACTION is not supported");
    ALM_TRY(param_types(parser, words));
    ALM_TRY(alm_expect_kw(parser, ALM_KW_AS, "'as' expected"));
    words->pos = parser->tok.pos;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &stmt->inner));
    stmt->inner->pos = parser->tok.pos;
    ALM_TRY(alm_parse_enter(parser));
    ALM_TRY(alm_parse_statement(parser, stmt->inner));
    parser->nest--;
    if (stmt->inner->kind != ALM_STMT_SELECT &&
        !alm_stmt_does_any(stmt->inner->kind, ALM_S_CHANGES))
        return alm_parse_fail(parser, words->pos,
                              "'select', 'insert', 'update' or 'delete' expected");
    words->text = alm_parse_slice(parser, words->pos, parser->prev.end);
    parser->n_params = n_params; /* those are of the statement that is prepared */
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}

/* The values are the items of a query without FROM. */
alm_status alm_parse_execute(alm_parser *parser, alm_stmt *stmt)
{
    alm_execute_words *words = NULL;
    uint32_t cap = 0;
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &words));
    stmt->ext = words;
    words->pos = parser->tok.pos;
    ALM_TRY(statement_name(parser, &words->name));
    if (!alm_take_op(parser, ALM_OP_LPAREN))
        return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
    ALM_TRY(ALM_NEW(parser->cx, parser->cx->arena, &stmt->select));
    stmt->select->pos = parser->tok.pos;
    do {
        ALM_TRY(ALM_GROW(parser, &stmt->select->items, stmt->select->n_items, &cap));
        ALM_TRY(alm_parse_expr(parser, &stmt->select->items[stmt->select->n_items].expr));
        stmt->select->n_items++;
    } while (alm_take_op(parser, ALM_OP_COMMA));
    words->n_values = stmt->select->n_items;
    ALM_TRY(alm_expect_op(parser, ALM_OP_RPAREN, "',' or ')' expected"));
    return alm_at_end(parser) ? ALM_OK : alm_parse_unexpected(parser);
}
