/*
 * plan_cache.h - plans of statements that come again: by text, for all sessions. Private to session/.
 *
 * What        The plan of a SELECT, if its text has come before, nothing stands behind it, and alm_plan_uses says that
 *             it may run again. A hit saves parsing, binding and optimising, which is most of a point query.
 * Templates   A statement with parameters, or over a table that changes as often as it is asked, keeps a template
 *             (sql/bind/template.c): each execution makes an instance of it, with its own values, for its own
 *             snapshot. It is valid where every name of its FROM is the same table with the same columns, and for
 *             values of the same types that are not null. A text that has none is remembered (`hopeless`).
 * Valid       Another plan is used where every name of its FROM is found in the snapshot as it was when the plan was made:
 *             the same version of the same table, or none. Any change of the table, of its rows or of its
 *             dictionaries makes another version, so what the plan says of rows, ranges and symbols holds, and what
 *             it points to lives as long as the snapshot of whoever runs it. Also: the same user, and the same UTC
 *             day. A plan that is not valid any more is dropped when it is met.
 * Limits      query.plan.cache.max bytes; the plan that was used least recently goes. One plan takes at most a
 *             sixteenth. 0: nothing is kept.
 * Ownership   Entries are counted: the cache has one reference, each statement and each execution that uses it
 *             another. An entry owns its arena, with text and plan.
 * Threads     The cache has a lock. An entry is read-only once it is in the cache.
 */
#ifndef ALM_SESSION_PLAN_CACHE_H
#define ALM_SESSION_PLAN_CACHE_H

#include <pthread.h>

#include "sql/sql.h"

typedef struct alm_plan_key {
    alm_str user, text;
    int64_t last_rows; /* the plan gives only so many rows, the last ones; 0: all */
} alm_plan_key;

typedef struct alm_kept_plan alm_kept_plan;
struct alm_kept_plan {
    _Atomic uint32_t refs;
    atomic_bool used; /* has served another execution than its own */
    alm_mem mem;
    alm_arena arena;
    alm_plan_key key;
    uint64_t hash;  /* of the key */
    size_t next;    /* where the text goes on behind the statement: blanks */
    alm_stmt *stmt; /* to look at; the tree is for the planner of this plan alone */
    alm_plan *plan;
    bool is_template;
    bool hopeless;         /* there is no template: no stmt and no plan either */
    const alm_type *types; /* of a template: of the values of its parameters */
    uint32_t n_types;
    alm_plan_uses uses;
    int64_t day; /* UTC days since 1970 */
    const struct alm_asked
        *asked; /* what was asked for it, of its user in the epoch that `user` names */
    /* of the cache, under its lock */
    bool listed;
    alm_kept_plan *chain;         /* in its slot */
    alm_kept_plan *newer, *older; /* by use */
};

enum { ALM_PLAN_SLOTS = 1024, ALM_PLAN_SEEN = 4096 };

typedef struct alm_plan_cache {
    pthread_mutex_t lock;
    int64_t bytes, bytes_max;
    alm_kept_plan *slots[ALM_PLAN_SLOTS];
    alm_kept_plan *newest, *oldest;
    uint32_t seen[ALM_PLAN_SEEN]; /* hashes of texts that came once and are not kept */
} alm_plan_cache;

void alm_plan_cache_init(alm_plan_cache *cache, int64_t bytes_max);
void alm_plan_cache_deinit(alm_plan_cache *cache);
/* The plan of that key, retained, or NULL. *again: it is not there, and worth keeping: it came before. */
alm_kept_plan *alm_plan_cache_find(alm_plan_cache *cache, alm_plan_key key, bool *again);
/* Takes the plan in, in the place of another of the same key, if it is small enough. */
void alm_plan_cache_put(alm_plan_cache *cache, alm_kept_plan *plan);
/* It is of no use any more. */
void alm_plan_cache_drop(alm_plan_cache *cache, alm_kept_plan *plan);

/* Empty, with one reference; its memory is charged to `parent`, at most limit_bytes of it. */
ALM_NODISCARD alm_status alm_kept_plan_new(alm_ctx *cx, alm_mem *parent, int64_t limit_bytes,
                                           alm_kept_plan **out);
alm_kept_plan *alm_kept_plan_retain(alm_kept_plan *plan);
void alm_kept_plan_release(alm_kept_plan *plan);
/*
 * Makes the plan of the SELECT at the start of key.text, all of it in the memory of `plan`. It may go into the cache
 * if *keeps. On failure the plan is to be released. env->as_template: a template, of use only if *keeps.
 */
ALM_NODISCARD alm_status alm_kept_plan_make(alm_ctx *cx, alm_kept_plan *plan,
                                            const alm_plan_env *env, alm_plan_key key, bool *keeps);
/* Records that the text of that key has no template. */
ALM_NODISCARD alm_status alm_kept_plan_hopeless(alm_ctx *cx, alm_kept_plan *plan, alm_plan_key key);
/* Does what it was made from hold in this snapshot, at this time? */
bool alm_kept_plan_holds(const alm_kept_plan *plan, const alm_snapshot *snapshot, int64_t now_ns);
/* Is it one for these values? */
bool alm_kept_plan_fits(const alm_kept_plan *plan, const alm_param *params, uint32_t n_params);

#endif
