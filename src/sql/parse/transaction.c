/*
 * transaction.c - BEGIN, COMMIT, ROLLBACK and savepoints, with all that PostgreSQL clients put behind
 * them. The modes are also those of SET TRANSACTION and SET SESSION CHARACTERISTICS.
 */
#include "sql/parse/parse.h"

alm_status alm_parse_lower(alm_parser *p, alm_str text, alm_str *out)
{
    char *copy = NULL;
    ALM_TRY(alm_arena_bytes(p->cx, p->cx->arena, text.len + 1, &copy));
    for (size_t i = 0; i < text.len; i++)
        copy[i] = (char)(text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? text.ptr[i] + 32 : text.ptr[i]);
    copy[text.len] = 0;
    *out = (alm_str){copy, text.len};
    return ALM_OK;
}

static alm_status isolation_level(alm_parser *p, alm_tx_words *words)
{
    static const struct {
        const char *first, *second, *name;
    } levels[] = {{"serializable", NULL, "serializable"},
                  {"repeatable", "read", "repeatable read"},
                  {"read", "committed", "read committed"},
                  {"read", "uncommitted", "read uncommitted"}};
    if (!alm_take_word(p, "level"))
        return alm_parse_fail(p, p->tok.pos, "'level' expected");
    for (size_t i = 0; i < ALM_COUNT(levels); i++) {
        const alm_parser before = *p;
        if (alm_take_word(p, levels[i].first) &&
            (levels[i].second == NULL || alm_take_word(p, levels[i].second))) {
            words->isolation = levels[i].name;
            return ALM_OK;
        }
        *p = before;
    }
    return alm_parse_fail(p, p->tok.pos,
                          "'serializable', 'repeatable read', 'read committed' or "
                          "'read uncommitted' expected");
}

static alm_status one_mode(alm_parser *p, alm_tx_words *words)
{
    if (alm_take_word(p, "isolation"))
        return isolation_level(p, words);
    if (alm_take_word(p, "read")) {
        words->read_only = alm_at_word(p, "only") ? 1 : -1;
        if (alm_take_word(p, "only") || alm_take_word(p, "write"))
            return ALM_OK;
        return alm_parse_fail(p, p->tok.pos, "'only' or 'write' expected");
    }
    (void)alm_take_word(p, "not");
    return alm_take_word(p, "deferrable") ? ALM_OK : alm_parse_unexpected(p);
}

alm_status alm_parse_tx_modes(alm_parser *p, alm_tx_words *words)
{
    while (!alm_at_end(p)) {
        ALM_TRY(one_mode(p, words));
        if (alm_take_op(p, ALM_OP_COMMA) && alm_at_end(p))
            return alm_parse_unexpected(p);
    }
    return ALM_OK;
}

static alm_status savepoint_name(alm_parser *p, alm_stmt *s)
{
    s->what_pos = p->tok.pos;
    const alm_token name = p->tok;
    if (name.kind == ALM_TOK_QUOTED)
        ALM_TRY(alm_parse_unquote(p, name, &s->value));
    else if (name.kind == ALM_TOK_NAME)
        ALM_TRY(alm_parse_lower(p, alm_token_text(p, name), &s->value));
    else
        return alm_parse_fail(p, name.pos, "savepoint name expected");
    alm_parse_next(p);
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

/* [SAVEPOINT] name */
static alm_status to_savepoint(alm_parser *p, alm_stmt *s)
{
    const alm_token next = alm_parse_peek(p);
    if (next.kind == ALM_TOK_NAME || next.kind == ALM_TOK_QUOTED)
        (void)alm_take_kw(p, ALM_KW_SAVEPOINT);
    return savepoint_name(p, s);
}

/* Behind COMMIT and ROLLBACK: [AND [NO] CHAIN] */
static alm_status block_end(alm_parser *p, const alm_stmt *s, alm_tx_words *words)
{
    if (alm_at_word(p, "prepared"))
        return alm_fail(p->cx, ALM_E_UNSUPPORTED, p->tok.pos, "%.*s PREPARED is not supported",
                        (int)s->text.len, s->text.ptr);
    if (alm_take_word(p, "and")) {
        words->chain = !alm_take_word(p, "no");
        if (!alm_take_word(p, "chain"))
            return alm_parse_fail(p, p->tok.pos, "'chain' expected");
    }
    return alm_at_end(p) ? ALM_OK : alm_parse_unexpected(p);
}

alm_status alm_parse_savepoint(alm_parser *p, alm_stmt *s)
{
    return alm_str_eq(s->text, ALM_STR("RELEASE")) ? to_savepoint(p, s) : savepoint_name(p, s);
}

/* BEGIN, START, COMMIT, END, ROLLBACK, ABORT */
alm_status alm_parse_transaction(alm_parser *p, alm_stmt *s)
{
    const bool start = alm_str_eq(s->text, ALM_STR("START"));
    const bool back = alm_str_eq(s->text, ALM_STR("ROLLBACK"));
    alm_tx_words *words = NULL;
    ALM_TRY(ALM_NEW(p->cx, p->cx->arena, &words));
    s->ext = words;
    s->text = start ? ALM_STR("START TRANSACTION") : alm_str_of(alm_stmt_info_of(s->kind)->tag);
    const bool word = alm_take_word(p, "transaction");
    if (start && !word)
        return alm_parse_fail(p, p->tok.pos, "'transaction' expected");
    if (!word)
        (void)alm_take_word(p, "work");
    if (s->kind == ALM_STMT_BEGIN)
        return alm_parse_tx_modes(p, words);
    if (back && alm_take_kw(p, ALM_KW_TO)) {
        s->kind = ALM_STMT_SAVEPOINT; /* its tag stays ROLLBACK */
        return to_savepoint(p, s);
    }
    return block_end(p, s, words);
}
