/*
 * Goal    A process takes no more memory and processors for its own than its container, its limits and the machine leave.
 * Method  Trees of files as kernels and containers of both versions of control groups show them, each with the answer by
 *         definition; and this process, under limits of its own.
 */
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/machine.h"

#define MB (INT64_C(1) << 20)
static const char MEMINFO[] = "MemTotal:       16777216 kB\nMemFree: 1 kB\n"; /* 16 GB */
static const char V2_MOUNT[] =
    "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

static char top[] = "/tmp/alm_machine_XXXXXX";

static void run(const char *command, const char *path)
{
    char line[8192];
    (void)snprintf(line, sizeof line, "%s '%s%s'", command, top, path);
    assert_int_equal(system(line), 0);
}

static void put(const char *path, const char *text)
{
    char full[4096], folder[4096];
    (void)snprintf(full, sizeof full, "%s%s", top, path);
    FILE *f = fopen(full, "w");
    if (f == NULL) {
        (void)snprintf(folder, sizeof folder, "%s", path);
        *strrchr(folder, '/') = 0;
        run("mkdir -p", folder);
        f = fopen(full, "w");
    }
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int fresh(void **state)
{
    (void)state;
    memcpy(top, "/tmp/alm_machine_XXXXXX", sizeof top);
    assert_non_null(mkdtemp(top));
    put("/proc/meminfo", MEMINFO);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    run("rm -rf", "");
    return 0;
}

static alm_machine_source source(void)
{
    return (alm_machine_source){.root = top,
                                .address_space_max = INT64_MAX,
                                .data_max = INT64_MAX,
                                .online = 8,
                                .allowed = 8};
}

static void expect(int64_t memory, const char *by, uint32_t processors, const char *processors_by)
{
    const alm_machine_source from = source();
    alm_machine m;
    alm_machine_get_from(&from, &m);
    assert_int_equal(m.memory_bytes, memory);
    assert_string_equal(m.memory_by, by);
    assert_int_equal(m.processors, processors);
    assert_string_equal(m.processors_by, processors_by);
}

static void without_groups(void **state)
{
    (void)state;
    expect(16384 * MB, "machine", 8, "machine");
    put("/proc/self/cgroup", "");
    put("/proc/self/mountinfo", "");
    expect(16384 * MB, "machine", 8, "machine");
}

static void version_2(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", V2_MOUNT);
    put("/proc/self/cgroup", "0::/a.slice/b.scope\n");
    put("/sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n");
    put("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "max 100000\n");
    expect(16384 * MB, "machine", 8, "machine");
    put("/sys/fs/cgroup/a.slice/b.scope/memory.max", "1073741824\n");
    put("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "250000 100000\n");
    expect(1024 * MB, "cgroup", 3, "cgroup");
    put("/sys/fs/cgroup/a.slice/memory.max", "536870912\n"); /* a group above is narrower */
    put("/sys/fs/cgroup/a.slice/cpu.max", "50000 100000\n");
    expect(512 * MB, "cgroup", 1, "cgroup");
    put("/sys/fs/cgroup/a.slice/memory.max", "max\n");
    put("/sys/fs/cgroup/a.slice/cpu.max", "800000 200000\n");
    put("/sys/fs/cgroup/a.slice/memory.high", "805306368\n");
    expect(768 * MB, "cgroup", 3, "cgroup");
    put("/sys/fs/cgroup/a.slice/b.scope/memory.max", "99999999999999999999999\n"); /* nonsense */
    put("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "nonsense\n");
    expect(768 * MB, "cgroup", 4, "cgroup");
}

/* In a container: a name space of groups of its own, so that the mount point is the group. */
static void version_2_within(void **state)
{
    static const char *const paths[] = {"0::/\n", "0::/../other\n", "0::/\n"};
    (void)state;
    put("/sys/fs/cgroup/memory.max", "2147483648\n");
    put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    for (size_t i = 0; i < ALM_COUNT(paths); i++) {
        put("/proc/self/mountinfo",
            i < 2 ? V2_MOUNT
                  : "30 20 0:26 /kube/pod1 /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n");
        put("/proc/self/cgroup", paths[i]);
        expect(2048 * MB, "cgroup", 1, "cgroup");
    }
    put("/proc/self/cgroup", "0::/kube/pod1\n"); /* of the host */
    expect(2048 * MB, "cgroup", 1, "cgroup");
    put("/proc/self/cgroup", "0::/kube/pod12\n"); /* another, though the letters are the same */
    put("/sys/fs/cgroup2/memory.max", "1\n");
    expect(2048 * MB, "cgroup", 1, "cgroup");
}

static void version_1(void **state)
{
    (void)state;
    put("/proc/self/mountinfo",
        "31 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
        "32 25 0:29 /docker/1 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
        "33 25 0:30 /docker/1 /sys/fs/cgroup/my\\040memory ro - cgroup cgroup rw,memory\n"
        "34 25 0:31 / /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n");
    put("/proc/self/cgroup", "5:cpuset:/x\n4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n0::/\n");
    put("/sys/fs/cgroup/my memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    expect(16384 * MB, "machine", 8, "machine");
    put("/sys/fs/cgroup/my memory/memory.limit_in_bytes", "1073741824\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
    expect(1024 * MB, "cgroup", 2, "cgroup");
    put("/sys/fs/cgroup/my memory/memory.stat", "cache 0\nhierarchical_memory_limit 268435456\n");
    expect(256 * MB, "cgroup", 2, "cgroup"); /* of a group that is not mounted here */
    put("/proc/self/cgroup", "4:memory:/docker/1/sub/deep\n3:cpu,cpuacct:/docker/1/sub\n");
    put("/sys/fs/cgroup/my memory/sub/memory.limit_in_bytes", "134217728\n");
    expect(128 * MB, "cgroup", 2, "cgroup");
}

static void limits_of_the_process(void **state)
{
    alm_machine_source from = source();
    alm_machine m;
    (void)state;
    from.address_space_max = 4096 * MB;
    from.allowed = 3;
    alm_machine_get_from(&from, &m);
    assert_int_equal(m.memory_bytes, 4096 * MB);
    assert_string_equal(m.memory_by, "RLIMIT_AS");
    assert_int_equal(m.processors, 3);
    assert_string_equal(m.processors_by, "affinity");
    from.data_max = 1024 * MB;
    from.allowed = 0; /* not known */
    alm_machine_get_from(&from, &m);
    assert_int_equal(m.memory_bytes, 1024 * MB);
    assert_string_equal(m.memory_by, "RLIMIT_DATA");
    assert_int_equal(m.processors, 8);
}

/* Files of any bytes are no limits, and nothing else happens. */
static void damaged_files(void **state)
{
    static const char *const files[] = {"/proc/meminfo", "/proc/self/cgroup",
                                        "/proc/self/mountinfo", "/sys/fs/cgroup/memory.max",
                                        "/sys/fs/cgroup/cpu.max"};
    char text[300];
    uint64_t seed = 1;
    (void)state;
    for (int i = 0; i < 400; i++) {
        const alm_machine_source from = source();
        alm_machine m;
        put("/proc/self/mountinfo", V2_MOUNT);
        put("/proc/self/cgroup", "0::/\n");
        for (size_t j = 0; j < sizeof text - 1; j++) {
            static const char letters[] = "/:-\\ 0123,.\nacgroup2-";
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            text[j] = letters[(seed >> 33) % (sizeof letters - 1)];
        }
        text[(seed >> 20) % sizeof text] = 0;
        text[sizeof text - 1] = 0;
        put(files[(size_t)i % ALM_COUNT(files)], text);
        alm_machine_get_from(&from, &m);
        assert_true(m.memory_bytes > 0);
        assert_in_range(m.processors, 1, 8);
        put("/proc/meminfo", MEMINFO);
    }
}

static void this_process(void **state)
{
    alm_machine all, some;
    cpu_set_t one;
    int status = 0;
    (void)state;
    alm_machine_get(&all);
    assert_true(all.memory_bytes > 16 * MB);
    assert_in_range(all.processors, 1, sysconf(_SC_NPROCESSORS_ONLN));
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {.rlim_cur = (rlim_t)(300 * MB),
                                     .rlim_max = (rlim_t)(300 * MB)};
        assert_int_equal(sched_getaffinity(0, sizeof one, &one), 0);
        for (size_t cpu = 0, n = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &one) && n++ > 0)
                CPU_CLR(cpu, &one);
        (void)sched_setaffinity(0, sizeof one, &one);
        (void)setrlimit(RLIMIT_DATA, &limit);
        alm_machine_get(&some);
        _exit(some.memory_bytes == 300 * MB && some.processors == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_groups, fresh, remove_all),
        cmocka_unit_test_setup_teardown(version_2, fresh, remove_all),
        cmocka_unit_test_setup_teardown(version_2_within, fresh, remove_all),
        cmocka_unit_test_setup_teardown(version_1, fresh, remove_all),
        cmocka_unit_test_setup_teardown(limits_of_the_process, fresh, remove_all),
        cmocka_unit_test_setup_teardown(damaged_files, fresh, remove_all),
        cmocka_unit_test(this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
