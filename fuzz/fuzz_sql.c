/*
 * fuzz_sql.c - the SQL parser and the naming of expressions against arbitrary bytes.
 *
 * Properties  No crash, no leak; every statement moves the offset on; an error has a message and a
 *             position inside the text; tokens cover the text in order; a name is 1 to 64 bytes.
 * Corpus      corpus/sql: made by make_corpus_sql.py from recorded statements.
 */
#include <stdlib.h>

#include "sql/sql.h"
#include "sql/text/lex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tokens(alm_str text)
{
    for (int32_t at = 0;;) {
        const alm_token t = alm_lex(text, at, true);
        ALM_ASSERT(t.pos >= at && t.end >= t.pos && (size_t)t.end <= text.len);
        if (t.kind == ALM_TOK_END)
            return;
        ALM_ASSERT(t.end > t.pos);
        at = t.end;
    }
}

static void check_names(alm_ctx *cx, const alm_select *sel)
{
    for (; sel != NULL; sel = sel->left) {
        for (uint32_t i = 0; i < sel->n_items; i++) {
            const char *name = NULL;
            if (alm_ast_name(cx, sel->items[i].expr, &name) == ALM_OK)
                ALM_ASSERT(strlen(name) <= 64);
            if (alm_ast_name_nth(cx, sel->items[i].expr, 12, &name) == ALM_OK)
                ALM_ASSERT(strlen(name) <= 64);
            if (alm_ast_text(cx, sel->items[i].expr, &name) == ALM_OK)
                ALM_ASSERT(name != NULL);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    alm_mem mem = {.limit_bytes = 64 << 20, .name = "fuzz"};
    alm_arena arena;
    alm_arena_init(&arena, &mem);
    alm_ctx cx = {.arena = &arena, .mem = &mem};
    const alm_str text = {(const char *)data, size};
    size_t offset = 0;
    check_tokens(text);
    for (;;) {
        alm_stmt *s = NULL;
        const size_t before = offset;
        if (alm_sql_parse(&cx, text, &offset, &s) != ALM_OK) {
            ALM_ASSERT(cx.err.msg[0] != 0);
            ALM_ASSERT(cx.err.sql_pos >= -1 && cx.err.sql_pos <= (int64_t)size);
            break;
        }
        if (s->kind == ALM_STMT_EMPTY)
            break;
        ALM_ASSERT(offset > before && s->pos >= (int64_t)before && s->end <= (int64_t)offset);
        check_names(&cx, s->select);
    }
    alm_arena_deinit(&arena);
    return 0;
}
