/*
 * medium_starts_for_test.h - for medium_test.c: a stop, a kill or a power cut, the start behind it, and which state it may find.
 */
#ifndef ALM_STORAGE_MEDIUM_STARTS_FOR_TEST_H
#define ALM_STORAGE_MEDIUM_STARTS_FOR_TEST_H

#include "storage/medium_for_test.h"

static void remember(run *r)
{
    const alm_wal *wal = &r->w.st->wal;
    if (r->n_history == PAST) {
        memmove(r->history, r->history + PAST / 2, PAST / 2 * sizeof *r->history);
        r->n_history = PAST / 2;
    }
    r->history[r->n_history++] =
        (past){.known = r->w.known,
               .segment = wal->n_segments > 0 ? wal->segments[wal->n_segments - 1].number : 0,
               .at = wal->at};
}

/* Has the medium struck the log between the two, or the mark behind? */
static bool is_struck(const past *from, const past *to, const alm_sim_damage *d)
{
    unsigned long long segment = 0;
    if (!d->is_wrong || sscanf(d->path, "r/db/wal/%16llx.wal", &segment) != 1)
        return false;
    if (segment < from->segment || segment > to->segment)
        return false;
    const bool behind_first = segment > from->segment || d->offset + d->bytes > from->at;
    const bool before_last = segment < to->segment || d->offset < to->at + ALM_REC_HEADER;
    return behind_first && before_last;
}

/* The state of an earlier moment is allowed if each change behind it was struck. */
static bool is_lost_tail(run *r, const alm_sim_damage *places, size_t n)
{
    for (size_t k = r->n_history; k-- > 1;) {
        bool any = false;
        for (size_t i = 0; i < n; i++)
            any |= is_struck(&r->history[k - 1], &r->history[k], &places[i]);
        const bool empty = r->history[k - 1].segment == r->history[k].segment &&
                           r->history[k - 1].at == r->history[k].at;
        if (!any && !empty)
            return false;
        r->why[0] = 0;
        alm_error_clear(&r->w.cx);
        r->tail_lost = true; /* what the lost records removed is gone all the same */
        if (any && all_is_allowed(r, &r->history[k - 1].known)) {
            r->w.known = r->history[k - 1].known;
            r->count->lost_tails++;
            return true;
        }
        r->tail_lost = false;
    }
    return false;
}

static void trace(run *r)
{
    if (getenv("ALM_TEST_TRACE") == NULL)
        return;
    for (size_t i = 0; i < alm_sim_damage_count(r->w.sim); i++) {
        alm_sim_damage d;
        alm_sim_damage_at(r->w.sim, i, &d);
        print_message("place %zu: kind %d, was %s, is %s, offset %lld, %lld bytes%s%s%s\n", i,
                      (int)d.kind, d.was, d.path, (long long)d.offset, (long long)d.bytes,
                      d.landed ? ", landed" : "", d.mapped ? ", mapped" : "",
                      d.is_wrong ? ", wrong" : "");
    }
}

static bool has_previous(const run *r)
{
    alm_io_stat meta;
    const alm_io *io = alm_sim_io(r->w.sim);
    return io->stat(io, "r/db/" ALM_CATALOG_PREVIOUS, &meta) >= 0;
}

/* A start may refuse where the log is struck, or the catalogue and what takes its place; when these are sound again, all is there. */
static bool open_again(run *r)
{
    struck before, s; /* rot strikes within a start, too */
    const char *msg = r->w.cx.err.msg;
    alm_error_clear(&r->w.cx);
    trace(r);
    look(r, NULL, &before);
    r->seen = alm_sim_damage_count(r->w.sim);
    r->count->starts++;
    r->w.st = NULL;
    const bool previous = has_previous(r);
    if (alm_storage_open(&r->w.cx, alm_sim_io(r->w.sim), "r", &r->w.conf, &r->w.st) == ALM_OK) {
        r->count->previous_starts += r->w.st->generation.alone;
        return true;
    }
    look(r, NULL, &s);
    const bool other = !previous || before.previous || s.previous || before.log || s.log;
    const bool meanwhile = (s.catalogue || s.previous) && strstr(msg, "the disk failed") != NULL;
    const bool catalogue =
        meanwhile || ((before.catalogue || s.catalogue) && other && strstr(msg, "catalog") != NULL);
    const bool log = (before.log || s.log) && strstr(msg, "wal") != NULL;
    if (!is_damage(r->w.cx.err.code) || !(catalogue || log))
        return broken(r, "no start: %s", msg);
    r->count->refused_starts++;
    alm_sim_damage_never(r->w.sim); /* nor while it is tried again */
    (void)alm_sim_mend(r->w.sim, "r/db/catalog");
    (void)alm_sim_mend(r->w.sim, "r/db/wal");
    alm_error_clear(&r->w.cx);
    if (alm_storage_open(&r->w.cx, alm_sim_io(r->w.sim), "r", &r->w.conf, &r->w.st) == ALM_OK)
        return true;
    return broken(r, "no start after the catalogue and the log were put right: %s", msg);
}

/* The places as they are now; those behind the first n (of before) were struck meanwhile. */
static alm_sim_damage *list_places(run *r, alm_sim_damage *before, size_t *n)
{
    const size_t now = alm_sim_damage_count(r->w.sim);
    const bool again = before != NULL;
    alm_sim_damage *list = realloc(before, (now + 1) * sizeof *list);
    assert_non_null(list);
    for (size_t i = *n; i < now; i++) {
        alm_sim_damage_at(r->w.sim, i, &list[i]);
        if (again) { /* a start may have cut what was struck */
            list[i].is_wrong = true;
            memcpy(list[i].path, list[i].was, sizeof list[i].path);
        }
    }
    *n = now;
    return list;
}

/* `after`: NULL, or the change that a power cut met, which may be there wholly. */
static bool start_again(run *r, bool clean, const model *after)
{
    if (!clean && !alm_sim_is_dead(r->w.sim))
        alm_sim_cut_after(r->w.sim, 1);
    alm_storage_close(r->w.st);
    r->w.st = NULL;
    if (!clean)
        alm_sim_restart(r->w.sim);
    size_t n = 0;
    alm_sim_damage *places = list_places(r, NULL, &n);
    bool good = open_again(r);
    places = list_places(r, places, &n);
    const bool opened = good;
    good = opened && all_is_allowed(r, &r->w.known);
    if (opened && !good && after != NULL) {
        r->why[0] = 0;
        alm_error_clear(&r->w.cx);
        good = all_is_allowed(r, after);
        if (good)
            r->w.known = *after;
    }
    if (opened && !good) {
        char why[sizeof r->why];
        memcpy(why, r->why, sizeof why);
        good = is_lost_tail(r, places, n);
        memcpy(r->why, why, good ? 0 : sizeof why);
        if (good)
            r->why[0] = 0;
    }
    free(places);
    r->n_history = 0;
    if (good)
        remember(r);
    return good;
}

#endif
