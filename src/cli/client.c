/* client.c - the command line, the statements it names one after the other, errors, exit codes. */
#include "cli/client.h"

#include <errno.h>
#include <unistd.h>

#include "cli/interactive.h"
#include "cli/run.h"

static const char help[] =
    "usage: almanac sql [OPTION]...   run SQL on a server, or on a data directory\n"
    "\n"
    "  -c SQL            run the statements of SQL; -c and -f may be given several times\n"
    "  -f FILE           run the statements of a file; - is standard input, which is also what\n"
    "                    runs without -c and -f; on a terminal that is a prompt, \\? lists its\n"
    "                    commands\n"
    "  --format FORMAT   table (the default), csv, tsv, json, ndjson, markdown, vertical, parquet\n"
    "  -o FILE           write results to a file\n"
    "  -k, --keep-going  go on after a statement that failed\n"
    "  --timing          say how long each statement took\n"
    "  -h HOST -p PORT -U USER\n"
    "                    the server: 127.0.0.1, 8812, admin; else PGHOST, PGPORT, PGUSER\n"
    "  -d DIR            no server: the data directory DIR, which no server may be using\n"
    "  --help, --version\n"
    "\n"
    "The password is ALMANAC_PASSWORD or PGPASSWORD, else it is asked for. Settings of libpq "
    "hold,\n"
    "like PGSSLMODE. Exit code: 0 done, 1 a statement failed, 2 wrong command line or no\n"
    "connection, 130 interrupted.\n";

/* ---------------------------------------------------------------------- command line */

static alm_status add_source(alm_ctx *cx, alm_client *client, alm_source source)
{
    if (client->n_sources == ALM_SOURCES_MAX)
        return alm_fail(cx, ALM_E_ARG, -1, "more than %d of -c and -f", ALM_SOURCES_MAX);
    client->sources[client->n_sources++] = source;
    return ALM_OK;
}

/* Options with a value, and where it goes. */
static alm_status cli_client_take_value(alm_ctx *cx, alm_client *client, const char *option,
                                        const char *value)
{
    const struct {
        const char *name;
        const char **to;
    } plain[] = {{"-h", &client->where.host}, {"-p", &client->where.port},
                 {"-U", &client->where.user}, {"-d", &client->where.dir},
                 {"-o", &client->to},         {"--format", &client->format}};
    for (size_t i = 0; i < ALM_COUNT(plain); i++) {
        if (strcmp(option, plain[i].name) == 0) {
            *plain[i].to = value;
            return ALM_OK;
        }
    }
    const alm_source text = {.text = value}, file = {.file = value};
    return add_source(cx, client, option[1] == 'c' ? text : file);
}

static bool wants_value(const char *option)
{
    static const char *const names[] = {"-h", "-p", "-U", "-d", "-o", "-c", "-f", "--format"};
    for (size_t i = 0; i < ALM_COUNT(names); i++)
        if (strcmp(option, names[i]) == 0)
            return true;
    return false;
}

static alm_status take_option(alm_ctx *cx, alm_client *client, char **argv, int argc, int *i)
{
    const char *arg = argv[*i];
    if (strncmp(arg, "--format=", 9) == 0)
        return cli_client_take_value(cx, client, "--format", arg + 9);
    if (wants_value(arg)) {
        if (*i + 1 >= argc)
            return alm_fail(cx, ALM_E_ARG, -1, "%s needs a value", arg);
        return cli_client_take_value(cx, client, arg, argv[++*i]);
    }
    if (strcmp(arg, "--timing") == 0)
        client->timing = true;
    else if (strcmp(arg, "-k") == 0 || strcmp(arg, "--keep-going") == 0)
        client->keep_going = true;
    else
        return alm_fail(cx, ALM_E_ARG, -1, "unknown argument '%s'", arg);
    return ALM_OK;
}

static alm_status options(alm_ctx *cx, alm_client *client, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        ALM_TRY(take_option(cx, client, argv, argc, &i));
    if (client->where.dir != NULL &&
        (client->where.host != NULL || client->where.port != NULL || client->where.user != NULL))
        return alm_fail(cx, ALM_E_ARG, -1, "-d opens a directory; -h, -p and -U name a server");
    client->interactive = client->n_sources == 0 && isatty(STDIN_FILENO) != 0;
    if (client->n_sources == 0 && !client->interactive)
        ALM_TRY(add_source(cx, client, (alm_source){.file = "-"}));
    return client->format != NULL ? alm_out_format(cx, &client->out, client->format) : ALM_OK;
}

/* ------------------------------------------------------------------------------ main */

static int cli_client_refuse(const alm_ctx *cx, const char *hint)
{
    (void)fprintf(stderr, "almanac sql: %s\n%s", cx->err.msg, hint);
    return ALM_EXIT_USAGE;
}

static int run_sources(alm_client *client)
{
    alm_ctx cx = {0};
    const alm_status status = client->where.dir != NULL
                                  ? alm_link_dir(&cx, client->where.dir, &client->link)
                                  : alm_link_wire(&cx, &client->where, &client->link);
    if (status != ALM_OK)
        return cli_client_refuse(&cx, "");
    client->link->input = client->interactive ? NULL : stdin; /* a terminal is for statements */
    alm_catch_interrupts(client->link, client->interactive);
    bool go = true;
    if (client->interactive)
        alm_interactive(client);
    for (uint32_t i = 0; go && i < client->n_sources; i++) {
        const alm_source *source = &client->sources[i];
        go = source->text != NULL ? alm_run_text(client, source->text)
                                  : alm_run_file(client, source->file);
        go = go || (client->keep_going && !client->link->lost && !alm_interrupted());
    }
    const bool lost = client->link->lost;
    alm_catch_interrupts(NULL, false);
    client->link->close(client->link);
    return alm_interrupted() ? ALM_EXIT_INTERRUPTED
           : lost            ? ALM_EXIT_USAGE
           : client->failed  ? ALM_EXIT_FAILED
                             : ALM_EXIT_DONE;
}

static int run_client(alm_client *client)
{
    if (client->to != NULL)
        client->out.to = fopen(client->to, "w");
    if (client->out.to == NULL) {
        (void)alm_run_failed(client, client->to, strerror(errno));
        return ALM_EXIT_USAGE;
    }
    int code = run_sources(client);
    if (client->out.to != stdout && fclose(client->out.to) != 0) {
        (void)alm_run_failed(client, client->to, strerror(errno));
        code = code == ALM_EXIT_DONE ? ALM_EXIT_FAILED : code;
    }
    return code;
}

int alm_client_main(int argc, char **argv)
{
    alm_client client = {0};
    alm_ctx cx = {0};
    for (int i = 1; i < argc; i += wants_value(argv[i]) ? 2 : 1) {
        const bool is_help = strcmp(argv[i], "--help") == 0;
        if (is_help || strcmp(argv[i], "--version") == 0) {
            (void)fputs(is_help ? help : "almanac " ALM_VERSION "\n", stdout);
            return ALM_EXIT_DONE;
        }
    }
    alm_out_init(&client.out, stdout);
    const int code = options(&cx, &client, argc, argv) == ALM_OK
                         ? run_client(&client)
                         : cli_client_refuse(&cx, "Try 'almanac sql --help'.\n");
    alm_out_deinit(&client.out);
    return code;
}
