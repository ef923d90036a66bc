/* options.c - the command line. */
#include "server/server.h"

static const char help[] =
    "Almanac, a time-series SQL database server.\n"
    "\n"
    "usage: almanac -d ROOT          start the server on the data directory ROOT\n"
    "       almanac check -d ROOT    verify a data directory that no server uses\n"
    "       almanac --version\n"
    "       almanac --help\n"
    "\n"
    "Settings stand in ROOT/conf/server.conf (written with the defaults on first start) and may "
    "be\n"
    "overridden by environment variables: http.bind.to is ALMANAC_HTTP_BIND_TO.\n"
    "Listeners: HTTP 127.0.0.1:9000, PostgreSQL wire 127.0.0.1:8812, health 127.0.0.1:9003.\n"
    "SIGTERM and SIGINT stop the server cleanly.\n";

const char *alm_help_text(void)
{
    return help;
}

alm_status alm_options_parse(alm_ctx *cx, int argc, char **argv, alm_options *out)
{
    *out = (alm_options){.verb = ALM_VERB_SERVE};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            out->verb = ALM_VERB_HELP;
            return ALM_OK;
        }
        if (strcmp(arg, "--version") == 0) {
            out->verb = ALM_VERB_VERSION;
            return ALM_OK;
        }
        if (strcmp(arg, "check") == 0 && i == 1) {
            out->verb = ALM_VERB_CHECK;
        } else if (strcmp(arg, "-d") == 0) {
            if (++i == argc)
                return alm_fail(cx, ALM_E_ARG, -1, "-d needs a directory");
            out->root = argv[i];
        } else {
            return alm_fail(cx, ALM_E_ARG, -1, "unknown argument '%s'", arg);
        }
    }
    if (out->root == NULL)
        return alm_fail(cx, ALM_E_ARG, -1, "-d ROOT is missing");
    return ALM_OK;
}
