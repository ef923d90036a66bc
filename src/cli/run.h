/*
 * run.h - the state of the client, and running statements of texts, files and lines.
 *
 * Threads     One; the handler of SIGINT cancels what runs and sets a flag.
 */
#ifndef ALM_CLI_RUN_H
#define ALM_CLI_RUN_H

#include "cli/link.h"
#include "cli/script.h"

enum { ALM_SOURCES_MAX = 64 };

enum { ALM_EXIT_DONE = 0, ALM_EXIT_FAILED = 1, ALM_EXIT_USAGE = 2, ALM_EXIT_INTERRUPTED = 130 };

typedef struct alm_source {
    const char *text; /* of -c */
    const char *file; /* of -f */
} alm_source;

typedef struct alm_client {
    alm_link *link;
    alm_out out;
    alm_link_options where;
    const char *format, *to;
    alm_source sources[ALM_SOURCES_MAX];
    uint32_t n_sources;
    bool keep_going, timing, failed, interactive;
} alm_client;

/* SIGINT cancels what runs on the link (NULL: nothing). A second one, while the first is not answered,
 * ends a script; a prompt goes on. */
void alm_catch_interrupts(alm_link *link, bool interactive);
bool alm_interrupted(void);
void alm_interrupt_clear(void);

/* All of them tell a failure on standard error; false: nothing more is to be run. file: named by errors,
 * may be NULL. */
bool alm_run_statement(alm_client *client, const alm_script_statement *statement, const char *file);
bool alm_run_whole(alm_client *client, alm_script *script, bool last, const char *file);
bool alm_run_text(alm_client *client, const char *text);
bool alm_run_file(alm_client *client, const char *file);
bool alm_run_failed(alm_client *client, const char *what, const char *why);

#endif
