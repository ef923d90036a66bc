/*
 * Goal    A part is taken only where it is the one that is meant; what a claim does not say, or a file of an older
 *         program has not recorded, is not compared.
 * Method  One part, and claims that are right but for one thing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "io/sim.h"
#include "storage/part/part.h"

typedef struct wrong_claim {
    const char *what; /* in the message */
    bool in_footer;   /* files of older programs have not recorded it */
    alm_part_claim add;
} wrong_claim;

static const wrong_claim WRONG[] = {
    {"database id", true, {.database_id = 1}},
    {"table id", false, {.table_id = 1}},
    {"file id", true, {.file_id = 1}},
    {"bytes", false, {.bytes = 4096}},
    {"rows", false, {.rows = 1}},
    {"first time", false, {.min_ts = -1}},
    {"last time", false, {.max_ts = 1}},
    {"checksum", false, {.footer_crc = 1}},
};

static alm_part_claim sum(alm_part_claim a, const alm_part_claim *b)
{
    return (alm_part_claim){.table_id = a.table_id + b->table_id,
                            .database_id = a.database_id + b->database_id,
                            .file_id = a.file_id + b->file_id,
                            .bytes = a.bytes + b->bytes,
                            .rows = a.rows + b->rows,
                            .min_ts = a.min_ts + b->min_ts,
                            .max_ts = a.max_ts + b->max_ts,
                            .footer_crc = a.footer_crc + b->footer_crc};
}

static void write_part(alm_ctx *cx, const alm_io *io, bool recorded, alm_part_written *out)
{
    int64_t ts[3] = {5, 6, 9};
    const alm_vec col = {.type = ALM_TY(TIMESTAMP), .width = 8, .data = ts};
    const alm_part_coldef def = {.id = 1, .type = ALM_TY(TIMESTAMP)};
    const alm_part_chunk chunk = {.rows = 3, .cols = &col};
    const alm_part_spec spec = {.table_id = 42,
                                .database_id = recorded ? 7 : 0,
                                .file_id = recorded ? 8 : 0,
                                .cols = &def,
                                .n_cols = 1,
                                .chunks = &chunk,
                                .n_chunks = 1};
    assert_int_equal(alm_part_write(cx, io, "/d", "p", &spec, out), ALM_OK);
}

static void only_the_part_that_is_meant_matches(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(1);
    const alm_io *io = alm_sim_io(sim);
    alm_ctx cx = {0};
    assert_int_equal(io->mkdir(io, "/d"), 0);
    for (int recorded = 0; recorded < 2; recorded++) {
        alm_part *part = NULL;
        alm_part_written w;
        write_part(&cx, io, recorded, &w);
        assert_int_equal(alm_part_open(&cx, io, "/d/p", NULL, 42, NULL, &part), ALM_OK);
        assert_int_equal(alm_part_footer_crc(part), w.footer_crc);
        const alm_part_claim nothing = {.table_id = 42, .min_ts = 1};
        const alm_part_claim right = {42, 7, 8, w.bytes, 3, 5, 9, w.footer_crc};
        assert_int_equal(alm_part_match(&cx, part, &nothing), ALM_OK);
        assert_int_equal(alm_part_match(&cx, part, &right), ALM_OK);
        assert_int_equal(alm_part_is(&cx, io, "/d/p", &right), ALM_OK);
        for (size_t i = 0; i < ALM_COUNT(WRONG); i++) {
            const alm_part_claim claim = sum(right, &WRONG[i].add);
            const bool known = recorded || !WRONG[i].in_footer;
            assert_int_equal(alm_part_match(&cx, part, &claim), known ? ALM_E_CORRUPT : ALM_OK);
            if (known)
                assert_non_null(strstr(cx.err.msg, WRONG[i].what));
            alm_error_clear(&cx);
        }
        alm_part_release(part);
    }
    alm_sim_free(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_the_part_that_is_meant_matches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
