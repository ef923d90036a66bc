/*
 * audit_text.c - what the audit log says of statements: of those about users and grants what they did, to whom; of others, where
 * audit.ddl, audit.export or audit.read.tables ask for it, their names and their text.
 *
 * Order       Who is concerned comes before lists, and names before the text: what is cut, or is made long to be cut, hides
 *             neither. A list that does not fit goes on in the next row.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/conf.h"
#include "session/access/access.h"
#include "sql/sql.h"

enum { HEAD_BYTES = 1200 };

typedef struct words {
    alm_cursor *c;
    alm_audit audit;
    char head[HEAD_BYTES]; /* before a list; each row has it */
    char text[ALM_AUDIT_DETAIL_BYTES + 1];
    size_t n;
} words;

static void put(words *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(w->text + w->n, sizeof w->text - w->n, format, args);
    va_end(args);
    w->n = ALM_MIN(w->n + (size_t)ALM_MAX(n, 0), sizeof w->text - 1);
}

static bool is_plain(alm_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '@';
        if (!word)
            return false;
    }
    return name.len > 0;
}

/* In quotes where it could be taken for something else; at most 255 bytes of it. */
static void put_name(words *w, alm_str name)
{
    const size_t n = ALM_MIN(name.len, (size_t)ALM_ENTITY_NAME_MAX);
    if (is_plain(name)) {
        put(w, "%.*s", (int)n, name.ptr);
        return;
    }
    put(w, "\"");
    for (size_t i = 0; i < n; i++)
        put(w, name.ptr[i] == '"' ? "\"\"" : "%c", name.ptr[i]);
    put(w, "\"");
}

static void add_row(words *w)
{
    w->audit.detail = w->text;
    alm_audit_add(w->c->session->db, &w->audit);
}

static void begin_list(words *w)
{
    const size_t n = ALM_MIN(w->n, sizeof w->head - 1);
    memcpy(w->head, w->text, n);
    w->head[n] = 0;
}

/* Another row, with the head again, where the next name may not fit. */
static void room_for_name(words *w)
{
    if (w->n + 2 * ALM_ENTITY_NAME_MAX + 40 < sizeof w->text)
        return;
    add_row(w);
    w->n = 0;
    put(w, "%s(goes on) ", w->head);
}

static void put_names(words *w, const alm_acl_name *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        room_for_name(w);
        put(w, i > 0 ? ", " : "");
        put_name(w, names[i].text);
    }
}

/* ------------------------------------------------------------------ users and grants */

static void put_object(words *w, const alm_acl_object *o)
{
    room_for_name(w);
    put_name(w, o->table.text);
    if (o->star)
        put(w, o->n_exclude > 0 ? "(*) EXCLUDE (" : "(*)");
    else if (o->n_columns > 0)
        put(w, "(");
    put_names(w, o->star ? o->exclude : o->columns, o->star ? o->n_exclude : o->n_columns);
    put(w, (o->star ? o->n_exclude : o->n_columns) > 0 ? ")" : "");
}

static void put_grant(words *w, const alm_acl_words *a)
{
    const bool grant = a->verb == ALM_ACL_GRANT;
    put(w, grant ? " TO " : " FROM ");
    put_name(w, a->name.text);
    put(w, a->option && grant ? " WITH GRANT OPTION: " : ": ");
    begin_list(w);
    put_names(w, a->permissions, a->n_permissions);
    if (a->all_tables)
        put(w, " ON ALL TABLES");
    else if (a->on)
        put(w, " ON ");
    for (uint32_t i = 0; a->on && !a->all_tables && i < a->n_objects; i++) {
        put(w, i > 0 ? ", " : "");
        put_object(w, &a->objects[i]);
    }
}

static void put_token(words *w, const alm_acl_words *a)
{
    put(w, a->verb == ALM_ACL_ADD_TOKEN ? " CREATE TOKEN TYPE " : " DROP TOKEN TYPE ");
    put(w, a->jwk ? "JWK" : "REST");
    if (a->ttl.text.ptr != NULL)
        put(w, " WITH TTL '%.*s'%s%s", (int)ALM_MIN(a->ttl.text.len, 40), a->ttl.text.ptr,
            a->refresh ? " REFRESH" : "", a->transient ? " TRANSIENT" : "");
    if (a->verb == ALM_ACL_DROP_TOKEN && !a->jwk)
        put(w, a->token.text.ptr != NULL ? " (one)" : " (all)");
}

static void put_change(words *w, const alm_acl_words *a, const alm_stmt *stmt)
{
    switch ((int)a->verb) {
    case ALM_ACL_CREATE:
    case ALM_ACL_PASSWORD:
        if (a->password.text.ptr != NULL || a->verb == ALM_ACL_PASSWORD)
            put(w, a->no_password ? " WITH NO PASSWORD" : " WITH PASSWORD");
        if (stmt->owner.len > 0) {
            put(w, " OWNED BY ");
            put_name(w, stmt->owner);
        }
        break;
    case ALM_ACL_ENABLE:
    case ALM_ACL_DISABLE:
        put(w, a->verb == ALM_ACL_ENABLE ? " ENABLE" : " DISABLE");
        break;
    case ALM_ACL_MEMORY:
        put(w, " SET MEMORY LIMIT ");
        if (a->limit.text.ptr == NULL)
            put(w, "UNLIMITED");
        else
            put(w, "%.*s", (int)ALM_MIN(a->limit.text.len, 40), a->limit.text.ptr);
        break;
    case ALM_ACL_ADD_TOKEN:
    case ALM_ACL_DROP_TOKEN:
        put_token(w, a);
        break;
    case ALM_ACL_DROP_ALIAS:
        put(w, " DROP EXTERNAL ALIAS ");
        break;
    case ALM_ACL_ADD_MEMBER:
    case ALM_ACL_REMOVE_MEMBER:
        put(w, a->verb == ALM_ACL_ADD_MEMBER ? " TO " : " FROM ");
        begin_list(w);
        put_names(w, a->names, a->n_names);
        break;
    default:
        break;
    }
    if (a->alias.text.ptr != NULL) {
        put(w, a->verb != ALM_ACL_DROP_ALIAS ? " WITH EXTERNAL ALIAS " : "");
        put_name(w, a->alias.text);
    }
}

static bool is_own(const alm_cursor *c, const alm_acl_words *a)
{
    const alm_principal *who = alm_session_principal(c->session);
    return who != NULL && who->kind == ALM_PRINCIPAL_LOCAL &&
           (a->verb == ALM_ACL_PASSWORD || a->verb == ALM_ACL_ADD_TOKEN ||
            a->verb == ALM_ACL_DROP_TOKEN || a->verb == ALM_ACL_ASSUME ||
            a->verb == ALM_ACL_EXIT) &&
           (a->verb == ALM_ACL_ASSUME || a->verb == ALM_ACL_EXIT ||
            alm_str_eq(a->name.text, alm_str_of(who->name)));
}

void alm_audit_acl(alm_cursor *c, const alm_stmt *stmt, bool ok)
{
    const alm_acl_words *a = stmt->ext;
    const bool grants = a->verb == ALM_ACL_GRANT || a->verb == ALM_ACL_REVOKE ||
                        a->verb == ALM_ACL_GRANT_ASSUME || a->verb == ALM_ACL_REVOKE_ASSUME;
    words w = {.c = c,
               .audit = {.event = "acl",
                         .ok = ok,
                         .own = is_own(c, a),
                         .by_option = grants && c->rights != NULL && !c->rights->all}};
    alm_audit_session(c->session, &w.audit);
    put(&w, "%s", c->tag);
    if (a->verb == ALM_ACL_GRANT || a->verb == ALM_ACL_REVOKE) {
        put_grant(&w, a);
    } else if (a->verb == ALM_ACL_GRANT_ASSUME || a->verb == ALM_ACL_REVOKE_ASSUME) {
        put(&w, a->verb == ALM_ACL_GRANT_ASSUME ? " TO " : " FROM ");
        put_name(&w, a->name.text);
        put(&w, a->option ? " WITH GRANT OPTION: ASSUME SERVICE ACCOUNT "
                          : ": ASSUME SERVICE ACCOUNT ");
        put_names(&w, a->names, a->n_names);
    } else {
        put(&w, " ");
        if (a->name.text.ptr != NULL)
            put_name(&w, a->name.text);
        put_change(&w, a, stmt);
    }
    add_row(&w);
}

/* ------------------------------------------------------------------ other statements */

/* With the secrets in it masked. */
static void put_text(words *w)
{
    alm_cursor *c = w->c;
    const alm_str text =
        c->prepared != NULL ? c->prepared->text : alm_str_of(c->session->activity.text);
    const char *masked = NULL;
    if (alm_sql_masked(&c->cx, text, &masked) != ALM_OK) {
        alm_error_clear(&c->cx);
        return;
    }
    put(w, ": %.*s", (int)ALM_MIN(strlen(masked), sizeof w->text), masked);
}

static bool is_listed(const char *list, alm_str name)
{
    while (name.ptr != NULL && *list != 0) {
        const size_t n = strcspn(list, ", ");
        if (n > 0 && alm_str_ieq((alm_str){list, n}, name))
            return true;
        list += n + (list[n] != 0);
    }
    return false;
}

/* Does a table of audit.read.tables get another name, under which it would be read without a row? */
static bool changes_listed_name(const char *list, const alm_stmt *stmt)
{
    return stmt->kind == ALM_STMT_RENAME_TABLE &&
           (is_listed(list, stmt->table) || is_listed(list, stmt->new_name));
}

static void audit_ddl(alm_cursor *c, const alm_stmt *stmt)
{
    words w = {.c = c, .audit = {.event = "ddl", .ok = true}};
    alm_audit_session(c->session, &w.audit);
    put(&w, "%s ", c->tag);
    begin_list(&w);
    if (stmt->table.ptr != NULL)
        put_name(&w, stmt->table);
    if (stmt->new_name.ptr != NULL) {
        put(&w, " TO ");
        put_name(&w, stmt->new_name);
    }
    for (uint32_t i = 0; i < stmt->n_more; i++) {
        room_for_name(&w);
        put(&w, i > 0 || stmt->table.ptr != NULL ? ", " : "");
        put_name(&w, stmt->more_tables[i]);
    }
    put_text(&w);
    add_row(&w);
}

static void audit_export(alm_cursor *c, const alm_stmt *stmt)
{
    words w = {.c = c, .audit = {.event = "export", .ok = true}};
    const alm_copy *copy = stmt->kind == ALM_STMT_COPY_TO ? stmt->ext : NULL;
    alm_audit_session(c->session, &w.audit);
    put(&w, stmt->kind == ALM_STMT_BACKUP ? "BACKUP" : copy == NULL ? "/exp" : "COPY TO ");
    if (copy != NULL && copy->place == ALM_COPY_AT_FILE)
        put_name(&w, copy->file);
    else if (copy != NULL)
        put(&w, "STDOUT");
    put_text(&w);
    add_row(&w);
}

void alm_audit_statement(alm_cursor *c, const alm_stmt *stmt)
{
    const struct alm_conf *conf = c->session->db->conf;
    if (alm_stmt_does_any(stmt->kind, ALM_S_DDL) &&
        (conf->audit_ddl || changes_listed_name(conf->audit_read_tables, stmt)))
        audit_ddl(c, stmt);
    if (conf->audit_export &&
        (alm_stmt_does_any(stmt->kind, ALM_S_EXPORTS) || (c->session->exports && c->has_rows)))
        audit_export(c, stmt);
}

void alm_audit_made(alm_session *s, const char *what, alm_str table, alm_str column)
{
    alm_cursor none = {.session = s};
    words w = {.c = &none, .audit = {.event = "ddl", .ok = true}};
    if (s->db->conf == NULL || !s->db->conf->audit_ddl)
        return;
    alm_audit_session(s, &w.audit);
    put(&w, "%s ", what);
    put_name(&w, table);
    if (column.len > 0) {
        put(&w, " ADD COLUMN ");
        put_name(&w, column);
    }
    add_row(&w);
}

/* ----------------------------------------------------------------------------- reads */

enum { READS_MAX = 64 };

typedef struct reads {
    const char *list; /* audit.read.tables */
    const char *name[READS_MAX];
    uint32_t n;
} reads;

static void add_read(reads *r, const char *name)
{
    bool again = name == NULL || !is_listed(r->list, alm_str_of(name));
    for (uint32_t i = 0; i < r->n && !again; i++)
        again = strcmp(r->name[i], name) == 0;
    if (!again && r->n < READS_MAX)
        r->name[r->n++] = name;
}

static void find_reads(reads *r, const alm_plan *plan)
{
    if (plan->op == ALM_P_SCAN) {
        add_read(r, plan->scan.table->name);
        add_read(r, plan->scan.view);
    }
    if (plan->op == ALM_P_SHARED)
        find_reads(r, plan->shared.of);
    for (uint32_t i = 0; i < plan->n_children; i++)
        find_reads(r, plan->child[i]);
}

static void put_reads(alm_cursor *c, const reads *r)
{
    words w = {.c = c, .audit = {.event = "read", .ok = true}};
    if (r->n == 0)
        return;
    alm_audit_session(c->session, &w.audit);
    for (uint32_t i = 0; i < r->n; i++) {
        room_for_name(&w);
        put(&w, i > 0 ? ", " : "");
        put_name(&w, alm_str_of(r->name[i]));
    }
    put_text(&w);
    add_row(&w);
}

void alm_audit_reads(alm_cursor *c, const alm_plan *plan)
{
    reads r = {.list = c->session->db->conf->audit_read_tables};
    if (c->session->of_users)
        return;
    find_reads(&r, plan);
    put_reads(c, &r);
}

void alm_audit_planned(alm_ctx *cx, const alm_plan *plan)
{
    const struct alm_conf *conf = cx->session->db->conf;
    if (conf == NULL || conf->audit_read_tables[0] == 0)
        return;
    alm_cursor as = {.session = cx->session, .cx = *cx};
    alm_audit_reads(&as, plan);
}

void alm_audit_backup(alm_cursor *c, const alm_str *tables, size_t n)
{
    const struct alm_conf *conf = c->session->db->conf;
    reads r = {.list = conf != NULL ? conf->audit_read_tables : ""};
    for (size_t i = 0; i < alm_snapshot_count(c->snapshot) && r.list[0] != 0; i++) {
        const char *name = alm_snapshot_at(c->snapshot, i)->name;
        bool copied = n == 0;
        for (size_t k = 0; k < n && !copied; k++)
            copied = alm_str_ieq(tables[k], alm_str_of(name));
        if (copied)
            add_read(&r, name);
    }
    put_reads(c, &r);
}
