/* copy_state.h - the rules of each format of COPY. Private to codec/copy. */
#ifndef ALM_CODEC_COPY_COPY_STATE_H
#define ALM_CODEC_COPY_COPY_STATE_H

#include "codec/copy/copy.h"
#include "codec/csv/csv_state.h"

extern const alm_csv_rules alm_copy_text_rules, alm_copy_csv_rules, alm_copy_binary_rules;

/* A record that ends at `end` of the unread bytes, in a line end (found) or with the data. A line \.
 * is no record, and ends the data. */
void alm_copy_line(alm_csv_reader *reader, size_t end, bool found, alm_csv_record *out);

static const char ALM_COPY_SIGNATURE[11] = {'P',  'G',    'C',  'O',  'P', 'Y',
                                            '\n', '\377', '\r', '\n', 0};

#endif
