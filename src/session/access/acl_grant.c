/*
 * acl_grant.c - GRANT and REVOKE.
 *
 * Levels      The database, a table, a column. A grant takes away the same grants of that entity below it. A REVOKE below a
 *             grant turns it into grants on all other tables or columns that are there now.
 * Who         Needs each permission with grant option where it is granted, or above.
 * How many    Who is no administrator grants to who is there, and there may be acl.grants.user.max grants to others on the tables that
 *             he may grant on: whoever makes a table could fill the catalogue else, which is in no account.
 */
#include <stdio.h>
#include <stdlib.h>

#include "session/access/access.h"

typedef struct target {         /* one place a permission is granted on */
    const char *table, *column; /* small letters; "": the level above */
    const alm_table *t;         /* NULL: it is not there (yet) */
    int32_t pos;
} target;

typedef struct grant_run {
    alm_cursor *c;
    const alm_acl_words *w;
    alm_acl_edit *edit;
    const char *entity;
    target *targets;
    uint32_t n_targets, cap_targets;
} grant_run;

/* ------------------------------------------------------------------------- targets */

static alm_status add_target(grant_run *run, const target *goal)
{
    alm_ctx *cx = &run->c->cx;
    if (run->n_targets == run->cap_targets) {
        target *bigger = NULL;
        run->cap_targets = ALM_MAX(16u, 2 * run->cap_targets);
        ALM_TRY(ALM_NEWN(cx, cx->arena, run->cap_targets, &bigger));
        if (run->n_targets > 0)
            memcpy(bigger, run->targets, run->n_targets * sizeof *bigger);
        run->targets = bigger;
    }
    run->targets[run->n_targets++] = *goal;
    return ALM_OK;
}

static bool acl_grant_is_named(const alm_acl_name *names, uint32_t n_names, const char *column)
{
    for (uint32_t i = 0; i < n_names; i++)
        if (alm_str_ieq(names[i].text, alm_str_of(column)))
            return true;
    return false;
}

/* (*) [EXCLUDE ...]: the columns that there are now. */
static alm_status star_targets(grant_run *run, const alm_acl_object *object, target base)
{
    alm_ctx *cx = &run->c->cx;
    if (base.t == NULL)
        return alm_no_table(cx, run->c->snapshot, object->table.text, object->table.pos);
    for (uint32_t i = 0; i < object->n_exclude; i++)
        if (alm_table_col(base.t, object->exclude[i].text) < 0)
            return alm_no_column(cx, base.t, object->exclude[i].text, object->exclude[i].pos);
    const uint32_t before = run->n_targets;
    for (uint32_t i = 0; i < base.t->n_cols; i++) {
        const char *name = base.t->cols[i].name;
        if (acl_grant_is_named(object->exclude, object->n_exclude, name))
            continue;
        ALM_TRY(alm_lower_name(cx, alm_str_of(name), &base.column));
        ALM_TRY(add_target(run, &base));
    }
    if (run->n_targets == before)
        return alm_fail(cx, ALM_E_ARG, object->exclude[0].pos, "EXCLUDE leaves no column");
    return ALM_OK;
}

static alm_status object_targets(grant_run *run, const alm_acl_object *object)
{
    alm_ctx *cx = &run->c->cx;
    target goal = {.column = "", .pos = object->table.pos};
    bool listed = true;
    ALM_TRY(alm_access_lists(cx, object->table.text, &listed));
    if (!listed) { /* may_grant refuses it, whatever is there */
        ALM_TRY(alm_lower_name(cx, object->table.text, &goal.table));
        return add_target(run, &goal);
    }
    goal.t = alm_snapshot_find(run->c->snapshot, object->table.text);
    if (goal.t == NULL && run->w->verify)
        return alm_no_table(cx, run->c->snapshot, object->table.text, object->table.pos);
    ALM_TRY(alm_lower_name(cx, object->table.text, &goal.table));
    if (object->star)
        return star_targets(run, object, goal);
    if (object->n_columns > 0 && goal.t != NULL && goal.t->kind != ALM_TABLE_BASE)
        return alm_fail(cx, ALM_E_GRANT, object->columns[0].pos,
                        "permissions cannot be granted on columns of a view");
    for (uint32_t i = 0; i < object->n_columns; i++) {
        if (run->w->verify && alm_table_col(goal.t, object->columns[i].text) < 0)
            return alm_no_column(cx, goal.t, object->columns[i].text, object->columns[i].pos);
        ALM_TRY(alm_lower_name(cx, object->columns[i].text, &goal.column));
        goal.pos = object->columns[i].pos;
        ALM_TRY(add_target(run, &goal));
    }
    return object->n_columns > 0 ? ALM_OK : add_target(run, &goal);
}

static alm_status find_targets(grant_run *run)
{
    const target all = {.table = "", .column = "", .pos = run->w->name.pos};
    run->n_targets = 0;
    if (!run->w->on || run->w->all_tables)
        return add_target(run, &all);
    for (uint32_t i = 0; i < run->w->n_objects; i++)
        ALM_TRY(object_targets(run, &run->w->objects[i]));
    return ALM_OK;
}

/* --------------------------------------------------------------------- permissions */

static const char *level_of(const target *goal)
{
    return goal->table[0] == 0 ? "database" : goal->column[0] == 0 ? "table" : "column";
}

static bool acl_grant_fits(const alm_permission *permission, const target *goal)
{
    return goal->table[0] == 0    ? true
           : goal->column[0] == 0 ? permission->level >= ALM_LEVEL_T
                                  : permission->level >= ALM_LEVEL_C;
}

static bool has_option(const grant_run *run, const target *goal, uint8_t number)
{
    const alm_rights_ask ask = {.number = number,
                                .table = goal->table[0] != 0 ? goal->table : NULL,
                                .column = goal->column[0] != 0 ? goal->column : NULL,
                                .option = true};
    return alm_rights_may(run->c->rights, &ask);
}

/* What ALL says here: all of today on that level, and none that would let in those to come; without the one that owners lack, where
 * the caller does. */
static void acl_grant_all_of(const grant_run *run, const target *goal, alm_permission_set *out)
{
    const alm_level least = goal->column[0] != 0                        ? ALM_LEVEL_C
                            : goal->table[0] != 0 || run->w->all_tables ? ALM_LEVEL_T
                                                                        : ALM_LEVEL_D;
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *permission = alm_permission_at(i);
        if (permission->level < least || permission->number == ALM_PERMISSION_DATABASE_ADMIN ||
            (permission->number == ALM_PERMISSION_BACKUP_TABLE &&
             !has_option(run, goal, permission->number)))
            continue;
        alm_permission_put(out, permission->number);
    }
}

static alm_status find_permissions(const grant_run *run, const target *goal,
                                   alm_permission_set *out)
{
    alm_ctx *cx = &run->c->cx;
    *out = (alm_permission_set){{0, 0}};
    for (uint32_t i = 0; i < run->w->n_permissions; i++) {
        const alm_acl_name *name = &run->w->permissions[i];
        if (alm_str_eq(name->text, ALM_STR("ALL"))) {
            acl_grant_all_of(run, goal, out);
            continue;
        }
        const alm_permission *permission = alm_permission_find(name->text);
        if (permission == NULL)
            return alm_fail(cx, ALM_E_SYNTAX, name->pos, "permission does not exist [name=%.*s]",
                            (int)name->text.len, name->text.ptr);
        if (!acl_grant_fits(permission, goal))
            return alm_fail(cx, ALM_E_GRANT, name->pos,
                            "permission %s cannot be granted on %s level", permission->name,
                            level_of(goal));
        if (!run->w->on && permission->level != ALM_LEVEL_D)
            return alm_fail(cx, ALM_E_SYNTAX, name->pos,
                            "permission %s needs ON ALL TABLES, or ON and a table",
                            permission->name);
        alm_permission_put(out, permission->number);
    }
    return ALM_OK;
}

/* The caller has all of them, with grant option. */
static alm_status may_grant(const grant_run *run, const target *goal, const alm_permission_set *set)
{
    char what[200];
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *permission = alm_permission_at(i);
        if (!alm_permission_in(set, permission->number) ||
            has_option(run, goal, permission->number))
            continue;
        (void)snprintf(what, sizeof what, "GRANT %s%s%.128s", permission->name,
                       goal->table[0] != 0                ? " on "
                       : permission->level != ALM_LEVEL_D ? " on all tables"
                                                          : "",
                       goal->table);
        return alm_access_denied(run->c, goal->pos, what);
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------------- edits */

static void sub_set(alm_permission_set *from, const alm_permission_set *what)
{
    from->word[0] &= ~what->word[0];
    from->word[1] &= ~what->word[1];
}

static void acl_grant_add_set(alm_permission_set *to, const alm_permission_set *what)
{
    to->word[0] |= what->word[0];
    to->word[1] |= what->word[1];
}

static alm_permission_set both(const alm_permission_set *a, const alm_permission_set *b)
{
    return (alm_permission_set){{a->word[0] & b->word[0], a->word[1] & b->word[1]}};
}

/* Takes the permissions away in one place; *had, *option: those that were there. */
static alm_status acl_grant_take(grant_run *run, const char *table, const char *column,
                                 const alm_permission_set *set, alm_grant *had)
{
    alm_grant grant;
    ALM_TRY(alm_edit_grant_now(run->edit, run->entity, table, column, &grant));
    if (had != NULL) {
        had->may = both(&grant.may, set);
        had->option = both(&grant.option, set);
    }
    const alm_permission_set hit = both(&grant.may, set);
    if (alm_permission_none(&hit))
        return ALM_OK;
    sub_set(&grant.may, set);
    sub_set(&grant.option, set);
    return alm_edit_grant(run->edit, &grant);
}

static alm_status acl_grant_give(grant_run *run, const char *table, const char *column,
                                 const alm_permission_set *set, const alm_permission_set *option)
{
    alm_grant grant;
    if (alm_permission_none(set))
        return ALM_OK;
    ALM_TRY(alm_edit_grant_now(run->edit, run->entity, table, column, &grant));
    acl_grant_add_set(&grant.may, set);
    sub_set(&grant.option, set);
    acl_grant_add_set(&grant.option, option);
    return alm_edit_grant(run->edit, &grant);
}

/* The same grants below a place. */
static alm_status take_below(grant_run *run, const target *goal, const alm_permission_set *set)
{
    const alm_acl *acl = run->edit->acl;
    uint32_t place;
    if (goal->column[0] != 0)
        return ALM_OK;
    const bool database = goal->table[0] == 0;
    const uint32_t end = database ? alm_acl_grants_of(acl, run->entity, &place)
                                  : alm_acl_grants_on(acl, run->entity, goal->table, &place);
    for (; place < end; place++) {
        const alm_grant grant = alm_acl_grant_at(acl, place);
        if (database ? grant.table[0] != 0 : grant.column[0] != 0)
            ALM_TRY(acl_grant_take(run, grant.table, grant.column, set, NULL));
    }
    return ALM_OK;
}

static alm_status grant_one(grant_run *run, const target *goal, const alm_permission_set *set)
{
    const alm_permission_set none = {{0, 0}};
    ALM_TRY(take_below(run, goal, set));
    return acl_grant_give(run, goal->table, goal->column, set, run->w->option ? set : &none);
}

/* Permissions that can be granted on tables. */
static alm_permission_set of_tables(const alm_permission_set *set)
{
    alm_permission_set out = {{0, 0}};
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *permission = alm_permission_at(i);
        if (permission->level != ALM_LEVEL_D && alm_permission_in(set, permission->number))
            alm_permission_put(&out, permission->number);
    }
    return out;
}

/* From the database to all tables but the one. */
static alm_status spread_tables(grant_run *run, const target *goal, const alm_permission_set *set)
{
    const alm_permission_set some = of_tables(set);
    alm_grant had;
    alm_ctx *cx = &run->c->cx;
    ALM_TRY(acl_grant_take(run, "", "", &some, &had));
    for (size_t i = 0; i < alm_snapshot_count(run->c->snapshot); i++) {
        const char *name = NULL;
        ALM_TRY(alm_lower_name(cx, alm_str_of(alm_snapshot_at(run->c->snapshot, i)->name), &name));
        if (strcmp(name, goal->table) != 0 || goal->column[0] != 0)
            ALM_TRY(acl_grant_give(run, name, "", &had.may, &had.option));
    }
    return ALM_OK;
}

/* From the table to all its columns but the one. */
static alm_status spread_columns(grant_run *run, const target *goal, const alm_permission_set *set)
{
    alm_grant had;
    alm_ctx *cx = &run->c->cx;
    ALM_TRY(acl_grant_take(run, goal->table, "", set, &had));
    for (uint32_t i = 0; goal->t != NULL && i < goal->t->n_cols; i++) {
        const char *name = NULL;
        ALM_TRY(alm_lower_name(cx, alm_str_of(goal->t->cols[i].name), &name));
        if (strcmp(name, goal->column) != 0)
            ALM_TRY(acl_grant_give(run, goal->table, name, &had.may, &had.option));
    }
    return ALM_OK;
}

/* Taking a permission away below the place where it is held turns it into permissions on what is left there, and on nothing that
 * comes later. So it takes from that place, too, and needs grant option there. */
static alm_status may_split(grant_run *run, const target *goal, const alm_permission_set *set)
{
    const target all = {.table = "", .column = "", .pos = goal->pos};
    const target table = {.table = goal->table, .column = "", .pos = goal->pos};
    const alm_permission_set some = of_tables(set);
    alm_grant grant;
    ALM_TRY(alm_edit_grant_now(run->edit, run->entity, "", "", &grant));
    alm_permission_set held = both(&grant.may, &some);
    if (goal->table[0] != 0)
        ALM_TRY(may_grant(run, &all, &held));
    if (goal->column[0] == 0)
        return ALM_OK;
    ALM_TRY(alm_edit_grant_now(run->edit, run->entity, goal->table, "", &grant));
    held = both(&grant.may, set);
    return may_grant(run, &table, &held);
}

static alm_status revoke_one(grant_run *run, const target *goal, const alm_permission_set *set)
{
    ALM_TRY(may_split(run, goal, set));
    if (goal->table[0] != 0)
        ALM_TRY(spread_tables(run, goal, set));
    if (goal->column[0] != 0)
        ALM_TRY(spread_columns(run, goal, set));
    ALM_TRY(take_below(run, goal, set));
    return acl_grant_take(run, goal->table, goal->column, set, NULL);
}

/* ---------------------------------------------------------------------- how many */

typedef struct domain { /* tables that somebody may grant on */
    bool everywhere;
    const char **tables; /* ascending */
    uint32_t n;
} domain;

static int acl_grant_by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static alm_status domain_of(alm_ctx *cx, const alm_rights *rights, domain *out)
{
    const alm_acl *acl = rights->acl;
    uint32_t count = 0, place;
    *out = (domain){.everywhere = false};
    for (uint32_t i = 0; i < rights->n; i++) {
        const uint32_t end = alm_acl_grants_of(acl, rights->of[i], &place);
        count += end - place;
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, count + 1, &out->tables));
    for (uint32_t i = 0; i < rights->n; i++) {
        const uint32_t end = alm_acl_grants_of(acl, rights->of[i], &place);
        for (; place < end; place++) {
            const alm_grant grant = alm_acl_grant_at(acl, place);
            if (alm_permission_none(&grant.option))
                continue;
            out->everywhere |= grant.table[0] == 0;
            if (out->n == 0 || strcmp(out->tables[out->n - 1], grant.table) != 0)
                out->tables[out->n++] = grant.table;
        }
    }
    qsort(out->tables, out->n, sizeof *out->tables, acl_grant_by_name);
    return ALM_OK;
}

/* Of others, there now. */
static alm_status count_grants(alm_ctx *cx, const alm_rights *rights, int64_t *out)
{
    domain self;
    *out = 0;
    ALM_TRY(domain_of(cx, rights, &self));
    for (uint32_t i = 0; i < rights->acl->n_grants; i++) {
        const alm_grant grant = alm_acl_grant_at(rights->acl, i);
        ALM_TRY(alm_steps_add(cx, 1));
        if (strcmp(grant.entity, rights->name) != 0 &&
            (self.everywhere || bsearch(&grant.table, self.tables, self.n, sizeof *self.tables,
                                        acl_grant_by_name) != NULL))
            ++*out;
    }
    return ALM_OK;
}

static alm_status check_count(const grant_run *run)
{
    alm_ctx *cx = &run->c->cx;
    const alm_rights *rights = run->c->rights;
    const int64_t most = run->c->session->db->conf->acl_grants_user_max;
    int64_t more = 0, there = 0;
    if (rights->all)
        return ALM_OK;
    ALM_TRY(alm_edit_grants_more(run->edit, rights->name, &more));
    if (more <= 0)
        return ALM_OK;
    ALM_TRY(count_grants(cx, rights, &there));
    if (there + more <= most)
        return ALM_OK;
    return alm_fail(cx, ALM_E_LIMIT, run->w->name.pos,
                    "there would be %lld grants to others on tables that %s may grant on "
                    "(acl.grants.user.max is %lld)",
                    (long long)(there + more), rights->name, (long long)most);
}

/* Whoever is to come is for an administrator to know. */
static alm_status check_grantee(const grant_run *run)
{
    const alm_entity *entity = NULL;
    if (run->w->verb != ALM_ACL_GRANT || run->c->rights->all)
        return ALM_OK;
    return alm_acl_need(run->c, run->edit->acl, &run->w->name, 0, &entity);
}

static alm_status edit_grants(alm_cursor *cursor, alm_acl_edit *edit, void *arg)
{
    grant_run *run = arg;
    run->c = cursor;
    run->edit = edit;
    ALM_TRY(find_targets(run));
    for (uint32_t i = 0; i < run->n_targets; i++) {
        const target *goal = &run->targets[i];
        alm_permission_set set;
        ALM_TRY(find_permissions(run, goal, &set));
        ALM_TRY(may_grant(run, goal, &set));
        ALM_TRY(run->w->verb == ALM_ACL_GRANT ? grant_one(run, goal, &set)
                                              : revoke_one(run, goal, &set));
    }
    ALM_TRY(check_grantee(run));
    return check_count(run);
}

alm_status alm_run_grant(alm_cursor *cursor, const alm_acl_words *words)
{
    grant_run run = {.w = words};
    const alm_entity *entity = NULL;
    ALM_TRY(alm_acl_grantee_of(cursor, cursor->rights->acl, &words->name, &run.entity));
    if (alm_is_admin_name(cursor, run.entity))
        return alm_fail(&cursor->cx, ALM_E_GRANT, words->name.pos,
                        "permissions of the built-in admin cannot be changed");
    if (words->verify)
        ALM_TRY(alm_acl_need(cursor, cursor->rights->acl, &words->name, 0, &entity));
    return alm_acl_change(cursor, edit_grants, &run);
}
