/* process.c - see process.h. Fields of /proc/self/stat: proc(5). */
#include "io/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const int64_t NS = 1000000000;

static int64_t time_ns(clockid_t clock)
{
    struct timespec t = {0};
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

static int64_t count_open_files(void)
{
    int64_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return 0;
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        n += e->d_name[0] != '.';
    (void)closedir(dir);
    return n - 1; /* that of the list itself */
}

static void read_text(const char *path, char *text, size_t room)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, room - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = 0;
}

int64_t alm_process_maps_max(void)
{
    char text[64];
    read_text("/proc/sys/vm/max_map_count", text, sizeof(text));
    return strtoll(text, NULL, 10);
}

/* The fields from the third on, which stand behind the name of the program and its parenthesis. */
static void read_stat(alm_process_use *out)
{
    enum { THREADS = 20, STARTED = 22, VIRTUAL = 23, RESIDENT = 24 };
    char text[1024];
    read_text("/proc/self/stat", text, sizeof(text));
    char *at = strrchr(text, ')');
    if (at == NULL)
        return;
    at++;
    for (int field = 3; *at != 0 && field <= RESIDENT; field++) {
        char *end = NULL;
        at += strspn(at, " ");
        const int64_t value = strtoll(at, &end, 10);
        if (field == THREADS)
            out->threads = value;
        else if (field == STARTED) /* ticks since the machine started */
            out->started_ns = time_ns(CLOCK_REALTIME) - time_ns(CLOCK_BOOTTIME) +
                              value * (NS / sysconf(_SC_CLK_TCK));
        else if (field == VIRTUAL)
            out->virtual_bytes = value;
        else if (field == RESIDENT)
            out->resident_bytes = value * sysconf(_SC_PAGESIZE);
        at += strcspn(at, " ");
    }
}

void alm_process_use_get(alm_process_use *out)
{
    struct rlimit files = {0};
    *out = (alm_process_use){.cpu_ns = time_ns(CLOCK_PROCESS_CPUTIME_ID),
                             .open_files = count_open_files()};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        out->files_max = (int64_t)ALM_MIN(files.rlim_cur, (rlim_t)INT64_MAX);
    read_stat(out);
}
