/*
 * interactive.h - the client at a terminal: a prompt with line editing, history and completion;
 * statements up to their ; and commands that begin with a backslash.
 */
#ifndef ALM_CLI_INTERACTIVE_H
#define ALM_CLI_INTERACTIVE_H

#include "cli/run.h"

/* What a session at the prompt keeps. */
typedef struct alm_prompt {
    alm_client *client;
    alm_script script;
    alm_buf last; /* the statement that ran last, for \watch */
    bool quit;
} alm_prompt;

/* Until \q, the end of the input, or the connection is lost. */
void alm_interactive(alm_client *client);

/* commands.c: one line that begins with a backslash. */
void alm_command(alm_prompt *prompt, const char *line);

/* complete.c: words for the Tab key; names are asked for again after alm_complete_stale. */
void alm_complete_start(alm_client *client);
void alm_complete_stale(void);
void alm_complete_end(void);

#endif
