/*
 * leaked.h - is a password in a file of leaked ones?
 *
 * File        Either lines of SHA-1 in 40 hexadecimal digits, a colon and a number behind them or nothing, in ascending
 *             order (as haveibeenpwned.com gives them, "ordered by hash"): found by binary search, whatever the size. Or
 *             one password on each line, in any order: all lines are read. The first line says which. Lines end with \n
 *             or \r\n.
 * Errors      ALM_E_IO: the file cannot be read. ALM_E_CORRUPT: a line of the first kind is none. What could not be looked
 *             up is never "not found".
 * Cost        About 25 reads of 512 bytes for 10^9 hashes; about 0.1 s for 10^7 passwords.
 */
#ifndef ALM_AUTH_LEAKED_H
#define ALM_AUTH_LEAKED_H

#include "io/io.h"

ALM_NODISCARD alm_status alm_leaked_has(alm_ctx *cx, const alm_io *io, const char *path,
                                        alm_str password, bool *out);

#endif
