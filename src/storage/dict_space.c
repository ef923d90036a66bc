/*
 * dict_space.c - limits of the memory of symbol dictionaries.
 *
 * A symbol stays in memory when the transaction that brought it is rolled back and when its rows go, until the dictionary is freed
 * (TRUNCATE, DROP). Two limits keep it from becoming a way to stop the writes of others: one for all dictionaries, of which users
 * leave a part to the administrator, and one for the symbols that a single user was the first to write. Symbols that are read at the
 * start are nobody's: they count for the first limit only.
 */
#include <stdlib.h>

#include "storage/dict_impl.h"

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

/* Sets sym->charged to the entry of the account, which is made if there is none. */
static alm_status find_entry(alm_ctx *cx, alm_symbols *sym, alm_mem *account)
{
    if (sym->charged < sym->n_charges && sym->charges[sym->charged].account == account)
        return ALM_OK;
    for (uint32_t i = 0; i < sym->n_charges; i++)
        if (sym->charges[i].account == account) {
            sym->charged = i;
            return ALM_OK;
        }
    if (sym->n_charges == sym->cap_charges) {
        const uint32_t cap = ALM_MAX(4U, sym->cap_charges * 2);
        symbols_charge *more = realloc(sym->charges, cap * sizeof(*more));
        if (more == NULL)
            return alm_fail(cx, ALM_E_MEMORY, -1, "symbol dictionary: no memory for %zu bytes",
                            cap * sizeof(*more));
        sym->charges = more;
        sym->cap_charges = cap;
    }
    sym->charged = sym->n_charges++;
    sym->charges[sym->charged] = (symbols_charge){.account = account};
    return ALM_OK;
}

alm_status alm_symbols_admit(alm_ctx *cx, alm_symbols *sym, size_t len)
{
    ALM_TRY(admit_to_space(cx, sym->space));
    if (cx->symbols == NULL || sym->space == NULL)
        return ALM_OK;
    ALM_TRY(admit_to_account(cx, cx->symbols, charge_of(len)));
    return find_entry(cx, sym, cx->symbols);
}

void alm_symbols_charge(const alm_ctx *cx, alm_symbols *sym, size_t len)
{
    if (cx->symbols == NULL || sym->space == NULL)
        return;
    symbols_charge *entry = &sym->charges[sym->charged];
    ALM_ASSERT(sym->charged < sym->n_charges && entry->account == cx->symbols);
    entry->bytes += charge_of(len);
    atomic_fetch_add_explicit(&entry->account->used_bytes, charge_of(len), memory_order_relaxed);
}

void alm_symbols_uncharge(alm_symbols *sym)
{
    if (sym->space != NULL)
        atomic_fetch_sub(&sym->space->bytes, atomic_load(&sym->bytes));
    for (uint32_t i = 0; i < sym->n_charges; i++) {
        const int64_t before =
            atomic_fetch_sub(&sym->charges[i].account->used_bytes, sym->charges[i].bytes);
        ALM_ASSERT(before >= sym->charges[i].bytes);
    }
    free(sym->charges);
    sym->charges = NULL;
    sym->n_charges = sym->cap_charges = 0;
}
