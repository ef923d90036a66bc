/* main.c - the almanac program: reads the command line and does one of five things. */
#include <stdio.h>

#include "server/server.h"

/*
 * Read by jemalloc at start, where it is linked. Large blocks are kept for two seconds like small ones
 * (fresh pages cost a sort or a join more than its work), and a thread of its own then gives them back
 * to the system, so that an idle server is small. Address space is given back with them: under RLIMIT_AS, what jemalloc
 * would retain by default is in pieces that no large block fits into, and soon no query would get one.
 */
extern const char *const malloc_conf;
const char *const malloc_conf =
    "oversize_threshold:0,dirty_decay_ms:2000,muzzy_decay_ms:0,retain:false,background_thread:true";

int main(int argc, char **argv)
{
    alm_ctx cx = {0};
    alm_options options;
    if (alm_options_parse(&cx, argc, argv, &options) != ALM_OK) {
        (void)fprintf(stderr, "almanac: %s\nTry 'almanac --help'.\n", cx.err.msg);
        return 2;
    }
    switch (options.verb) {
    case ALM_VERB_HELP:
        (void)fputs(alm_help_text(), stdout);
        return 0;
    case ALM_VERB_VERSION:
        (void)puts("almanac " ALM_VERSION);
        return 0;
    case ALM_VERB_CHECK:
        return alm_check_root(&options);
    case ALM_VERB_RESTORE:
        return alm_restore_root(&options);
    case ALM_VERB_SQL:
        return alm_client(argv + 1);
    case ALM_VERB_SERVE:
        return alm_serve(options.root);
    }
    return 2;
}
