/* process.c - see process.h. Fields of /proc/self/stat: proc(5). */
#include "io/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
    int64_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return 0;
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        count += e->d_name[0] != '.';
    (void)closedir(dir);
    return count - 1; /* that of the list itself */
}

static void process_read_text(const char *path, char *text, size_t room)
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
    process_read_text("/proc/sys/vm/max_map_count", text, sizeof(text));
    return strtoll(text, NULL, 10);
}

enum { STATE = 3, THREADS = 20, STARTED = 22, VIRTUAL = 23, RESIDENT = 24, FIELDS };

/* Fields of a line of /proc/PID/stat as numbers, the state as its letter. The third stands behind the name of the program
 * and its parenthesis. False: there is no such process. */
static bool read_fields(const char *path, int64_t fields[FIELDS])
{
    char text[1024];
    process_read_text(path, text, sizeof(text));
    const char *ptr = strrchr(text, ')');
    memset(fields, 0, FIELDS * sizeof *fields);
    if (ptr == NULL)
        return false;
    ptr++;
    for (int field = STATE; *ptr != 0 && field < FIELDS; field++) {
        ptr += strspn(ptr, " ");
        fields[field] = field == STATE ? *ptr : strtoll(ptr, NULL, 10);
        ptr += strcspn(ptr, " ");
    }
    return true;
}

static void read_stat(alm_process_use *out)
{
    int64_t fields[FIELDS];
    if (!read_fields("/proc/self/stat", fields))
        return;
    out->threads = fields[THREADS];
    /* ticks since the machine started */
    out->started_ns = time_ns(CLOCK_REALTIME) - time_ns(CLOCK_BOOTTIME) +
                      fields[STARTED] * (NS / sysconf(_SC_CLK_TCK));
    out->virtual_bytes = fields[VIRTUAL];
    out->resident_bytes = fields[RESIDENT] * sysconf(_SC_PAGESIZE);
}

/* ------------------------------------------------------------------------ who is who */

static void read_boot(char boot[40])
{
    char text[64];
    process_read_text("/proc/sys/kernel/random/boot_id", text, sizeof(text));
    text[strcspn(text, "\n")] = 0;
    (void)snprintf(boot, 40, "%.39s", text);
}

static uint64_t read_space(void)
{
    struct stat meta;
    return stat("/proc/self/ns/pid", &meta) == 0 ? (uint64_t)meta.st_ino : 0;
}

void alm_process_self(alm_io_process *out)
{
    int64_t fields[FIELDS];
    *out = (alm_io_process){.pid = getpid(), .space = read_space()};
    read_boot(out->boot);
    if (read_fields("/proc/self/stat", fields))
        out->started = fields[STARTED];
}

static bool is_no_process(int64_t pid)
{
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

int alm_process_runs(const alm_io_process *process)
{
    char path[64], boot[40];
    int64_t fields[FIELDS];
    read_boot(boot);
    if (strcmp(boot, process->boot) != 0)
        return 0; /* whatever ran then ended with that boot */
    if (process->space != read_space())
        return -1;
    if (process->pid <= 0 || process->pid > INT32_MAX || is_no_process(process->pid))
        return 0;
    (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process->pid);
    if (!read_fields(path, fields)) /* it ended meanwhile; or it is hidden, or there is no /proc */
        return is_no_process(process->pid) ? 0 : -1;
    if (process->started != 0 && fields[STARTED] != process->started)
        return 0; /* another one with the same number */
    /* One that has ended and was not waited for has closed its files, unless a thread of it has not ended yet. */
    return (fields[STATE] == 'Z' || fields[STATE] == 'X') && fields[THREADS] <= 1 ? 0 : 1;
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
