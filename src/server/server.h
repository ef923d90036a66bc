/*
 * server.h - what main does, in pieces that tests can call: command line, configuration files, the
 * life of the server. Nothing else may include it.
 */
#ifndef ALM_SERVER_SERVER_H
#define ALM_SERVER_SERVER_H

#include "base/conf.h"

typedef enum alm_verb {
    ALM_VERB_SERVE,
    ALM_VERB_CHECK,
    ALM_VERB_RESTORE,
    ALM_VERB_SQL,
    ALM_VERB_HELP,
    ALM_VERB_VERSION
} alm_verb;

typedef struct alm_options {
    alm_verb verb;
    const char *root;
    const char *from; /* RESTORE: directory of backups */
    uint32_t generation;
    uint64_t until_lsn; /* RESTORE */
    int64_t until_us;
    const char *log;
    bool allow_earlier;
    bool repair;          /* CHECK */
    bool rebuild_symbols; /* CHECK */
    const char *salvage;  /* CHECK: where to; NULL: nowhere */
} alm_options;

/* ALM_E_ARG says what is wrong with the command line. */
ALM_NODISCARD alm_status alm_options_parse(alm_ctx *cx, int argc, char **argv, alm_options *out);
const char *alm_help_text(void);

/* Makes ROOT, ROOT/conf, ROOT/import; writes a commented ROOT/conf/server.conf when there is none;
 * reads it and the environment. Warnings go to the log. */
ALM_NODISCARD alm_status alm_server_conf(alm_ctx *cx, const char *root, alm_conf *out);

/* Reads ROOT/conf/server.conf and the environment, and makes nothing. */
ALM_NODISCARD alm_status alm_server_conf_again(alm_ctx *cx, const char *root, alm_conf *out);

/* Opens the database and serves until SIGTERM or SIGINT; SIGHUP reads the settings again. 0 or an exit code. */
int alm_serve(const char *root);
/* `almanac sql`: becomes the program almanac-sql, which stands beside this one; returns only when it
 * cannot. */
int alm_client(char **argv);
/* `almanac check` of a data directory or a directory of backups: prints findings; 0: none, 1: some, 2:
 * could not be checked. */
int alm_check_root(const alm_options *options);
/* `almanac restore`: 0: done, 1: damage or a full disk kept it from that, 2: the arguments. */
int alm_restore_root(const alm_options *options);

#endif
