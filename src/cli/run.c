/* run.c - statements one after the other, their errors, and Ctrl-C. */
#include "cli/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"

enum { LINE_SHOWN = 160 };

/* --------------------------------------------------------------------------- signals */

/* What the handler of SIGINT reaches; a process has one. */
static alm_link *interrupt_link;
static bool interrupt_always_waits;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    const int saved = errno;
    (void)signal_number;
    if (interrupted != 0 && !interrupt_always_waits)
        _exit(ALM_EXIT_INTERRUPTED); /* the server does not answer */
    interrupted = 1;
    if (interrupt_link != NULL)
        interrupt_link->cancel(interrupt_link);
    errno = saved;
}

void alm_catch_interrupts(alm_link *link, bool interactive)
{
    struct sigaction action = {.sa_handler = on_interrupt}; /* no SA_RESTART: reading ends too */
    interrupt_link = link;
    interrupt_always_waits = interactive;
    (void)sigaction(SIGINT, &action, NULL);
}

bool alm_interrupted(void)
{
    return interrupted != 0;
}

void alm_interrupt_clear(void)
{
    interrupted = 0;
}

/* ---------------------------------------------------------------------------- errors */

/* The line of the statement where the error is, and a caret below the place. */
static void show_place(const alm_script_statement *statement, size_t offset)
{
    size_t from = offset, to = offset;
    while (from > 0 && statement->text.ptr[from - 1] != '\n')
        from--;
    while (to < statement->text.len && statement->text.ptr[to] != '\n')
        to++;
    if (to - from > LINE_SHOWN) { /* a piece of a long line, cut between characters */
        const char *text = statement->text.ptr;
        from = offset - from > LINE_SHOWN / 2 ? offset - LINE_SHOWN / 2 : from;
        to = ALM_MIN(to, from + LINE_SHOWN);
        while (from < offset && ((unsigned char)text[from] & 0xC0U) == 0x80)
            from++;
        while (to > offset && to < statement->text.len && ((unsigned char)text[to] & 0xC0U) == 0x80)
            to--;
    }
    int64_t line = statement->line;
    for (size_t i = 0; i < from; i++)
        line += statement->text.ptr[i] == '\n';
    const int prefix = fprintf(stderr, "LINE %lld: ", (long long)line);
    (void)fprintf(stderr, "%.*s\n%*s", (int)(to - from), statement->text.ptr + from, prefix, "");
    for (size_t i = from; i < offset; i++) /* tabs stay tabs, so that the caret stands right */
        if (statement->text.ptr[i] == '\t')
            (void)fputc('\t', stderr);
        else if (((unsigned char)statement->text.ptr[i] & 0xC0U) != 0x80)
            (void)fputc(' ', stderr);
    (void)fputs("^\n", stderr);
}

static void show_error(const alm_client *client, const alm_ctx *cx,
                       const alm_script_statement *statement, const char *file)
{
    const bool server = client->link->sqlstate[0] != 0;
    (void)fflush(client->out.to);
    if (file != NULL)
        (void)fprintf(stderr, "%s:%lld: ", file, (long long)statement->line);
    if (server)
        (void)fprintf(stderr, "ERROR %s: %s\n", client->link->sqlstate, cx->err.msg);
    else
        (void)fprintf(stderr, "almanac sql: %s\n", cx->err.msg);
    if (server && cx->err.sql_pos >= 0 && (size_t)cx->err.sql_pos <= statement->text.len)
        show_place(statement, (size_t)cx->err.sql_pos);
}

/* ------------------------------------------------------------------------ statements */

bool alm_run_statement(alm_client *client, const alm_script_statement *statement, const char *file)
{
    const int64_t start = alm_monotonic_ns();
    const char *tag = "";
    alm_ctx cx = {0};
    const alm_status status =
        client->link->run(&cx, client->link, statement->text, &client->out, &tag);
    if (status != ALM_OK) {
        show_error(client, &cx, statement, file);
        client->failed = true;
    }
    if (client->timing)
        (void)fprintf(stderr, "Time: %.3f ms\n", (double)(alm_monotonic_ns() - start) / 1e6);
    return interrupted == 0 && !client->link->lost && (status == ALM_OK || client->keep_going);
}

bool alm_run_whole(alm_client *client, alm_script *script, bool last, const char *file)
{
    alm_script_statement statement;
    while (alm_script_next(script, last, &statement))
        if (!alm_run_statement(client, &statement, file))
            return false;
    return true;
}

bool alm_run_failed(alm_client *client, const char *what, const char *why)
{
    (void)fprintf(stderr, "almanac sql: %s: %s\n", what, why);
    client->failed = true;
    return false;
}

bool alm_run_text(alm_client *client, const char *text)
{
    alm_script script;
    alm_ctx cx = {0};
    alm_script_init(&script);
    const bool go = alm_script_feed(&cx, &script, alm_str_of(text)) == ALM_OK
                        ? alm_run_whole(client, &script, true, NULL)
                        : alm_run_failed(client, "-c", cx.err.msg);
    alm_script_deinit(&script);
    return go;
}

static bool run_lines(alm_client *client, alm_script *script, FILE *from, const char *file)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = 0;
    bool go = true;
    errno = 0;
    while (go && interrupted == 0 && (n = getline(&line, &cap, from)) >= 0) {
        alm_ctx cx = {0};
        if (alm_script_feed(&cx, script, (alm_str){line, (size_t)n}) != ALM_OK)
            go = alm_run_failed(client, file, cx.err.msg);
        else if (memchr(line, ';', (size_t)n) != NULL)
            go = alm_run_whole(client, script, false, file);
    }
    if (go && interrupted == 0 && ferror(from) != 0)
        go = alm_run_failed(client, file, strerror(errno));
    free(line);
    return go && interrupted == 0 && alm_run_whole(client, script, true, file);
}

bool alm_run_file(alm_client *client, const char *file)
{
    const bool is_input = strcmp(file, "-") == 0;
    FILE *from = is_input ? stdin : fopen(file, "r");
    if (from == NULL)
        return alm_run_failed(client, file, strerror(errno));
    alm_script script;
    alm_script_init(&script);
    FILE *const input = client->link->input;
    if (is_input)
        client->link->input = NULL;
    const bool go = run_lines(client, &script, from, is_input ? "stdin" : file);
    alm_script_deinit(&script);
    client->link->input = input;
    if (!is_input)
        (void)fclose(from);
    return go;
}
