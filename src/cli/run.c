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
static void show_place(const alm_script_statement *s, size_t at)
{
    size_t from = at, to = at;
    while (from > 0 && s->text.ptr[from - 1] != '\n')
        from--;
    while (to < s->text.len && s->text.ptr[to] != '\n')
        to++;
    if (to - from > LINE_SHOWN) { /* a piece of a long line, cut between characters */
        const char *text = s->text.ptr;
        from = at - from > LINE_SHOWN / 2 ? at - LINE_SHOWN / 2 : from;
        to = ALM_MIN(to, from + LINE_SHOWN);
        while (from < at && ((unsigned char)text[from] & 0xC0U) == 0x80)
            from++;
        while (to > at && to < s->text.len && ((unsigned char)text[to] & 0xC0U) == 0x80)
            to--;
    }
    int64_t line = s->line;
    for (size_t i = 0; i < from; i++)
        line += s->text.ptr[i] == '\n';
    const int prefix = fprintf(stderr, "LINE %lld: ", (long long)line);
    (void)fprintf(stderr, "%.*s\n%*s", (int)(to - from), s->text.ptr + from, prefix, "");
    for (size_t i = from; i < at; i++) /* tabs stay tabs, so that the caret stands right */
        if (s->text.ptr[i] == '\t')
            (void)fputc('\t', stderr);
        else if (((unsigned char)s->text.ptr[i] & 0xC0U) != 0x80)
            (void)fputc(' ', stderr);
    (void)fputs("^\n", stderr);
}

static void show_error(const alm_client *c, const alm_ctx *cx, const alm_script_statement *s,
                       const char *file)
{
    const bool server = c->link->sqlstate[0] != 0;
    (void)fflush(c->out.to);
    if (file != NULL)
        (void)fprintf(stderr, "%s:%lld: ", file, (long long)s->line);
    if (server)
        (void)fprintf(stderr, "ERROR %s: %s\n", c->link->sqlstate, cx->err.msg);
    else
        (void)fprintf(stderr, "almanac sql: %s\n", cx->err.msg);
    if (server && cx->err.sql_pos >= 0 && (size_t)cx->err.sql_pos <= s->text.len)
        show_place(s, (size_t)cx->err.sql_pos);
}

/* ------------------------------------------------------------------------ statements */

bool alm_run_statement(alm_client *c, const alm_script_statement *s, const char *file)
{
    const int64_t start = alm_monotonic_ns();
    const char *tag = "";
    alm_ctx cx = {0};
    const alm_status st = c->link->run(&cx, c->link, s->text, &c->out, &tag);
    if (st != ALM_OK) {
        show_error(c, &cx, s, file);
        c->failed = true;
    }
    if (c->timing)
        (void)fprintf(stderr, "Time: %.3f ms\n", (double)(alm_monotonic_ns() - start) / 1e6);
    return interrupted == 0 && !c->link->lost && (st == ALM_OK || c->keep_going);
}

bool alm_run_whole(alm_client *c, alm_script *script, bool last, const char *file)
{
    alm_script_statement s;
    while (alm_script_next(script, last, &s))
        if (!alm_run_statement(c, &s, file))
            return false;
    return true;
}

bool alm_run_failed(alm_client *c, const char *what, const char *why)
{
    (void)fprintf(stderr, "almanac sql: %s: %s\n", what, why);
    c->failed = true;
    return false;
}

bool alm_run_text(alm_client *c, const char *text)
{
    alm_script script;
    alm_ctx cx = {0};
    alm_script_init(&script);
    const bool go = alm_script_feed(&cx, &script, alm_str_of(text)) == ALM_OK
                        ? alm_run_whole(c, &script, true, NULL)
                        : alm_run_failed(c, "-c", cx.err.msg);
    alm_script_deinit(&script);
    return go;
}

static bool run_lines(alm_client *c, alm_script *script, FILE *from, const char *file)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = 0;
    bool go = true;
    errno = 0;
    while (go && interrupted == 0 && (n = getline(&line, &cap, from)) >= 0) {
        alm_ctx cx = {0};
        if (alm_script_feed(&cx, script, (alm_str){line, (size_t)n}) != ALM_OK)
            go = alm_run_failed(c, file, cx.err.msg);
        else if (memchr(line, ';', (size_t)n) != NULL)
            go = alm_run_whole(c, script, false, file);
    }
    if (go && interrupted == 0 && ferror(from) != 0)
        go = alm_run_failed(c, file, strerror(errno));
    free(line);
    return go && interrupted == 0 && alm_run_whole(c, script, true, file);
}

bool alm_run_file(alm_client *c, const char *file)
{
    const bool is_input = strcmp(file, "-") == 0;
    FILE *from = is_input ? stdin : fopen(file, "r");
    if (from == NULL)
        return alm_run_failed(c, file, strerror(errno));
    alm_script script;
    alm_script_init(&script);
    FILE *const input = c->link->input;
    if (is_input)
        c->link->input = NULL;
    const bool go = run_lines(c, &script, from, is_input ? "stdin" : file);
    alm_script_deinit(&script);
    c->link->input = input;
    if (!is_input)
        (void)fclose(from);
    return go;
}
