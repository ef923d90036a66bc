/*
 * pack.c - see pack.h.
 */
#include "storage/part/pack.h"

#include <errno.h>

#include "storage/state.h"

void alm_pack_init(alm_pack *pack, alm_storage *storage, uint64_t table_id, size_t n)
{
    *pack = (alm_pack){.st = storage, .table_id = table_id, .at = {.handle = -1}};
    pack->on =
        n >= (size_t)storage->conf.shared_parts_min && storage->conf.shared_part_bytes_max > 0;
}

static alm_status part_pack_begin(alm_ctx *cx, alm_pack *pack)
{
    const alm_io *io = pack->st->io;
    ALM_ASSERT(pack->file == NULL);
    ALM_TRY(alm_file_new(cx, pack->st, pack->table_id, ALM_FILE_PACK, &pack->file));
    alm_file_path(pack->file, pack->path, sizeof pack->path);
    const int handle =
        io->open(io, pack->path, ALM_IO_READ | ALM_IO_WRITE | ALM_IO_CREATE | ALM_IO_TRUNCATE);
    if (handle < 0)
        return alm_io_fail(cx, handle, pack->path);
    pack->at = (alm_part_pack){.handle = handle,
                               .path = pack->path,
                               .bytes_max = pack->st->conf.shared_part_bytes_max,
                               .file = pack->file};
    return ALM_OK;
}

alm_status alm_pack_next(alm_ctx *cx, alm_pack *pack, alm_part_pack **out)
{
    *out = NULL;
    if (!pack->on)
        return ALM_OK;
    if (pack->at.end >= ALM_PACK_BYTES_MAX)
        ALM_TRY(alm_pack_finish(cx, pack));
    if (pack->file == NULL)
        ALM_TRY(part_pack_begin(cx, pack));
    *out = &pack->at;
    return ALM_OK;
}

alm_status alm_pack_finish(alm_ctx *cx, alm_pack *pack)
{
    alm_file *file = pack->file;
    if (file == NULL)
        return ALM_OK;
    const int handle = pack->at.handle;
    file->bytes = pack->at.end;
    pack->file = NULL;
    pack->at = (alm_part_pack){.handle = -1};
    const alm_status status =
        alm_unsynced_written(cx, pack->st, &file->unsynced, handle, file->bytes, pack->path);
    alm_file_release(file); /* its parts hold it; without one it goes */
    return status;
}

void alm_pack_deinit(alm_pack *pack)
{
    if (pack->at.handle >= 0)
        (void)pack->st->io->close(pack->st->io, pack->at.handle);
    alm_file_release(pack->file);
    pack->file = NULL;
    pack->at.handle = -1;
}

void alm_file_where(const alm_file *file, char *path, size_t path_size, alm_part_place *place,
                    bool *shared)
{
    const alm_io *io = file->st->io;
    alm_io_stat meta;
    *place = (alm_part_place){.offset = file->offset, .bytes = file->bytes};
    *shared = false;
    if (file->pack != NULL) {
        alm_file_path(file->pack, path, path_size);
        *shared = io->stat(io, path, &meta) != -ENOENT;
    }
    if (*shared)
        return;
    alm_file_path(file, path, path_size);
    if (file->pack != NULL && io->stat(io, path, &meta) == -ENOENT) {
        alm_file_path(file->pack, path, path_size); /* it is the pack that is missing */
        *shared = true;
        return;
    }
    place->offset = 0;
}
