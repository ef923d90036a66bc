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

static alm_status add_target(grant_run *r, const target *t)
{
    alm_ctx *cx = &r->c->cx;
    if (r->n_targets == r->cap_targets) {
        target *bigger = NULL;
        r->cap_targets = ALM_MAX(16u, 2 * r->cap_targets);
        ALM_TRY(ALM_NEWN(cx, cx->arena, r->cap_targets, &bigger));
        if (r->n_targets > 0)
            memcpy(bigger, r->targets, r->n_targets * sizeof *bigger);
        r->targets = bigger;
    }
    r->targets[r->n_targets++] = *t;
    return ALM_OK;
}

static bool is_named(const alm_acl_name *names, uint32_t n, const char *column)
{
    for (uint32_t i = 0; i < n; i++)
        if (alm_str_ieq(names[i].text, alm_str_of(column)))
            return true;
    return false;
}

/* (*) [EXCLUDE ...]: the columns that there are now. */
static alm_status star_targets(grant_run *r, const alm_acl_object *o, target base)
{
    alm_ctx *cx = &r->c->cx;
    if (base.t == NULL)
        return alm_no_table(cx, r->c->snapshot, o->table.text, o->table.pos);
    for (uint32_t i = 0; i < o->n_exclude; i++)
        if (alm_table_col(base.t, o->exclude[i].text) < 0)
            return alm_no_column(cx, base.t, o->exclude[i].text, o->exclude[i].pos);
    const uint32_t before = r->n_targets;
    for (uint32_t i = 0; i < base.t->n_cols; i++) {
        const char *name = base.t->cols[i].name;
        if (is_named(o->exclude, o->n_exclude, name))
            continue;
        ALM_TRY(alm_lower_name(cx, alm_str_of(name), &base.column));
        ALM_TRY(add_target(r, &base));
    }
    if (r->n_targets == before)
        return alm_fail(cx, ALM_E_ARG, o->exclude[0].pos, "EXCLUDE leaves no column");
    return ALM_OK;
}

static alm_status object_targets(grant_run *r, const alm_acl_object *o)
{
    alm_ctx *cx = &r->c->cx;
    target t = {.column = "", .pos = o->table.pos};
    bool listed = true;
    ALM_TRY(alm_access_lists(cx, o->table.text, &listed));
    if (!listed) { /* may_grant refuses it, whatever is there */
        ALM_TRY(alm_lower_name(cx, o->table.text, &t.table));
        return add_target(r, &t);
    }
    t.t = alm_snapshot_find(r->c->snapshot, o->table.text);
    if (t.t == NULL && r->w->verify)
        return alm_no_table(cx, r->c->snapshot, o->table.text, o->table.pos);
    ALM_TRY(alm_lower_name(cx, o->table.text, &t.table));
    if (o->star)
        return star_targets(r, o, t);
    if (o->n_columns > 0 && t.t != NULL && t.t->kind != ALM_TABLE_BASE)
        return alm_fail(cx, ALM_E_GRANT, o->columns[0].pos,
                        "permissions cannot be granted on columns of a view");
    for (uint32_t i = 0; i < o->n_columns; i++) {
        if (r->w->verify && alm_table_col(t.t, o->columns[i].text) < 0)
            return alm_no_column(cx, t.t, o->columns[i].text, o->columns[i].pos);
        ALM_TRY(alm_lower_name(cx, o->columns[i].text, &t.column));
        t.pos = o->columns[i].pos;
        ALM_TRY(add_target(r, &t));
    }
    return o->n_columns > 0 ? ALM_OK : add_target(r, &t);
}

static alm_status find_targets(grant_run *r)
{
    const target all = {.table = "", .column = "", .pos = r->w->name.pos};
    r->n_targets = 0;
    if (!r->w->on || r->w->all_tables)
        return add_target(r, &all);
    for (uint32_t i = 0; i < r->w->n_objects; i++)
        ALM_TRY(object_targets(r, &r->w->objects[i]));
    return ALM_OK;
}

/* --------------------------------------------------------------------- permissions */

static const char *level_of(const target *t)
{
    return t->table[0] == 0 ? "database" : t->column[0] == 0 ? "table" : "column";
}

static bool fits(const alm_permission *p, const target *t)
{
    return t->table[0] == 0    ? true
           : t->column[0] == 0 ? p->level >= ALM_LEVEL_T
                               : p->level >= ALM_LEVEL_C;
}

static bool has_option(const grant_run *r, const target *t, uint8_t number)
{
    const alm_rights_ask ask = {.number = number,
                                .table = t->table[0] != 0 ? t->table : NULL,
                                .column = t->column[0] != 0 ? t->column : NULL,
                                .option = true};
    return alm_rights_may(r->c->rights, &ask);
}

/* What ALL says here: all of today on that level, and none that would let in those to come; without the one that owners lack, where
 * the caller does. */
static void all_of(const grant_run *r, const target *t, alm_permission_set *out)
{
    const alm_level least = t->column[0] != 0                      ? ALM_LEVEL_C
                            : t->table[0] != 0 || r->w->all_tables ? ALM_LEVEL_T
                                                                   : ALM_LEVEL_D;
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *p = alm_permission_at(i);
        if (p->level < least || p->number == ALM_PERMISSION_DATABASE_ADMIN ||
            (p->number == ALM_PERMISSION_BACKUP_TABLE && !has_option(r, t, p->number)))
            continue;
        alm_permission_put(out, p->number);
    }
}

static alm_status find_permissions(const grant_run *r, const target *t, alm_permission_set *out)
{
    alm_ctx *cx = &r->c->cx;
    *out = (alm_permission_set){{0, 0}};
    for (uint32_t i = 0; i < r->w->n_permissions; i++) {
        const alm_acl_name *name = &r->w->permissions[i];
        if (alm_str_eq(name->text, ALM_STR("ALL"))) {
            all_of(r, t, out);
            continue;
        }
        const alm_permission *p = alm_permission_find(name->text);
        if (p == NULL)
            return alm_fail(cx, ALM_E_SYNTAX, name->pos, "permission does not exist [name=%.*s]",
                            (int)name->text.len, name->text.ptr);
        if (!fits(p, t))
            return alm_fail(cx, ALM_E_GRANT, name->pos,
                            "permission %s cannot be granted on %s level", p->name, level_of(t));
        if (!r->w->on && p->level != ALM_LEVEL_D)
            return alm_fail(cx, ALM_E_SYNTAX, name->pos,
                            "permission %s needs ON ALL TABLES, or ON and a table", p->name);
        alm_permission_put(out, p->number);
    }
    return ALM_OK;
}

/* The caller has all of them, with grant option. */
static alm_status may_grant(const grant_run *r, const target *t, const alm_permission_set *set)
{
    char what[200];
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *p = alm_permission_at(i);
        if (!alm_permission_in(set, p->number) || has_option(r, t, p->number))
            continue;
        (void)snprintf(what, sizeof what, "GRANT %s%s%.128s", p->name,
                       t->table[0] != 0          ? " on "
                       : p->level != ALM_LEVEL_D ? " on all tables"
                                                 : "",
                       t->table);
        return alm_access_denied(r->c, t->pos, what);
    }
    return ALM_OK;
}

/* --------------------------------------------------------------------------- edits */

static void sub_set(alm_permission_set *from, const alm_permission_set *what)
{
    from->word[0] &= ~what->word[0];
    from->word[1] &= ~what->word[1];
}

static void add_set(alm_permission_set *to, const alm_permission_set *what)
{
    to->word[0] |= what->word[0];
    to->word[1] |= what->word[1];
}

static alm_permission_set both(const alm_permission_set *a, const alm_permission_set *b)
{
    return (alm_permission_set){{a->word[0] & b->word[0], a->word[1] & b->word[1]}};
}

/* Takes the permissions away in one place; *had, *option: those that were there. */
static alm_status take(grant_run *r, const char *table, const char *column,
                       const alm_permission_set *set, alm_grant *had)
{
    alm_grant g;
    ALM_TRY(alm_edit_grant_now(r->edit, r->entity, table, column, &g));
    if (had != NULL) {
        had->may = both(&g.may, set);
        had->option = both(&g.option, set);
    }
    const alm_permission_set hit = both(&g.may, set);
    if (alm_permission_none(&hit))
        return ALM_OK;
    sub_set(&g.may, set);
    sub_set(&g.option, set);
    return alm_edit_grant(r->edit, &g);
}

static alm_status give(grant_run *r, const char *table, const char *column,
                       const alm_permission_set *set, const alm_permission_set *option)
{
    alm_grant g;
    if (alm_permission_none(set))
        return ALM_OK;
    ALM_TRY(alm_edit_grant_now(r->edit, r->entity, table, column, &g));
    add_set(&g.may, set);
    sub_set(&g.option, set);
    add_set(&g.option, option);
    return alm_edit_grant(r->edit, &g);
}

/* The same grants below a place. */
static alm_status take_below(grant_run *r, const target *t, const alm_permission_set *set)
{
    const alm_acl *acl = r->edit->acl;
    uint32_t at;
    if (t->column[0] != 0)
        return ALM_OK;
    const bool database = t->table[0] == 0;
    const uint32_t end = database ? alm_acl_grants_of(acl, r->entity, &at)
                                  : alm_acl_grants_on(acl, r->entity, t->table, &at);
    for (; at < end; at++) {
        const alm_grant g = alm_acl_grant_at(acl, at);
        if (database ? g.table[0] != 0 : g.column[0] != 0)
            ALM_TRY(take(r, g.table, g.column, set, NULL));
    }
    return ALM_OK;
}

static alm_status grant_one(grant_run *r, const target *t, const alm_permission_set *set)
{
    const alm_permission_set none = {{0, 0}};
    ALM_TRY(take_below(r, t, set));
    return give(r, t->table, t->column, set, r->w->option ? set : &none);
}

/* Permissions that can be granted on tables. */
static alm_permission_set of_tables(const alm_permission_set *set)
{
    alm_permission_set out = {{0, 0}};
    for (size_t i = 0; i < alm_permission_count(); i++) {
        const alm_permission *p = alm_permission_at(i);
        if (p->level != ALM_LEVEL_D && alm_permission_in(set, p->number))
            alm_permission_put(&out, p->number);
    }
    return out;
}

/* From the database to all tables but the one. */
static alm_status spread_tables(grant_run *r, const target *t, const alm_permission_set *set)
{
    const alm_permission_set some = of_tables(set);
    alm_grant had;
    alm_ctx *cx = &r->c->cx;
    ALM_TRY(take(r, "", "", &some, &had));
    for (size_t i = 0; i < alm_snapshot_count(r->c->snapshot); i++) {
        const char *name = NULL;
        ALM_TRY(alm_lower_name(cx, alm_str_of(alm_snapshot_at(r->c->snapshot, i)->name), &name));
        if (strcmp(name, t->table) != 0 || t->column[0] != 0)
            ALM_TRY(give(r, name, "", &had.may, &had.option));
    }
    return ALM_OK;
}

/* From the table to all its columns but the one. */
static alm_status spread_columns(grant_run *r, const target *t, const alm_permission_set *set)
{
    alm_grant had;
    alm_ctx *cx = &r->c->cx;
    ALM_TRY(take(r, t->table, "", set, &had));
    for (uint32_t i = 0; t->t != NULL && i < t->t->n_cols; i++) {
        const char *name = NULL;
        ALM_TRY(alm_lower_name(cx, alm_str_of(t->t->cols[i].name), &name));
        if (strcmp(name, t->column) != 0)
            ALM_TRY(give(r, t->table, name, &had.may, &had.option));
    }
    return ALM_OK;
}

/* Taking a permission away below the place where it is held turns it into permissions on what is left there, and on nothing that
 * comes later. So it takes from that place, too, and needs grant option there. */
static alm_status may_split(grant_run *r, const target *t, const alm_permission_set *set)
{
    const target all = {.table = "", .column = "", .pos = t->pos};
    const target table = {.table = t->table, .column = "", .pos = t->pos};
    const alm_permission_set some = of_tables(set);
    alm_grant g;
    ALM_TRY(alm_edit_grant_now(r->edit, r->entity, "", "", &g));
    alm_permission_set held = both(&g.may, &some);
    if (t->table[0] != 0)
        ALM_TRY(may_grant(r, &all, &held));
    if (t->column[0] == 0)
        return ALM_OK;
    ALM_TRY(alm_edit_grant_now(r->edit, r->entity, t->table, "", &g));
    held = both(&g.may, set);
    return may_grant(r, &table, &held);
}

static alm_status revoke_one(grant_run *r, const target *t, const alm_permission_set *set)
{
    ALM_TRY(may_split(r, t, set));
    if (t->table[0] != 0)
        ALM_TRY(spread_tables(r, t, set));
    if (t->column[0] != 0)
        ALM_TRY(spread_columns(r, t, set));
    ALM_TRY(take_below(r, t, set));
    return take(r, t->table, t->column, set, NULL);
}

/* ---------------------------------------------------------------------- how many */

typedef struct domain { /* tables that somebody may grant on */
    bool everywhere;
    const char **tables; /* ascending */
    uint32_t n;
} domain;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static alm_status domain_of(alm_ctx *cx, const alm_rights *rights, domain *out)
{
    const alm_acl *acl = rights->acl;
    uint32_t n = 0, at;
    *out = (domain){.everywhere = false};
    for (uint32_t i = 0; i < rights->n; i++) {
        const uint32_t end = alm_acl_grants_of(acl, rights->of[i], &at);
        n += end - at;
    }
    ALM_TRY(ALM_NEWN(cx, cx->arena, n + 1, &out->tables));
    for (uint32_t i = 0; i < rights->n; i++) {
        const uint32_t end = alm_acl_grants_of(acl, rights->of[i], &at);
        for (; at < end; at++) {
            const alm_grant g = alm_acl_grant_at(acl, at);
            if (alm_permission_none(&g.option))
                continue;
            out->everywhere |= g.table[0] == 0;
            if (out->n == 0 || strcmp(out->tables[out->n - 1], g.table) != 0)
                out->tables[out->n++] = g.table;
        }
    }
    qsort(out->tables, out->n, sizeof *out->tables, by_name);
    return ALM_OK;
}

/* Of others, there now. */
static alm_status count_grants(alm_ctx *cx, const alm_rights *rights, int64_t *out)
{
    domain d;
    *out = 0;
    ALM_TRY(domain_of(cx, rights, &d));
    for (uint32_t i = 0; i < rights->acl->n_grants; i++) {
        const alm_grant g = alm_acl_grant_at(rights->acl, i);
        ALM_TRY(alm_steps_add(cx, 1));
        if (strcmp(g.entity, rights->name) != 0 &&
            (d.everywhere || bsearch(&g.table, d.tables, d.n, sizeof *d.tables, by_name) != NULL))
            ++*out;
    }
    return ALM_OK;
}

static alm_status check_count(const grant_run *r)
{
    alm_ctx *cx = &r->c->cx;
    const alm_rights *rights = r->c->rights;
    const int64_t most = r->c->session->db->conf->acl_grants_user_max;
    int64_t more = 0, there = 0;
    if (rights->all)
        return ALM_OK;
    ALM_TRY(alm_edit_grants_more(r->edit, rights->name, &more));
    if (more <= 0)
        return ALM_OK;
    ALM_TRY(count_grants(cx, rights, &there));
    if (there + more <= most)
        return ALM_OK;
    return alm_fail(cx, ALM_E_LIMIT, r->w->name.pos,
                    "there would be %lld grants to others on tables that %s may grant on "
                    "(acl.grants.user.max is %lld)",
                    (long long)(there + more), rights->name, (long long)most);
}

/* Whoever is to come is for an administrator to know. */
static alm_status check_grantee(const grant_run *r)
{
    const alm_entity *entity = NULL;
    if (r->w->verb != ALM_ACL_GRANT || r->c->rights->all)
        return ALM_OK;
    return alm_acl_need(r->c, r->edit->acl, &r->w->name, 0, &entity);
}

static alm_status edit_grants(alm_cursor *c, alm_acl_edit *edit, void *arg)
{
    grant_run *r = arg;
    r->c = c;
    r->edit = edit;
    ALM_TRY(find_targets(r));
    for (uint32_t i = 0; i < r->n_targets; i++) {
        const target *t = &r->targets[i];
        alm_permission_set set;
        ALM_TRY(find_permissions(r, t, &set));
        ALM_TRY(may_grant(r, t, &set));
        ALM_TRY(r->w->verb == ALM_ACL_GRANT ? grant_one(r, t, &set) : revoke_one(r, t, &set));
    }
    ALM_TRY(check_grantee(r));
    return check_count(r);
}

alm_status alm_run_grant(alm_cursor *c, const alm_acl_words *w)
{
    grant_run r = {.w = w};
    const alm_entity *entity = NULL;
    ALM_TRY(alm_acl_grantee_of(c, c->rights->acl, &w->name, &r.entity));
    if (alm_is_admin_name(c, r.entity))
        return alm_fail(&c->cx, ALM_E_GRANT, w->name.pos,
                        "permissions of the built-in admin cannot be changed");
    if (w->verify)
        ALM_TRY(alm_acl_need(c, c->rights->acl, &w->name, 0, &entity));
    return alm_acl_change(c, edit_grants, &r);
}
