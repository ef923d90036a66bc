/* epoch.c - see epoch.h. */
#include "time/epoch.h"

#include "base/number.h"

static const struct {
    const char *text, *words;
    int64_t ns; /* of one */
} units[] = {[ALM_EPOCH_NONE] = {"", "", 0},
             [ALM_EPOCH_S] = {"s", "seconds since 1970", 1000000000},
             [ALM_EPOCH_MS] = {"ms", "milliseconds since 1970", 1000000},
             [ALM_EPOCH_US] = {"us", "microseconds since 1970", 1000},
             [ALM_EPOCH_NS] = {"ns", "nanoseconds since 1970", 1},
             [ALM_EPOCH_DAYS] = {"yyyyMMdd", "days written yyyyMMdd", 0}};

alm_epoch alm_epoch_of(alm_str text)
{
    for (alm_epoch unit = ALM_EPOCH_S; unit <= ALM_EPOCH_NS; unit++)
        if (alm_str_ieq(text, alm_str_of(units[unit].text)))
            return unit;
    return ALM_EPOCH_NONE;
}

const char *alm_epoch_text(alm_epoch unit)
{
    return units[unit].text;
}

const char *alm_epoch_words(alm_epoch unit)
{
    return units[unit].words;
}

int64_t alm_epoch_second(alm_epoch unit)
{
    return units[ALM_EPOCH_S].ns / units[unit].ns;
}

static bool is_day(int64_t value)
{
    const int64_t month = value / 100 % 100, day = value % 100;
    return value >= 19000101 && value <= 21001231 && month >= 1 && month <= 12 && day >= 1 &&
           day <= 31;
}

alm_epoch alm_epoch_guess(int64_t least, int64_t greatest)
{
    static const int64_t from_s = 315532800, to_s = 4102444800; /* 1980, 2100 */
    if (is_day(least) && is_day(greatest))
        return ALM_EPOCH_DAYS;
    for (alm_epoch unit = ALM_EPOCH_S; least <= greatest && unit <= ALM_EPOCH_NS; unit++) {
        const int64_t second = alm_epoch_second(unit);
        if (least >= from_s * second && greatest <= to_s * second)
            return unit;
    }
    return ALM_EPOCH_NONE;
}

alm_epoch alm_epoch_of_ticks(alm_time_unit unit)
{
    return unit == ALM_TIME_MS ? ALM_EPOCH_MS : unit == ALM_TIME_US ? ALM_EPOCH_US : ALM_EPOCH_NS;
}

/* Behind the point: at most as many nanoseconds as one unit has. */
static bool epoch_read_fraction(alm_str digits, int64_t unit_ns, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
            return false;
        unit_ns /= 10;
        *out += (digits.ptr[i] - '0') * unit_ns;
    }
    return digits.len > 0;
}

bool alm_epoch_read(alm_str text, alm_epoch unit, alm_time_unit ticks, int64_t *out)
{
    const char *const point = memchr(text.ptr, '.', text.len);
    const size_t n = point != NULL ? (size_t)(point - text.ptr) : text.len;
    const int64_t unit_ns = units[unit].ns, tick_ns = 1000000000 / alm_time_second(ticks);
    int64_t whole = 0, rest = 0;
    ALM_ASSERT(unit_ns > 0);
    if (alm_int64_parse((alm_str){text.ptr, n}, &whole) != ALM_NUM_OK ||
        (point != NULL &&
         !epoch_read_fraction((alm_str){point + 1, text.len - n - 1}, unit_ns, &rest)))
        return false;
    if (text.ptr[0] == '-')
        rest = -rest;
    const __int128 int128 = (__int128)whole * unit_ns + rest;
    const __int128 got = int128 / tick_ns - (int128 % tick_ns < 0);
    *out = (int64_t)got;
    return got <= INT64_MAX && got > INT64_MIN;
}
