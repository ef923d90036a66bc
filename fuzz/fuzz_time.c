/*
 * fuzz_time.c - the readers of foreign bytes in time/: zone files, interval texts, times, patterns.
 *
 * The first byte chooses the reader. What is read is used (asked, written, read back), so that a bad
 * value that got through shows too.
 */
#include <stdlib.h>

#include "time/bucket.h"
#include "time/format.h"
#include "time/interval.h"
#include "time/zone.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void zone_file(alm_ctx *cx, const uint8_t *data, size_t n)
{
    const alm_zone *zone;
    alm_bucketer b;
    if (alm_zone_of_tzif(cx, cx->arena, "fuzz", data, n, &zone) != ALM_OK)
        return;
    const alm_bucket_spec spec = {.unit = 'h', .count = 5, .time_unit = ALM_TIME_US, .zone = zone};
    if (alm_bucketer_init(cx, 0, &spec, &b) != ALM_OK)
        return;
    for (int64_t t = -5000000000000000; t < 5000000000000000; t += 433333333333333) {
        const int64_t start = alm_bucket_start(&b, t), next = alm_bucket_next(&b, t);
        ALM_ASSERT(start <= t && t < next);
        (void)alm_zone_utc_of_local(zone, t / 1000000);
    }
}

static void interval_text(alm_ctx *cx, alm_str text)
{
    alm_time_ranges r;
    if (alm_interval_parse(cx, cx->arena, text, ALM_TIME_NS, 1700000000000000000, 0, &r) != ALM_OK)
        return;
    for (uint32_t i = 0; i < r.n; i++)
        ALM_ASSERT(r.items[i].lo <= r.items[i].hi &&
                   (i == 0 || r.items[i].lo > r.items[i - 1].hi + 1));
}

/* Up to a zero byte: the pattern; after it: the text. */
static void pattern_and_text(alm_ctx *cx, alm_str bytes)
{
    const char *cut = memchr(bytes.ptr, 0, bytes.len);
    const size_t first = cut == NULL ? bytes.len : (size_t)(cut - bytes.ptr);
    const alm_str text = {bytes.ptr + first, bytes.len - first};
    const alm_time_pattern *p;
    int64_t t = 1234567890123456789;
    if (alm_time_pattern_compile(cx, cx->arena, (alm_str){bytes.ptr, first}, 2026, 0, &p) != ALM_OK)
        return;
    (void)alm_time_pattern_read(cx, p, text, ALM_TIME_NS, &t);
    char *out = malloc(alm_time_pattern_max(p) + 1);
    ALM_ASSERT(out != NULL);
    ALM_ASSERT(alm_time_pattern_write(p, t, ALM_TIME_NS, out) <= alm_time_pattern_max(p));
    free(out);
}

static void time_text(alm_str text)
{
    int64_t t, back;
    char out[ALM_TIME_TEXT_MAX];
    if (!alm_time_parse(text, ALM_TIME_NS, &t))
        return;
    const size_t n = alm_time_format(t, ALM_TIME_NS, ALM_TIME_ISO, out);
    ALM_ASSERT(alm_time_parse((alm_str){out, n}, ALM_TIME_NS, &back) && back == t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    alm_arena arena;
    alm_ctx cx = {0};
    if (n == 0)
        return 0;
    alm_arena_init(&arena, NULL);
    cx.arena = &arena;
    const alm_str text = {(const char *)data + 1, n - 1};
    switch (data[0] & 3) {
    case 0:
        zone_file(&cx, data + 1, n - 1);
        break;
    case 1:
        interval_text(&cx, text);
        break;
    case 2:
        pattern_and_text(&cx, text);
        break;
    default:
        time_text(text);
        break;
    }
    alm_arena_deinit(&arena);
    return 0;
}
