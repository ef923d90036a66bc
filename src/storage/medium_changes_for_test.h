/*
 * medium_changes_for_test.h - for medium_test.c: a change of the tables, by the seed, that is legal by what is known.
 */
#ifndef ALM_STORAGE_MEDIUM_CHANGES_FOR_TEST_H
#define ALM_STORAGE_MEDIUM_CHANGES_FOR_TEST_H

#include "storage/check/scrub.h"
#include "storage/medium_for_test.h"

enum { ALL_TABLES = (1 << TABLES) - 1 };

typedef struct chosen { /* a change */
    const char *name;
    int table, other; /* -1: none */
    unsigned of;      /* tables it is about, a bit each */
    bool of_all;      /* checkpoint, backup, scrub */
} chosen;

static int any_table(run *r, bool there)
{
    int found[TABLES], n = 0;
    for (int i = 0; i < TABLES; i++)
        if (r->w.known.tables[i].there == there)
            found[n++] = i;
    return n == 0 ? -1 : found[draw(r, (uint64_t)n)];
}

static bool has_rows(const model *m, int table)
{
    for (int v = 0; v < VALUES; v++)
        if (m->tables[table].count[v] > 0)
            return true;
    return false;
}

static bool has_apart(const model *m, int table)
{
    for (int v = 0; v < VALUES; v++)
        if (m->tables[table].apart[v] > 0)
            return true;
    return false;
}

static bool has_column(const model *m, int table, const char *name)
{
    for (uint32_t c = 0; c < m->tables[table].n_cols; c++)
        if (strcmp(m->tables[table].cols[c].name, name) == 0)
            return true;
    return false;
}

static alm_status squash(world *w, int table)
{
    edit e;
    ALM_TRY(edit_begin(w, table, &e));
    const alm_status st = alm_table_squash(&w->cx, w->st, e.table);
    alm_snapshot_release(e.snap);
    return st;
}

static alm_status insert(run *r, chosen *c, model *m)
{
    world *w = &r->w;
    const int64_t from = (int64_t)draw(r, VALUES - 64), n = 1 + (int64_t)draw(r, 60);
    if (draw(r, 3) == 0) {
        c->name = "load";
        return load(w, c->table, from, n, m);
    }
    const int other = any_table(r, true);
    if (draw(r, 4) == 0 && other != c->table && !has_apart(m, other)) {
        c->other = other;
        c->of |= 1U << other;
    }
    c->name = "rows";
    return rows(w, c->table, c->other, from, n, m);
}

static alm_status reshape_any(run *r, chosen *c, model *m)
{
    world *w = &r->w;
    char name[16];
    const int t = c->table;
    (void)snprintf(name, sizeof name, "extra%u", m->tables[t].n_cols);
    c->name = "widen";
    if (draw(r, 2) == 0 && m->tables[t].n_cols < 7 && !has_column(m, t, name))
        return widen(w, t, m);
    c->name = "narrow";
    if (draw(r, 2) == 0 && m->tables[t].n_cols > COL_GEN + 1)
        return narrow(w, t, m);
    c->name = "retype";
    return retype(w, t, m->tables[t].cols[1].type == ALM_T_SYMBOL ? ALM_T_VARCHAR : ALM_T_SYMBOL,
                  m);
}

static alm_status rewrite_any(run *r, chosen *c, model *m)
{
    world *w = &r->w;
    switch (draw(r, 6)) {
    case 0:
        c->name = "delete";
        return delete_thirds(w, c->table, m);
    case 1:
        c->name = "update";
        return has_gens(m, c->table) ? update_thirds(w, NULL, c->table, m)
                                     : delete_thirds(w, c->table, m);
    case 2:
        c->name = "squash";
        return squash(w, c->table);
    case 3:
        c->name = "to parquet";
        return convert(w, c->table, true);
    case 4:
        c->name = "to native";
        return convert(w, c->table, false);
    default:
        c->name = "merge";
        return merge_parts(w, c->table);
    }
}

/* What reads to write says so, as statements do. */
static alm_status written_anew(run *r, chosen *c, model *m,
                               alm_status (*change)(run *r, chosen *c, model *m))
{
    const uint64_t before = alm_rewrite_begin(&r->w.cx, r->w.st);
    const alm_status st = change(r, c, m);
    alm_rewrite_end(&r->w.cx, before);
    return st;
}

static alm_status drop_any(run *r, chosen *c, model *m)
{
    world *w = &r->w;
    const int t = c->table, free_name = any_table(r, false);
    switch (draw(r, 5)) {
    case 0:
        c->name = "truncate";
        return truncate_table(w, t, m);
    case 1:
        c->name = "drop";
        return drop(w, t, m);
    case 2:
        c->name = "rename";
        if (free_name < 0)
            return ALM_OK;
        c->of |= 1U << free_name;
        return swap_name(w, t, free_name, m);
    case 3:
        c->name = "drop partition";
        return has_rows(m, t) ? drop_oldest(w, t, m) : ALM_OK;
    default:
        c->name = "detach";
        return has_rows(m, t) ? move_oldest(w, t, ALM_PARTITION_DETACH, m) : ALM_OK;
    }
}

static alm_status change_all(run *r, chosen *c)
{
    world *w = &r->w;
    const size_t struck_before = alm_sim_damage_count(w->sim);
    c->of_all = true;
    c->of = ALL_TABLES;
    switch (draw(r, 6)) {
    case 0:
    case 1:
        c->name = "scrub";
        ALM_TRY(alm_scrub_all(&w->cx, w->st));
        r->seen = struck_before;
        r->count->scrubs++;
        return ALM_OK;
    case 2:
        c->name = "backup";
        r->maybe_backed_up = w->known;
        r->may_have_backup = true;
        ALM_TRY(back_up(w));
        r->may_have_backup = false;
        r->backed_up = w->known;
        r->has_backup = true;
        r->count->backups++;
        return ALM_OK;
    default:
        c->name = "checkpoint";
        return alm_storage_checkpoint(&w->cx, w->st);
    }
}

static alm_status change_any(run *r, chosen *c, model *m)
{
    const uint64_t what = draw(r, 20);
    const int missing = any_table(r, false);
    *c = (chosen){.name = "", .table = any_table(r, true), .other = -1};
    r->w.gen++;
    if (c->table < 0 || (missing >= 0 && draw(r, 5) == 0)) {
        c->name = "create";
        c->table = missing;
        c->of = 1U << missing;
        return make_of(&r->w, missing, COL_GEN + 1, draw(r, 2) == 0, m);
    }
    c->of = 1U << c->table;
    if (has_apart(m, c->table) && what < 16) { /* its rows stay as they are until they are back */
        c->name = "attach";
        return draw(r, 2) == 0 ? ALM_OK : move_oldest(&r->w, c->table, ALM_PARTITION_ATTACH, m);
    }
    if (what < 7)
        return insert(r, c, m);
    if (what < 9)
        return written_anew(r, c, m, reshape_any);
    if (what < 14)
        return written_anew(r, c, m, rewrite_any);
    if (what < 16)
        return drop_any(r, c, m);
    return change_all(r, c);
}

#endif
