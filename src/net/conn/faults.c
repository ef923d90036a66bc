/* faults.c - see faults.h. */
#include "net/conn/faults.h"

#include <stdio.h>

#include "base/log.h"
#include "net/conn/loop_state.h"

enum { EVERY_S = 5 };
static const int64_t EVERY_NS = EVERY_S * INT64_C(1000000000);

void alm_faults_init(alm_faults *faults)
{
    (void)pthread_mutex_init(&faults->lock, NULL);
}

static void say_more(alm_fault *fault)
{
    alm_log_warn(fault->protocol, "%s: %s: %lld more", fault->address, fault->what,
                 (long long)fault->more);
    fault->more = 0;
}

static void say_others(alm_faults *faults)
{
    alm_log_warn("net", "faults of other clients: %lld", (long long)faults->others);
    faults->others = 0;
}

void alm_faults_deinit(alm_faults *faults)
{
    for (size_t i = 0; i < ALM_FAULTS_MAX; i++)
        if (faults->at[i].more > 0)
            say_more(&faults->at[i]);
    if (faults->others > 0)
        say_others(faults);
    (void)pthread_mutex_destroy(&faults->lock);
}

static bool faults_is_of(const alm_fault *fault, const alm_conn *conn, const char *what)
{
    return fault->what != NULL && fault->net[0] == conn->net[0] && fault->net[1] == conn->net[1] &&
           strcmp(fault->what, what) == 0 &&
           strcmp(fault->protocol, conn->listener->conf.protocol->name) == 0;
}

/* That of the connection, or a free one; NULL: there is none. */
static alm_fault *faults_place_for(alm_faults *faults, const alm_conn *conn, const char *what)
{
    alm_fault *place = NULL;
    for (size_t i = 0; i < ALM_FAULTS_MAX; i++) {
        if (faults_is_of(&faults->at[i], conn, what))
            return &faults->at[i];
        if (faults->at[i].what == NULL)
            place = &faults->at[i];
    }
    return place;
}

void alm_conn_fault(alm_conn *conn, const char *what, const char *why)
{
    alm_faults *faults = &conn->listener->loop->faults;
    const char *protocol = conn->listener->conf.protocol->name;
    char address[64];
    bool first = false;
    ALM_ASSERT(what != NULL && why != NULL);
    (void)pthread_mutex_lock(&faults->lock);
    alm_fault *fault = faults_place_for(faults, conn, what);
    if (fault == NULL) {
        faults->others++;
    } else if (fault->what != NULL) {
        fault->more++;
    } else {
        *fault =
            (alm_fault){.protocol = protocol, .what = what, .net = {conn->net[0], conn->net[1]}};
        fault->until_ns = alm_monotonic_ns() + EVERY_NS;
        alm_conn_net_text(conn, fault->address, sizeof fault->address);
        first = true;
    }
    atomic_store(&faults->some, true);
    (void)pthread_mutex_unlock(&faults->lock);
    if (!first)
        return;
    alm_conn_peer(conn, address, sizeof address);
    alm_log_warn(protocol, "%s: %s: %s", address, what, why);
}

/* A place is free again when its address was quiet for as long. */
static bool faults_settle(alm_faults *faults, int64_t now_ns)
{
    bool some = faults->others > 0;
    for (size_t i = 0; i < ALM_FAULTS_MAX; i++) {
        alm_fault *fault = &faults->at[i];
        if (fault->what != NULL && now_ns >= fault->until_ns) {
            if (fault->more > 0)
                say_more(fault);
            else
                fault->what = NULL;
            fault->until_ns = now_ns + EVERY_NS;
        }
        some |= fault->what != NULL;
    }
    if (faults->others > 0 && now_ns >= faults->others_until_ns) {
        say_others(faults);
        faults->others_until_ns = now_ns + EVERY_NS;
    }
    return some;
}

void alm_faults_tick(alm_faults *faults)
{
    if (!atomic_load_explicit(&faults->some, memory_order_relaxed))
        return;
    (void)pthread_mutex_lock(&faults->lock);
    atomic_store(&faults->some, faults_settle(faults, alm_monotonic_ns()));
    (void)pthread_mutex_unlock(&faults->lock);
}
