/*
 * space.c - limits of the memory of symbol dictionaries.
 *
 * A symbol stays in memory when its rows go, until the dictionary is freed (TRUNCATE, DROP); what a transaction brought that was rolled
 * back is given back when nobody writes (write/interning.c). Two limits keep that from becoming a way to stop the writes of others: one for all dictionaries, of which users
 * leave a part to the administrator, and one for the symbols that a single user was the first to write. Symbols that are read at the
 * start are nobody's: they count for the first limit only.
 */
#include <stdlib.h>

#include "storage/dict/impl.h"

enum {
    SYMBOL_BYTES = 64, /* of arrays and hash table for one symbol, outgrown ones included */
    RESERVE_PART = 8   /* of the limit, which users leave to the administrator */
};

static int64_t charge_of(size_t len)
{
    return SYMBOL_BYTES + (len > ALM_VIEW_INLINE ? (int64_t)len : 0);
}

static alm_status admit_to_space(alm_ctx *cx, const alm_symbols_space *space)
{
    if (space == NULL || space->bytes_max <= 0)
        return ALM_OK;
    const int64_t used = atomic_load_explicit(&space->bytes, memory_order_relaxed);
    const int64_t reserve = cx->symbols != NULL ? space->bytes_max / RESERVE_PART : 0;
    if (used < space->bytes_max - reserve)
        return ALM_OK;
    return alm_fail(
        cx, ALM_E_LIMIT, -1,
        "the dictionaries of SYMBOL columns take %lld bytes of memory: no new symbol is "
        "taken above storage.symbol.memory.max (%lld%s); TRUNCATE and DROP give memory back",
        (long long)used, (long long)space->bytes_max,
        reserve > 0 ? ", of which an eighth is left to the administrator" : "");
}

static alm_status admit_to_account(alm_ctx *cx, const alm_mem *account, int64_t bytes)
{
    const int64_t max = __atomic_load_n(&account->limit_bytes, __ATOMIC_ACQUIRE);
    const int64_t used = atomic_load_explicit(&account->used_bytes, memory_order_relaxed);
    if (used + bytes <= max)
        return ALM_OK;
    return alm_fail(
        cx, ALM_E_LIMIT, -1,
        "the symbols that this user was the first to write take %lld bytes of memory: no "
        "new symbol is taken above storage.symbol.memory.user.max (%lld); TRUNCATE and "
        "DROP give memory back",
        (long long)used, (long long)max);
}

static bool dict_space_goes_on(const alm_symbols *sym, const alm_mem *account)
{
    return sym->n_charges > 0 && sym->charges[sym->n_charges - 1].account == account;
}

alm_status alm_symbols_room(alm_ctx *cx, const alm_symbols_space *space, size_t n)
{
    if (n == 0)
        return ALM_OK;
    ALM_TRY(admit_to_space(cx, space));
    return cx->symbols == NULL
               ? ALM_OK
               : admit_to_account(cx, cx->symbols, (int64_t)n * ALM_SYMBOLS_EMPTY_BYTES);
}

/* Room for one more entry, if values of the account do not follow on values of its own. */
static alm_status reserve_entry(alm_ctx *cx, alm_symbols *sym, const alm_mem *account)
{
    if (dict_space_goes_on(sym, account) || sym->n_charges < sym->cap_charges)
        return ALM_OK;
    const uint32_t cap = ALM_MAX(4U, sym->cap_charges * 2);
    symbols_charge *more = realloc(sym->charges, cap * sizeof(*more));
    if (more == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "symbol dictionary: no memory for %zu bytes",
                        cap * sizeof(*more));
    sym->charges = more;
    sym->cap_charges = cap;
    return ALM_OK;
}

static void dict_space_charge(alm_symbols *sym, alm_mem *account, uint32_t code, int64_t bytes)
{
    if (!dict_space_goes_on(sym, account)) {
        ALM_ASSERT(sym->n_charges < sym->cap_charges);
        ALM_ASSERT(sym->n_charges == 0 || sym->charges[sym->n_charges - 1].first < code);
        sym->charges[sym->n_charges++] = (symbols_charge){.account = account, .first = code};
    }
    sym->charges[sym->n_charges - 1].bytes += bytes;
    if (account != NULL)
        atomic_fetch_add_explicit(&account->used_bytes, bytes, memory_order_relaxed);
}

alm_status alm_symbols_admit(alm_ctx *cx, alm_symbols *sym, size_t len)
{
    if (sym->space == NULL)
        return ALM_OK;
    ALM_TRY(admit_to_space(cx, sym->space));
    if (cx->symbols != NULL)
        ALM_TRY(admit_to_account(cx, cx->symbols, charge_of(len)));
    return reserve_entry(cx, sym, cx->symbols);
}

void alm_symbols_charge(const alm_ctx *cx, alm_symbols *sym, uint32_t code, size_t len)
{
    if (sym->space != NULL)
        dict_space_charge(sym, cx->symbols, code, charge_of(len));
}

alm_status alm_symbols_share_charges(alm_ctx *cx, const alm_symbols *from, alm_symbols *to)
{
    const uint32_t count = alm_symbols_count(to);
    ALM_ASSERT(to->n_charges == 0 && count <= alm_symbols_count(from));
    for (uint32_t i = 0; i < from->n_charges && from->charges[i].first < count; i++) {
        const symbols_charge *c = &from->charges[i];
        const bool whole = i + 1 < from->n_charges && from->charges[i + 1].first <= count;
        int64_t bytes = whole ? c->bytes : 0;
        for (uint32_t code = c->first; code < count && !whole; code++)
            bytes += charge_of(alm_symbols_text(to, code).len);
        ALM_ASSERT(bytes <= c->bytes);
        ALM_TRY(reserve_entry(cx, to, c->account));
        dict_space_charge(to, c->account, c->first, bytes);
    }
    return ALM_OK;
}

int64_t alm_symbols_bytes_from(const alm_symbols *sym, uint32_t code)
{
    int64_t bytes = 0;
    for (const uint32_t count = alm_symbols_count(sym); code < count; code++)
        bytes += charge_of(alm_symbols_text(sym, code).len);
    return bytes;
}

void alm_symbols_uncharge(alm_symbols *sym)
{
    if (sym->space != NULL)
        atomic_fetch_sub(&sym->space->bytes, atomic_load(&sym->bytes));
    if (sym->maker != NULL)
        atomic_fetch_sub(&sym->maker->used_bytes, ALM_SYMBOLS_EMPTY_BYTES);
    for (uint32_t i = 0; i < sym->n_charges; i++) {
        const symbols_charge *c = &sym->charges[i];
        if (c->account == NULL)
            continue;
        const int64_t before = atomic_fetch_sub(&c->account->used_bytes, c->bytes);
        ALM_ASSERT(before >= c->bytes);
    }
    free(sym->charges);
    sym->charges = NULL;
    sym->n_charges = sym->cap_charges = 0;
}
