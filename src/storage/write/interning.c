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

static bool interning_has_symbols(const alm_schema *schema)
{
    bool any = false;
    for (uint32_t col = 0; col < schema->n_cols; col++)
        any |= schema->symbols[col] != NULL;
    return any;
}

static bool is_replaced(const alm_schema *schema)
{
    bool any = false;
    for (uint32_t col = 0; col < schema->n_cols; col++)
        any |= schema->symbols[col] != NULL && alm_symbols_is_replaced(schema->symbols[col]);
    return any;
}

alm_status alm_interning_begin(alm_ctx *cx, alm_tab *tab, alm_schema *schema, alm_interning *out)
{
    ALM_ASSERT(out->tab == NULL);
    if (!interning_has_symbols(schema))
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

alm_status alm_interning_begin_newest(alm_ctx *cx, alm_storage *storage, alm_version **version,
                                      alm_interning *out)
{
    enum { TRIES = 8 };
    alm_status status = alm_interning_begin(cx, (*version)->tab, (*version)->schema, out);
    for (int i = 1; status == ALM_E_STALE && i < TRIES; i++) {
        alm_version *newest = alm_storage_version(storage, (*version)->table.id);
        if (newest == NULL || newest->table.schema_version != (*version)->table.schema_version) {
            alm_version_release(newest);
            return status;
        }
        alm_version_release(*version);
        *version = newest;
        alm_error_clear(cx);
        status = alm_interning_begin(cx, newest->tab, newest->schema, out);
    }
    return status;
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

static bool is_worth_it(const alm_version *version, uint32_t c, int64_t *bytes)
{
    const alm_symbols *sym = version->schema->symbols[c];
    *bytes = 0;
    if (sym == NULL || alm_symbols_lost(sym) != NULL)
        return false;
    *bytes = alm_symbols_bytes_from(sym, version->schema->dicts[c].count);
    return *bytes >= UNUSED_BYTES_MIN && *bytes >= alm_symbols_bytes(sym) / UNUSED_PART_MIN;
}

static alm_status make_copies(alm_ctx *cx, exchange *self)
{
    const alm_schema *schema = self->v->schema;
    for (uint32_t col = 0; col < schema->n_cols; col++) {
        int64_t bytes = 0;
        if (!is_worth_it(self->v, col, &bytes))
            continue;
        ALM_TRY(alm_check(cx));
        ALM_TRY(alm_symbols_copy(cx, schema->symbols[col],
                                 atomic_fetch_add(&self->st->next_dict_id, 1),
                                 schema->dicts[col].count, &self->now[col]));
        self->bytes += bytes;
    }
    return ALM_OK;
}

/* Does the version still show what was copied, and nothing more? */
static bool is_current(const exchange *self, const alm_version *version)
{
    const alm_schema *then = self->v->schema;
    bool same = version != NULL && version->table.schema_version == self->v->table.schema_version;
    for (uint32_t col = 0; same && col < then->n_cols; col++)
        same = version->schema->symbols[col] == then->symbols[col] &&
               (self->now[col] == NULL ||
                version->schema->dicts[col].count == alm_symbols_count(self->now[col]));
    return same;
}

static alm_status with_copies(alm_ctx *cx, const exchange *self, const alm_version *version,
                              alm_schema **out)
{
    const alm_schema *schema = version->schema;
    alm_symbols **symbols = NULL;
    uint32_t *counts = NULL;
    ALM_TRY(alm_heap_bytes(cx, schema->n_cols * sizeof *symbols, "columns", &symbols));
    alm_status status = alm_heap_bytes(cx, schema->n_cols * sizeof *counts, "columns", &counts);
    for (uint32_t col = 0; col < schema->n_cols && status == ALM_OK; col++) {
        symbols[col] = self->now[col] != NULL ? self->now[col] : schema->symbols[col];
        counts[col] = schema->dicts[col].count; /* looked at for SYMBOL columns alone */
    }
    if (status == ALM_OK)
        status = alm_schema_new(cx, self->st, version->tab, schema->cols, schema->n_cols, symbols,
                                counts, out);
    free((void *)symbols);
    free(counts);
    return status;
}

/* A request in memory: the table shows the same values, of the copies. */
static alm_status prepare_exchange(alm_ctx *cx, alm_request *request, alm_build *build)
{
    const exchange *x = request->arg;
    const alm_version *version = alm_build_find(build, x->v->table.id);
    alm_version *next = NULL;
    alm_schema *schema = NULL;
    if (!is_current(x, version))
        return alm_fail(cx, ALM_E_CONFLICT, -1, "the table was changed meanwhile");
    ALM_TRY(alm_version_copy(cx, version, 0, &next));
    alm_status status = with_copies(cx, x, version, &schema);
    if (status == ALM_OK)
        status = alm_build_own(cx, build, version->table.id);
    if (status != ALM_OK) {
        alm_schema_release(schema);
        alm_version_release(next);
        return status;
    }
    alm_schema_release(next->schema);
    next->schema = schema;
    alm_version_settle(next);
    alm_build_put(build, next);
    return ALM_OK;
}

/* *busy: somebody writes to the table. */
static alm_status publish(alm_ctx *cx, exchange *self, bool *busy)
{
    alm_tab *tab = self->v->tab;
    alm_request request = {.prepare = prepare_exchange, .arg = self, .no_log = true};
    (void)pthread_mutex_lock(&tab->interning_lock);
    *busy = tab->interning > 0;
    const alm_status status = *busy ? ALM_OK : alm_commit(cx, self->st, &request);
    for (uint32_t col = 0; col < self->v->schema->n_cols && status == ALM_OK && !*busy; col++)
        if (self->now[col] != NULL)
            alm_symbols_replace(self->v->schema->symbols[col]);
    (void)pthread_mutex_unlock(&tab->interning_lock);
    return status;
}

static alm_status exchange_table(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                                 bool *busy)
{
    exchange self = {.st = storage, .v = version};
    ALM_TRY(alm_heap_bytes(cx, version->schema->n_cols * sizeof *self.now, "columns", &self.now));
    alm_status status = make_copies(cx, &self);
    if (status == ALM_OK && self.bytes > 0)
        status = publish(cx, &self, busy);
    if (status == ALM_E_CONFLICT) {
        alm_error_clear(cx);
        *busy = true;
        status = ALM_OK;
    } else if (status == ALM_OK && self.bytes > 0 && !*busy) {
        alm_log_debug("storage", "table '%s': %lld bytes of symbols that were not committed went",
                      version->table.name, (long long)self.bytes);
    }
    for (uint32_t col = 0; col < version->schema->n_cols; col++)
        alm_symbols_release(self.now[col]);
    free((void *)self.now);
    return status;
}

static bool is_being_written(alm_tab *tab)
{
    (void)pthread_mutex_lock(&tab->interning_lock);
    const bool any = tab->interning > 0;
    (void)pthread_mutex_unlock(&tab->interning_lock);
    return any;
}

static alm_status drop_unused(alm_ctx *cx, alm_storage *storage, const alm_version *version,
                              bool *busy)
{
    *busy = is_being_written(version->tab) || pthread_mutex_trylock(&storage->checkpoint_lock) != 0;
    if (*busy)
        return ALM_OK;
    const alm_status status =
        exchange_table(cx, storage, version, busy); /* no checkpoint saves the old one meanwhile */
    (void)pthread_mutex_unlock(&storage->checkpoint_lock);
    return status;
}

alm_status alm_unused_symbols_drop(alm_ctx *cx, alm_storage *storage)
{
    if (!atomic_exchange(&storage->unused, false))
        return ALM_OK;
    alm_catver *cat = alm_catver_current(storage);
    alm_status status = ALM_OK;
    for (size_t i = 0; i < cat->n; i++) {
        const alm_version *version = alm_catver_at(cat, i);
        bool busy = status != ALM_OK;
        if (!atomic_exchange(&version->tab->unused, false))
            continue;
        if (status == ALM_OK)
            status = drop_unused(cx, storage, version, &busy);
        if (busy || status != ALM_OK) {
            atomic_store(&version->tab->unused, true);
            atomic_store(&storage->unused, true);
        }
    }
    alm_catver_release(cat);
    return status;
}
