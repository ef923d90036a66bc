/*
 * locks.c - the locks of tables (version.h). They are flags under one mutex, because their owners are
 * handles that may move between threads, and 10,000 idle tables should cost nothing.
 */
#include <errno.h>

#include "base/wait.h"
#include "storage/state.h"

enum { WAIT_MS = 20 }; /* how soon a waiting statement sees that it was cancelled */

static bool take(alm_tab *tab, alm_tab_lock_kind kind)
{
    switch (kind) {
    case ALM_TAB_MAINT:
        if (tab->maint)
            return false;
        tab->maint = true;
        return true;
    case ALM_TAB_SHARE:
        if (tab->alone || tab->waiting_alone > 0)
            return false;
        tab->sharers++;
        return true;
    case ALM_TAB_ALONE:
        if (tab->alone || tab->sharers > 0)
            return false;
        tab->alone = true;
        return true;
    }
    return false;
}

alm_status alm_tab_lock(alm_ctx *cx, alm_storage *st, alm_tab *tab, alm_tab_lock_kind kind)
{
    alm_status e = ALM_OK;
    (void)pthread_mutex_lock(&st->tab_lock);
    tab->waiting_alone += kind == ALM_TAB_ALONE;
    while (e == ALM_OK && !take(tab, kind)) {
        (void)alm_cond_wait_ms(&st->tab_cond, &st->tab_lock, WAIT_MS);
        e = alm_check(cx);
    }
    tab->waiting_alone -= kind == ALM_TAB_ALONE;
    if (kind == ALM_TAB_ALONE && e != ALM_OK)
        (void)pthread_cond_broadcast(&st->tab_cond); /* those it held up */
    (void)pthread_mutex_unlock(&st->tab_lock);
    return e;
}

bool alm_tab_lock_soon(alm_storage *st, alm_tab *tab, alm_tab_lock_kind kind)
{
    enum { ROUNDS = 10 };
    (void)pthread_mutex_lock(&st->tab_lock);
    bool taken = take(tab, kind);
    for (int i = 0; i < ROUNDS && !taken; i++) {
        (void)alm_cond_wait_ms(&st->tab_cond, &st->tab_lock, WAIT_MS);
        taken = take(tab, kind);
    }
    (void)pthread_mutex_unlock(&st->tab_lock);
    return taken;
}

bool alm_tab_trylock(alm_storage *st, alm_tab *tab, alm_tab_lock_kind kind)
{
    (void)pthread_mutex_lock(&st->tab_lock);
    const bool taken = take(tab, kind);
    (void)pthread_mutex_unlock(&st->tab_lock);
    return taken;
}

bool alm_tab_is_held(alm_storage *st, const alm_tab *tab, alm_tab_lock_kind kind)
{
    (void)pthread_mutex_lock(&st->tab_lock);
    const bool held = kind == ALM_TAB_MAINT   ? tab->maint
                      : kind == ALM_TAB_ALONE ? tab->alone
                                              : tab->sharers > 0;
    (void)pthread_mutex_unlock(&st->tab_lock);
    return held;
}

void alm_tab_unlock(alm_storage *st, alm_tab *tab, alm_tab_lock_kind kind)
{
    (void)pthread_mutex_lock(&st->tab_lock);
    switch (kind) {
    case ALM_TAB_MAINT:
        ALM_ASSERT(tab->maint);
        tab->maint = false;
        break;
    case ALM_TAB_SHARE:
        ALM_ASSERT(tab->sharers > 0);
        tab->sharers--;
        break;
    case ALM_TAB_ALONE:
        ALM_ASSERT(tab->alone);
        tab->alone = false;
        break;
    }
    (void)pthread_cond_broadcast(&st->tab_cond);
    (void)pthread_mutex_unlock(&st->tab_lock);
}
