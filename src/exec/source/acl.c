/*
 * acl.c - users, groups, permissions: what SHOW USERS, SHOW PERMISSIONS ... list, and the functions that list more.
 * Only the session knows them, and who may ask; it gives texts. Some take the name of a user, a group or a service
 * account; without it they tell of the one who asks.
 */
#include "exec/source/list.h"

#include <stdlib.h>

typedef struct acl_list { /* what the session calls it; the name of an entity behind it */
    const char *what;
    bool takes_name;
    const alm_plan_col *cols;
    uint32_t n_cols;
} acl_list;

static alm_status source_acl_bind(alm_ctx *cx, const acl_list *list, const alm_source_call *call,
                                  alm_source_bound *out)
{
    alm_str name = {"", 0};
    const char *what = NULL;
    char one[4] = {0};
    if (call->n_args > (list->takes_name ? 1 : 0) ||
        (call->n_args == 1 && !alm_list_text_arg(call->args[0], one, &name)))
        return alm_fail(cx, ALM_E_ARG, call->n_args > 0 ? call->args[0]->pos : call->pos,
                        list->takes_name ? "a name, as a constant, or nothing expected"
                                         : "no arguments expected");
    const alm_list_kind kind = {list->what, false, list->cols, list->n_cols};
    ALM_TRY(alm_list_bind(cx, &kind, &(alm_source_call){.pos = call->pos}, out));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &what, "%s%s%.*s", list->what, name.len > 0 ? " " : "",
                             (int)name.len, name.len > 0 ? name.ptr : ""));
    out->data = (void *)(uintptr_t)what;
    return ALM_OK;
}

static void source_acl_put(alm_list *list, uint32_t col, const char *text)
{
    switch (list->cols[col].type.id) {
    case ALM_T_BOOLEAN:
        alm_list_bool(list, col, text != NULL && text[0] == 't');
        return;
    case ALM_T_CHAR:
        alm_list_int(list, col, text == NULL ? 0 : text[0]);
        return;
    case ALM_T_LONG:
    case ALM_T_TIMESTAMP:
        alm_list_int(list, col, strtoll(text, NULL, 10));
        return;
    default:
        alm_list_text(list, col, text);
    }
}

static alm_status source_acl_open_list(alm_ctx *cx, alm_run *run, const alm_plan *plan,
                                       const acl_list *list, void **state)
{
    alm_list *l = NULL;
    const char *const *cell = NULL;
    const char *what = NULL;
    size_t rows = 0;
    ALM_TRY(alm_list_new(cx, list->cols, list->n_cols, &l));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &what, "acl %s", (const char *)plan->source.data));
    if (run->env.texts != NULL)
        ALM_TRY(run->env.texts(cx, what, &cell, &rows));
    for (; rows > 0; rows--, cell += list->n_cols) {
        ALM_TRY(alm_list_row(cx, l));
        for (uint32_t i = 0; i < list->n_cols; i++)
            source_acl_put(l, i, cell[i]);
    }
    *state = l;
    return ALM_OK;
}

#define ACL_SOURCE(id, sql_name, what_, takes, columns, doc_, example_)                            \
    static const acl_list id##_list = {what_, takes, columns, ALM_COUNT(columns)};                 \
    static alm_status id##_bind(alm_ctx *cx, const alm_source_call *call, alm_source_bound *out)   \
    {                                                                                              \
        return source_acl_bind(cx, &id##_list, call, out);                                         \
    }                                                                                              \
    static alm_status id##_open(alm_ctx *cx, alm_run *run, const alm_plan *plan, void **state)     \
    {                                                                                              \
        return source_acl_open_list(cx, run, plan, &id##_list, state);                             \
    }                                                                                              \
    const alm_source alm_source_##id = {.name = sql_name,                                          \
                                        .signature = takes ? "([name STRING])" : "()",             \
                                        .doc = doc_,                                               \
                                        .example = example_,                                       \
                                        .bind = id##_bind,                                         \
                                        .open = id##_open,                                         \
                                        .next = alm_list_next,                                     \
                                        .count = alm_list_count,                                   \
                                        .skip = alm_list_skip}

static const alm_plan_col name_cols[] = {{"name", ALM_TY(STRING)}};
static const alm_plan_col account_cols[] = {{"name", ALM_TY(STRING)},
                                            {"grant_option", ALM_TY(BOOLEAN)}};
static const alm_plan_col login_cols[] = {{"auth_type", ALM_TY(STRING)},
                                          {"enabled", ALM_TY(BOOLEAN)}};
static const alm_plan_col permission_cols[] = {{"permission", ALM_TY(STRING)},
                                               {"table_name", ALM_TY(STRING)},
                                               {"column_name", ALM_TY(STRING)},
                                               {"grant_option", ALM_TY(BOOLEAN)},
                                               {"origin", ALM_TY(CHAR)}};
static const alm_plan_col all_cols[] = {
    {"permission", ALM_TY(STRING)}, {"level", ALM_TY(STRING)}, {"description", ALM_TY(STRING)}};
static const alm_plan_col alias_cols[] = {{"group_name", ALM_TY(STRING)},
                                          {"external_alias", ALM_TY(STRING)}};
static const alm_plan_col limit_cols[] = {{"name", ALM_TY(STRING)}, {"memory_limit", ALM_TY(LONG)}};
static const alm_plan_col mine_cols[] = {{"external_group", ALM_TY(STRING)},
                                         {"group_name", ALM_TY(STRING)}};
static const alm_plan_col audit_cols[] = {
    {"timestamp", ALM_TY(TIMESTAMP)}, {"event", ALM_TY(STRING)},
    {"result", ALM_TY(STRING)},       {"user_name", ALM_TY(STRING)},
    {"interface", ALM_TY(STRING)},    {"address", ALM_TY(STRING)},
    {"detail", ALM_TY(STRING)},       {"identity", ALM_TY(STRING)},
    {"real_user", ALM_TY(STRING)},    {"real_identity", ALM_TY(STRING)},
    {"repeats", ALM_TY(LONG)},        {"last_timestamp", ALM_TY(TIMESTAMP)}};

ACL_SOURCE(all_users, "all_users", "users", false, name_cols, "All users: SHOW USERS.",
           "select name from all_users()");
ACL_SOURCE(all_groups, "all_groups", "groups", true, name_cols,
           "All groups, or those of a user: SHOW GROUPS.", "select name from all_groups('jane')");
ACL_SOURCE(all_accounts, "all_service_accounts", "names", false, name_cols,
           "All service accounts: SHOW SERVICE ACCOUNTS.",
           "select name from all_service_accounts()");
ACL_SOURCE(accounts_of, "service_accounts_of", "accounts", true, account_cols,
           "The service accounts that somebody may assume: SHOW SERVICE ACCOUNTS name.",
           "select name from service_accounts_of('jane')");
ACL_SOURCE(user_logins, "user_logins", "user", true, login_cols,
           "How a user can log in: SHOW USER.", "select * from user_logins('jane')");
ACL_SOURCE(account_logins, "service_account_logins", "account", true, login_cols,
           "How a service account can log in: SHOW SERVICE ACCOUNT.",
           "select * from service_account_logins('ingest')");
ACL_SOURCE(permissions_of, "permissions_of", "permissions", true, permission_cols,
           "What somebody may: SHOW PERMISSIONS.", "select * from permissions_of('jane')");
ACL_SOURCE(all_permissions, "all_permissions", "all", false, all_cols,
           "Every permission, and on which levels it can be granted.",
           "select permission, level from all_permissions()");
ACL_SOURCE(external_aliases, "external_aliases", "aliases", false, alias_cols,
           "The groups of an identity provider that stand for groups here.",
           "select group_name, external_alias from external_aliases()");
ACL_SOURCE(memory_limits, "memory_limits", "limits", false, limit_cols,
           "Users, groups and service accounts with a memory limit: bytes that one of their "
           "statements may use.",
           "select name, memory_limit from memory_limits()");
ACL_SOURCE(my_groups, "my_external_groups", "mine", false, mine_cols,
           "The external groups of this session, and the groups they stand for.",
           "select external_group, group_name from my_external_groups()");
ACL_SOURCE(audit_log, "audit_log", "audit", false, audit_cols,
           "Logins, refusals, changes of rights, and what audit.ddl, audit.export and "
           "audit.read.tables ask for: sys.audit_log, for DATABASE ADMIN.",
           "select timestamp, event, user_name from sys.audit_log");
