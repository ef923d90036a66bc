/*
 * locks.c - the locks of tables (version.h). They are flags under one mutex, because their owners are
 * handles that may move between threads, and 10,000 idle tables should cost nothing.
 */
#include <errno.h>

#include "base/wait.h"
#include "storage/state.h"

enum { WAIT_MS = 20 }; /* how soon a waiting statement sees that it was cancelled */

static bool locks_take(alm_tab *tab, alm_tab_lock_kind kind)
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

alm_status alm_tab_lock(alm_ctx *cx, alm_storage *storage, alm_tab *tab, alm_tab_lock_kind kind)
{
    alm_status status = ALM_OK;
    (void)pthread_mutex_lock(&storage->tab_lock);
    tab->waiting_alone += kind == ALM_TAB_ALONE;
    while (status == ALM_OK && !locks_take(tab, kind)) {
        (void)alm_cond_wait_ms(&storage->tab_cond, &storage->tab_lock, WAIT_MS);
        status = alm_check(cx);
    }
    tab->waiting_alone -= kind == ALM_TAB_ALONE;
    if (kind == ALM_TAB_ALONE && status != ALM_OK)
        (void)pthread_cond_broadcast(&storage->tab_cond); /* those it held up */
    (void)pthread_mutex_unlock(&storage->tab_lock);
    return status;
}

bool alm_tab_lock_soon(alm_storage *storage, alm_tab *tab, alm_tab_lock_kind kind)
{
    enum { ROUNDS = 10 };
    (void)pthread_mutex_lock(&storage->tab_lock);
    bool taken = locks_take(tab, kind);
    for (int i = 0; i < ROUNDS && !taken; i++) {
        (void)alm_cond_wait_ms(&storage->tab_cond, &storage->tab_lock, WAIT_MS);
        taken = locks_take(tab, kind);
    }
    (void)pthread_mutex_unlock(&storage->tab_lock);
    return taken;
}

bool alm_tab_trylock(alm_storage *storage, alm_tab *tab, alm_tab_lock_kind kind)
{
    (void)pthread_mutex_lock(&storage->tab_lock);
    const bool taken = locks_take(tab, kind);
    (void)pthread_mutex_unlock(&storage->tab_lock);
    return taken;
}

bool alm_tab_is_held(alm_storage *storage, const alm_tab *tab, alm_tab_lock_kind kind)
{
    (void)pthread_mutex_lock(&storage->tab_lock);
    const bool held = kind == ALM_TAB_MAINT   ? tab->maint
                      : kind == ALM_TAB_ALONE ? tab->alone
                                              : tab->sharers > 0;
    (void)pthread_mutex_unlock(&storage->tab_lock);
    return held;
}

void alm_tab_unlock(alm_storage *storage, alm_tab *tab, alm_tab_lock_kind kind)
{
    (void)pthread_mutex_lock(&storage->tab_lock);
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
    (void)pthread_cond_broadcast(&storage->tab_cond);
    (void)pthread_mutex_unlock(&storage->tab_lock);
}
