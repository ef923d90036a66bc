/*
 * audit.c - logins, refusals, changes of who may what, and where settings ask for it changes of tables, exports and reads: one
 * line each in the log of the server, and lists in memory that sys.audit_log shows. Secrets are never given to it.
 *
 * Kinds       Each has a list of its own, of acl.audit.rows.max rows: whoever floods one (log-ins that fail, refusals, changes of
 *             his own password, grants on a table of his) displaces nothing of the others. In a full list the oldest row goes of who
 *             has most: a user, by identity; of refused log-ins and log-outs an address, as anybody can name anybody there.
 * Repeats     A refusal that comes again is counted in its row; other events, where they follow one another. The log has a
 *             line for a repeated row once a second at most, with the number so far.
 * Texts       What clients chose (names, statements) is escaped: characters that are not seen as \uXXXX, bytes that are no UTF-8
 *             as \xXX, a backslash as two; in the log a quote as \'.
 * Threads     One lock of its own.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "auth/share.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/utf8.h"
#include "session/access/access.h"

enum {
    CELLS = 12,
    TEXTS = 8,
    NAME_BYTES = 256,
    REPEATS_LOOKED_AT = 256,  /* of refusals, the newest */
    LOGGED_AGAIN_US = 1000000 /* a row that repeats */
};

typedef enum audit_kind {
    KIND_RIGHTS,         /* who may what was changed */
    KIND_OWN,            /* own passwords and tokens */
    KIND_OPTION,         /* grants by who has the grant option alone, as whoever makes a table */
    KIND_LOGIN,          /* and log-outs */
    KIND_REFUSED,        /* to who has logged in, whatever it was */
    KIND_REFUSED_LOGIN,  /* anybody can make these */
    KIND_REFUSED_LOGOUT, /* and these: what is no logout token of the provider */
    KIND_DDL,
    KIND_DATA, /* exports and reads */
    KINDS
} audit_kind;

/* In the order of the texts of alm_audit. */
enum { EVENT, USER, IDENTITY, REAL, REAL_IDENTITY, INTERFACE, ADDRESS, DETAIL };

typedef struct audit_row {
    int64_t us, last_us, logged_us;
    int64_t repeats;
    uint64_t hash; /* of what makes rows the same */
    bool ok;
    struct audit_row *newer, *older;
    alm_share_node node;
    const char *text[TEXTS]; /* behind the row */
} audit_row;

typedef struct audit_list {
    audit_row *newest, *oldest;
    alm_share share; /* of the rows */
} audit_list;

struct alm_audit_log {
    pthread_mutex_t lock;
    audit_list lists[KINDS];
};

/* ---------------------------------------------------------------------------- texts */

static audit_row *row_new(const alm_audit *audit)
{
    static const size_t room[TEXTS] = {[EVENT] = 16,
                                       [USER] = NAME_BYTES,
                                       [IDENTITY] = 2 * NAME_BYTES,
                                       [REAL] = NAME_BYTES,
                                       [REAL_IDENTITY] = 2 * NAME_BYTES,
                                       [INTERFACE] = 16,
                                       [ADDRESS] = 64,
                                       [DETAIL] = ALM_AUDIT_DETAIL_BYTES + 500};
    const char *const from[TEXTS] = {audit->event,   audit->user,          audit->identity,
                                     audit->real,    audit->real_identity, audit->interface,
                                     audit->address, audit->detail};
    char texts[TEXTS][ALM_AUDIT_DETAIL_BYTES + 500];
    size_t bytes = sizeof(audit_row);
    for (int i = 0; i < TEXTS; i++) {
        ALM_ASSERT(room[i] <= sizeof texts[i]);
        alm_utf8_escape(texts[i], room[i], from[i], false);
        bytes += strlen(texts[i]) + 1;
    }
    audit_row *row = calloc(1, bytes);
    if (row == NULL)
        return NULL;
    char *dest = (char *)(row + 1);
    row->hash = audit->ok;
    for (int i = 0; i < TEXTS; i++) {
        row->text[i] = dest;
        dest = stpcpy(dest, texts[i]) + 1;
        row->hash = alm_hash_u128(row->hash + 1, alm_hash_str(alm_str_of(row->text[i])));
    }
    row->ok = audit->ok;
    row->repeats = 1;
    return row;
}

static bool audit_is_same(const audit_row *a, const audit_row *b)
{
    bool same = a->hash == b->hash && a->ok == b->ok;
    for (int i = 0; same && i < TEXTS; i++)
        same = strcmp(a->text[i], b->text[i]) == 0;
    return same;
}

static void write_line(const audit_row *row)
{
    char user[NAME_BYTES + 20], identity[NAME_BYTES + 20], real[2 * NAME_BYTES + 40] = "";
    char detail[ALM_AUDIT_DETAIL_BYTES + 500], repeats[40] = "";
    /* escaped already but for quotes */
    const char *const from[] = {row->text[USER], row->text[IDENTITY], row->text[DETAIL]};
    char *const dest[] = {user, identity, detail};
    const size_t room[] = {sizeof user, sizeof identity, sizeof detail};
    for (size_t k = 0; k < ALM_COUNT(from); k++) {
        size_t count = 0;
        for (const char *c = from[k]; *c != 0 && count + 3 < room[k]; c++) {
            if (*c == '\'')
                dest[k][count++] = '\\';
            dest[k][count++] = *c;
        }
        dest[k][count] = 0;
    }
    if (row->text[REAL][0] != 0) {
        char name[NAME_BYTES + 20];
        alm_utf8_escape(name, sizeof name, row->text[REAL], true);
        (void)snprintf(real, sizeof real, " real='%s'", name);
    }
    if (row->repeats > 1)
        (void)snprintf(repeats, sizeof repeats, " repeats=%lld", (long long)row->repeats);
    alm_log_info(
        "audit",
        "event=%s result=%s user='%s' identity='%s'%s interface=%s address=%s%s detail='%s'",
        row->text[EVENT], row->ok ? "ok" : "refused", user, identity, real,
        row->text[INTERFACE][0] != 0 ? row->text[INTERFACE] : "-",
        row->text[ADDRESS][0] != 0 ? row->text[ADDRESS] : "-", repeats, detail);
}

/* ---------------------------------------------------------------------------- lists */

static audit_kind audit_kind_of(const alm_audit *audit)
{
    const bool logout = strcmp(audit->event, "logout") == 0,
               login = logout || strcmp(audit->event, "login") == 0;
    if (!audit->ok)
        return logout ? KIND_REFUSED_LOGOUT : login ? KIND_REFUSED_LOGIN : KIND_REFUSED;
    if (strcmp(audit->event, "acl") == 0)
        return audit->own ? KIND_OWN : audit->by_option ? KIND_OPTION : KIND_RIGHTS;
    if (strcmp(audit->event, "ddl") == 0)
        return KIND_DDL;
    return login ? KIND_LOGIN : KIND_DATA;
}

static audit_row *find_same(const audit_list *list, const audit_row *row)
{
    int look = row->ok ? 1 : REPEATS_LOOKED_AT;
    audit_row *old = list->newest;
    while (old != NULL && look-- > 0 && !audit_is_same(old, row))
        old = old->older;
    return look >= 0 ? old : NULL;
}

static void audit_take_out(audit_list *list, audit_row *row)
{
    *(row->newer != NULL ? &row->newer->older : &list->newest) = row->older;
    *(row->older != NULL ? &row->older->newer : &list->oldest) = row->newer;
    alm_share_remove(&list->share, &row->node);
    free(row);
}

/* Makes room by the oldest row of who has most. */
static void audit_put_in(audit_list *list, audit_row *row, audit_kind kind)
{
    uint8_t who[ALM_SHARE_KEY];
    if (kind == KIND_REFUSED_LOGIN || kind == KIND_REFUSED_LOGOUT)
        alm_share_key_of_address(row->text[ADDRESS], who);
    else
        alm_share_key_of(alm_str_of(row->text[IDENTITY]), who);
    row->older = list->newest;
    *(list->newest != NULL ? &list->newest->newer : &list->oldest) = row;
    list->newest = row;
    alm_share_add(&list->share, &row->node, who);
    if (!alm_share_is_over(&list->share))
        return;
    alm_share_node *victim = alm_share_victim(&list->share);
    ALM_ASSERT(victim != NULL);
    audit_take_out(list, (audit_row *)(void *)((char *)victim - offsetof(audit_row, node)));
}

void alm_audit_add(alm_db *db, const alm_audit *audit)
{
    alm_audit_log *log = db->access.audit;
    audit_row *row = row_new(audit);
    if (row == NULL)
        return;
    const int64_t now_us = db->io->wall_ns(db->io) / 1000;
    const audit_kind kind = audit_kind_of(audit);
    audit_list *list = &log->lists[kind];
    (void)pthread_mutex_lock(&log->lock);
    audit_row *kept = find_same(list, row);
    if (kept != NULL) {
        free(row);
        kept->repeats++;
        kept->last_us = now_us;
    } else {
        kept = row;
        row->us = row->last_us = now_us;
        row->logged_us = now_us - LOGGED_AGAIN_US;
        audit_put_in(list, row, kind);
    }
    if (now_us - kept->logged_us >= LOGGED_AGAIN_US || now_us < kept->logged_us) {
        kept->logged_us = now_us;
        write_line(kept);
    }
    (void)pthread_mutex_unlock(&log->lock);
}

void alm_audit_session(const alm_session *session, alm_audit *audit)
{
    audit->interface = session->protocol;
    audit->address = session->ends.client;
    audit->user = session->user;
    audit->identity = session->identity;
    if (session->assumed == NULL)
        return;
    audit->user = session->assumed->name;
    audit->identity = session->assumed->identity;
    audit->real = session->user;
    audit->real_identity = session->identity;
}

alm_status alm_audit_new(alm_ctx *cx, size_t rows_max, alm_audit_log **out)
{
    alm_audit_log *log = calloc(1, sizeof *log);
    if (log == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    (void)pthread_mutex_init(&log->lock, NULL);
    for (int k = 0; k < KINDS; k++) {
        if (!alm_share_init(&log->lists[k].share, ALM_MAX(rows_max, (size_t)2))) {
            alm_audit_free(log);
            return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
        }
    }
    *out = log;
    return ALM_OK;
}

void alm_audit_free(alm_audit_log *log)
{
    if (log == NULL)
        return;
    for (int k = 0; k < KINDS; k++) {
        while (log->lists[k].oldest != NULL)
            audit_take_out(&log->lists[k], log->lists[k].oldest);
        alm_share_deinit(&log->lists[k].share);
    }
    (void)pthread_mutex_destroy(&log->lock);
    free(log);
}

/* -------------------------------------------------------------------------- listing */

static alm_status cells_of(alm_ctx *cx, const audit_row *row, const char **cell)
{
    const char *const texts[] = {row->text[EVENT],        row->ok ? "ok" : "refused",
                                 row->text[USER],         row->text[INTERFACE],
                                 row->text[ADDRESS],      row->text[DETAIL],
                                 row->text[IDENTITY],     row->text[REAL],
                                 row->text[REAL_IDENTITY]};
    ALM_TRY(alm_arena_printf(cx, cx->arena, &cell[0], "%lld", (long long)row->us));
    for (size_t i = 0; i < ALM_COUNT(texts); i++)
        ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(texts[i]), &cell[1 + i]));
    ALM_TRY(alm_arena_printf(cx, cx->arena, &cell[10], "%lld", (long long)row->repeats));
    return alm_arena_printf(cx, cx->arena, &cell[11], "%lld", (long long)row->last_us);
}

/* The oldest row of what is left of the lists; NULL: there is none. */
static const audit_row *audit_next_of(const audit_row *left[KINDS])
{
    const audit_row *oldest = NULL;
    int of = 0;
    for (int k = 0; k < KINDS; k++) {
        if (left[k] == NULL || (oldest != NULL && left[k]->us >= oldest->us))
            continue;
        oldest = left[k];
        of = k;
    }
    if (oldest != NULL)
        left[of] = oldest->newer;
    return oldest;
}

/* Oldest first. */
alm_status alm_audit_texts(alm_ctx *cx, const char *const **cells, size_t *rows)
{
    alm_audit_log *log = cx->session->db->access.audit;
    const char **out = NULL;
    const audit_row *left[KINDS];
    size_t count = 0, i = 0;
    (void)pthread_mutex_lock(&log->lock);
    for (int k = 0; k < KINDS; k++) {
        left[k] = log->lists[k].oldest;
        count += log->lists[k].share.n;
    }
    alm_status status = ALM_NEWN(cx, cx->arena, CELLS * (count + 1), &out);
    for (const audit_row *row = NULL; status == ALM_OK && (row = audit_next_of(left)) != NULL; i++)
        status = cells_of(cx, row, out + CELLS * i);
    (void)pthread_mutex_unlock(&log->lock);
    *cells = out;
    *rows = count;
    return status;
}

static alm_status deny(alm_ctx *cx, const alm_session *session, const alm_rights *rights,
                       int32_t pos, const char *what)
{
    /* of a definer who is gone there is no name */
    const char *name = rights != NULL && rights->name[0] != 0 ? rights->name : session->user;
    alm_audit audit = {.event = "denied", .detail = what};
    alm_audit_session(session, &audit);
    alm_audit_add(session->db, &audit);
    return alm_fail(cx, ALM_E_DENIED, pos, "Access denied for %s [%s]", name, what);
}

alm_status alm_access_denied(alm_cursor *cursor, int32_t pos, const char *what)
{
    return deny(&cursor->cx, cursor->session, cursor->rights, pos, what);
}

alm_status alm_session_denied(alm_ctx *cx, const alm_session *session, const char *permission,
                              int32_t pos)
{
    return deny(cx, session, session->rights, pos, permission);
}
