/* look.c - see look.h. */
#include "base/look.h"

#ifdef ALM_DEBUG

#include <time.h>

enum { LOOK_MS = 250 }; /* debug builds are slow */

extern const char __executable_start; /* of the linker */

static _Thread_local struct {
    int64_t last_ns, longest_ns; /* last_ns 0: no statement */
    const void *at;
} looks;

static int64_t processor_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void alm_look_begin(void)
{
    looks.last_ns = processor_ns();
    looks.longest_ns = 0;
    looks.at = NULL;
}

void alm_look(const void *ptr)
{
    if (looks.last_ns == 0)
        return;
    const int64_t now_ns = processor_ns();
    if (now_ns - looks.last_ns > looks.longest_ns) {
        looks.longest_ns = now_ns - looks.last_ns;
        looks.at = ptr;
    }
    looks.last_ns = now_ns;
}

int64_t alm_look_end(uintptr_t *place)
{
    alm_look(NULL);
    looks.last_ns = 0;
    *place = looks.at == NULL ? 0 : (uintptr_t)looks.at - (uintptr_t)&__executable_start;
    const int64_t longest_ms = looks.longest_ns / 1000000;
    return longest_ms < LOOK_MS ? 0 : longest_ms;
}

#endif
