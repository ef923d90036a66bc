/* commands.c - what begins with a backslash; a command is a row of command.def. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "cli/interactive.h"

enum { SQL_BYTES = 1024 };

typedef void (*command_fn)(alm_prompt *p, const char *arg);

static void show_commands(alm_prompt *prompt, const char *arg)
{
    (void)prompt;
    (void)arg;
#define ALM_COMMAND(name, arguments, fn, doc)                                                      \
    (void)printf("  %-8s %-10s %s\n", name, arguments, doc);
#include "cli/command.def"
#undef ALM_COMMAND
}

static void list_tables(alm_prompt *prompt, const char *arg)
{
    (void)arg;
    (void)alm_run_text(prompt->client,
                       "SELECT table_name, designatedTimestamp, partitionBy, table_row_count "
                       "FROM tables() ORDER BY table_name");
}

static void describe(alm_prompt *prompt, const char *arg)
{
    char sql[SQL_BYTES];
    size_t n = (size_t)snprintf(sql, sizeof(sql), "SHOW COLUMNS FROM \"");
    if (arg[0] == 0) {
        list_tables(prompt, arg);
        return;
    }
    for (const char *ptr = arg; *ptr != 0 && n + 4 < sizeof(sql); ptr++) {
        if (*ptr == '"')
            sql[n++] = '"';
        sql[n++] = *ptr;
    }
    (void)snprintf(sql + n, sizeof(sql) - n, "\"");
    (void)alm_run_text(prompt->client, sql);
}

static void set_format(alm_prompt *prompt, const char *arg)
{
    alm_ctx cx = {0};
    alm_out *out = &prompt->client->out;
    if (arg[0] == 0)
        (void)printf("format %s\n", out->form->name);
    else if (alm_out_format(&cx, out, arg) != ALM_OK)
        (void)fprintf(stderr, "%s\n", cx.err.msg);
}

static void run_script(alm_prompt *prompt, const char *arg)
{
    if (arg[0] == 0)
        (void)fputs("\\i needs a file\n", stderr);
    else
        (void)alm_run_file(prompt->client, arg);
}

static void set_output(alm_prompt *prompt, const char *arg)
{
    FILE *to = arg[0] != 0 ? fopen(arg, "w") : stdout;
    FILE **now = &prompt->client->out.to;
    if (to == NULL) {
        (void)fprintf(stderr, "%s: %s\n", arg, strerror(errno));
        return;
    }
    if (*now != stdout && fclose(*now) != 0)
        (void)fprintf(stderr, "the file before it: %s\n", strerror(errno));
    *now = to;
}

static void quit(alm_prompt *prompt, const char *arg)
{
    (void)arg;
    prompt->quit = true;
}

static void set_timing(alm_prompt *prompt, const char *arg)
{
    bool *timing = &prompt->client->timing;
    *timing = arg[0] == 0 ? !*timing : strcmp(arg, "on") == 0;
    (void)printf("timing is %s\n", *timing ? "on" : "off");
}

static void watch(alm_prompt *prompt, const char *arg)
{
    char *end = NULL;
    const double seconds = arg[0] == 0 ? 2 : strtod(arg, &end);
    if (arg[0] != 0 && (*end != 0 || !(seconds >= 0.01 && seconds <= 1e6))) {
        (void)fprintf(stderr, "'%s' is not a number of seconds, 0.01 at least\n", arg);
        return;
    }
    if (prompt->last.len == 0) {
        (void)fputs("there is no statement yet to run again\n", stderr);
        return;
    }
    const alm_script_statement statement = {.text = {prompt->last.ptr, prompt->last.len},
                                            .line = 1};
    const struct timespec pause = {(time_t)seconds,
                                   (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (alm_run_statement(prompt->client, &statement, NULL) && nanosleep(&pause, NULL) == 0)
        ;
}

static const struct {
    const char *name;
    command_fn fn;
} commands[] = {
#define ALM_COMMAND(name, arguments, fn, doc) {name, fn},
#include "cli/command.def"
#undef ALM_COMMAND
};

void alm_command(alm_prompt *prompt, const char *line)
{
    char arg[SQL_BYTES];
    const size_t n = strcspn(line, " \t");
    const char *rest = line + n + strspn(line + n, " \t");
    size_t len = strlen(rest);
    while (len > 0 && strchr(" \t;", rest[len - 1]) != NULL)
        len--;
    if (len >= SQL_BYTES / 3) {
        (void)fputs("the argument is too long\n", stderr);
        return;
    }
    (void)snprintf(arg, sizeof(arg), "%.*s", (int)len, rest);
    for (size_t i = 0; i < ALM_COUNT(commands); i++) {
        if (strlen(commands[i].name) == n && strncmp(commands[i].name, line, n) == 0) {
            commands[i].fn(prompt, arg);
            return;
        }
    }
    (void)fprintf(stderr, "no command %.*s; \\? lists them\n", (int)n, line);
}
