/*
 * faults.h - what clients do wrong, for the log: a line for the first of its kind from an address, then one every five seconds that says
 * how many more there were. Private to net/; protocols call alm_conn_fault (loop.h).
 *
 * Bounds      So many addresses and kinds have lines of their own at once; all others are counted together. A flood from one
 *             address or from many is a few lines a second.
 * Threads     Any; a lock, which only faults take. The tick is the first lane's.
 */
#ifndef ALM_NET_FAULTS_H
#define ALM_NET_FAULTS_H

#include <pthread.h>

#include "base/base.h"

struct alm_conn;

enum { ALM_FAULTS_MAX = 32 };

typedef struct alm_fault {
    const char *protocol, *what; /* what NULL: free */
    uint64_t net[2];
    char address[64]; /* as the line says it */
    int64_t until_ns; /* more of it until then is one line */
    int64_t more;     /* that no line has said */
} alm_fault;

typedef struct alm_faults {
    pthread_mutex_t lock;
    _Atomic bool some; /* there is something for the tick */
    alm_fault at[ALM_FAULTS_MAX];
    int64_t others, others_until_ns; /* of addresses that found no place */
} alm_faults;

void alm_faults_init(alm_faults *faults);
void alm_faults_deinit(alm_faults *faults); /* says what is left to say */
void alm_faults_tick(alm_faults *faults);

#endif
