/*
 * acl.h - who there is and who may what: users, service accounts, groups, memberships, external aliases, tokens and
 * grants, as the records of the catalogue say at one moment (docs/internals/access-control.md).
 *
 * Lifetime    An alm_acl is immutable and counted. Its epoch is the log number of the newest change: equal epochs
 *             mean equal rights.
 * Names       Of entities: bytes, with case. Of tables and columns: without case, kept in small letters.
 * Null rule   Grants on the database have the table "" and the column "", on a table the column "".
 * Errors      ALM_E_CORRUPT for records that are none, ALM_E_MEMORY.
 * Threads     May be shared by any number.
 */
#ifndef ALM_AUTH_ACL_H
#define ALM_AUTH_ACL_H

#include "auth/permission.h"
#include "auth/scram.h"
#include "base/hash.h"
#include "base/hashes.h"
#include "storage/catalog.h"

typedef enum alm_entity_kind {
    ALM_ENTITY_USER = 1,
    ALM_ENTITY_ACCOUNT = 2, /* service account */
    ALM_ENTITY_GROUP = 3
} alm_entity_kind;

enum {
    ALM_ENTITY_NAME_MAX = 255,
    ALM_TOKEN_HASH = 32,      /* SHA-256 */
    ALM_TOKEN_HEX = 64,       /* its text */
    ALM_COORDINATE_MAX = 64,  /* of a public key, base64url */
    ALM_GROUPS_OF_MAX = 1000, /* groups that count for one user */
};

typedef struct alm_entity {
    const char *name;
    alm_entity_kind kind;
    bool enabled, has_password, has_key;
    alm_scram_verifier verifier;                               /* if has_password */
    char key_x[ALM_COORDINATE_MAX], key_y[ALM_COORDINATE_MAX]; /* if has_key; terminated */
    int64_t memory_max; /* bytes that a statement of it, or of a member, may use; 0: not said */
    /* Moments, as the epoch that the change was made from and one; 0: before there were any. generation: of CREATE, so that
     * another entity of the name has another one. ended: of the last DISABLE; logins from before are over. */
    uint64_t generation, ended;
} alm_entity;

typedef struct alm_pair { /* user and group; group and alias */
    const char *first, *second;
} alm_pair;

/* Of an alias, by the hash of its text: groups at the provider are looked up, not compared with all aliases. */
typedef struct alm_alias_slot {
    uint64_t hash;  /* alm_hash_str */
    uint32_t alias; /* in aliases */
    uint32_t group; /* in alias_groups */
} alm_alias_slot;

typedef struct alm_name_slot {
    uint64_t hash;   /* alm_entity_name_hash */
    uint32_t entity; /* in entities */
} alm_name_slot;

typedef struct alm_token {
    char hash[ALM_TOKEN_HEX + 1];
    const char *entity;
    int64_t expires_us, ttl_us; /* since 1970; length */
    bool refresh;               /* use moves the end */
    uint64_t
        generation; /* of the entity, for one that is no record: a record goes with its entity */
} alm_token;

typedef struct alm_grant {
    const char *entity, *table, *column;
    alm_permission_set may, option; /* option: may be granted on; part of may */
} alm_grant;

typedef struct alm_assume { /* entity may become the service account */
    const char *entity, *account;
    bool option;
} alm_assume;

typedef struct alm_definer { /* whose rights a view has */
    const char *view;        /* its name, in small letters */
    const char *name;        /* "": no entity is the definer any more, and the view is refused */
    uint64_t generation;     /* of that entity */
    uint64_t
        maker; /* alm_maker of who made the view OWNED BY it, or was it; ALM_MAKER_ADMIN; 0: an older version made the view */
} alm_definer;

enum { ALM_MAKER_ADMIN = 1 };
/* Of a principal's identity; another one of its name has another. */
static inline uint64_t alm_maker(const char *identity)
{
    return alm_hash_str(alm_str_of(identity)) | 2;
}

typedef struct alm_acl {
    _Atomic uint32_t refs;
    uint64_t epoch;
    alm_arena arena;
    alm_entity *entities; /* by name */
    alm_pair *members;    /* user, group */
    alm_pair *aliases;    /* group, alias */
    alm_token *tokens;    /* by hash */
    alm_assume *assumes;  /* entity, account */
    alm_definer *definers;
    uint32_t n_entities, n_members, n_aliases, n_tokens, n_assumes, n_definers;
    bool has_secret;
    uint8_t secret[ALM_SCRAM_KEY]; /* what made-up names get is made from it; no key to anything */
    alm_rounds *rounds;            /* n_rounds, of the passwords that are there */
    uint32_t n_rounds;
    alm_name_slot *by_reading; /* n_entities, by hash */
    alm_alias_slot *by_alias;  /* n_aliases, by hash */
    const char **alias_groups; /* groups that have aliases, by name */
    uint32_t n_alias_groups;
    /* Grants, by entity, table, column: read where they are looked at, as there may be very many, and each change of anything makes
     * another acl. n_grants of the records from first_grant on. */
    alm_records *records;
    uint32_t first_grant, n_grants;
} alm_acl;

/* The records of the snapshot; refs = 1. */
ALM_NODISCARD alm_status alm_acl_load(alm_ctx *cx, const alm_snapshot *snap, alm_acl **out);
alm_acl *alm_acl_retain(alm_acl *acl);
void alm_acl_release(alm_acl *acl); /* NULL: nothing */

/* rounds, by_reading, by_alias and alias_groups, of the lists that are there; part of alm_acl_load. */
ALM_NODISCARD alm_status alm_acl_index(alm_ctx *cx, alm_acl *acl);

/* NULL: there is none. */
const alm_entity *alm_acl_entity(const alm_acl *acl, const char *name);
/* False: there is none, and *out has the names and nothing granted. */
bool alm_acl_grant(const alm_acl *acl, const char *entity, const char *table, const char *column,
                   alm_grant *out);
/* i < n_grants. Its names live as long as the acl. */
alm_grant alm_acl_grant_at(const alm_acl *acl, uint32_t i);
const alm_token *alm_acl_token(const alm_acl *acl, const char *hash);
const alm_assume *alm_acl_assume(const alm_acl *acl, const char *entity, const char *account);
const alm_definer *alm_acl_definer(const alm_acl *acl, const char *view);
/* The entity of that name and generation; NULL: it was dropped, even if a new entity has the name. */
const alm_entity *alm_acl_definer_entity(const alm_acl *acl, const alm_definer *definer);
bool alm_acl_is_member(const alm_acl *acl, const char *user, const char *group);
bool alm_acl_has_alias(const alm_acl *acl, const char *group, const char *alias);
/* The next entity whose name may read the same (alm_entity_name_hash), and the rest; *at: 0 at first. NULL: no more. */
const alm_entity *alm_acl_entity_next(const alm_acl *acl, uint64_t hash, uint32_t *at);
/* The next group that has the alias, and the rest; *at: 0 at first. NULL: no more. hash: alm_hash_str of the alias. */
const alm_alias_slot *alm_acl_alias_next(const alm_acl *acl, uint64_t hash, const char *alias,
                                         uint32_t *at);
/* Groups of one user: [*first, end) of members, the end is returned. */
uint32_t alm_acl_groups_of(const alm_acl *acl, const char *user, uint32_t *first);
/* Grants of one entity: [*first, end), the end is returned. */
uint32_t alm_acl_grants_of(const alm_acl *acl, const char *entity, uint32_t *first);
/* On the table and its columns. */
uint32_t alm_acl_grants_on(const alm_acl *acl, const char *entity, const char *table,
                           uint32_t *first);

/* ------------------------------------------------------------------------- changes */

/* Records that a statement changes, memory of cx->arena; see alm_records_change of storage/. The last
 * change of a thing counts. */
typedef struct alm_acl_edit {
    alm_ctx *cx;
    const alm_acl *acl; /* as it was */
    alm_record *rows;
    uint32_t n, cap;
    alm_hashes keys; /* of the rows */
} alm_acl_edit;

ALM_NODISCARD alm_status alm_edit_entity(alm_acl_edit *edit, const alm_entity *entity);
ALM_NODISCARD alm_status alm_edit_secret(alm_acl_edit *edit, const uint8_t secret[ALM_SCRAM_KEY]);
/* With all that hangs on it. */
ALM_NODISCARD alm_status alm_edit_drop_entity(alm_acl_edit *edit, const char *name);
ALM_NODISCARD alm_status alm_edit_member(alm_acl_edit *edit, const char *user, const char *group,
                                         bool is);
ALM_NODISCARD alm_status alm_edit_alias(alm_acl_edit *edit, const char *group, const char *alias,
                                        bool is);
ALM_NODISCARD alm_status alm_edit_token(alm_acl_edit *edit, const alm_token *token);
ALM_NODISCARD alm_status alm_edit_drop_token(alm_acl_edit *edit, const char *hash);
/* None left: the grant goes. */
ALM_NODISCARD alm_status alm_edit_grant(alm_acl_edit *edit, const alm_grant *grant);
/* As it is with the edit; nothing granted: both sets empty. */
ALM_NODISCARD alm_status alm_edit_grant_now(const alm_acl_edit *edit, const char *entity,
                                            const char *table, const char *column, alm_grant *out);
/* By how many grants there will be more, or fewer, of others than `except`. */
ALM_NODISCARD alm_status alm_edit_grants_more(const alm_acl_edit *edit, const char *except,
                                              int64_t *out);
ALM_NODISCARD alm_status alm_edit_assume(alm_acl_edit *edit, const alm_assume *assume, bool is);
/* name NULL: the view has none any more; everything is allowed to it. */
ALM_NODISCARD alm_status alm_edit_definer(alm_acl_edit *edit, const alm_definer *definer);
/* Grants of everybody go with the table to its new name; to NULL: they are dropped. column NULL: all of the
 * table, else those of this column (a rename of the column). */
ALM_NODISCARD alm_status alm_edit_move(alm_acl_edit *edit, const char *table, const char *column,
                                       const char *dest);

#endif
