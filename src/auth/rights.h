/*
 * rights.h - a principal, made by a login, and its rights as an alm_acl has them.
 *
 * Principal   Who the question is asked for: the built-in admin, a user or service account of the catalogue, or an
 *             external user, who is nothing but a name and the names of its groups at the identity provider: what
 *             he may follows from the groups that have these as aliases.
 * Rights      The principal in one alm_acl: its own grants and those of its groups. Immutable, counted; made again when the
 *             epoch is another.
 * Cost        Threads of the network ask for each request: a look-up for each group that the provider names, once for an epoch;
 *             nothing is linear in aliases, members or grants of others.
 * Threads     Both may be shared by any number.
 */
#ifndef ALM_AUTH_RIGHTS_H
#define ALM_AUTH_RIGHTS_H

#include "auth/acl.h"

typedef enum alm_principal_kind {
    ALM_PRINCIPAL_ADMIN,
    ALM_PRINCIPAL_LOCAL,
    ALM_PRINCIPAL_EXTERNAL
} alm_principal_kind;

/* How it was shown who it is: what must stay as it was for what began with it to go on. */
typedef enum alm_proof {
    ALM_PROOF_NONE, /* nothing of the catalogue: the identity provider answers, or nobody was asked */
    ALM_PROOF_PASSWORD,
    ALM_PROOF_TOKEN,
    ALM_PROOF_KEY,
    ALM_PROOF_ASSUMED /* a service account: who assumed it must go on to be allowed to */
} alm_proof;

typedef struct alm_began {
    alm_proof proof;
    uint64_t generation, ended;    /* of the entity, then */
    uint64_t credential;           /* alm_password_version, alm_key_version */
    char token[ALM_TOKEN_HEX + 1]; /* its hash; "": another proof */
} alm_began;

/* What a user of the provider may, as it was found last; private to rights.c. */
typedef struct alm_kept_rights alm_kept_rights;

typedef struct alm_principal {
    _Atomic uint32_t refs;
    alm_began began;
    alm_principal_kind kind;
    const char *name;
    const char *identity; /* equal: the same one, whatever other principals are called */
    uint32_t n_groups;    /* EXTERNAL: names at the provider */
    const char *const *groups;
    const uint64_t *group_hashes; /* alm_hash_str */
    alm_kept_rights
        *kept; /* EXTERNAL: while the epoch is the same, its groups are not looked up again */
    /* EXTERNAL: the provider takes no more what it was proved by, or the user logged out there. Set once, by whoever hears of it. */
    _Atomic bool over;
} alm_principal;

/* Copies the texts; refs = 1; no proof. ALM_E_LIMIT: the name or the list of groups is too long. Of an EXTERNAL one the
 * identity is its name: see below. */
ALM_NODISCARD alm_status alm_principal_new(alm_ctx *cx, alm_principal_kind kind, alm_str name,
                                           const char *const *groups, uint32_t n_groups,
                                           alm_principal **out);
/* An entity of the catalogue, as it is there now: began.generation and began.ended are its own. Another one of the name has
 * another identity. */
ALM_NODISCARD alm_status alm_principal_local(alm_ctx *cx, const alm_entity *entity,
                                             const alm_began *began, alm_principal **out);
/* Another password, though of the same text, or key has another version. */
uint64_t alm_password_version(const alm_scram_verifier *verifier);
uint64_t alm_key_version(const alm_entity *entity);
/* Why what a LOCAL principal began is over; NULL: it is not, as far as the catalogue knows (tokens: the caller's). */
const char *alm_principal_over(const alm_principal *who, const alm_acl *acl);
/* A user of the provider, whom `subject` (claim sub, not empty) tells from others of that name. */
ALM_NODISCARD alm_status alm_principal_external(alm_ctx *cx, alm_str name, alm_str subject,
                                                const char *const *groups, uint32_t n_groups,
                                                alm_principal **out);
/* Is any group of the EXTERNAL one an alias of a group here? */
bool alm_principal_is_mapped(const alm_principal *who, const alm_acl *acl);
alm_principal *alm_principal_retain(alm_principal *who);
void alm_principal_release(alm_principal *who); /* NULL: nothing */

typedef struct alm_rights {
    _Atomic uint32_t refs;
    alm_acl *acl; /* counted */
    alm_principal_kind kind;
    bool enabled; /* an entity that is disabled or gone has no rights */
    bool all;     /* the admin, or DATABASE ADMIN */
    int64_t
        memory_max; /* bytes a statement may use: its own limit, else the least of its groups'; 0: none of them says */
    const char *name; /* texts live as long as the object */
    uint32_t n;       /* entities whose grants count: itself and its groups */
    const char *const *of;
    alm_permission_set db, db_option; /* what they have on the database, together */
    alm_arena arena;
} alm_rights;

ALM_NODISCARD alm_status alm_rights_new(alm_ctx *cx, alm_acl *acl, const alm_principal *who,
                                        alm_rights **out);
/* Of the entity that has the name now; "admin" is not special: the caller knows that name. */
ALM_NODISCARD alm_status alm_rights_of(alm_ctx *cx, alm_acl *acl, const char *name,
                                       alm_rights **out);
alm_rights *alm_rights_retain(alm_rights *rights);
void alm_rights_release(alm_rights *rights); /* NULL: nothing */

/*
 * Is the permission there, on the database, the table (not NULL) or the column (not NULL)? Names in small letters. ts:
 * the column is the designated timestamp, which SELECT or UPDATE of any other implies. option: with GRANT OPTION.
 */
typedef struct alm_rights_ask {
    uint8_t number;
    const char *table, *column;
    bool ts, option;
} alm_rights_ask;
bool alm_rights_may(const alm_rights *rights, const alm_rights_ask *ask);
/* On the table or one of its columns. */
bool alm_rights_any(const alm_rights *rights, uint8_t number, const char *table);
/* On the database, or on any table or column at all. */
bool alm_rights_anywhere(const alm_rights *rights, uint8_t number);
/* Any permission on the table that is one of tables. */
bool alm_rights_sees(const alm_rights *rights, const char *table);
/* May it become the service account? */
bool alm_rights_assumes(const alm_rights *rights, const char *account, bool option);
bool alm_rights_is_in(const alm_rights *rights, const char *entity);

enum {
    ALM_PERMISSION_SELECT = 4,
    ALM_PERMISSION_UPDATE = 5,
    ALM_PERMISSION_BACKUP_TABLE = 28,
    ALM_PERMISSION_DATABASE_ADMIN = 72
};

#endif
