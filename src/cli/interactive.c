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

static bool is_blank(alm_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (strchr(" \t\r\n", text.ptr[i]) == NULL)
            return false;
    return true;
}

/* Is the prompt in the middle of a statement? */
static bool is_open(const alm_script *s)
{
    return !is_blank((alm_str){s->text.ptr + s->used, s->text.len - s->used});
}

static void run_one(alm_prompt *p, alm_script_statement *s)
{
    alm_ctx cx = {0};
    s->line = 1; /* counted within the statement */
    p->last.len = 0;
    if (alm_buf_append(&cx, &p->last, s->text.ptr, s->text.len) != ALM_OK)
        p->last.len = 0;
    alm_interrupt_clear();
    (void)alm_run_statement(p->client, s, NULL);
    alm_complete_stale();
}

static void take_line(alm_prompt *p, const char *line)
{
    alm_ctx cx = {0};
    alm_script *script = &p->script;
    if (!is_open(script) && line[strspn(line, " \t")] == '\\') {
        alm_command(p, line + strspn(line, " \t"));
        return;
    }
    if (alm_script_feed(&cx, script, alm_str_of(line)) != ALM_OK ||
        alm_script_feed(&cx, script, ALM_STR("\n")) != ALM_OK) {
        (void)alm_run_failed(p->client, "input", cx.err.msg);
        return;
    }
    alm_script_statement s;
    while (!alm_interrupted() && !p->client->link->lost && alm_script_next(script, false, &s))
        run_one(p, &s);
}

static void forget_input(alm_prompt *p)
{
    alm_script_deinit(&p->script);
    alm_script_init(&p->script);
}

/* One line of the terminal; false: it is over. */
static bool read_line(alm_prompt *p)
{
    alm_interrupt_clear();
    char *line = readline(is_open(&p->script) ? "     -> " : "almanac> ");
    if (line == NULL && alm_interrupted()) { /* Ctrl-C: the line and what was before it */
        (void)fputc('\n', stdout);
        forget_input(p);
        return true;
    }
    if (line == NULL) {
        (void)fputc('\n', stdout);
        return false;
    }
    if (!is_blank(alm_str_of(line)))
        (void)add_history(line);
    alm_interrupt_clear(); /* one that met the Tab key ended its search for names */
    take_line(p, line);
    if (alm_interrupted())
        forget_input(p);
    free(line);
    return !p->quit && !p->client->link->lost;
}

void alm_interactive(alm_client *c)
{
    char path[PATH_BYTES];
    const bool keeps_history = history_path(path);
    static char name[] = "almanac";
    alm_prompt p = {.client = c};
    alm_script_init(&p.script);
    alm_buf_init(&p.last, NULL);
    rl_readline_name = name;
    rl_catch_signals = 0; /* SIGINT is the client's */
    using_history();
    stifle_history(HISTORY_LINES);
    if (keeps_history)
        (void)read_history(path);
    alm_complete_start(c);
    (void)puts("almanac " ALM_VERSION "; statements end with ; and \\? lists the commands");
    while (read_line(&p))
        ;
    if (keeps_history)
        (void)write_history(path);
    c->failed = false; /* failures were seen */
    alm_interrupt_clear();
    alm_complete_end();
    alm_buf_deinit(&p.last);
    alm_script_deinit(&p.script);
}
