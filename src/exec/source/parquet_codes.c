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

static uint32_t *slot_of(const alm_parquet_codes *c, alm_str text)
{
    const uint32_t mask = c->n_slots - 1;
    uint32_t at = (uint32_t)alm_hash_str(text) & mask;
    while (c->slot[at] != 0 && !alm_str_eq(alm_view_str(&c->dict.views[c->slot[at]], NULL), text))
        at = (at + 1) & mask;
    return &c->slot[at];
}

static uint32_t find(const alm_dict *dict, alm_str text)
{
    return *slot_of(dict->owner, text);
}

/* Room for twice the texts there can be with `more` of them: slots are at most half full. */
static alm_status make_room(alm_ctx *cx, alm_parquet_codes *c, uint32_t more)
{
    const uint32_t have = c->dict.count, want = have + more;
    alm_view *views = NULL;
    uint32_t n = ALM_MAX(c->n_slots, 64U);
    if (2 * want <= c->n_slots)
        return ALM_OK;
    while (n < 2 * want)
        n *= 2;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n / 2, &views));
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &c->slot));
    views[0] = alm_view_null();
    if (have > 1)
        memcpy(views + 1, c->dict.views + 1, (have - 1) * sizeof *views);
    c->dict.views = views;
    c->n_slots = n;
    for (uint32_t i = 1; i < have; i++)
        *slot_of(c, alm_view_str(&views[i], NULL)) = i;
    return ALM_OK;
}

static alm_status take_text(alm_ctx *cx, alm_parquet_codes *c, alm_view *views, alm_str text,
                            uint32_t *code)
{
    uint32_t *slot = slot_of(c, text);
    alm_str kept = {0};
    if (*slot == 0) {
        ALM_TRY(alm_arena_copy(cx, cx->arena, text, &kept));
        views[c->dict.count] = alm_view_of(kept);
        *slot = c->dict.count++;
    }
    *code = *slot;
    return ALM_OK;
}

/* The texts of one row group. *fits = false: they are too many. */
static alm_status take_group(alm_ctx *cx, alm_parquet_codes *c, alm_pq_cursor *cur, uint32_t group,
                             alm_parquet_map *map, bool *fits)
{
    const alm_view *local = NULL;
    uint32_t n = 0, *code = NULL;
    ALM_TRY(alm_pq_dictionary(cx, cur, group, &local, &n));
    *fits = n > 0 && n <= ALM_PARQUET_CODES_MAX;
    if (!*fits)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n, &code));
    ALM_TRY(make_room(cx, c, n));
    alm_view *views = NULL;
    memcpy(&views, &c->dict.views, sizeof views); /* it is not shared yet */
    for (uint32_t i = 1; i < n; i++)
        ALM_TRY(take_text(cx, c, views, alm_view_str(&local[i], NULL), &code[i]));
    *map = (alm_parquet_map){code, n};
    *fits = c->dict.count <= ALM_PARQUET_CODES_MAX;
    return ALM_OK;
}

static alm_status take_file(alm_ctx *cx, alm_parquet_codes *c, const alm_pq_file *file,
                            uint32_t col, alm_parquet_map **map, bool *fits)
{
    alm_pq_cursor *cur = NULL;
    alm_status st = ALM_NEWN(cx, cx->arena, alm_pq_groups(file) + 1, map);
    if (st == ALM_OK)
        st = alm_pq_cursor_new(cx, file, col, &cur);
    for (uint32_t g = 0; st == ALM_OK && *fits && g < alm_pq_groups(file); g++) {
        if (alm_pq_group_rows(file, g) == 0)
            continue;
        st = alm_check(cx);
        if (st == ALM_OK)
            st = take_group(cx, c, cur, g, &(*map)[g], fits);
    }
    alm_pq_cursor_free(cur);
    return st;
}

/* By what the files say, before any of it is read. */
static bool all_coded(const alm_parquet_set *set, uint32_t col)
{
    uint32_t groups = 0;
    for (uint32_t f = 0; f < set->n_files; f++) {
        const alm_pq_file *file = set->file[f].file;
        const int32_t at = set->file[f].col[col];
        groups += alm_pq_groups(file);
        if (at == ALM_PARQUET_FOLDER || groups > ALM_PARQUET_GROUPS_MAX)
            return false;
        for (uint32_t g = 0; at >= 0 && g < alm_pq_groups(file); g++)
            if (alm_pq_group_rows(file, g) > 0 && !alm_pq_is_coded(file, g, (uint32_t)at))
                return false;
    }
    return true;
}

static alm_status make(alm_ctx *cx, const alm_parquet_set *set, uint32_t col,
                       alm_parquet_codes **out)
{
    alm_parquet_codes *c = NULL;
    bool fits = true;
    ALM_TRY(ALM_NEW(cx, cx->arena, &c));
    c->dict = (alm_dict){.count = 1, .id = next_id(), .find = find, .owner = c};
    ALM_TRY(make_room(cx, c, 1));
    ALM_TRY(ALM_NEWN(cx, cx->arena, set->n_files, &c->map));
    for (uint32_t f = 0; fits && f < set->n_files; f++)
        if (set->file[f].col[col] >= 0)
            ALM_TRY(take_file(cx, c, set->file[f].file, (uint32_t)set->file[f].col[col], &c->map[f],
                              &fits));
    c->width = c->dict.count <= 256 ? 1 : 2;
    *out = fits ? c : NULL;
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
        ALM_TRY(make(cx, set, col, &set->codes[col]));
    set->codes_asked[col] = true;
    *out = set->codes[col];
    return ALM_OK;
}

/* --------------------------------------------------------------------------------------------- rows */

alm_status alm_parquet_codes_read(alm_ctx *cx, const alm_parquet_set *set, uint32_t col,
                                  alm_pq_cursor *cur, const alm_parquet_rows *rows,
                                  alm_arena *arena, alm_vec *out)
{
    const uint32_t n = rows->n;
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
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n * sizeof *own + 1, &own));
    ALM_TRY(alm_arena_bytes(cx, arena, (size_t)n * codes->width + 1, &out->data));
    ALM_TRY(alm_pq_read_codes(cx, cur, rows->group, rows->row, n, own, &coded));
    for (uint32_t i = 0; coded && i < n; i++)
        most = ALM_MAX(most, own[i]);
    if (!coded || most >= map->n)
        return alm_fail(
            cx, ALM_E_FORMAT, -1,
            "parquet file '%s', row group %u, column '%s': not all pages are coded by the "
            "dictionary, and the metadata says so",
            alm_pq_name(rows->file->file), rows->group, set->col[col].name);
    if (codes->width == 1)
        for (uint32_t i = 0; i < n; i++)
            ((uint8_t *)out->data)[i] = (uint8_t)map->code[own[i]];
    else
        for (uint32_t i = 0; i < n; i++)
            ((uint16_t *)out->data)[i] = (uint16_t)map->code[own[i]];
    return ALM_OK;
}
