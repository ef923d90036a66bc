/*
 * audit.c - logins, refusals and changes of who may what: one line each in the log of the server, and a bounded list in
 * memory that sys.audit_log shows. Secrets are never given to it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "session/access.h"

enum { CELLS = 7, USER_BYTES = 256, ADDRESS_BYTES = 64, DETAIL_BYTES = 512 };

struct alm_audit_row {
    int64_t us;
    bool ok;
    char event[16], interface[16];
    char user[USER_BYTES], address[ADDRESS_BYTES], detail[DETAIL_BYTES];
};

static void copy(char *to, size_t size, const char *from)
{
    size_t n = 0;
    for (; from != NULL && from[n] != 0 && n + 1 < size; n++)
        to[n] = (unsigned char)from[n] < 0x20 ? ' ' : from[n]; /* a line stays a line */
    to[n] = 0;
}

void alm_audit_add(alm_db *db, const alm_audit *a)
{
    struct alm_audit_row *row = calloc(1, sizeof *row);
    if (row == NULL)
        return;
    row->us = db->io->wall_ns(db->io) / 1000;
    row->ok = a->ok;
    copy(row->event, sizeof row->event, a->event);
    copy(row->interface, sizeof row->interface, a->interface);
    copy(row->user, sizeof row->user, a->user);
    copy(row->address, sizeof row->address, a->address);
    copy(row->detail, sizeof row->detail, a->detail);
    alm_log_info("audit", "event=%s result=%s user='%s' interface=%s address=%s detail='%s'",
                 row->event, row->ok ? "ok" : "refused", row->user, row->interface,
                 row->address[0] != 0 ? row->address : "-", row->detail);
    (void)pthread_mutex_lock(&db->access.lock);
    struct alm_audit_row **slot = &db->access.audit[db->access.audit_n++ % db->access.audit_cap];
    free(*slot);
    *slot = row;
    (void)pthread_mutex_unlock(&db->access.lock);
}

static alm_status cells_of(alm_ctx *cx, const struct alm_audit_row *row, const char **cell)
{
    const char *const texts[] = {row->event,   row->ok ? "ok" : "refused",
                                 row->user,    row->interface,
                                 row->address, row->detail};
    ALM_TRY(alm_arena_printf(cx, cx->arena, &cell[0], "%lld", (long long)row->us));
    for (size_t i = 0; i < ALM_COUNT(texts); i++)
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(texts[i]), &cell[1 + i]));
    return ALM_OK;
}

/* Oldest first. */
alm_status alm_audit_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    alm_db *db = cx->session->db;
    const char **out = NULL;
    alm_status st = ALM_OK;
    (void)pthread_mutex_lock(&db->access.lock);
    const size_t n = ALM_MIN(db->access.audit_n, db->access.audit_cap);
    const size_t first = db->access.audit_n - n;
    st = ALM_NEWN(cx, cx->arena, CELLS * (n + 1), &out);
    for (size_t i = 0; st == ALM_OK && i < n; i++)
        st = cells_of(cx, db->access.audit[(first + i) % db->access.audit_cap], out + CELLS * i);
    (void)pthread_mutex_unlock(&db->access.lock);
    *cells = out;
    *rows = n;
    return st;
}
