/* parquet_codes.c - see parquet_codes.h. */
#include "exec/source/parquet_codes.h"

#include "base/hash.h"

/* Counted down: those of tables are counted up. */
static uint32_t next_id(void)
{
    static _Atomic uint32_t last = UINT32_MAX;
    return atomic_fetch_sub_explicit(&last, 1, memory_order_relaxed);
}

/* ------------------------------------------------------------------------------------- one dictionary */

static uint32_t *parquet_codes_slot_of(const alm_parquet_codes *codes, alm_str text)
{
    const uint32_t mask = codes->n_slots - 1;
    uint32_t place = (uint32_t)alm_hash_str(text) & mask;
    while (codes->slot[place] != 0 &&
           !alm_str_eq(alm_view_str(&codes->dict.views[codes->slot[place]], NULL), text))
        place = (place + 1) & mask;
    return &codes->slot[place];
}

static uint32_t parquet_codes_find(const alm_dict *dict, alm_str text)
{
    return *parquet_codes_slot_of(dict->owner, text);
}

/* Room for twice the texts there can be with `more` of them: slots are at most half full. */
static alm_status parquet_codes_make_room(alm_ctx *cx, alm_parquet_codes *codes, uint32_t more)
{
    const uint32_t have = codes->dict.count, want = have + more;
    alm_view *views = NULL;
    uint32_t n = ALM_MAX(codes->n_slots, 64U);
    if (2 * want <= codes->n_slots)
        return ALM_OK;
    while (n < 2 * want)
        n *= 2;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n / 2, &views));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &codes->slot));
    views[0] = alm_view_null();
    if (have > 1)
        memcpy(views + 1, codes->dict.views + 1, (have - 1) * sizeof *views);
    codes->dict.views = views;
    codes->n_slots = n;
    for (uint32_t i = 1; i < have; i++)
        *parquet_codes_slot_of(codes, alm_view_str(&views[i], NULL)) = i;
    return ALM_OK;
}

static alm_status parquet_codes_take_text(alm_ctx *cx, alm_parquet_codes *codes, alm_view *views,
                                          alm_str text, uint32_t *code)
{
    uint32_t *slot = parquet_codes_slot_of(codes, text);
    alm_str kept = {0};
    if (*slot == 0) {
        ALM_TRY(alm_arena_copy(cx, cx->arena, text, &kept));
        views[codes->dict.count] = alm_view_of(kept);
        *slot = codes->dict.count++;
    }
    *code = *slot;
    return ALM_OK;
}

/* The texts of one row group. *fits = false: they are too many. */
static alm_status take_group(alm_ctx *cx, alm_parquet_codes *codes, alm_pq_cursor *cur,
                             uint32_t group, alm_parquet_map *map, bool *fits)
{
    const alm_view *local = NULL;
    uint32_t n_locals = 0, *code = NULL;
    ALM_TRY(alm_pq_dictionary(cx, cur, group, &local, &n_locals));
    *fits = n_locals > 0 && n_locals <= ALM_PARQUET_CODES_MAX;
    if (!*fits)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_locals, &code));
    ALM_TRY(parquet_codes_make_room(cx, codes, n_locals));
    alm_view *views = NULL;
    memcpy(&views, &codes->dict.views, sizeof views); /* it is not shared yet */
    for (uint32_t i = 1; i < n_locals; i++)
        ALM_TRY(parquet_codes_take_text(cx, codes, views, alm_view_str(&local[i], NULL), &code[i]));
    *map = (alm_parquet_map){code, n_locals};
    *fits = codes->dict.count <= ALM_PARQUET_CODES_MAX;
    return ALM_OK;
}

static alm_status parquet_codes_take_file(alm_ctx *cx, alm_parquet_codes *codes,
                                          const alm_pq_file *file, uint32_t col,
                                          alm_parquet_map **map, bool *fits)
{
    alm_pq_cursor *cur = NULL;
    alm_status status = ALM_NEWN(cx, cx->arena, alm_pq_groups(file) + 1, map);
    if (status == ALM_OK)
        status = alm_pq_cursor_new(cx, file, col, &cur);
    for (uint32_t group = 0; status == ALM_OK && *fits && group < alm_pq_groups(file); group++) {
        if (alm_pq_group_rows(file, group) == 0)
            continue;
        status = alm_check(cx);
        if (status == ALM_OK)
            status = take_group(cx, codes, cur, group, &(*map)[group], fits);
    }
    alm_pq_cursor_free(cur);
    return status;
}

/* By what the files say, before any of it is read. */
static bool all_coded(const alm_parquet_set *set, uint32_t col)
{
    uint32_t groups = 0;
    for (uint32_t f = 0; f < set->n_files; f++) {
        const alm_pq_file *file = set->file[f].file;
        const int32_t place = set->file[f].col[col];
        groups += alm_pq_groups(file);
        if (place == ALM_PARQUET_FOLDER || groups > ALM_PARQUET_GROUPS_MAX)
            return false;
        for (uint32_t group = 0; place >= 0 && group < alm_pq_groups(file); group++)
            if (alm_pq_group_rows(file, group) > 0 &&
                !alm_pq_is_coded(file, group, (uint32_t)place))
                return false;
    }
    return true;
}

static alm_status parquet_codes_make(alm_ctx *cx, const alm_parquet_set *set, uint32_t col,
                                     alm_parquet_codes **out)
{
    alm_parquet_codes *codes = NULL;
    bool fits = true;
    ALM_TRY(ALM_NEW(cx, cx->arena, &codes));
    codes->dict =
        (alm_dict){.count = 1, .id = next_id(), .find = parquet_codes_find, .owner = codes};
    ALM_TRY(parquet_codes_make_room(cx, codes, 1));
    ALM_TRY(ALM_NEWN(cx, cx->arena, set->n_files, &codes->map));
    for (uint32_t file = 0; fits && file < set->n_files; file++)
        if (set->file[file].col[col] >= 0)
            ALM_TRY(parquet_codes_take_file(cx, codes, set->file[file].file,
                                            (uint32_t)set->file[file].col[col], &codes->map[file],
                                            &fits));
    codes->width = codes->dict.count <= 256 ? 1 : 2;
    *out = fits ? codes : NULL;
    return ALM_OK;
}

alm_status alm_parquet_codes_of(alm_ctx *cx, alm_parquet_set *set, uint32_t col,
                                const alm_parquet_codes **out)
{
    *out = NULL;
    if (!alm_type_is_text(set->col[col].type))
        return ALM_OK;
    if (set->codes == NULL) {
        ALM_TRY(ALM_NEWN(cx, cx->arena, set->n_cols, &set->codes));
        ALM_TRY(ALM_NEWN(cx, cx->arena, set->n_cols, &set->codes_asked));
    }
    if (!set->codes_asked[col] && all_coded(set, col))
        ALM_TRY(parquet_codes_make(cx, set, col, &set->codes[col]));
    set->codes_asked[col] = true;
    *out = set->codes[col];
    return ALM_OK;
}

/* --------------------------------------------------------------------------------------------- rows */

alm_status alm_parquet_codes_read(alm_ctx *cx, const alm_parquet_set *set, uint32_t col,
                                  alm_pq_cursor *cur, const alm_parquet_rows *rows,
                                  alm_arena *arena, alm_vec *out)
{
    const uint32_t n_rows = rows->n;
    const alm_parquet_codes *codes = set->codes[col];
    static uint16_t null;
    uint32_t *own = NULL, most = 0;
    bool coded = false;
    *out = (alm_vec){.type = ALM_TY(SYMBOL),
                     .width = codes->width,
                     .is_const = cur == NULL,
                     .dict = &codes->dict};
    if (cur == NULL) {
        out->data = &null;
        return ALM_OK;
    }
    const alm_parquet_map *map = &codes->map[rows->file - set->file][rows->group];
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n_rows * sizeof *own + 1, &own));
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n_rows * codes->width + 1, &out->data));
    ALM_TRY(alm_pq_read_codes(cx, cur, rows->group, rows->row, n_rows, own, &coded));
    for (uint32_t i = 0; coded && i < n_rows; i++)
        most = ALM_MAX(most, own[i]);
    if (!coded || most >= map->n)
        return alm_fail(
            cx, ALM_E_FORMAT, -1,
            "parquet file '%s', row group %u, column '%s': not all pages are coded by the "
            "dictionary, and the metadata says so",
            alm_pq_name(rows->file->file), rows->group, set->col[col].name);
    if (codes->width == 1)
        for (uint32_t i = 0; i < n_rows; i++)
            ((uint8_t *)out->data)[i] = (uint8_t)map->code[own[i]];
    else
        for (uint32_t i = 0; i < n_rows; i++)
            ((uint16_t *)out->data)[i] = (uint16_t)map->code[own[i]];
    return ALM_OK;
}
