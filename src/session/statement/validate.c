/* validate.c - see validate.h. */
#include "session/statement/validate.h"

#include "base/conf.h"
#include "session/access/access.h"
#include "session/statement/statement.h"
#include "sql/text/spans.h"

typedef struct validation {
    alm_session *session;
    alm_str text;
    alm_arena *arena;    /* of the results */
    alm_ctx cx;          /* for what is put there */
    int64_t deadline_ns; /* of the whole text; 0: none */
    alm_validated *out;
    uint32_t cap_mistakes;
    alm_str *changed; /* names of what statements make, change or take away */
    uint32_t n_changed, cap_changed;
} validation;

/* ------------------------------------------------------------------------- text */

/* Does the statement name something that is not there as it will be? */
static bool names_changed(const validation *v, const alm_stmt *stmt)
{
    return v->n_changed > 0 &&
           alm_text_names(v->text, stmt->pos, stmt->end, v->changed, v->n_changed);
}

static alm_status add_changed(validation *v, alm_str name)
{
    if (name.len == 0)
        return ALM_OK;
    if (v->n_changed == v->cap_changed) {
        const uint32_t cap = v->cap_changed == 0 ? 16 : 2 * v->cap_changed;
        alm_str *grown = NULL;
        ALM_TRY(ALM_NEWN(&v->cx, v->arena, cap, &grown));
        if (v->n_changed > 0)
            memcpy(grown, v->changed, v->n_changed * sizeof(*grown));
        v->changed = grown;
        v->cap_changed = cap;
    }
    return alm_arena_copy(&v->cx, v->arena, name, &v->changed[v->n_changed++]);
}

static alm_status note_changes(validation *v, const alm_stmt *stmt)
{
    if (!alm_stmt_does_any(stmt->kind, ALM_S_NAMES))
        return ALM_OK;
    ALM_TRY(add_changed(v, stmt->table));
    ALM_TRY(add_changed(v, stmt->new_name));
    for (uint32_t i = 0; i < stmt->n_more; i++)
        ALM_TRY(add_changed(v, stmt->more_tables[i]));
    return ALM_OK;
}

/* --------------------------------------------------------------------- statements */

/* The plan goes with its cursor. */
static alm_status keep_cols(validation *v, const alm_plan *plan)
{
    alm_validated *out = v->out;
    out->has_cols = true;
    out->ts_col = plan->ts_col;
    ALM_TRY(ALM_NEWN(&v->cx, v->arena, plan->n_cols + 1, &out->cols));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        out->cols[i] = plan->cols[i];
        ALM_TRY(
            alm_arena_zstr(&v->cx, v->arena, alm_str_of(plan->cols[i].name), &out->cols[i].name));
    }
    out->n_cols = plan->n_cols;
    return ALM_OK;
}

static alm_status bind(validation *v, alm_cursor *c, const alm_stmt *stmt)
{
    alm_plan_env env;
    alm_param *params = NULL;
    alm_checked checked = {0};
    ALM_TRY(ALM_NEWN(&c->cx, &c->arena, stmt->n_params + 1, &params));
    ALM_TRY(alm_snapshot_acquire(&c->cx, v->session->db->storage, &c->snapshot));
    ALM_TRY(alm_cursor_access(c));
    alm_plan_env_init(&env, c, params, stmt->n_params);
    ALM_TRY(alm_stmt_check(c, &env, stmt, &checked));
    const bool rows = checked.plan != NULL && alm_stmt_does_any(stmt->kind, ALM_S_ROWS);
    if (rows && v->out->n_statements == 1 && keep_cols(v, checked.plan) != ALM_OK) {
        c->cx.err = v->cx.err;
        return v->cx.err.code;
    }
    return ALM_OK;
}

static alm_status add_mistake(validation *v, const alm_error *err, size_t from)
{
    alm_validated *out = v->out;
    if (out->n_mistakes == v->cap_mistakes) {
        const uint32_t cap = v->cap_mistakes == 0 ? 8 : 2 * v->cap_mistakes;
        alm_mistake *grown = NULL;
        ALM_TRY(ALM_NEWN(&v->cx, v->arena, cap, &grown));
        if (out->n_mistakes > 0)
            memcpy(grown, out->mistakes, out->n_mistakes * sizeof(*grown));
        out->mistakes = grown;
        v->cap_mistakes = cap;
    }
    alm_mistake *m = &out->mistakes[out->n_mistakes];
    const alm_text_span at =
        alm_text_token(v->text, (int32_t)from, ALM_MAX(err->sql_pos, (int32_t)from));
    *m = (alm_mistake){.code = err->code, .pos = at.pos, .bytes = at.end - at.pos};
    ALM_TRY(alm_arena_zstr(&v->cx, v->arena, alm_str_of(err->msg), &m->message));
    out->n_mistakes++;
    return ALM_OK;
}

/* Not the fault of the text. */
static bool ends_all(alm_status code)
{
    return code == ALM_E_MEMORY || code == ALM_E_CANCEL || code == ALM_E_TIMEOUT ||
           code == ALM_E_SHUTDOWN || code == ALM_E_CORRUPT || code == ALM_E_IO;
}

static alm_status keep_type(validation *v, alm_cursor *c, const alm_stmt *stmt)
{
    const char *tag = alm_stmt_info_of(stmt->kind)->tag;
    return alm_arena_zstr(&c->cx, v->arena, tag[0] != 0 ? alm_str_of(tag) : stmt->text,
                          &v->out->type);
}

/* What stands at *offset, which goes behind it. */
static alm_status look_at(validation *v, alm_cursor *c, size_t *offset)
{
    alm_stmt *stmt = NULL;
    const size_t from = *offset;
    ALM_TRY(alm_check(&c->cx));
    *offset = alm_text_behind(v->text, from); /* if it cannot be read */
    size_t behind = from;
    ALM_TRY(alm_sql_parse(&c->cx, v->text, &behind, &stmt));
    *offset = behind;
    if (stmt->kind == ALM_STMT_EMPTY)
        return ALM_OK;
    if (v->out->n_statements++ == 0)
        ALM_TRY(keep_type(v, c, stmt));
    const bool known = !names_changed(v, stmt);
    const alm_status noted = note_changes(v, stmt);
    if (noted != ALM_OK) {
        c->cx.err = v->cx.err;
        return noted;
    }
    return known ? bind(v, c, stmt) : ALM_OK;
}

static alm_status next_statement(validation *v, size_t *offset)
{
    const size_t from = *offset;
    alm_cursor c = {.session = v->session, .ts_col = -1};
    alm_cursor_begin(&c);
    alm_cursor_lookup(&c);
    if (v->deadline_ns == 0)
        v->deadline_ns = c.cx.deadline_ns;
    c.cx.deadline_ns = v->deadline_ns;
    alm_status st = look_at(v, &c, offset);
    if (st != ALM_OK && ends_all(st))
        v->cx.err = c.cx.err;
    else if (st != ALM_OK)
        st = add_mistake(v, &c.cx.err, from);
    if (c.snapshot != NULL)
        alm_snapshot_release(c.snapshot);
    alm_cursor_over(&c);
    return st;
}

alm_status alm_validate(alm_session *s, alm_str text, alm_arena *arena, alm_validated *out)
{
    validation v = {.session = s, .text = text, .arena = arena, .out = out};
    const int64_t limit = s->db->conf != NULL ? s->db->conf->sql_text_max : INT64_C(16) << 20;
    alm_status st = ALM_OK;
    v.cx = (alm_ctx){.arena = arena, .conf = s->db->conf};
    *out = (alm_validated){.ts_col = -1};
    if ((int64_t)text.len > limit)
        st = alm_fail(&v.cx, ALM_E_LIMIT, -1,
                      "statement of %zu bytes is longer than sql.text.max (%lld)", text.len,
                      (long long)limit);
    for (size_t at = 0; st == ALM_OK && out->n_mistakes < ALM_MISTAKES_MAX;) {
        at = alm_text_begin(text, at);
        if (at >= text.len)
            break;
        st = next_statement(&v, &at);
    }
    if (st != ALM_OK)
        s->err = v.cx.err;
    return st;
}
