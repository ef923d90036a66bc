/*
 * zone.h - time zones: where the clock of a place stood at an instant.
 *
 * Purpose     Zones come from TZif files (RFC 8536), whose bytes are handed in: this folder does no
 *             input. Instants after the last entry of a file follow its POSIX rule. Fixed offsets
 *             ("+05:30", "UTC") need no file.
 * Names       Any case ("europe/berlin"). Abbreviations that are no file names mean the zone of
 *             their place with its daylight saving ("PST" is America/Los_Angeles).
 * Units       Offsets are seconds east of UTC; instants are seconds here, ticks in the kernels.
 * Gaps        A local time that is skipped is read with the offset before the gap (02:30 becomes
 *             03:30). One that happens twice is the earlier instant.
 * Ownership   Zones of an alm_zones live as long as it does. Fixed offsets are allocated from
 *             cx->arena.
 * Threads     A zone is read-only. An alm_zones has a lock; finding takes it only for names.
 */
#ifndef ALM_TIME_ZONE_H
#define ALM_TIME_ZONE_H

#include "time/timestamp.h"

typedef struct alm_zone alm_zone;
typedef struct alm_zones alm_zones;

/* A stretch of time with one offset: from_s <= t < to_s. */
typedef struct alm_zone_span {
    int64_t from_s, to_s; /* INT64_MIN and INT64_MAX where it does not end */
    int32_t offset_s;
} alm_zone_span;

/* Appends the TZif bytes of the zone `name` ("Europe/Berlin": checked, has no "..") to `out`;
 * false if there is none. Must not set cx->err. */
typedef bool (*alm_zone_load)(alm_ctx *cx, void *arg, const char *name, alm_buf *out);

ALM_NODISCARD alm_status alm_zones_new(alm_ctx *cx, alm_zone_load load, void *arg, alm_zones **out);
void alm_zones_free(alm_zones *zones);

/* Zone of a name or offset; cx->zones may be NULL (then offsets and UTC alone).
 * ALM_E_ARG "invalid timezone: x" at `pos`. UTC is a zone like any other, never NULL. */
ALM_NODISCARD alm_status alm_zone_find(alm_ctx *cx, alm_str name, int32_t pos,
                                       const alm_zone **out);
/* A zone of TZif bytes, allocated from `arena`; ALM_E_CORRUPT names what is wrong. */
ALM_NODISCARD alm_status alm_zone_of_tzif(alm_ctx *cx, alm_arena *arena, const char *name,
                                          const uint8_t *bytes, size_t n, const alm_zone **out);
ALM_NODISCARD alm_status alm_zone_fixed(alm_ctx *cx, alm_arena *arena, int32_t offset_s,
                                        const alm_zone **out);

const char *alm_zone_name(const alm_zone *zone);
/* The offset never changes; then *offset_s is it. */
bool alm_zone_is_fixed(const alm_zone *zone, int32_t *offset_s);
/* The stretch that holds an instant. */
void alm_zone_span_at(const alm_zone *zone, int64_t utc_s, alm_zone_span *out);
/* Instant of a local time; see Gaps. */
int64_t alm_zone_utc_of_local(const alm_zone *zone, int64_t local_s);

/* The stretch that holds an instant, and the shift to local time, all in ticks. */
typedef struct alm_zone_ticks {
    int64_t from, to, shift;
} alm_zone_ticks;
void alm_zone_ticks_at(const alm_zone *zone, int64_t time, alm_time_unit unit, alm_zone_ticks *out);
/* Instant at which the local clock first shows `local` or, where it jumps over it, the jump. */
int64_t alm_zone_border(const alm_zone *zone, int64_t local, alm_time_unit unit);

/* Columns of ticks; null in, null out; null where the result leaves int64. out may be in. */
void alm_zone_to_local(const alm_zone *zone, const int64_t *input, size_t n, alm_time_unit unit,
                       int64_t *out);
void alm_zone_to_utc(const alm_zone *zone, const int64_t *input, size_t n, alm_time_unit unit,
                     int64_t *out);

#endif
