/* interactive.c - see interactive.h. Lines are edited by libedit, as readline does it. */
#include "cli/interactive.h"

#include <editline/readline.h>
#include <stdlib.h>
#include <unistd.h>

enum { HISTORY_LINES = 5000, PATH_BYTES = 4096 };

static bool history_path(char path[PATH_BYTES])
{
    const char *given = getenv("ALMANAC_HISTORY"), *home = getenv("HOME");
    if (given != NULL)
        return snprintf(path, PATH_BYTES, "%s", given) < PATH_BYTES;
    return home != NULL && snprintf(path, PATH_BYTES, "%s/.almanac_history", home) < PATH_BYTES;
}

static bool interactive_is_blank(alm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (strchr(" \t\r\n", text.ptr[i]) == NULL)
            return false;
    return true;
}

/* Is the prompt in the middle of a statement? */
static bool is_open(const alm_script *script)
{
    return !interactive_is_blank(
        (alm_str){script->text.ptr + script->used, script->text.len - script->used});
}

static void interactive_run_one(alm_prompt *prompt, alm_script_statement *statement)
{
    alm_ctx cx = {0};
    statement->line = 1; /* counted within the statement */
    prompt->last.len = 0;
    if (alm_buf_append(&cx, &prompt->last, statement->text.ptr, statement->text.len) != ALM_OK)
        prompt->last.len = 0;
    alm_interrupt_clear();
    (void)alm_run_statement(prompt->client, statement, NULL);
    alm_complete_stale();
}

static void take_line(alm_prompt *prompt, const char *line)
{
    alm_ctx cx = {0};
    alm_script *script = &prompt->script;
    if (!is_open(script) && line[strspn(line, " \t")] == '\\') {
        alm_command(prompt, line + strspn(line, " \t"));
        return;
    }
    if (alm_script_feed(&cx, script, alm_str_of(line)) != ALM_OK ||
        alm_script_feed(&cx, script, ALM_STR("\n")) != ALM_OK) {
        (void)alm_run_failed(prompt->client, "input", cx.err.msg);
        return;
    }
    alm_script_statement statement;
    while (!alm_interrupted() && !prompt->client->link->lost &&
           alm_script_next(script, false, &statement))
        interactive_run_one(prompt, &statement);
}

static void forget_input(alm_prompt *prompt)
{
    alm_script_deinit(&prompt->script);
    alm_script_init(&prompt->script);
}

/* One line of the terminal; false: it is over. */
static bool read_line(alm_prompt *prompt)
{
    alm_interrupt_clear();
    char *line = readline(is_open(&prompt->script) ? "     -> " : "almanac> ");
    if (line == NULL && alm_interrupted()) { /* Ctrl-C: the line and what was before it */
        (void)fputc('\n', stdout);
        forget_input(prompt);
        return true;
    }
    if (line == NULL) {
        (void)fputc('\n', stdout);
        return false;
    }
    if (!interactive_is_blank(alm_str_of(line)))
        (void)add_history(line);
    alm_interrupt_clear(); /* one that met the Tab key ended its search for names */
    take_line(prompt, line);
    if (alm_interrupted())
        forget_input(prompt);
    free(line);
    return !prompt->quit && !prompt->client->link->lost;
}

void alm_interactive(alm_client *client)
{
    char path[PATH_BYTES];
    const bool keeps_history = history_path(path);
    static char name[] = "almanac";
    alm_prompt prompt = {.client = client};
    alm_script_init(&prompt.script);
    alm_buf_init(&prompt.last, NULL);
    rl_readline_name = name;
    rl_catch_signals = 0; /* SIGINT is the client's */
    using_history();
    stifle_history(HISTORY_LINES);
    if (keeps_history)
        (void)read_history(path);
    alm_complete_start(client);
    (void)puts("almanac " ALM_VERSION "; statements end with ; and \\? lists the commands");
    while (read_line(&prompt))
        ;
    if (keeps_history)
        (void)write_history(path);
    client->failed = false; /* failures were seen */
    alm_interrupt_clear();
    alm_complete_end();
    alm_buf_deinit(&prompt.last);
    alm_script_deinit(&prompt.script);
}
