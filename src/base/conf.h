/*
 * conf.h - the settings of the server: a struct whose fields are the rows of conf.def.
 *
 * Sources     Default, then the text of server.conf, then the environment; the later wins. A key
 *             a.b.c is ALMANAC_A_B_C in the environment, or QDB_A_B_C; the first is asked first.
 * Text        Java properties: key=value, key: value; # and ! start comments; a backslash at the end
 *             of a line joins the next one; \t \n \r \f \\ \uXXXX in values.
 * Errors      ALM_E_ARG; the message names key, value, and file and line or environment variable.
 *             Nothing is half taken over: on error the struct is as it was.
 * Threads     Read-only after start, but for alm_conf_reload: it stores each changed field with one
 *             aligned store, so that a concurrent reader sees the old or the new value; replaced
 *             texts live until alm_conf_deinit.
 */
#ifndef ALM_BASE_CONF_H
#define ALM_BASE_CONF_H

#include "base/base.h"

typedef enum alm_conf_kind {
    ALM_CONF_BOOL,
    ALM_CONF_INT,
    ALM_CONF_SIZE,
    ALM_CONF_MS,
    ALM_CONF_TEXT,
    ALM_CONF_ADDR,
    ALM_CONF_CHOICE
} alm_conf_kind;

typedef enum alm_conf_source { ALM_CONF_DEFAULT, ALM_CONF_FILE, ALM_CONF_ENV } alm_conf_source;

typedef enum alm_conf_id {
#define ALM_CONF(kind, field, key, def, min, max, choices, flags, doc) ALM_CONF_ID_##field,
#include "base/conf.def"
#undef ALM_CONF
    ALM_CONF_COUNT
} alm_conf_id;

/* C type of each kind. Texts are terminated and never NULL. */
typedef bool alm_conf_c_BOOL;
typedef int64_t alm_conf_c_INT;
typedef int64_t alm_conf_c_SIZE;
typedef int64_t alm_conf_c_MS;
typedef const char *alm_conf_c_TEXT;
typedef const char *alm_conf_c_ADDR;
typedef const char *alm_conf_c_CHOICE;

/* conf->http_bind_to, conf->query_timeout (milliseconds) ... */
typedef struct alm_conf {
#define ALM_CONF(kind, field, key, def, min, max, choices, flags, doc) alm_conf_c_##kind field;
#include "base/conf.def"
#undef ALM_CONF
    uint8_t source[ALM_CONF_COUNT]; /* alm_conf_source */
    alm_arena texts;
} alm_conf;

typedef struct alm_conf_row {
    alm_conf_kind kind;
    const char *key;
    const char *def; /* as text */
    int64_t min, max;
    const char *choices;
    bool reloadable, sensitive;
    const char *doc;
    size_t offset; /* of the field in alm_conf */
} alm_conf_row;

/* Row `i`, i < ALM_CONF_COUNT, in the order of conf.def. */
const alm_conf_row *alm_conf_row_at(size_t i);

/* Another name of a setting; `factor` multiplies a number without unit that is given by it. */
typedef struct alm_conf_alias {
    const char *name;
    alm_conf_id id;
    int64_t factor;
} alm_conf_alias;
const alm_conf_alias *alm_conf_aliases(size_t *n);

/* All defaults. */
ALM_NODISCARD alm_status alm_conf_init(alm_ctx *cx, alm_conf *conf);
void alm_conf_deinit(alm_conf *conf);

typedef struct alm_conf_input {
    alm_str text;     /* of the file; empty if there is none */
    const char *file; /* its name, for messages */
    /* Value of an environment variable or NULL; NULL: no environment. alm_conf_getenv is one. */
    const char *(*env)(void *arg, const char *name);
    void *env_arg;
    /* The text of a file that holds a secret (KEY.file, KEY_FILE), appended to *out; NULL: there are no files. */
    alm_status (*secret)(alm_ctx *cx, void *arg, const char *path, alm_buf *out);
    void *secret_arg;
    /* Keys that are known and not used, keys that are not known (config.validation.strict=false). */
    void (*warn)(void *arg, const char *message);
    void *warn_arg;
} alm_conf_input;

const char *alm_conf_getenv(void *unused, const char *name);
/* Fills an initialised struct from text and environment. */
ALM_NODISCARD alm_status alm_conf_read(alm_ctx *cx, alm_conf *conf, const alm_conf_input *input);
/* `live` with the reloadable settings of `fresh`, to be looked at before they are taken over; borrows the texts
 * of both. */
void alm_conf_merge(const alm_conf *live, const alm_conf *fresh, alm_conf *out);
/* Takes over the reloadable settings of `fresh`. Calls `changed` for every setting that differs,
 * with `applied` false for those that need a restart. */
ALM_NODISCARD alm_status alm_conf_reload(alm_ctx *cx, alm_conf *live, const alm_conf *fresh,
                                         void (*changed)(void *arg, const alm_conf_row *row,
                                                         bool applied),
                                         void *arg);

/* A place in the file system, or something about the identity provider, by its name: only administrators see the value. */
bool alm_conf_is_private(size_t i);
/* For SHOW PARAMETERS. The value of row i as text ("****" for a sensitive one that is set), a number divided by
 * `factor`; the environment variable of a key (QDB_ form); and "default", "conf" or "env". */
ALM_NODISCARD alm_status alm_conf_value_text(alm_ctx *cx, const alm_conf *conf, size_t i,
                                             int64_t factor, alm_buf *out);
ALM_NODISCARD alm_status alm_conf_env_name(alm_ctx *cx, const char *key, alm_buf *out);
const char *alm_conf_source_name(const alm_conf *conf, size_t i);

/* A server.conf with every setting, its documentation and its default, all commented out. */
ALM_NODISCARD alm_status alm_conf_write_default(alm_ctx *cx, alm_buf *out);

/* "host:port", "[::1]:9000"; an empty host means all addresses, as 0.0.0.0 does. */
bool alm_addr_split(alm_str text, alm_str *host, uint16_t *port);

#endif
