/* main.c - the almanac program: reads the command line and does one of five things. */
#include <stdio.h>
#include <sys/resource.h>

#include "io/maps.h"
#include "server/server.h"

/*
 * Read by jemalloc at start, where it is linked. Large blocks are kept for two seconds like small ones
 * (fresh pages cost a sort or a join more than its work), and a thread of its own then gives them back
 * to the system, so that an idle server is small.
 */
#define MALLOC_CONF                                                                                \
    "oversize_threshold:0,dirty_decay_ms:2000,muzzy_decay_ms:0,background_thread:true"
extern const char *malloc_conf;
const char *malloc_conf = MALLOC_CONF;

#if defined(ALM_WITH_JEMALLOC)
/*
 * By default jemalloc retains the address space of memory that it returns. Under RLIMIT_AS the retained space is too
 * fragmented for large blocks, so that queries soon fail; without that limit it is kept, because mapping it again costs page
 * faults. jemalloc reads the option before constructors run, so it has to be set even earlier.
 */
static void choose_malloc_conf(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        malloc_conf = MALLOC_CONF ",retain:false";
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_constructors)(void) = choose_malloc_conf;
#endif

int main(int argc, char **argv)
{
    alm_ctx cx = {0};
    alm_options options;
    if (alm_options_parse(&cx, argc, argv, &options) != ALM_OK) {
        (void)fprintf(stderr, "almanac: %s\nTry 'almanac --help'.\n", cx.err.msg);
        return 2;
    }
    alm_maps_catch();
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
