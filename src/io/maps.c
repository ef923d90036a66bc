/* maps.c - the table of maps and the handler of SIGBUS. */
#include "io/maps.h"

#include <signal.h>
#include <sys/mman.h>

enum { SLOTS = 1 << 16 /* vm.max_map_count allows no more by default */, PAGE = 4096 };

typedef struct map_slot {
    _Atomic uintptr_t addr; /* 0: free */
    _Atomic size_t bytes;
    atomic_bool broken;
} map_slot;

static map_slot slots[SLOTS];
static _Atomic uint32_t next_slot, used_slots; /* used_slots: none beyond was ever taken */
static _Atomic int64_t faults;

void alm_maps_add(const void *addr, size_t bytes)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        const uint32_t at = atomic_fetch_add(&next_slot, 1) % SLOTS;
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&slots[at].addr, &none, (uintptr_t)addr))
            continue;
        atomic_store(&slots[at].broken, false);
        atomic_store(&slots[at].bytes, bytes);
        uint32_t used = atomic_load(&used_slots);
        while (used <= at && !atomic_compare_exchange_weak(&used_slots, &used, at + 1)) {
        }
        return;
    }
}

static map_slot *slot_of(uintptr_t addr)
{
    const uint32_t n = atomic_load(&used_slots);
    for (uint32_t i = 0; i < n; i++) {
        const uintptr_t from = atomic_load_explicit(&slots[i].addr, memory_order_relaxed);
        if (from != 0 && addr >= from && addr - from < atomic_load(&slots[i].bytes))
            return &slots[i];
    }
    return NULL;
}

void alm_maps_remove_within(const void *addr, size_t bytes)
{
    const uintptr_t lo = (uintptr_t)addr;
    const uint32_t n = atomic_load(&used_slots);
    for (uint32_t i = 0; i < n; i++) {
        const uintptr_t at = atomic_load_explicit(&slots[i].addr, memory_order_relaxed);
        if (at == 0 || at < lo || at - lo >= bytes)
            continue;
        atomic_store(&slots[i].bytes, 0);
        atomic_store(&slots[i].addr, 0);
        atomic_store(&next_slot, i); /* the next map takes it */
    }
}

int64_t alm_maps_faults(void)
{
    return atomic_load_explicit(&faults, memory_order_relaxed);
}

bool alm_maps_is_broken(const void *addr)
{
    const map_slot *slot = alm_maps_faults() > 0 ? slot_of((uintptr_t)addr) : NULL;
    return slot != NULL && atomic_load(&slot->broken);
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    const uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);
    map_slot *slot = slot_of(at);
    if (slot == NULL) {
        (void)signal(number, SIG_DFL); /* comes again, and ends the process */
        return;
    }
    atomic_store(&slot->broken, true);
    atomic_fetch_add(&faults, 1);
    void *page = (char *)info->si_addr - ((uintptr_t)info->si_addr - at);
    if (mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        (void)signal(number, SIG_DFL);
}

void alm_maps_catch(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_NODEFER};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}
