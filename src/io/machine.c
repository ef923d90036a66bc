/* machine.c - see machine.h. */
#include "io/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, FILE_BYTES = 1 << 18, PROCESSORS_MAX = 1 << 16 };
static const int64_t MEMORY_WITHOUT_PROC = INT64_C(1) << 32;

typedef struct reading {
    const alm_machine_source *source;
    alm_machine *out;
    char text[FILE_BYTES]; /* of the file that is read */
} reading;

/* The file below the root of the source, as text; false: there is none. */
static bool machine_read_file(reading *self, const char *path)
{
    char full[PATH_BYTES];
    size_t done = 0;
    if (snprintf(full, sizeof full, "%s%s", self->source->root, path) >= PATH_BYTES)
        return false;
    const int fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (ssize_t n = 1; n > 0 && done < sizeof self->text - 1;
         done += (size_t)ALM_MAX(n, (ssize_t)0)) {
        do
            n = read(fd, self->text + done, sizeof self->text - 1 - done);
        while (n < 0 && errno == EINTR);
    }
    (void)close(fd); /* read-only */
    self->text[done] = 0;
    return true;
}

static void limit_memory(reading *self, int64_t bytes, const char *by)
{
    if (bytes <= 0 || bytes >= self->out->memory_bytes)
        return;
    self->out->memory_bytes = bytes;
    self->out->memory_by = by;
}

static void limit_processors(reading *self, int64_t n, const char *by)
{
    if (n < 1 || n >= self->out->processors)
        return;
    self->out->processors = (uint32_t)n;
    self->out->processors_by = by;
}

/* -------------------------------------------------------------------------- one group */

typedef enum kind { V2, V1_MEMORY, V1_CPU } kind;

/* A number of a file of the group; -1: there is none, or it is "max". */
static int64_t number_in(reading *self, const char *group, const char *file)
{
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s", group, file) >= PATH_BYTES ||
        !machine_read_file(self, path) || self->text[0] < '0' || self->text[0] > '9')
        return -1;
    errno = 0;
    const long long n = strtoll(self->text, NULL, 10);
    return errno != 0 ? -1 : n;
}

static void limit_by_quota(reading *self, int64_t quota, int64_t period)
{
    if (quota > 0 && period > 0)
        limit_processors(self, quota / period + (quota % period != 0), "cgroup");
}

static void read_group(reading *self, kind what, const char *group)
{
    if (what == V1_MEMORY) {
        limit_memory(self, number_in(self, group, "memory.limit_in_bytes"), "cgroup");
        return;
    }
    if (what == V1_CPU) {
        const int64_t quota = number_in(self, group, "cpu.cfs_quota_us");
        limit_by_quota(self, quota, number_in(self, group, "cpu.cfs_period_us"));
        return;
    }
    limit_memory(self, number_in(self, group, "memory.max"), "cgroup");
    limit_memory(self, number_in(self, group, "memory.high"),
                 "cgroup");                                  /* beyond it nothing gets on */
    const int64_t quota = number_in(self, group, "cpu.max"); /* "QUOTA PERIOD" */
    if (quota > 0) {
        const char *period = strchr(self->text, ' ');
        limit_by_quota(self, quota, period == NULL ? 100000 : strtoll(period, NULL, 10));
    }
}

/* Version 1 tells the least limit of all groups above, also of those that are not mounted here. */
static void read_hierarchy(reading *self, const char *group)
{
    static const char word[] = "hierarchical_memory_limit ";
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/memory.stat", group) >= PATH_BYTES ||
        !machine_read_file(self, path))
        return;
    const char *ptr = strstr(self->text, word);
    if (ptr != NULL)
        limit_memory(self, strtoll(ptr + strlen(word), NULL, 10), "cgroup");
}

/* ------------------------------------------------------------------- where the groups are */

typedef struct mount {
    char root[PATH_BYTES], point[PATH_BYTES];
} mount;

/* In mountinfo blanks and the like are written \040. */
static void machine_unescape(char *text)
{
    char *dest = text;
    for (const char *ptr = text; *ptr != 0; dest++) {
        const bool escaped = ptr[0] == '\\' && ptr[1] >= '0' && ptr[1] <= '3' && ptr[2] >= '0' &&
                             ptr[2] <= '7' && ptr[3] >= '0' && ptr[3] <= '7';
        *dest = escaped ? (char)((ptr[1] - '0') * 64 + (ptr[2] - '0') * 8 + (ptr[3] - '0')) : *ptr;
        ptr += escaped ? 4 : 1;
    }
    *dest = 0;
}

/* Whether a list "a,b,c" has a word. */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *ptr = list; *ptr != 0;) {
        const size_t len = strcspn(ptr, ",\n ");
        if (len == n && memcmp(ptr, word, n) == 0)
            return true;
        ptr += len;
        if (*ptr != ',')
            return false;
        ptr++;
    }
    return false;
}

/* Takes the n-th field (from 0), separated by blanks, of a line. */
static bool machine_field(const char *line, int n, char *out, size_t room)
{
    for (; n > 0 && *line != 0; n--) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    const size_t len = strcspn(line, " ");
    if (len == 0 || len >= room)
        return false;
    memcpy(out, line, len);
    out[len] = 0;
    machine_unescape(out);
    return true;
}

/* Mount of the hierarchy: of version 2, or of a controller of version 1. The last one that is mounted there counts. */
static bool find_mount(reading *self, const char *controller, mount *out)
{
    bool found = false;
    if (!machine_read_file(self, "/proc/self/mountinfo"))
        return false;
    for (char *line = self->text, *next; line != NULL; line = next) {
        char type[32], options[256];
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = 0;
        const char *behind = strstr(line, " - "); /* type, source, options of the file system */
        if (behind == NULL || !machine_field(behind + 3, 0, type, sizeof type))
            continue;
        const bool fits = controller == NULL
                              ? strcmp(type, "cgroup2") == 0
                              : strcmp(type, "cgroup") == 0 &&
                                    machine_field(behind + 3, 2, options, sizeof options) &&
                                    has_word(options, controller);
        if (fits && machine_field(line, 3, out->root, sizeof out->root) &&
            machine_field(line, 4, out->point, sizeof out->point))
            found = true;
    }
    return found;
}

/* Path of the group of this process in the hierarchy, as /proc/self/cgroup has it: "3:cpu,cpuacct:/path", "0::/path". */
static bool find_path(reading *self, const char *controller, char *out, size_t room)
{
    if (!machine_read_file(self, "/proc/self/cgroup"))
        return false;
    for (char *line = self->text, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = 0;
        char *list = strchr(line, ':');
        char *path = list == NULL ? NULL : strchr(list + 1, ':');
        if (path == NULL)
            continue;
        *path++ = 0;
        list++;
        if (controller == NULL ? *list != 0 : !has_word(list, controller))
            continue;
        return snprintf(out, room, "%s", path) < (int)room;
    }
    return false;
}

/*
 * The path below the mount point. A container that sees the paths of the host has its own group as the root of the mount;
 * one with a name space of its own has "/" for both. What lies outside of the mount is not to be seen: the
 * mount point is the nearest group then.
 */
static const char *below_mount(const char *path, const char *root)
{
    const size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, n) != 0 || (path[n] != '/' && path[n] != 0) ||
        strncmp(path, "/..", 3) == 0)
        return "";
    return strcmp(path + n, "/") == 0 ? "" : path + n;
}

/* The group of the process and those above it, up to the mount point. */
static void read_groups(reading *self, kind what)
{
    const char *const controller = what == V2 ? NULL : what == V1_MEMORY ? "memory" : "cpu";
    mount m;
    char path[PATH_BYTES], group[PATH_BYTES];
    if (!find_path(self, controller, path, sizeof path) || !find_mount(self, controller, &m))
        return;
    if (snprintf(group, sizeof group, "%s%s", m.point, below_mount(path, m.root)) >= PATH_BYTES)
        return;
    const size_t top = strlen(m.point);
    if (what == V1_MEMORY)
        read_hierarchy(self, group);
    for (;;) {
        read_group(self, what, group);
        char *slash = strrchr(group, '/');
        if (slash == NULL || (size_t)(slash - group) < top)
            return;
        *slash = 0;
    }
}

/* ----------------------------------------------------------------------------- the whole */

static int64_t memory_of_machine(reading *self)
{
    if (!machine_read_file(self, "/proc/meminfo"))
        return MEMORY_WITHOUT_PROC;
    const char *ptr = strstr(self->text, "MemTotal:");
    const int64_t kb = ptr == NULL ? 0 : strtoll(ptr + strlen("MemTotal:"), NULL, 10);
    return kb > 0 ? kb * 1024 : MEMORY_WITHOUT_PROC;
}

void alm_machine_get_from(const alm_machine_source *source, alm_machine *out)
{
    /* On the stack: a process that may have little memory must learn that without asking for any. */
    reading self = {.source = source, .out = out};
    *out = (alm_machine){.memory_bytes = MEMORY_WITHOUT_PROC,
                         .memory_by = "machine",
                         .processors = ALM_MAX(source->online, 1u),
                         .processors_by = "machine"};
    out->memory_bytes = memory_of_machine(&self);
    limit_processors(&self, source->allowed, "affinity");
    read_groups(&self, V2);
    read_groups(&self, V1_MEMORY);
    read_groups(&self, V1_CPU);
    limit_memory(&self, source->address_space_max, "RLIMIT_AS");
    limit_memory(&self, source->data_max, "RLIMIT_DATA");
    ALM_ASSERT(out->memory_bytes > 0);
    ALM_ASSERT(out->processors >= 1);
}

static int64_t limit_of(__rlimit_resource_t what)
{
    struct rlimit limit;
    if (getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return INT64_MAX;
    return (int64_t)ALM_MIN(limit.rlim_cur, (rlim_t)INT64_MAX);
}

/* Machines of more processors than a cpu_set_t has need a larger one. */
static uint32_t allowed_processors(void)
{
    for (int n = CPU_SETSIZE; n <= PROCESSORS_MAX; n *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)n);
        if (set == NULL)
            return 0;
        const int failed = sched_getaffinity(0, CPU_ALLOC_SIZE((size_t)n), set) != 0 ? errno : 0;
        const int count = failed == 0 ? CPU_COUNT_S(CPU_ALLOC_SIZE((size_t)n), set) : 0;
        CPU_FREE(set);
        if (failed != EINVAL)
            return (uint32_t)count;
    }
    return 0;
}

void alm_machine_get(alm_machine *out)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    const alm_machine_source source = {.root = "",
                                       .address_space_max = limit_of(RLIMIT_AS),
                                       .data_max = limit_of(RLIMIT_DATA),
                                       .online = online > 0 ? (uint32_t)online : 1,
                                       .allowed = allowed_processors()};
    alm_machine_get_from(&source, out);
}

/* jemalloc's; weak, as builds for sanitizers are linked without it. */
int mallctl(const char *name, void *old, size_t *old_len, void *value, size_t len)
    __attribute__((weak));

void alm_machine_return_kept(void)
{
    enum { ALL_ARENAS = 4096 }; /* MALLCTL_ARENAS_ALL */
    char name[32];
    if (mallctl == NULL)
        return;
    (void)snprintf(name, sizeof name, "arena.%d.purge", ALL_ARENAS);
    (void)mallctl(name, NULL, NULL, NULL, 0); /* without it the memory goes back later */
}
