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
static bool names_changed(const validation *self, const alm_stmt *stmt)
{
    return self->n_changed > 0 &&
           alm_text_names(self->text, stmt->pos, stmt->end, self->changed, self->n_changed);
}

static alm_status add_changed(validation *self, alm_str name)
{
    if (name.len == 0)
        return ALM_OK;
    if (self->n_changed == self->cap_changed) {
        const uint32_t cap = self->cap_changed == 0 ? 16 : 2 * self->cap_changed;
        alm_str *grown = NULL;
        ALM_TRY(ALM_NEWN(&self->cx, self->arena, cap, &grown));
        if (self->n_changed > 0)
            memcpy(grown, self->changed, self->n_changed * sizeof(*grown));
        self->changed = grown;
        self->cap_changed = cap;
    }
    return alm_arena_copy(&self->cx, self->arena, name, &self->changed[self->n_changed++]);
}

static alm_status note_changes(validation *self, const alm_stmt *stmt)
{
    if (!alm_stmt_does_any(stmt->kind, ALM_S_NAMES))
        return ALM_OK;
    ALM_TRY(add_changed(self, stmt->table));
    ALM_TRY(add_changed(self, stmt->new_name));
    for (uint32_t i = 0; i < stmt->n_more; i++)
        ALM_TRY(add_changed(self, stmt->more_tables[i]));
    return ALM_OK;
}

/* --------------------------------------------------------------------- statements */

/* The plan goes with its cursor. */
static alm_status keep_cols(validation *self, const alm_plan *plan)
{
    alm_validated *out = self->out;
    out->has_cols = true;
    out->ts_col = plan->ts_col;
    ALM_TRY(ALM_NEWN(&self->cx, self->arena, plan->n_cols + 1, &out->cols));
    for (uint32_t i = 0; i < plan->n_cols; i++) {
        out->cols[i] = plan->cols[i];
        ALM_TRY(alm_arena_zstr(&self->cx, self->arena, alm_str_of(plan->cols[i].name),
                               &out->cols[i].name));
    }
    out->n_cols = plan->n_cols;
    return ALM_OK;
}

static alm_status statement_validate_bind(validation *self, alm_cursor *cursor,
                                          const alm_stmt *stmt)
{
    alm_plan_env env;
    alm_param *params = NULL;
    alm_checked checked = {0};
    ALM_TRY(ALM_NEWN(&cursor->cx, &cursor->arena, stmt->n_params + 1, &params));
    ALM_TRY(alm_snapshot_acquire(&cursor->cx, self->session->db->storage, &cursor->snapshot));
    ALM_TRY(alm_cursor_access(cursor));
    alm_plan_env_init(&env, cursor, params, stmt->n_params);
    ALM_TRY(alm_stmt_check(cursor, &env, stmt, &checked));
    const bool rows = checked.plan != NULL && alm_stmt_does_any(stmt->kind, ALM_S_ROWS);
    if (rows && self->out->n_statements == 1 && keep_cols(self, checked.plan) != ALM_OK) {
        cursor->cx.err = self->cx.err;
        return self->cx.err.code;
    }
    return ALM_OK;
}

static alm_status add_mistake(validation *self, const alm_error *err, size_t from)
{
    alm_validated *out = self->out;
    if (out->n_mistakes == self->cap_mistakes) {
        const uint32_t cap = self->cap_mistakes == 0 ? 8 : 2 * self->cap_mistakes;
        alm_mistake *grown = NULL;
        ALM_TRY(ALM_NEWN(&self->cx, self->arena, cap, &grown));
        if (out->n_mistakes > 0)
            memcpy(grown, out->mistakes, out->n_mistakes * sizeof(*grown));
        out->mistakes = grown;
        self->cap_mistakes = cap;
    }
    alm_mistake *mistake = &out->mistakes[out->n_mistakes];
    const alm_text_span at =
        alm_text_token(self->text, (int32_t)from, ALM_MAX(err->sql_pos, (int32_t)from));
    *mistake = (alm_mistake){.code = err->code, .pos = at.pos, .bytes = at.end - at.pos};
    ALM_TRY(alm_arena_zstr(&self->cx, self->arena, alm_str_of(err->msg), &mistake->message));
    out->n_mistakes++;
    return ALM_OK;
}

/* Not the fault of the text. */
static bool ends_all(alm_status code)
{
    return code == ALM_E_MEMORY || code == ALM_E_CANCEL || code == ALM_E_TIMEOUT ||
           code == ALM_E_SHUTDOWN || code == ALM_E_CORRUPT || code == ALM_E_IO;
}

static alm_status keep_type(validation *self, alm_cursor *cursor, const alm_stmt *stmt)
{
    const char *tag = alm_stmt_info_of(stmt->kind)->tag;
    return alm_arena_zstr(&cursor->cx, self->arena, tag[0] != 0 ? alm_str_of(tag) : stmt->text,
                          &self->out->type);
}

/* What stands at *offset, which goes behind it. */
static alm_status statement_validate_look_at(validation *self, alm_cursor *cursor, size_t *offset)
{
    alm_stmt *stmt = NULL;
    const size_t from = *offset;
    ALM_TRY(alm_check(&cursor->cx));
    *offset = alm_text_behind(self->text, from); /* if it cannot be read */
    size_t behind = from;
    ALM_TRY(alm_sql_parse(&cursor->cx, self->text, &behind, &stmt));
    *offset = behind;
    if (stmt->kind == ALM_STMT_EMPTY)
        return ALM_OK;
    if (self->out->n_statements++ == 0)
        ALM_TRY(keep_type(self, cursor, stmt));
    const bool known = !names_changed(self, stmt);
    const alm_status noted = note_changes(self, stmt);
    if (noted != ALM_OK) {
        cursor->cx.err = self->cx.err;
        return noted;
    }
    return known ? statement_validate_bind(self, cursor, stmt) : ALM_OK;
}

static alm_status next_statement(validation *self, size_t *offset)
{
    const size_t from = *offset;
    alm_cursor cursor = {.session = self->session, .ts_col = -1};
    alm_cursor_begin(&cursor);
    alm_cursor_lookup(&cursor);
    if (self->deadline_ns == 0)
        self->deadline_ns = cursor.cx.deadline_ns;
    cursor.cx.deadline_ns = self->deadline_ns;
    alm_status status = statement_validate_look_at(self, &cursor, offset);
    if (status != ALM_OK && ends_all(status))
        self->cx.err = cursor.cx.err;
    else if (status != ALM_OK)
        status = add_mistake(self, &cursor.cx.err, from);
    if (cursor.snapshot != NULL)
        alm_snapshot_release(cursor.snapshot);
    alm_cursor_over(&cursor);
    return status;
}

alm_status alm_validate(alm_session *session, alm_str text, alm_arena *arena, alm_validated *out)
{
    validation self = {.session = session, .text = text, .arena = arena, .out = out};
    const int64_t limit =
        session->db->conf != NULL ? session->db->conf->sql_text_max : INT64_C(16) << 20;
    alm_status status = ALM_OK;
    self.cx = (alm_ctx){.arena = arena, .conf = session->db->conf};
    *out = (alm_validated){.ts_col = -1};
    if ((int64_t)text.len > limit)
        status = alm_fail(&self.cx, ALM_E_LIMIT, -1,
                          "statement of %zu bytes is longer than sql.text.max (%lld)", text.len,
                          (long long)limit);
    for (size_t offset = 0; status == ALM_OK && out->n_mistakes < ALM_MISTAKES_MAX;) {
        offset = alm_text_begin(text, offset);
        if (offset >= text.len)
            break;
        status = next_statement(&self, &offset);
    }
    if (status != ALM_OK)
        session->err = self.cx.err;
    return status;
}
