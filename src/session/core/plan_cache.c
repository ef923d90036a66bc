/* plan_cache.c - see plan_cache.h. */
#include "session/core/plan_cache.h"

#include <stdlib.h>

#include "base/hash.h"
#include "session/session.h"

static const int64_t NS_PER_DAY = INT64_C(86400000000000);
enum { LARGEST_PART = 16 };

/* ---------------------------------------------------------------------- one plan */

alm_status alm_kept_plan_new(alm_ctx *cx, alm_mem *parent, int64_t limit_bytes, alm_kept_plan **out)
{
    alm_kept_plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    plan->refs = 1;
    plan->mem = (alm_mem){.limit_bytes = limit_bytes, .parent = parent, .name = "query"};
    alm_arena_init(&plan->arena, &plan->mem);
    *out = plan;
    return ALM_OK;
}

alm_kept_plan *alm_kept_plan_retain(alm_kept_plan *plan)
{
    const uint32_t before = atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    ALM_ASSERT(before > 0);
    return plan;
}

void alm_kept_plan_release(alm_kept_plan *plan)
{
    if (plan == NULL)
        return;
    const uint32_t before = atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel);
    ALM_ASSERT(before > 0);
    if (before > 1)
        return;
    alm_arena_deinit(&plan->arena);
    free(plan);
}

static uint64_t key_hash(alm_plan_key key)
{
    return alm_hash_str(key.text) ^ alm_hash_str(key.user) * ALM_HASH_K1 ^
           (uint64_t)key.last_rows * ALM_HASH_K2;
}

static bool plan_cache_same_key(alm_plan_key a, alm_plan_key b)
{
    return alm_str_eq(a.text, b.text) && alm_str_eq(a.user, b.user) && a.last_rows == b.last_rows;
}

static alm_status set_key(alm_ctx *cx, alm_kept_plan *plan, alm_plan_key key)
{
    plan->hash = key_hash(key);
    plan->key.last_rows = key.last_rows;
    ALM_TRY(alm_arena_copy(cx, &plan->arena, key.user, &plan->key.user));
    return alm_arena_copy(cx, &plan->arena, key.text, &plan->key.text);
}

alm_status alm_kept_plan_hopeless(alm_ctx *cx, alm_kept_plan *plan, alm_plan_key key)
{
    plan->hopeless = true;
    return set_key(cx, plan, key);
}

static alm_status keep_types(alm_ctx *cx, alm_kept_plan *plan, const alm_param *params,
                             uint32_t n_params)
{
    alm_type *types = NULL;
    ALM_TRY(ALM_NEWN(cx, &plan->arena, n_params + 1, &types));
    for (uint32_t i = 0; i < n_params; i++)
        types[i] = params[i].type;
    plan->types = types;
    plan->n_types = n_params;
    return ALM_OK;
}

/* Text, tree and plan point into each other: all are copies of its own. */
static alm_status plan_cache_make(alm_ctx *cx, alm_kept_plan *plan, const alm_plan_env *env,
                                  alm_plan_key key)
{
    ALM_ASSERT(env->last_rows == key.last_rows);
    ALM_TRY(set_key(cx, plan, key));
    plan->day = cx->now_ns / NS_PER_DAY;
    plan->is_template = env->as_template;
    ALM_TRY(keep_types(cx, plan, env->params, env->n_params));
    ALM_TRY(alm_sql_parse(cx, plan->key.text, &plan->next, &plan->stmt));
    ALM_ASSERT(plan->stmt->kind == ALM_STMT_SELECT);
    ALM_ASSERT(plan->is_template || plan->stmt->n_params == 0);
    alm_plan_env own = *env;
    own.uses = &plan->uses;
    return alm_plan_select(cx, &own, plan->stmt->select, &plan->plan);
}

alm_status alm_kept_plan_make(alm_ctx *cx, alm_kept_plan *plan, const alm_plan_env *env,
                              alm_plan_key key, bool *keeps)
{
    alm_arena *arena = cx->arena;
    alm_mem *mem = cx->mem;
    cx->arena = &plan->arena;
    cx->mem = &plan->mem;
    const alm_status status = plan_cache_make(cx, plan, env, key);
    cx->arena = arena;
    cx->mem = mem;
    if (status == ALM_OK)
        *keeps = !plan->uses.once && !alm_text_goes_on(plan->key.text, plan->next);
    return status;
}

/* A table with the same columns, whatever rows it has. */
static bool plan_cache_same_columns(const alm_plan_name *use, const alm_table *found)
{
    return found->id == use->id && found->schema_version == use->schema_version &&
           found->kind == ALM_TABLE_BASE && found->ts_col == use->ts_col &&
           found->dedup == use->dedup;
}

bool alm_kept_plan_fits(const alm_kept_plan *plan, const alm_param *params, uint32_t n_params)
{
    if (n_params != plan->n_types)
        return false;
    for (uint32_t i = 0; i < n_params; i++)
        if (!alm_type_eq(params[i].type, plan->types[i]) || alm_vec_is_null(params[i].value, 0))
            return false;
    return true;
}

bool alm_kept_plan_holds(const alm_kept_plan *plan, const alm_snapshot *snapshot, int64_t now_ns)
{
    if (plan->hopeless || plan->day != now_ns / NS_PER_DAY)
        return false;
    for (uint32_t i = 0; i < plan->uses.n_names; i++) {
        const alm_plan_name *use = &plan->uses.names[i];
        const alm_table *found = alm_snapshot_find(snapshot, use->name);
        if (plan->is_template) {
            if ((found == NULL) != (use->table == NULL) ||
                (found != NULL && !plan_cache_same_columns(use, found)))
                return false;
            continue;
        }
        /* the address alone may be that of a later version, or of another table */
        if (found != use->table)
            return false;
        if (found != NULL && (found->id != use->id || found->version != use->version))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------------- cache */

void alm_plan_cache_init(alm_plan_cache *cache, int64_t bytes_max)
{
    *cache = (alm_plan_cache){.bytes_max = bytes_max};
    (void)pthread_mutex_init(&cache->lock, NULL);
}

static void unlink_use(alm_plan_cache *cache, alm_kept_plan *plan)
{
    *(plan->newer != NULL ? &plan->newer->older : &cache->newest) = plan->older;
    *(plan->older != NULL ? &plan->older->newer : &cache->oldest) = plan->newer;
    plan->newer = plan->older = NULL;
}

static void link_use(alm_plan_cache *cache, alm_kept_plan *plan)
{
    plan->older = cache->newest;
    if (plan->older != NULL)
        plan->older->newer = plan;
    else
        cache->oldest = plan;
    cache->newest = plan;
}

static int64_t plan_cache_bytes_of(const alm_kept_plan *plan)
{
    return (int64_t)sizeof(*plan) + atomic_load(&plan->mem.used_bytes);
}

/* With the lock held. The caller has its own reference, or lets go of it behind the lock. */
static void unlist(alm_plan_cache *cache, alm_kept_plan *plan)
{
    alm_kept_plan **at = &cache->slots[plan->hash % ALM_PLAN_SLOTS];
    while (*at != plan)
        at = &(*at)->chain;
    *at = plan->chain;
    unlink_use(cache, plan);
    cache->bytes -= plan_cache_bytes_of(plan);
    plan->listed = false;
}

void alm_plan_cache_deinit(alm_plan_cache *cache)
{
    while (cache->newest != NULL) {
        alm_kept_plan *plan = cache->newest;
        unlist(cache, plan);
        alm_kept_plan_release(plan);
    }
    ALM_ASSERT(cache->bytes == 0);
    (void)pthread_mutex_destroy(&cache->lock);
}

static alm_kept_plan *plan_cache_find(const alm_plan_cache *cache, uint64_t hash, alm_plan_key key)
{
    alm_kept_plan *plan = cache->slots[hash % ALM_PLAN_SLOTS];
    while (plan != NULL && !(plan->hash == hash && plan_cache_same_key(plan->key, key)))
        plan = plan->chain;
    return plan;
}

alm_kept_plan *alm_plan_cache_find(alm_plan_cache *cache, alm_plan_key key, bool *again)
{
    const uint64_t hash = key_hash(key);
    *again = false;
    if (cache->bytes_max == 0)
        return NULL;
    (void)pthread_mutex_lock(&cache->lock);
    alm_kept_plan *plan = plan_cache_find(cache, hash, key);
    if (plan != NULL) {
        (void)alm_kept_plan_retain(plan);
        if (cache->newest != plan) {
            unlink_use(cache, plan);
            link_use(cache, plan);
        }
    } else {
        uint32_t *seen = &cache->seen[hash % ALM_PLAN_SEEN];
        const uint32_t mark = (uint32_t)(hash >> 32) | 1U;
        *again = *seen == mark;
        *seen = mark;
    }
    (void)pthread_mutex_unlock(&cache->lock);
    return plan;
}

void alm_plan_cache_put(alm_plan_cache *cache, alm_kept_plan *plan)
{
    const int64_t bytes = plan_cache_bytes_of(plan);
    alm_kept_plan *gone = NULL; /* by `chain` */
    if (bytes > cache->bytes_max / LARGEST_PART)
        return;
    (void)pthread_mutex_lock(&cache->lock);
    alm_kept_plan *old = plan_cache_find(cache, plan->hash, plan->key);
    while (old != NULL || cache->bytes + bytes > cache->bytes_max) {
        if (old == NULL)
            old = cache->oldest;
        unlist(cache, old);
        old->chain = gone;
        gone = old;
        old = NULL;
    }
    plan->listed = true;
    plan->chain = cache->slots[plan->hash % ALM_PLAN_SLOTS];
    cache->slots[plan->hash % ALM_PLAN_SLOTS] = alm_kept_plan_retain(plan);
    link_use(cache, plan);
    cache->bytes += bytes;
    (void)pthread_mutex_unlock(&cache->lock);
    while (gone != NULL) {
        alm_kept_plan *next = gone->chain;
        alm_kept_plan_release(gone);
        gone = next;
    }
}

void alm_plan_cache_drop(alm_plan_cache *cache, alm_kept_plan *plan)
{
    (void)pthread_mutex_lock(&cache->lock);
    const bool listed = plan->listed;
    if (listed)
        unlist(cache, plan);
    (void)pthread_mutex_unlock(&cache->lock);
    if (listed)
        alm_kept_plan_release(plan);
}
