/*
 * Goal    A dictionary gives the same code for the same text for ever, on any thread, and comes back
 *         from its file.
 * Method  Directed cases, many values against an array as oracle, threads that intern the same texts,
 *         a simulated disk with flipped bits and power cuts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>

#include "io/sim.h"
#include "storage/dict/dict.h"

static alm_symbols *make(alm_ctx *cx)
{
    alm_symbols *sym = NULL;
    assert_int_equal(alm_symbols_new(cx, 1, 7, 3, &sym), ALM_OK);
    return sym;
}

static alm_str text_of(char *buf, size_t size, uint32_t i)
{
    /* short, exactly 12, 13 and long texts */
    static const char *const tails[] = {"", "abcdef", "abcdefg", "-a rather long tail of the text"};
    const int n = snprintf(buf, size, "%06u%s", i, tails[i % 4]);
    return (alm_str){buf, (size_t)n};
}

static void codes_come_in_order_and_stay(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_symbols *sym = make(&cx);
    char buf[64];
    enum { N = 50000 };
    for (uint32_t i = 1; i <= N; i++) {
        uint32_t code = 0;
        assert_int_equal(alm_symbols_intern_one(&cx, sym, text_of(buf, sizeof(buf), i), &code),
                         ALM_OK);
        assert_int_equal(code, i);
    }
    assert_int_equal(alm_symbols_count(sym), N + 1);
    for (uint32_t i = 1; i <= N; i++) {
        const alm_str text = text_of(buf, sizeof(buf), i);
        assert_int_equal(alm_symbols_find(sym, text), i);
        assert_true(alm_str_eq(alm_symbols_text(sym, i), text));
    }
    assert_int_equal(alm_symbols_find(sym, ALM_STR("nowhere")), 0);
    assert_null(alm_symbols_text(sym, 0).ptr);
    alm_symbols_release(sym);
}

static void null_and_empty_differ(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_symbols *sym = make(&cx);
    uint32_t code = 99;
    assert_int_equal(alm_symbols_intern_one(&cx, sym, (alm_str){NULL, 0}, &code), ALM_OK);
    assert_int_equal(code, 0);
    assert_int_equal(alm_symbols_intern_one(&cx, sym, ALM_STR(""), &code), ALM_OK);
    assert_int_equal(code, 1);
    assert_int_equal(alm_symbols_find(sym, ALM_STR("")), 1);
    assert_int_equal(alm_symbols_find(sym, (alm_str){NULL, 0}), 0);
    alm_symbols_release(sym);
}

static void a_view_does_not_see_later_values(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_symbols *sym = make(&cx);
    uint32_t code = 0;
    assert_int_equal(alm_symbols_intern_one(&cx, sym, ALM_STR("early"), &code), ALM_OK);
    alm_dict view;
    alm_symbols_view(sym, 2, &view);
    char buf[64];
    for (uint32_t i = 1; i < 1000; i++) /* outgrows every array */
        assert_int_equal(alm_symbols_intern_one(&cx, sym, text_of(buf, sizeof(buf), i), &code),
                         ALM_OK);
    assert_int_equal(view.find(&view, ALM_STR("early")), 1);
    assert_int_equal(view.find(&view, text_of(buf, sizeof(buf), 5)), 0);
    assert_true(alm_str_eq(alm_view_str(&view.views[1], NULL), ALM_STR("early")));
    alm_symbols_release(sym);
}

static void vectors_of_any_form_are_encoded(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_symbols *sym = make(&cx), *other = NULL;
    assert_int_equal(alm_symbols_new(&cx, 2, 7, 4, &other), ALM_OK);
    uint32_t codes[4], code = 0;
    assert_int_equal(alm_symbols_intern_one(&cx, other, ALM_STR("b"), &code), ALM_OK);
    assert_int_equal(alm_symbols_intern_one(&cx, other, ALM_STR("a"), &code), ALM_OK);
    alm_view views[4] = {alm_view_of(ALM_STR("a")), alm_view_null(),
                         alm_view_of(ALM_STR("a text that is not inlined")),
                         alm_view_of(ALM_STR("a"))};
    const alm_vec text = {.type = ALM_TY(VARCHAR), .width = 16, .data = views};
    assert_int_equal(alm_symbols_encode(&cx, sym, &text, 4, codes), ALM_OK);
    const uint32_t want[4] = {1, 0, 2, 1};
    assert_memory_equal(codes, want, sizeof(want));
    alm_dict dict;
    alm_symbols_view(other, 3, &dict);
    uint8_t foreign[4] = {2, 1, 0, 2}; /* a, b, null, a */
    const alm_vec coded = {.type = ALM_TY(SYMBOL), .width = 1, .data = foreign, .dict = &dict};
    assert_int_equal(alm_symbols_encode(&cx, sym, &coded, 4, codes), ALM_OK);
    const uint32_t want2[4] = {1, 3, 0, 1};
    assert_memory_equal(codes, want2, sizeof(want2));
    alm_vec same = coded;
    alm_dict own;
    alm_symbols_view(sym, 4, &own);
    same.dict = &own;
    foreign[0] = 3;
    assert_int_equal(alm_symbols_encode(&cx, sym, &same, 2, codes), ALM_OK);
    assert_int_equal(codes[0], 3);
    const alm_vec constant = {
        .type = ALM_TY(VARCHAR), .width = 16, .is_const = true, .data = &views[2]};
    assert_int_equal(alm_symbols_encode(&cx, sym, &constant, 4, codes), ALM_OK);
    assert_int_equal(codes[3], 2);
    alm_symbols_release(other);
    alm_symbols_release(sym);
}

static void put_is_idempotent_and_strict(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_symbols *sym = make(&cx);
    assert_int_equal(alm_symbols_put(&cx, sym, 1, ALM_STR("x")), ALM_OK);
    assert_int_equal(alm_symbols_put(&cx, sym, 1, ALM_STR("x")), ALM_OK);
    assert_int_equal(alm_symbols_put(&cx, sym, 2, ALM_STR("y")), ALM_OK);
    assert_int_equal(alm_symbols_put(&cx, sym, 1, ALM_STR("y")), ALM_E_CORRUPT);
    alm_error_clear(&cx);
    assert_int_equal(alm_symbols_put(&cx, sym, 9, ALM_STR("z")), ALM_E_CORRUPT);
    alm_error_clear(&cx);
    assert_int_equal(alm_symbols_put(&cx, sym, 3, ALM_STR("x")), ALM_E_CORRUPT);
    assert_int_equal(alm_symbols_count(sym), 3);
    alm_symbols_release(sym);
}

/* ---------------------------------------------------------------- threads */

enum { THREADS = 4, TEXTS = 20000 };

typedef struct worker {
    alm_symbols *sym;
    uint32_t seed;
    uint32_t codes[TEXTS];
} worker;

static void *intern_all(void *arg)
{
    worker *w = arg;
    alm_ctx cx = {0};
    char buf[64];
    for (uint32_t i = 0; i < TEXTS; i++) {
        const uint32_t k = (i * 7919u + w->seed) % TEXTS; /* another order per thread */
        if (alm_symbols_intern_one(&cx, w->sym, text_of(buf, sizeof(buf), k), &w->codes[k]) !=
            ALM_OK)
            return w;
        if (!alm_str_eq(alm_symbols_text(w->sym, w->codes[k]), text_of(buf, sizeof(buf), k)))
            return w;
    }
    return NULL;
}

static void threads_agree(void **state)
{
    (void)state;
    alm_ctx cx = {0};
    alm_symbols *sym = make(&cx);
    worker *w = calloc(THREADS, sizeof(*w));
    pthread_t threads[THREADS];
    for (uint32_t t = 0; t < THREADS; t++) {
        w[t].sym = sym;
        w[t].seed = t * 1237;
        assert_int_equal(pthread_create(&threads[t], NULL, intern_all, &w[t]), 0);
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        void *failed = NULL;
        assert_int_equal(pthread_join(threads[t], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(alm_symbols_count(sym), TEXTS + 1);
    for (uint32_t t = 1; t < THREADS; t++)
        assert_memory_equal(w[0].codes, w[t].codes, sizeof(w[0].codes));
    free(w);
    alm_symbols_release(sym);
}

/* ------------------------------------------------------------------- file */

static void intern_range(alm_ctx *cx, alm_symbols *sym, uint32_t from, uint32_t to)
{
    char buf[64];
    for (uint32_t i = from; i < to; i++) {
        uint32_t code = 0;
        assert_int_equal(alm_symbols_intern_one(cx, sym, text_of(buf, sizeof(buf), i), &code),
                         ALM_OK);
        assert_int_equal(code, i);
    }
}

/* As a checkpoint of this dictionary alone: to the file /d/f. */
static alm_status save(alm_ctx *cx, alm_symbols *sym, const alm_io *io, uint32_t count)
{
    alm_symbols_saving saving;
    if (!alm_symbols_has_new(sym, count))
        return ALM_OK;
    ALM_TRY(alm_symbols_write(cx, sym, io, "/d", "f", count, &saving));
    int e = io->sync(io, saving.handle);
    (void)io->close(io, saving.handle);
    if (e >= 0 && saving.fresh)
        e = io->sync_dir(io, "/d");
    if (e < 0)
        return alm_io_fail(cx, e, "/d/f");
    alm_symbols_saved(&saving);
    return ALM_OK;
}

static void file_gives_back_what_was_counted(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(1);
    const alm_io *io = alm_sim_io(sim);
    alm_ctx cx = {0};
    assert_int_equal(io->mkdir(io, "/d"), 0);
    alm_symbols *sym = make(&cx);
    intern_range(&cx, sym, 1, 1000);
    assert_int_equal(save(&cx, sym, io, 500), ALM_OK);
    assert_int_equal(save(&cx, sym, io, 1000), ALM_OK);
    alm_symbols_release(sym);

    /* An older checkpoint: 499 values; the rest is cut by the next save. */
    sym = make(&cx);
    assert_int_equal(alm_symbols_load(&cx, sym, io, "/d/f", 500, 0), ALM_OK);
    assert_int_equal(alm_symbols_count(sym), 500);
    intern_range(&cx, sym, 500, 700);
    assert_int_equal(save(&cx, sym, io, 700), ALM_OK);
    alm_symbols_release(sym);
    sym = make(&cx);
    assert_int_equal(alm_symbols_load(&cx, sym, io, "/d/f", 700, 0), ALM_OK);
    char buf[64];
    for (uint32_t i = 1; i < 700; i++)
        assert_int_equal(alm_symbols_find(sym, text_of(buf, sizeof(buf), i)), i);
    alm_symbols_release(sym);
    sym = make(&cx);
    assert_int_equal(alm_symbols_load(&cx, sym, io, "/d/f", 701, 0), ALM_E_CORRUPT);
    alm_symbols_release(sym);
    alm_sim_free(sim);
}

static void flipped_bits_are_found(void **state)
{
    (void)state;
    alm_sim *sim = alm_sim_new(2);
    const alm_io *io = alm_sim_io(sim);
    alm_ctx cx = {0};
    assert_int_equal(io->mkdir(io, "/d"), 0);
    alm_symbols *sym = make(&cx);
    intern_range(&cx, sym, 1, 40);
    assert_int_equal(save(&cx, sym, io, 40), ALM_OK);
    alm_symbols_release(sym);
    alm_io_stat meta;
    assert_int_equal(io->stat(io, "/d/f", &meta), 0);
    for (int64_t at = 0; at < meta.size_bytes; at++) {
        if (at >= 36 && at < 40)
            continue; /* reserved bytes of the header */
        assert_true(alm_sim_flip(sim, "/d/f", at, (unsigned)at % 8));
        alm_error_clear(&cx);
        sym = make(&cx);
        assert_int_not_equal(alm_symbols_load(&cx, sym, io, "/d/f", 40, 0), ALM_OK);
        alm_symbols_release(sym);
        assert_true(alm_sim_flip(sim, "/d/f", at, (unsigned)at % 8));
    }
    alm_sim_free(sim);
}

static void a_torn_save_leaves_the_counted_records(void **state)
{
    (void)state;
    for (int64_t cut = 1; cut < 12; cut++) {
        alm_sim *sim = alm_sim_new((uint64_t)cut);
        const alm_io *io = alm_sim_io(sim);
        alm_ctx cx = {0};
        assert_int_equal(io->mkdir(io, "/d"), 0);
        assert_int_equal(io->sync_dir(io, ""), 0);
        alm_symbols *sym = make(&cx);
        intern_range(&cx, sym, 1, 300);
        assert_int_equal(save(&cx, sym, io, 100), ALM_OK);
        alm_sim_cut_after(sim, cut);
        const alm_status st = save(&cx, sym, io, 300);
        alm_symbols_release(sym);
        alm_sim_restart(sim);
        alm_error_clear(&cx);
        sym = make(&cx);
        const alm_status loaded =
            alm_symbols_load(&cx, sym, io, "/d/f", st == ALM_OK ? 300 : 100, 0);
        assert_string_equal(cx.err.msg, "");
        assert_int_equal(loaded, ALM_OK);
        alm_symbols_release(sym);
        alm_sim_free(sim);
    }
}

/* What is refused adds nothing, neither to the dictionary nor to the account. */
static void an_account_bounds_new_values_and_gets_them_back(void **state)
{
    (void)state;
    alm_symbols_space space = {.bytes_max = 1 << 20};
    alm_mem one = {.limit_bytes = 1 << 30}, other = {.limit_bytes = 1 << 30};
    alm_ctx cx = {.symbols = &one};
    alm_symbols *a = make(&cx), *b = make(&cx);
    alm_symbols_join(a, &space, NULL);
    alm_symbols_join(b, &space, NULL);
    intern_range(&cx, a, 1, 61);
    const int64_t of_a = one.used_bytes;
    assert_true(of_a >= 60 * 64);
    intern_range(&cx, b, 1, 41);
    const int64_t full = one.used_bytes;
    assert_true(full >= of_a + 40 * 64);
    one.limit_bytes = full + 63;
    uint32_t code = 0;
    assert_int_equal(alm_symbols_intern_one(&cx, a, ALM_STR("more"), &code), ALM_E_LIMIT);
    assert_non_null(strstr(cx.err.msg, "storage.symbol.memory.user.max"));
    assert_int_equal(alm_symbols_count(a), 61);
    assert_int_equal(one.used_bytes, full);
    alm_error_clear(&cx);
    intern_range(&cx, a, 1, 61); /* known values ask nobody */
    cx.symbols = &other;
    intern_range(&cx, a, 61, 81);
    assert_true(other.used_bytes >= 20 * 64);
    alm_symbols_release(b);
    assert_int_equal(one.used_bytes, of_a);
    /* all accounts leave an eighth of the space to who has none */
    space.bytes_max = space.bytes + space.bytes / 7;
    assert_int_equal(alm_symbols_intern_one(&cx, a, ALM_STR("more"), &code), ALM_E_LIMIT);
    assert_non_null(strstr(cx.err.msg, "an eighth"));
    alm_error_clear(&cx);
    cx.symbols = NULL;
    assert_int_equal(alm_symbols_intern_one(&cx, a, ALM_STR("more"), &code), ALM_OK);
    alm_symbols_release(a);
    assert_int_equal(one.used_bytes + other.used_bytes + space.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_come_in_order_and_stay),
        cmocka_unit_test(null_and_empty_differ),
        cmocka_unit_test(a_view_does_not_see_later_values),
        cmocka_unit_test(vectors_of_any_form_are_encoded),
        cmocka_unit_test(put_is_idempotent_and_strict),
        cmocka_unit_test(threads_agree),
        cmocka_unit_test(an_account_bounds_new_values_and_gets_them_back),
        cmocka_unit_test(file_gives_back_what_was_counted),
        cmocka_unit_test(flipped_bits_are_found),
        cmocka_unit_test(a_torn_save_leaves_the_counted_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
