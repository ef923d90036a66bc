/* options.c - the command line. */
#include <stdlib.h>

#include "server/server.h"
#include "time/timestamp.h"

static const char help[] =
    "Almanac, a time-series SQL database server.\n"
    "\n"
    "usage: almanac -d ROOT          start the server on the data directory ROOT\n"
    "       almanac check DIR [--repair]\n"
    "                                verify a data directory that no server uses, a directory of\n"
    "                                backups or an archive of the log, and remove what a crash\n"
    "                                left over of the first two; exit code\n"
    "                                0: sound, 1: damage was found, 2: it could not be checked\n"
    "       almanac check ROOT --rebuild-symbols\n"
    "                                write damaged dictionaries of SYMBOL columns anew, of what "
    "is\n"
    "                                left of them; exit code 0: nothing was lost, 1: symbols were\n"
    "       almanac check ROOT --salvage OUT\n"
    "                                save what is whole in a damaged data directory to OUT: a\n"
    "                                Parquet file for each part, and report.csv; ROOT stays as it\n"
    "                                is; exit code 0: all was saved, 1: not all, 2: nothing\n"
    "       almanac restore BACKUP_DIR TO ROOT [--generation N]\n"
    "                       [--until LSN|TIME [--log DIR] [--allow-earlier]]\n"
    "                                make a data directory from a backup, the newest or number N;\n"
    "                                go on with the archived log up to a record or a time, or as\n"
    "                                far as it goes\n"
    "       almanac sql [-c SQL] ...  run SQL on a server or a data directory: almanac sql --help\n"
    "       almanac --version\n"
    "       almanac --help\n"
    "\n"
    "Settings stand in ROOT/conf/server.conf (written with the defaults on first start) and may "
    "be\n"
    "overridden by environment variables: http.bind.to is ALMANAC_HTTP_BIND_TO.\n"
    "Listeners: HTTP 127.0.0.1:9000, PostgreSQL wire 127.0.0.1:8812, health 127.0.0.1:9003.\n"
    "SIGTERM and SIGINT stop the server cleanly; SIGHUP reads settings and certificates again.\n";

const char *alm_help_text(void)
{
    return help;
}

/* The argument behind argv[*i]. */
static alm_status server_options_value_of(alm_ctx *cx, int argc, char **argv, int *i,
                                          const char *what, const char **out)
{
    if (*i + 1 >= argc)
        return alm_fail(cx, ALM_E_ARG, -1, "%s needs %s", argv[*i], what);
    *out = argv[++*i];
    return ALM_OK;
}

static alm_status server_options_number_of(alm_ctx *cx, const char *text, uint32_t *out)
{
    char *end = NULL;
    const unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != 0 || n == 0 || n > UINT32_MAX)
        return alm_fail(cx, ALM_E_ARG, -1, "'%s' is not the number of a backup", text);
    *out = (uint32_t)n;
    return ALM_OK;
}

/* Digits alone are an LSN; else a time. */
static alm_status moment_of(alm_ctx *cx, const char *text, alm_options *out)
{
    char *end = NULL;
    const alm_str whole = {text, strlen(text)};
    if (text[0] >= '0' && text[0] <= '9') {
        const unsigned long long lsn = strtoull(text, &end, 10);
        if (*end == 0 && lsn > 0) {
            out->until_lsn = lsn;
            return ALM_OK;
        }
    }
    if (!alm_time_parse(whole, ALM_TIME_US, &out->until_us) || out->until_us <= 0)
        return alm_fail(cx, ALM_E_ARG, -1, "'%s' is neither an LSN nor a time", text);
    return ALM_OK;
}

/* One argument; those that are not options have their meaning by the verb. */
static alm_status server_options_take(alm_ctx *cx, int argc, char **argv, int *i, alm_options *out)
{
    const char *arg = argv[*i], *number = "";
    const bool restore = out->verb == ALM_VERB_RESTORE;
    if (strcmp(arg, "-d") == 0)
        return server_options_value_of(cx, argc, argv, i, "a directory", &out->root);
    if (restore && strcmp(arg, "--generation") == 0) {
        ALM_TRY(server_options_value_of(cx, argc, argv, i, "a number", &number));
        return server_options_number_of(cx, number, &out->generation);
    }
    if (out->verb == ALM_VERB_CHECK && strcmp(arg, "--repair") == 0) {
        out->repair = true;
        return ALM_OK;
    }
    if (out->verb == ALM_VERB_CHECK && strcmp(arg, "--rebuild-symbols") == 0) {
        out->rebuild_symbols = true;
        return ALM_OK;
    }
    if (out->verb == ALM_VERB_CHECK && strcmp(arg, "--salvage") == 0)
        return server_options_value_of(cx, argc, argv, i, "a directory", &out->salvage);
    if (restore && strcmp(arg, "--log") == 0)
        return server_options_value_of(cx, argc, argv, i, "a directory", &out->log);
    if (restore && strcmp(arg, "--allow-earlier") == 0) {
        out->allow_earlier = true;
        return ALM_OK;
    }
    if (restore && strcmp(arg, "--until") == 0) {
        ALM_TRY(server_options_value_of(cx, argc, argv, i, "an LSN or a time", &number));
        return moment_of(cx, number, out);
    }
    if (restore && (strcmp(arg, "to") == 0 || strcmp(arg, "TO") == 0))
        return server_options_value_of(cx, argc, argv, i, "a directory", &out->root);
    if (restore && out->from == NULL && arg[0] != '-') {
        out->from = arg;
        return ALM_OK;
    }
    if (out->verb == ALM_VERB_CHECK && out->root == NULL && arg[0] != '-') {
        out->root = arg;
        return ALM_OK;
    }
    return alm_fail(cx, ALM_E_ARG, -1, "unknown argument '%s'", arg);
}

static alm_verb verb_of(const char *arg)
{
    return strcmp(arg, "check") == 0     ? ALM_VERB_CHECK
           : strcmp(arg, "restore") == 0 ? ALM_VERB_RESTORE
           : strcmp(arg, "sql") == 0     ? ALM_VERB_SQL
                                         : ALM_VERB_SERVE;
}

alm_status alm_options_parse(alm_ctx *cx, int argc, char **argv, alm_options *out)
{
    *out = (alm_options){.verb = argc > 1 ? verb_of(argv[1]) : ALM_VERB_SERVE};
    if (out->verb == ALM_VERB_SQL)
        return ALM_OK; /* the client reads the rest */
    for (int i = out->verb == ALM_VERB_SERVE ? 1 : 2; i < argc; i++) {
        const bool is_help = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        if (is_help || strcmp(argv[i], "--version") == 0) {
            out->verb = is_help ? ALM_VERB_HELP : ALM_VERB_VERSION;
            return ALM_OK;
        }
        ALM_TRY(server_options_take(cx, argc, argv, &i, out));
    }
    if ((out->salvage != NULL) + out->repair + out->rebuild_symbols > 1)
        return alm_fail(cx, ALM_E_ARG, -1,
                        "only one of --repair, --rebuild-symbols and --salvage can be given");
    if (out->verb == ALM_VERB_RESTORE && out->from == NULL)
        return alm_fail(cx, ALM_E_ARG, -1, "the directory of the backup is missing");
    if (out->root == NULL)
        return alm_fail(cx, ALM_E_ARG, -1,
                        out->verb == ALM_VERB_RESTORE ? "TO ROOT is missing"
                                                      : "-d ROOT is missing");
    return ALM_OK;
}
