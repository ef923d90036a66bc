/*
 * interning.c - see interning.h.
 */
#include "storage/write/interning.h"

#include <stdlib.h>

#include "base/log.h"
#include "storage/dict/dict.h"
#include "storage/write/commit.h"

enum {
    UNUSED_BYTES_MIN = 64 << 10, /* less is not worth a copy */
    UNUSED_PART_MIN = 8          /* nor is less than this part of the dictionary */
};

/* ------------------------------------------------------------------- writers */

static bool has_symbols(const alm_schema *s)
{
    bool any = false;
    for (uint32_t c = 0; c < s->n_cols; c++)
        any |= s->symbols[c] != NULL;
    return any;
}

static bool is_replaced(const alm_schema *s)
{
    bool any = false;
    for (uint32_t c = 0; c < s->n_cols; c++)
        any |= s->symbols[c] != NULL && alm_symbols_is_replaced(s->symbols[c]);
    return any;
}

alm_status alm_interning_begin(alm_ctx *cx, alm_tab *tab, alm_schema *schema, alm_interning *out)
{
    ALM_ASSERT(out->tab == NULL);
    if (!has_symbols(schema))
        return ALM_OK;
    (void)pthread_mutex_lock(&tab->interning_lock);
    const bool stale = is_replaced(schema);
    tab->interning += !stale;
    (void)pthread_mutex_unlock(&tab->interning_lock);
    if (stale)
        return alm_fail(cx, ALM_E_STALE, -1,
                        "the dictionary of a SYMBOL column was exchanged meanwhile");
    *out = (alm_interning){alm_tab_retain(tab), alm_schema_retain(schema)};
    return ALM_OK;
}

alm_status alm_interning_begin_newest(alm_ctx *cx, alm_storage *st, alm_version **v,
                                      alm_interning *out)
{
    enum { TRIES = 8 };
    alm_status e = alm_interning_begin(cx, (*v)->tab, (*v)->schema, out);
    for (int i = 1; e == ALM_E_STALE && i < TRIES; i++) {
        alm_version *newest = alm_storage_version(st, (*v)->table.id);
        if (newest == NULL || newest->table.schema_version != (*v)->table.schema_version) {
            alm_version_release(newest);
            return e;
        }
        alm_version_release(*v);
        *v = newest;
        alm_error_clear(cx);
        e = alm_interning_begin(cx, newest->tab, newest->schema, out);
    }
    return e;
}

alm_interning alm_interning_share(const alm_interning *in)
{
    alm_tab *tab = in->tab;
    if (tab == NULL)
        return (alm_interning){0};
    (void)pthread_mutex_lock(&tab->interning_lock);
    ALM_ASSERT(tab->interning > 0); /* so the dictionaries have not been exchanged */
    tab->interning++;
    (void)pthread_mutex_unlock(&tab->interning_lock);
    return (alm_interning){alm_tab_retain(tab), alm_schema_retain(in->schema)};
}

void alm_interning_end(alm_interning *in)
{
    alm_tab *tab = in->tab;
    if (tab == NULL)
        return;
    if (alm_schema_has_more(in->schema)) {
        atomic_store(&tab->unused, true);
        atomic_store(&tab->st->unused, true);
    }
    (void)pthread_mutex_lock(&tab->interning_lock);
    ALM_ASSERT(tab->interning > 0);
    tab->interning--;
    (void)pthread_mutex_unlock(&tab->interning_lock);
    alm_schema_release(in->schema);
    alm_tab_release(tab);
    *in = (alm_interning){0};
}

/* ------------------------------------------------------------------ exchange */

/* Dictionaries of one table that go, and those that come, by column of the version. */
typedef struct exchange {
    alm_storage *st;
    const alm_version *v;
    alm_symbols **now; /* NULL: the column keeps its own */
    int64_t bytes;     /* that are given back */
} exchange;

static bool is_worth_it(const alm_version *v, uint32_t c, int64_t *bytes)
{
    const alm_symbols *sym = v->schema->symbols[c];
    *bytes = 0;
    if (sym == NULL || alm_symbols_lost(sym) != NULL)
        return false;
    *bytes = alm_symbols_bytes_from(sym, v->schema->dicts[c].count);
    return *bytes >= UNUSED_BYTES_MIN && *bytes >= alm_symbols_bytes(sym) / UNUSED_PART_MIN;
}

static alm_status make_copies(alm_ctx *cx, exchange *x)
{
    const alm_schema *s = x->v->schema;
    for (uint32_t c = 0; c < s->n_cols; c++) {
        int64_t bytes = 0;
        if (!is_worth_it(x->v, c, &bytes))
            continue;
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_symbols_copy(cx, s->symbols[c], atomic_fetch_add(&x->st->next_dict_id, 1),
                                 s->dicts[c].count, &x->now[c]));
        x->bytes += bytes;
    }
    return ALM_OK;
}

/* Does the version still show what was copied, and nothing more? */
static bool is_current(const exchange *x, const alm_version *v)
{
    const alm_schema *then = x->v->schema;
    bool same = v != NULL && v->table.schema_version == x->v->table.schema_version;
    for (uint32_t c = 0; same && c < then->n_cols; c++)
        same = v->schema->symbols[c] == then->symbols[c] &&
               (x->now[c] == NULL || v->schema->dicts[c].count == alm_symbols_count(x->now[c]));
    return same;
}

static alm_status with_copies(alm_ctx *cx, const exchange *x, const alm_version *v,
                              alm_schema **out)
{
    const alm_schema *s = v->schema;
    alm_symbols **symbols = NULL;
    uint32_t *counts = NULL;
    ALM_TRY(alm_heap_bytes(cx, s->n_cols * sizeof *symbols, "columns", &symbols));
    alm_status e = alm_heap_bytes(cx, s->n_cols * sizeof *counts, "columns", &counts);
    for (uint32_t c = 0; c < s->n_cols && e == ALM_OK; c++) {
        symbols[c] = x->now[c] != NULL ? x->now[c] : s->symbols[c];
        counts[c] = s->dicts[c].count; /* looked at for SYMBOL columns alone */
    }
    if (e == ALM_OK)
        e = alm_schema_new(cx, x->st, v->tab, s->cols, s->n_cols, symbols, counts, out);
    free((void *)symbols);
    free(counts);
    return e;
}

/* A request in memory: the table shows the same values, of the copies. */
static alm_status prepare_exchange(alm_ctx *cx, alm_request *rq, alm_build *b)
{
    const exchange *x = rq->arg;
    const alm_version *v = alm_build_find(b, x->v->table.id);
    alm_version *next = NULL;
    alm_schema *schema = NULL;
    if (!is_current(x, v))
        return alm_fail(cx, ALM_E_CONFLICT, -1, "the table was changed meanwhile");
    ALM_TRY(alm_version_copy(cx, v, 0, &next));
    alm_status e = with_copies(cx, x, v, &schema);
    if (e == ALM_OK)
        e = alm_build_own(cx, b, v->table.id);
    if (e != ALM_OK) {
        alm_schema_release(schema);
        alm_version_release(next);
        return e;
    }
    alm_schema_release(next->schema);
    next->schema = schema;
    alm_version_settle(next);
    alm_build_put(b, next);
    return ALM_OK;
}

/* *busy: somebody writes to the table. */
static alm_status publish(alm_ctx *cx, exchange *x, bool *busy)
{
    alm_tab *tab = x->v->tab;
    alm_request rq = {.prepare = prepare_exchange, .arg = x, .no_log = true};
    (void)pthread_mutex_lock(&tab->interning_lock);
    *busy = tab->interning > 0;
    const alm_status e = *busy ? ALM_OK : alm_commit(cx, x->st, &rq);
    for (uint32_t c = 0; c < x->v->schema->n_cols && e == ALM_OK && !*busy; c++)
        if (x->now[c] != NULL)
            alm_symbols_replace(x->v->schema->symbols[c]);
    (void)pthread_mutex_unlock(&tab->interning_lock);
    return e;
}

static alm_status exchange_table(alm_ctx *cx, alm_storage *st, const alm_version *v, bool *busy)
{
    exchange x = {.st = st, .v = v};
    ALM_TRY(alm_heap_bytes(cx, v->schema->n_cols * sizeof *x.now, "columns", &x.now));
    alm_status e = make_copies(cx, &x);
    if (e == ALM_OK && x.bytes > 0)
        e = publish(cx, &x, busy);
    if (e == ALM_E_CONFLICT) {
        alm_error_clear(cx);
        *busy = true;
        e = ALM_OK;
    } else if (e == ALM_OK && x.bytes > 0 && !*busy) {
        alm_log_debug("storage", "table '%s': %lld bytes of symbols that were not committed went",
                      v->table.name, (long long)x.bytes);
    }
    for (uint32_t c = 0; c < v->schema->n_cols; c++)
        alm_symbols_release(x.now[c]);
    free((void *)x.now);
    return e;
}

static bool is_being_written(alm_tab *tab)
{
    (void)pthread_mutex_lock(&tab->interning_lock);
    const bool any = tab->interning > 0;
    (void)pthread_mutex_unlock(&tab->interning_lock);
    return any;
}

static alm_status drop_unused(alm_ctx *cx, alm_storage *st, const alm_version *v, bool *busy)
{
    *busy = is_being_written(v->tab) || pthread_mutex_trylock(&st->checkpoint_lock) != 0;
    if (*busy)
        return ALM_OK;
    const alm_status e =
        exchange_table(cx, st, v, busy); /* no checkpoint saves the old one meanwhile */
    (void)pthread_mutex_unlock(&st->checkpoint_lock);
    return e;
}

alm_status alm_unused_symbols_drop(alm_ctx *cx, alm_storage *st)
{
    if (!atomic_exchange(&st->unused, false))
        return ALM_OK;
    alm_catver *cat = alm_catver_current(st);
    alm_status e = ALM_OK;
    for (size_t i = 0; i < cat->n; i++) {
        const alm_version *v = alm_catver_at(cat, i);
        bool busy = e != ALM_OK;
        if (!atomic_exchange(&v->tab->unused, false))
            continue;
        if (e == ALM_OK)
            e = drop_unused(cx, st, v, &busy);
        if (busy || e != ALM_OK) {
            atomic_store(&v->tab->unused, true);
            atomic_store(&st->unused, true);
        }
    }
    alm_catver_release(cat);
    return e;
}
