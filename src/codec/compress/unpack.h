/*
 * unpack.h - gzip (RFC 1952) and zstd (RFC 8878) unpacked as they come, several members or frames one behind another too.
 *
 * Bounds      What comes out goes on in pieces of 64 KiB, so that memory does not grow with it; over `limit` bytes of it the
 *             stream is refused. zstd: a window of up to 128 MiB, as its own program has it.
 * Errors      ALM_E_FORMAT: damaged; ALM_E_LIMIT; ALM_E_MEMORY; those of `take`; a cancel between two pieces.
 * Threads     One at a time.
 */
#ifndef ALM_CODEC_COMPRESS_UNPACK_H
#define ALM_CODEC_COMPRESS_UNPACK_H

#include "codec/compress/pack.h"

typedef struct alm_unpacker alm_unpacker;
typedef alm_status (*alm_unpack_take)(alm_ctx *cx, void *arg, const char *bytes, size_t n);

ALM_NODISCARD alm_status alm_unpacker_new(alm_ctx *cx, alm_pack_form form, uint64_t limit,
                                          const char *limit_name, alm_unpacker **out);
/* Gives what the packed piece holds to `take`. */
ALM_NODISCARD alm_status alm_unpack(alm_ctx *cx, alm_unpacker *unpacker, alm_str piece,
                                    alm_unpack_take take, void *arg);
/* Did all of the last member come? */
bool alm_unpacker_is_whole(const alm_unpacker *unpacker);
const char *alm_unpacker_name(const alm_unpacker *unpacker); /* gzip, zstd */
void alm_unpacker_free(alm_unpacker *unpacker);              /* NULL is fine */

#endif
