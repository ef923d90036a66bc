/*
 * maps.h - files in memory whose bytes cannot be read: the disk fails, or somebody cut the file. The system
 * sends SIGBUS to whoever touches such a page; this turns it into a mark on the map.
 *
 * Method      The handler puts zeros in the place of the page, marks the map, counts, and the thread goes on. Readers look at the count when they are done: what they read may be zeros.
 *             A fault outside of the maps is a bug and ends the process as ever.
 * State       a table of the maps, process-wide: a signal handler can reach nothing else. Slots are atomics.
 * Private to io/, but for the installation at the start of a program.
 */
#ifndef ALM_IO_MAPS_H
#define ALM_IO_MAPS_H

#include "base/base.h"

/* From now on faults of maps are caught. Once, before threads are made. */
void alm_maps_catch(void);
/* A map that finds no slot is not protected. */
void alm_maps_add(const void *addr, size_t bytes);
/* Those that begin in the range. */
void alm_maps_remove_within(const void *addr, size_t bytes);
int64_t alm_maps_faults(void);
bool alm_maps_is_broken(const void *addr);

#endif
