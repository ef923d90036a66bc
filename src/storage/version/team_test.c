/*
 * Goal    A team runs each task once, by any number of threads, and tells the first error.
 * Method  Tasks that count; tasks that fail from one on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

#include "storage/version/team.h"

enum { TASKS = 1000 };

typedef struct counts {
    uint32_t runs[TASKS];
    uint32_t of_member[ALM_TEAM_MAX];
    uint32_t fails_at;
} counts;

static alm_status count(alm_ctx *cx, void *arg, uint32_t member, uint32_t i)
{
    counts *c = arg;
    c->runs[i]++; /* no other thread has this task */
    c->of_member[member]++;
    return i < c->fails_at ? ALM_OK : alm_fail(cx, ALM_E_MEMORY, -1, "task %u", i);
}

static void each_task_runs_once(void **state)
{
    (void)state;
    const uint32_t threads[] = {0, 1, 2, 5, 100}, tasks[] = {0, 1, 3, TASKS};
    for (size_t t = 0; t < ALM_COUNT(threads); t++)
        for (size_t k = 0; k < ALM_COUNT(tasks); k++) {
            alm_ctx cx = {0};
            counts c = {.fails_at = TASKS};
            uint32_t sum = 0;
            assert_int_equal(alm_team_run(&cx, threads[t], tasks[k], count, &c), ALM_OK);
            for (uint32_t i = 0; i < TASKS; i++)
                assert_int_equal(c.runs[i], i < tasks[k] ? 1 : 0);
            for (uint32_t m = 0; m < ALM_TEAM_MAX; m++)
                sum += c.of_member[m];
            assert_int_equal(sum, tasks[k]);
        }
}

static void the_first_error_is_told(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= ALM_TEAM_MAX; threads *= 2) {
        alm_ctx cx = {0};
        counts c = {.fails_at = 500};
        uint32_t runs = 0;
        assert_int_equal(alm_team_run(&cx, threads, TASKS, count, &c), ALM_E_MEMORY);
        assert_string_equal(cx.err.msg, "task 500");
        for (uint32_t i = 0; i < TASKS; i++)
            runs += c.runs[i];
        assert_in_range(runs, 501, 500 + threads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_runs_once),
        cmocka_unit_test(the_first_error_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
