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

static void audit_text_put(words *phrase, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n =
        vsnprintf(phrase->text + phrase->n, sizeof phrase->text - phrase->n, format, args);
    va_end(args);
    phrase->n = ALM_MIN(phrase->n + (size_t)ALM_MAX(n, 0), sizeof phrase->text - 1);
}

static bool audit_text_is_plain(alm_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char byte = name.ptr[i];
        const bool word = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' ||
                          byte == '.' || byte == '@';
        if (!word)
            return false;
    }
    return name.len > 0;
}

/* In quotes where it could be taken for something else; at most 255 bytes of it. */
static void audit_text_put_name(words *phrase, alm_str name)
{
    const size_t n = ALM_MIN(name.len, (size_t)ALM_ENTITY_NAME_MAX);
    if (audit_text_is_plain(name)) {
        audit_text_put(phrase, "%.*s", (int)n, name.ptr);
        return;
    }
    audit_text_put(phrase, "\"");
    for (size_t i = 0; i < n; i++)
        audit_text_put(phrase, name.ptr[i] == '"' ? "\"\"" : "%c", name.ptr[i]);
    audit_text_put(phrase, "\"");
}

static void audit_text_add_row(words *phrase)
{
    phrase->audit.detail = phrase->text;
    alm_audit_add(phrase->c->session->db, &phrase->audit);
}

static void begin_list(words *phrase)
{
    const size_t n = ALM_MIN(phrase->n, sizeof phrase->head - 1);
    memcpy(phrase->head, phrase->text, n);
    phrase->head[n] = 0;
}

/* Another row, with the head again, where the next name may not fit. */
static void room_for_name(words *phrase)
{
    if (phrase->n + 2 * ALM_ENTITY_NAME_MAX + 40 < sizeof phrase->text)
        return;
    audit_text_add_row(phrase);
    phrase->n = 0;
    audit_text_put(phrase, "%s(goes on) ", phrase->head);
}

static void put_names(words *phrase, const alm_acl_name *names, uint32_t n_names)
{
    for (uint32_t i = 0; i < n_names; i++) {
        room_for_name(phrase);
        audit_text_put(phrase, i > 0 ? ", " : "");
        audit_text_put_name(phrase, names[i].text);
    }
}

/* ------------------------------------------------------------------ users and grants */

static void put_object(words *phrase, const alm_acl_object *object)
{
    room_for_name(phrase);
    audit_text_put_name(phrase, object->table.text);
    if (object->star)
        audit_text_put(phrase, object->n_exclude > 0 ? "(*) EXCLUDE (" : "(*)");
    else if (object->n_columns > 0)
        audit_text_put(phrase, "(");
    put_names(phrase, object->star ? object->exclude : object->columns,
              object->star ? object->n_exclude : object->n_columns);
    audit_text_put(phrase, (object->star ? object->n_exclude : object->n_columns) > 0 ? ")" : "");
}

static void put_grant(words *phrase, const alm_acl_words *acl_words)
{
    const bool grant = acl_words->verb == ALM_ACL_GRANT;
    audit_text_put(phrase, grant ? " TO " : " FROM ");
    audit_text_put_name(phrase, acl_words->name.text);
    audit_text_put(phrase, acl_words->option && grant ? " WITH GRANT OPTION: " : ": ");
    begin_list(phrase);
    put_names(phrase, acl_words->permissions, acl_words->n_permissions);
    if (acl_words->all_tables)
        audit_text_put(phrase, " ON ALL TABLES");
    else if (acl_words->on)
        audit_text_put(phrase, " ON ");
    for (uint32_t i = 0; acl_words->on && !acl_words->all_tables && i < acl_words->n_objects; i++) {
        audit_text_put(phrase, i > 0 ? ", " : "");
        put_object(phrase, &acl_words->objects[i]);
    }
}

static void put_token(words *phrase, const alm_acl_words *acl_words)
{
    audit_text_put(phrase, acl_words->verb == ALM_ACL_ADD_TOKEN ? " CREATE TOKEN TYPE "
                                                                : " DROP TOKEN TYPE ");
    audit_text_put(phrase, acl_words->jwk ? "JWK" : "REST");
    if (acl_words->ttl.text.ptr != NULL)
        audit_text_put(phrase, " WITH TTL '%.*s'%s%s", (int)ALM_MIN(acl_words->ttl.text.len, 40),
                       acl_words->ttl.text.ptr, acl_words->refresh ? " REFRESH" : "",
                       acl_words->transient ? " TRANSIENT" : "");
    if (acl_words->verb == ALM_ACL_DROP_TOKEN && !acl_words->jwk)
        audit_text_put(phrase, acl_words->token.text.ptr != NULL ? " (one)" : " (all)");
}

static void put_change(words *phrase, const alm_acl_words *acl_words, const alm_stmt *stmt)
{
    switch ((int)acl_words->verb) {
    case ALM_ACL_CREATE:
    case ALM_ACL_PASSWORD:
        if (acl_words->password.text.ptr != NULL || acl_words->verb == ALM_ACL_PASSWORD)
            audit_text_put(phrase, acl_words->no_password ? " WITH NO PASSWORD" : " WITH PASSWORD");
        if (stmt->owner.len > 0) {
            audit_text_put(phrase, " OWNED BY ");
            audit_text_put_name(phrase, stmt->owner);
        }
        break;
    case ALM_ACL_ENABLE:
    case ALM_ACL_DISABLE:
        audit_text_put(phrase, acl_words->verb == ALM_ACL_ENABLE ? " ENABLE" : " DISABLE");
        break;
    case ALM_ACL_MEMORY:
        audit_text_put(phrase, " SET MEMORY LIMIT ");
        if (acl_words->limit.text.ptr == NULL)
            audit_text_put(phrase, "UNLIMITED");
        else
            audit_text_put(phrase, "%.*s", (int)ALM_MIN(acl_words->limit.text.len, 40),
                           acl_words->limit.text.ptr);
        break;
    case ALM_ACL_ADD_TOKEN:
    case ALM_ACL_DROP_TOKEN:
        put_token(phrase, acl_words);
        break;
    case ALM_ACL_DROP_ALIAS:
        audit_text_put(phrase, " DROP EXTERNAL ALIAS ");
        break;
    case ALM_ACL_ADD_MEMBER:
    case ALM_ACL_REMOVE_MEMBER:
        audit_text_put(phrase, acl_words->verb == ALM_ACL_ADD_MEMBER ? " TO " : " FROM ");
        begin_list(phrase);
        put_names(phrase, acl_words->names, acl_words->n_names);
        break;
    default:
        break;
    }
    if (acl_words->alias.text.ptr != NULL) {
        audit_text_put(phrase,
                       acl_words->verb != ALM_ACL_DROP_ALIAS ? " WITH EXTERNAL ALIAS " : "");
        audit_text_put_name(phrase, acl_words->alias.text);
    }
}

static bool audit_text_is_own(const alm_cursor *cursor, const alm_acl_words *acl_words)
{
    const alm_principal *who = alm_session_principal(cursor->session);
    return who != NULL && who->kind == ALM_PRINCIPAL_LOCAL &&
           (acl_words->verb == ALM_ACL_PASSWORD || acl_words->verb == ALM_ACL_ADD_TOKEN ||
            acl_words->verb == ALM_ACL_DROP_TOKEN || acl_words->verb == ALM_ACL_ASSUME ||
            acl_words->verb == ALM_ACL_EXIT) &&
           (acl_words->verb == ALM_ACL_ASSUME || acl_words->verb == ALM_ACL_EXIT ||
            alm_str_eq(acl_words->name.text, alm_str_of(who->name)));
}

void alm_audit_acl(alm_cursor *cursor, const alm_stmt *stmt, bool ok)
{
    const alm_acl_words *acl_words = stmt->ext;
    const bool grants = acl_words->verb == ALM_ACL_GRANT || acl_words->verb == ALM_ACL_REVOKE ||
                        acl_words->verb == ALM_ACL_GRANT_ASSUME ||
                        acl_words->verb == ALM_ACL_REVOKE_ASSUME;
    words phrase = {
        .c = cursor,
        .audit = {.event = "acl",
                  .ok = ok,
                  .own = audit_text_is_own(cursor, acl_words),
                  .by_option = grants && cursor->rights != NULL && !cursor->rights->all}};
    alm_audit_session(cursor->session, &phrase.audit);
    audit_text_put(&phrase, "%s", cursor->tag);
    if (acl_words->verb == ALM_ACL_GRANT || acl_words->verb == ALM_ACL_REVOKE) {
        put_grant(&phrase, acl_words);
    } else if (acl_words->verb == ALM_ACL_GRANT_ASSUME ||
               acl_words->verb == ALM_ACL_REVOKE_ASSUME) {
        audit_text_put(&phrase, acl_words->verb == ALM_ACL_GRANT_ASSUME ? " TO " : " FROM ");
        audit_text_put_name(&phrase, acl_words->name.text);
        audit_text_put(&phrase, acl_words->option ? " WITH GRANT OPTION: ASSUME SERVICE ACCOUNT "
                                                  : ": ASSUME SERVICE ACCOUNT ");
        put_names(&phrase, acl_words->names, acl_words->n_names);
    } else {
        audit_text_put(&phrase, " ");
        if (acl_words->name.text.ptr != NULL)
            audit_text_put_name(&phrase, acl_words->name.text);
        put_change(&phrase, acl_words, stmt);
    }
    audit_text_add_row(&phrase);
}

/* ------------------------------------------------------------------ other statements */

/* With the secrets in it masked. */
static void audit_put_text(words *phrase)
{
    alm_cursor *cursor = phrase->c;
    const alm_str text = cursor->prepared != NULL ? cursor->prepared->text
                                                  : alm_str_of(cursor->session->activity.text);
    const char *masked = NULL;
    if (alm_sql_masked(&cursor->cx, text, &masked) != ALM_OK) {
        alm_error_clear(&cursor->cx);
        return;
    }
    audit_text_put(phrase, ": %.*s", (int)ALM_MIN(strlen(masked), sizeof phrase->text), masked);
}

static bool audit_text_is_listed(const char *list, alm_str name)
{
    while (name.ptr != NULL && *list != 0) {
        const size_t len = strcspn(list, ", ");
        if (len > 0 && alm_str_ieq((alm_str){list, len}, name))
            return true;
        list += len + (list[len] != 0);
    }
    return false;
}

/* Does a table of audit.read.tables get another name, under which it would be read without a row? */
static bool changes_listed_name(const char *list, const alm_stmt *stmt)
{
    return stmt->kind == ALM_STMT_RENAME_TABLE &&
           (audit_text_is_listed(list, stmt->table) || audit_text_is_listed(list, stmt->new_name));
}

static void audit_ddl(alm_cursor *cursor, const alm_stmt *stmt)
{
    words phrase = {.c = cursor, .audit = {.event = "ddl", .ok = true}};
    alm_audit_session(cursor->session, &phrase.audit);
    audit_text_put(&phrase, "%s ", cursor->tag);
    begin_list(&phrase);
    if (stmt->table.ptr != NULL)
        audit_text_put_name(&phrase, stmt->table);
    if (stmt->new_name.ptr != NULL) {
        audit_text_put(&phrase, " TO ");
        audit_text_put_name(&phrase, stmt->new_name);
    }
    for (uint32_t i = 0; i < stmt->n_more; i++) {
        room_for_name(&phrase);
        audit_text_put(&phrase, i > 0 || stmt->table.ptr != NULL ? ", " : "");
        audit_text_put_name(&phrase, stmt->more_tables[i]);
    }
    audit_put_text(&phrase);
    audit_text_add_row(&phrase);
}

static void audit_export(alm_cursor *cursor, const alm_stmt *stmt)
{
    words phrase = {.c = cursor, .audit = {.event = "export", .ok = true}};
    const alm_copy *copy = stmt->kind == ALM_STMT_COPY_TO ? stmt->ext : NULL;
    alm_audit_session(cursor->session, &phrase.audit);
    audit_text_put(&phrase, stmt->kind == ALM_STMT_BACKUP ? "BACKUP"
                            : copy == NULL                ? "/exp"
                                                          : "COPY TO ");
    if (copy != NULL && copy->place == ALM_COPY_AT_FILE)
        audit_text_put_name(&phrase, copy->file);
    else if (copy != NULL)
        audit_text_put(&phrase, "STDOUT");
    audit_put_text(&phrase);
    audit_text_add_row(&phrase);
}

void alm_audit_statement(alm_cursor *cursor, const alm_stmt *stmt)
{
    const struct alm_conf *conf = cursor->session->db->conf;
    if (alm_stmt_does_any(stmt->kind, ALM_S_DDL) &&
        (conf->audit_ddl || changes_listed_name(conf->audit_read_tables, stmt)))
        audit_ddl(cursor, stmt);
    if (conf->audit_export && (alm_stmt_does_any(stmt->kind, ALM_S_EXPORTS) ||
                               (cursor->session->exports && cursor->has_rows)))
        audit_export(cursor, stmt);
}

void alm_audit_made(alm_session *session, const char *what, alm_str table, alm_str column)
{
    alm_cursor none = {.session = session};
    words phrase = {.c = &none, .audit = {.event = "ddl", .ok = true}};
    if (session->db->conf == NULL || !session->db->conf->audit_ddl)
        return;
    alm_audit_session(session, &phrase.audit);
    audit_text_put(&phrase, "%s ", what);
    audit_text_put_name(&phrase, table);
    if (column.len > 0) {
        audit_text_put(&phrase, " ADD COLUMN ");
        audit_text_put_name(&phrase, column);
    }
    audit_text_add_row(&phrase);
}

/* ----------------------------------------------------------------------------- reads */

enum { READS_MAX = 64 };

typedef struct reads {
    const char *list; /* audit.read.tables */
    const char *name[READS_MAX];
    uint32_t n;
} reads;

static void audit_text_add_read(reads *self, const char *name)
{
    bool again = name == NULL || !audit_text_is_listed(self->list, alm_str_of(name));
    for (uint32_t i = 0; i < self->n && !again; i++)
        again = strcmp(self->name[i], name) == 0;
    if (!again && self->n < READS_MAX)
        self->name[self->n++] = name;
}

static void find_reads(reads *self, const alm_plan *plan)
{
    if (plan->op == ALM_P_SCAN) {
        audit_text_add_read(self, plan->scan.table->name);
        audit_text_add_read(self, plan->scan.view);
    }
    if (plan->op == ALM_P_SHARED)
        find_reads(self, plan->shared.of);
    for (uint32_t i = 0; i < plan->n_children; i++)
        find_reads(self, plan->child[i]);
}

static void put_reads(alm_cursor *cursor, const reads *self)
{
    words phrase = {.c = cursor, .audit = {.event = "read", .ok = true}};
    if (self->n == 0)
        return;
    alm_audit_session(cursor->session, &phrase.audit);
    for (uint32_t i = 0; i < self->n; i++) {
        room_for_name(&phrase);
        audit_text_put(&phrase, i > 0 ? ", " : "");
        audit_text_put_name(&phrase, alm_str_of(self->name[i]));
    }
    audit_put_text(&phrase);
    audit_text_add_row(&phrase);
}

void alm_audit_reads(alm_cursor *cursor, const alm_plan *plan)
{
    reads self = {.list = cursor->session->db->conf->audit_read_tables};
    if (cursor->session->of_users)
        return;
    find_reads(&self, plan);
    put_reads(cursor, &self);
}

void alm_audit_planned(alm_ctx *cx, const alm_plan *plan)
{
    const struct alm_conf *conf = cx->session->db->conf;
    if (conf == NULL || conf->audit_read_tables[0] == 0)
        return;
    alm_cursor cursor = {.session = cx->session, .cx = *cx};
    alm_audit_reads(&cursor, plan);
}

void alm_audit_backup(alm_cursor *cursor, const alm_str *tables, size_t n)
{
    const struct alm_conf *conf = cursor->session->db->conf;
    reads self = {.list = conf != NULL ? conf->audit_read_tables : ""};
    for (size_t i = 0; i < alm_snapshot_count(cursor->snapshot) && self.list[0] != 0; i++) {
        const char *name = alm_snapshot_at(cursor->snapshot, i)->name;
        bool copied = n == 0;
        for (size_t k = 0; k < n && !copied; k++)
            copied = alm_str_ieq(tables[k], alm_str_of(name));
        if (copied)
            audit_text_add_read(&self, name);
    }
    put_reads(cursor, &self);
}
