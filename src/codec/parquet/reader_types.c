/*
 * reader_types.c - the tree of the schema as columns, and their types.
 *
 * A leaf without a list around it is a column, named by the path to it. A list of numbers, or of such lists, is
 * one column. What else is in a list or a map is one refused column, named by the outermost field that repeats.
 */
#include <stdlib.h>

#include "codec/json.h"
#include "codec/parquet/reader_state.h"
#include "type/ops.h"

enum { DEPTH_MAX = 64, US_PER_S = 1000000, MS_PER_DAY = 86400000, U64_DIGITS = 20 };

typedef struct walker {
    alm_ctx *cx;
    alm_arena *arena;
    alm_pq_file *file;
    uint32_t at;    /* next element of the schema */
    uint32_t field; /* number below the root */
    const char *refused, *refused_path;
    int32_t refused_col; /* the column that stands for all leaves below a field, -1 */
} walker;

/* What is around a node. */
typedef struct around {
    const char *path;
    uint32_t def, rep, depth;
    uint8_t list_def[ALM_PQ_LISTS_MAX];
    bool in_list_group; /* the node is the child of a LIST */
} around;

/* ----------------------------------------------------------------------------------- types */

static bool reader_types_is_number(const alm_pq_leaf *leaf)
{
    switch (leaf->type.id) {
    case ALM_T_BYTE:
    case ALM_T_SHORT:
    case ALM_T_INT:
    case ALM_T_LONG:
    case ALM_T_FLOAT:
    case ALM_T_DOUBLE:
        return true;
    default:
        return false;
    }
}

static const char *reader_types_set(alm_pq_leaf *leaf, alm_type type, alm_pq_way way,
                                    int64_t factor)
{
    leaf->type = type;
    leaf->way = way;
    leaf->factor = factor;
    leaf->width = type.id == ALM_T_SYMBOL ? (uint32_t)sizeof(alm_view) : alm_type_width(type);
    return NULL;
}

static const char *decimal_of(alm_pq_leaf *leaf, int32_t precision, int32_t scale)
{
    if (precision < 1 || scale < 0 || scale > precision)
        return "a decimal without a good precision and scale";
    if (precision > ALM_DECIMAL_DIGITS_MAX)
        return "decimals of more than 76 digits are not supported";
    if (leaf->physical == ALM_PQ_INT96 || leaf->physical == ALM_PQ_FLOAT ||
        leaf->physical == ALM_PQ_DOUBLE || leaf->physical == ALM_PQ_BOOLEAN)
        return "a decimal in a type that has none";
    return reader_types_set(leaf, alm_type_decimal((uint32_t)precision, (uint32_t)scale),
                            ALM_PQ_WAY_DECIMAL, 0);
}

static const char *reader_types_integer_of(alm_pq_leaf *leaf, uint32_t bits, bool is_signed)
{
    const bool wide = leaf->physical == ALM_PQ_INT64;
    if (!wide && leaf->physical != ALM_PQ_INT32)
        return "an integer in a type that has none";
    if (wide && !is_signed)
        return reader_types_set(leaf, alm_type_decimal(U64_DIGITS, 0), ALM_PQ_WAY_U64, 0);
    if (wide)
        return reader_types_set(leaf, ALM_TY(LONG), ALM_PQ_WAY_COPY, 0);
    if (bits == 8 && is_signed)
        return reader_types_set(leaf, ALM_TY(BYTE), ALM_PQ_WAY_NARROW, 0);
    if ((bits == 16 && is_signed) || (bits == 8 && !is_signed))
        return reader_types_set(leaf, ALM_TY(SHORT), ALM_PQ_WAY_NARROW, 0);
    if (bits == 32 && !is_signed)
        return reader_types_set(leaf, ALM_TY(LONG), ALM_PQ_WAY_WIDEN_U, 0);
    return reader_types_set(leaf, ALM_TY(INT), ALM_PQ_WAY_COPY, 0);
}

static const char *reader_types_time_of(alm_pq_leaf *leaf, uint32_t unit, bool of_day)
{
    static const int64_t ns[] = {0, 1000000, 1000, 1};
    if (unit < ALM_PQ_MILLIS || unit > ALM_PQ_NANOS)
        return "a time in a unit that is not known";
    if (of_day) {
        if (leaf->physical != ALM_PQ_INT32 && leaf->physical != ALM_PQ_INT64)
            return "a time of day in a type that has none";
        return reader_types_set(leaf, ALM_TY(VARCHAR), ALM_PQ_WAY_CLOCK, ns[unit]);
    }
    if (leaf->physical != ALM_PQ_INT64)
        return "a timestamp in a type that has none";
    if (unit == ALM_PQ_MILLIS)
        return reader_types_set(leaf, ALM_TY(TIMESTAMP), ALM_PQ_WAY_TIMES, US_PER_S / 1000);
    return reader_types_set(leaf, unit == ALM_PQ_NANOS ? ALM_TY(TIMESTAMP_NS) : ALM_TY(TIMESTAMP),
                            ALM_PQ_WAY_COPY, 0);
}

static const char *reader_types_bytes_of(alm_pq_leaf *leaf, alm_type type)
{
    if (leaf->physical == ALM_PQ_FIXED)
        return reader_types_set(leaf, type, ALM_PQ_WAY_BYTES, 0);
    if (leaf->physical != ALM_PQ_BYTE_ARRAY)
        return "a text in a type that has none";
    return reader_types_set(leaf, type, ALM_PQ_WAY_COPY, 0);
}

static const char *fixed_of(alm_pq_leaf *leaf, uint32_t bytes, alm_type type, alm_pq_way way)
{
    if (leaf->physical != ALM_PQ_FIXED || leaf->length != bytes)
        return "a type of another size than its values";
    return reader_types_set(leaf, type, way, 0);
}

static const char *by_physical(alm_pq_leaf *leaf)
{
    switch (leaf->physical) {
    case ALM_PQ_BOOLEAN:
        return reader_types_set(leaf, ALM_TY(BOOLEAN), ALM_PQ_WAY_COPY, 0);
    case ALM_PQ_INT32:
        return reader_types_set(leaf, ALM_TY(INT), ALM_PQ_WAY_COPY, 0);
    case ALM_PQ_INT64:
        return reader_types_set(leaf, ALM_TY(LONG), ALM_PQ_WAY_COPY, 0);
    case ALM_PQ_INT96:
        return reader_types_set(leaf, ALM_TY(TIMESTAMP), ALM_PQ_WAY_INT96, 0);
    case ALM_PQ_FLOAT:
        return reader_types_set(leaf, ALM_TY(FLOAT), ALM_PQ_WAY_COPY, 0);
    case ALM_PQ_DOUBLE:
        return reader_types_set(leaf, ALM_TY(DOUBLE), ALM_PQ_WAY_COPY, 0);
    case ALM_PQ_BYTE_ARRAY:
    case ALM_PQ_FIXED:
    case ALM_PQ_PHYSICAL_COUNT:
    default:
        return reader_types_bytes_of(leaf, ALM_TY(BINARY));
    }
}

static const char *by_logical(alm_pq_leaf *leaf, const alm_pq_schema_element *element)
{
    switch ((alm_pq_logical)element->logical) {
    case ALM_PQ_L_STRING:
    case ALM_PQ_L_ENUM:
    case ALM_PQ_L_JSON:
        return reader_types_bytes_of(leaf, ALM_TY(VARCHAR));
    case ALM_PQ_L_BSON:
    case ALM_PQ_L_GEOMETRY:
    case ALM_PQ_L_GEOGRAPHY:
        return reader_types_bytes_of(leaf, ALM_TY(BINARY));
    case ALM_PQ_L_DECIMAL:
        return decimal_of(leaf, element->precision, element->scale);
    case ALM_PQ_L_DATE:
        if (leaf->physical != ALM_PQ_INT32)
            return "a date in a type that has none";
        return reader_types_set(leaf, ALM_TY(DATE), ALM_PQ_WAY_TIMES, MS_PER_DAY);
    case ALM_PQ_L_TIME:
        return reader_types_time_of(leaf, element->unit, true);
    case ALM_PQ_L_TIMESTAMP:
        return reader_types_time_of(leaf, element->unit, false);
    case ALM_PQ_L_INTEGER:
        return reader_types_integer_of(leaf, element->bits, element->is_signed);
    case ALM_PQ_L_UNKNOWN:
        return reader_types_set(leaf, ALM_TY(VARCHAR), ALM_PQ_WAY_NULL, 0);
    case ALM_PQ_L_UUID:
        return fixed_of(leaf, 16, ALM_TY(UUID), ALM_PQ_WAY_UUID);
    case ALM_PQ_L_FLOAT16:
        return fixed_of(leaf, 2, ALM_TY(FLOAT), ALM_PQ_WAY_FLOAT16);
    case ALM_PQ_L_NONE:
    case ALM_PQ_L_MAP:
    case ALM_PQ_L_LIST:
    case ALM_PQ_L_VARIANT:
    case ALM_PQ_L_COUNT:
    default: /* what a later version of the format added: its bytes are as they are */
        return by_physical(leaf);
    }
}

static const char *by_converted(alm_pq_leaf *leaf, const alm_pq_schema_element *element)
{
    switch ((alm_pq_converted)element->converted) {
    case ALM_PQ_C_UTF8:
    case ALM_PQ_C_ENUM:
    case ALM_PQ_C_JSON:
        return reader_types_bytes_of(leaf, ALM_TY(VARCHAR));
    case ALM_PQ_C_BSON:
        return reader_types_bytes_of(leaf, ALM_TY(BINARY));
    case ALM_PQ_C_DECIMAL:
        return decimal_of(leaf, element->precision, element->scale < 0 ? 0 : element->scale);
    case ALM_PQ_C_DATE:
        if (leaf->physical != ALM_PQ_INT32)
            return "a date in a type that has none";
        return reader_types_set(leaf, ALM_TY(DATE), ALM_PQ_WAY_TIMES, MS_PER_DAY);
    case ALM_PQ_C_TIME_MILLIS:
        return reader_types_time_of(leaf, ALM_PQ_MILLIS, true);
    case ALM_PQ_C_TIME_MICROS:
        return reader_types_time_of(leaf, ALM_PQ_MICROS, true);
    case ALM_PQ_C_TIMESTAMP_MILLIS:
        return reader_types_time_of(leaf, ALM_PQ_MILLIS, false);
    case ALM_PQ_C_TIMESTAMP_MICROS:
        return reader_types_time_of(leaf, ALM_PQ_MICROS, false);
    case ALM_PQ_C_UINT_8:
    case ALM_PQ_C_UINT_16:
    case ALM_PQ_C_UINT_32:
    case ALM_PQ_C_UINT_64:
        return reader_types_integer_of(leaf, 8U << (element->converted - ALM_PQ_C_UINT_8), false);
    case ALM_PQ_C_INT_8:
    case ALM_PQ_C_INT_16:
    case ALM_PQ_C_INT_32:
    case ALM_PQ_C_INT_64:
        return reader_types_integer_of(leaf, 8U << (element->converted - ALM_PQ_C_INT_8), true);
    case ALM_PQ_C_INTERVAL:
        return fixed_of(leaf, 12, ALM_TY(VARCHAR), ALM_PQ_WAY_DURATION);
    case ALM_PQ_C_NONE:
    case ALM_PQ_C_MAP:
    case ALM_PQ_C_MAP_KEY_VALUE:
    case ALM_PQ_C_LIST:
    case ALM_PQ_C_COUNT:
    default:
        return by_physical(leaf);
    }
}

static const char *leaf_type(alm_pq_leaf *leaf, const alm_pq_schema_element *element)
{
    if (element->physical < 0 || element->physical >= ALM_PQ_PHYSICAL_COUNT)
        return "a physical type that is not known";
    if (leaf->physical == ALM_PQ_FIXED &&
        (element->length < 0 || element->length > ALM_PQ_PAGE_MAX))
        return "values of no good size";
    return element->logical != ALM_PQ_L_NONE ? by_logical(leaf, element)
                                             : by_converted(leaf, element);
}

/*
 * The type that Almanac gave a field when it wrote it, where the leaf can hold it (write_shape.h). False: it
 * cannot.
 */
static bool take_written_type(alm_pq_leaf *leaf, alm_type type)
{
    const alm_type_info *info = alm_type_info_of(type);
    const alm_parquet_form text = info->ops->parquet(type, false),
                           raw = info->ops->parquet(type, true);
    if (text.by_field)
        return alm_type_eq(leaf->type, type);
    const alm_parquet_form *parquet_form = leaf->physical == raw.physical ? &raw : &text;
    const bool time =
        parquet_form->logical == ALM_PQ_L_TIMESTAMP || parquet_form->logical == ALM_PQ_L_TIME;
    if (leaf->physical != parquet_form->physical || parquet_form->dims > 0 ||
        (parquet_form->physical == ALM_PQ_FIXED && leaf->length != parquet_form->width) ||
        (time && (leaf->element->logical != parquet_form->logical ||
                  leaf->element->unit != parquet_form->unit)))
        return false;
    const bool of_text = info->form == ALM_FORM_U16 && parquet_form->physical == ALM_PQ_BYTE_ARRAY;
    const bool narrow = parquet_form->physical == ALM_PQ_INT32 && info->width < sizeof(int32_t);
    (void)reader_types_set(leaf, type,
                           of_text  ? ALM_PQ_WAY_CHAR
                           : narrow ? ALM_PQ_WAY_NARROW
                                    : ALM_PQ_WAY_COPY,
                           0);
    return true;
}

/* ------------------------------------------------------------------------------------ tree */

static alm_status join_path(walker *self, const char *path, alm_str name, const char **out)
{
    const int n = (int)ALM_MIN(name.len, (size_t)1000);
    return alm_arena_printf(self->cx, self->arena, out, path[0] != 0 ? "%s.%.*s" : "%s%.*s", path,
                            n, name.ptr != NULL ? name.ptr : "");
}

static bool reader_types_same_name(const alm_pq_file *file, const char *name)
{
    for (uint32_t i = 0; i < file->n_columns; i++)
        if (alm_str_ieq(alm_str_of(file->column[i].name), alm_str_of(name)))
            return true;
    return false;
}

/* Names are unique without case: the second `a` is `a1`. */
static alm_status reader_types_add_column(walker *self, const char *name, alm_type type,
                                          const char *refused, uint32_t leaf)
{
    alm_pq_file *file = self->file;
    const char *unique = name[0] != 0 ? name : "column";
    if (file->n_columns == ALM_PQ_COLUMNS_MAX)
        return alm_pq_fail(self->cx, file, -1, NULL, "it has more than %d columns",
                           ALM_PQ_COLUMNS_MAX);
    const bool few = file->n_columns < 4096; /* a search of all, for each */
    for (uint32_t k = 1; few && reader_types_same_name(file, unique); k++)
        ALM_TRY(alm_arena_printf(self->cx, self->arena, &unique, "%s%u", name, k));
    file->column[file->n_columns++] = (alm_pq_read_col){
        .name = unique, .type = type, .refused = refused, .leaf = leaf, .field = self->field};
    return ALM_OK;
}

static alm_status add_leaf(walker *self, const alm_pq_schema_element *element, const around *a)
{
    alm_pq_file *file = self->file;
    const uint32_t number = file->n_leaves++;
    alm_pq_leaf *leaf = &file->leaf[number];
    *leaf = (alm_pq_leaf){.element = element,
                          .path = a->path,
                          .physical = (alm_pq_physical)element->physical,
                          .length = element->length > 0 ? (uint32_t)element->length : 0,
                          .max_def = a->def,
                          .max_rep = a->rep};
    memcpy(leaf->list_def, a->list_def, sizeof leaf->list_def);
    const char *bad = leaf_type(leaf, element);
    if (bad != NULL)
        (void)reader_types_set(leaf, ALM_TY(VARCHAR), ALM_PQ_WAY_NULL, 0);
    if (self->refused != NULL) { /* one column for all that is below the field */
        if (self->refused_col < 0) {
            self->refused_col = (int32_t)file->n_columns;
            return reader_types_add_column(self, self->refused_path, ALM_TY(VARCHAR), self->refused,
                                           number);
        }
        return ALM_OK;
    }
    if (bad == NULL && a->rep > 0 && !reader_types_is_number(leaf))
        bad = "lists of anything but numbers are not supported";
    if (bad != NULL)
        return reader_types_add_column(self, a->path, ALM_TY(VARCHAR), bad, number);
    return reader_types_add_column(self, a->path, a->rep > 0 ? alm_type_array(a->rep) : leaf->type,
                                   NULL, number);
}

static bool reader_types_is_list(const alm_pq_schema_element *element)
{
    return element->logical == ALM_PQ_L_LIST ||
           (element->logical == ALM_PQ_L_NONE && element->converted == ALM_PQ_C_LIST);
}

static bool is_map(const alm_pq_schema_element *element)
{
    return element->logical == ALM_PQ_L_MAP ||
           (element->logical == ALM_PQ_L_NONE &&
            (element->converted == ALM_PQ_C_MAP || element->converted == ALM_PQ_C_MAP_KEY_VALUE));
}

/*
 * Is the repeated child of a LIST only the list, and its child the element? Not where it has several children, or
 * is named as the elements of older writers were (the rules for backward compatibility of LogicalTypes.md).
 */
static bool is_list_middle(const alm_pq_schema_element *element, const char *list)
{
    const alm_str name = element->name;
    const size_t len = strlen(list);
    return element->n_children == 1 && !alm_str_eq(name, ALM_STR("array")) &&
           !(name.len == len + 6 && memcmp(name.ptr, list, len) == 0 &&
             memcmp(name.ptr + len, "_tuple", 6) == 0);
}

static alm_status reader_types_walk(walker *self, const around *up);

static alm_status walk_children(walker *self, const alm_pq_schema_element *element, const around *a)
{
    for (int32_t i = 0; i < element->n_children; i++)
        ALM_TRY(reader_types_walk(self, a));
    return ALM_OK;
}

static alm_status enter_levels(walker *self, const alm_pq_schema_element *element, around *a)
{
    if (element->repetition < ALM_PQ_REQUIRED || element->repetition > ALM_PQ_REPEATED)
        return alm_pq_fail(self->cx, self->file, -1, a->path,
                           "the schema does not say whether it may be "
                           "null");
    a->def += element->repetition != ALM_PQ_REQUIRED;
    if (element->repetition == ALM_PQ_REPEATED) {
        if (a->rep < ALM_PQ_LISTS_MAX)
            a->list_def[a->rep] = (uint8_t)a->def;
        a->rep++;
    }
    if (a->def > ALM_PQ_LEVEL_MAX || a->rep > ALM_PQ_LISTS_MAX || a->depth > DEPTH_MAX)
        return alm_pq_fail(self->cx, self->file, -1, a->path, "the schema is nested too deeply");
    return ALM_OK;
}

/* Depth is bounded by enter_levels. */
static alm_status reader_types_walk(walker *self, const around *up)
{
    alm_pq_file *file = self->file;
    if (self->at == file->meta.n_schema)
        return alm_pq_fail(self->cx, file, -1, NULL, "the schema ends too early");
    const alm_pq_schema_element *element = &file->meta.schema[self->at++];
    const char *const list_name =
        up->path + (strrchr(up->path, '.') != NULL ? strrchr(up->path, '.') + 1 - up->path : 0);
    const bool middle = up->in_list_group && element->repetition == ALM_PQ_REPEATED &&
                        element->physical < 0 && is_list_middle(element, list_name);
    const bool repeated = up->in_list_group && element->repetition == ALM_PQ_REPEATED;
    const char *const outer_refused = self->refused;
    around a = *up;
    a.depth++;
    a.in_list_group = false;
    /* Names inside of a list are those of the format, not of the user: the column is named by the list. */
    if (up->rep == 0 && !repeated)
        ALM_TRY(join_path(self, up->path, element->name, &a.path));
    ALM_TRY(enter_levels(self, element, &a));
    if (element->physical >= 0)
        return add_leaf(self, element, &a);
    if (element->n_children <= 0)
        return ALM_OK; /* a struct without fields */
    if (self->refused == NULL && is_map(element))
        self->refused = "maps are not supported";
    else if (self->refused == NULL && reader_types_is_list(element) && element->n_children == 1)
        a.in_list_group = true;
    else if (self->refused == NULL && a.rep > 0 && !middle)
        self->refused = "lists of structs are not supported";
    if (outer_refused == NULL && self->refused != NULL)
        self->refused_path = a.path;
    ALM_TRY(walk_children(self, element, &a));
    if (outer_refused == NULL) {
        self->refused = NULL;
        self->refused_col = -1;
    }
    return ALM_OK;
}

/* -------------------------------------------------------------------------- written types */

static void take_column_type(alm_pq_file *file, uint32_t field, alm_str text)
{
    alm_type type = ALM_TY(NONE);
    for (uint32_t i = 0; i < file->n_columns; i++) {
        alm_pq_read_col *read_col = &file->column[i];
        alm_pq_leaf *leaf = &file->leaf[read_col->leaf];
        if (read_col->field != field || read_col->refused != NULL || leaf->max_rep > 0 ||
            leaf->element->name.len == 0)
            continue;
        if (!alm_type_parse(text, &type) || !alm_type_is_valid(type))
            return;
        if (take_written_type(leaf, type))
            read_col->type = type;
    }
}

static alm_status take_written_types(alm_ctx *cx, alm_pq_file *file, alm_str text)
{
    alm_ctx own; /* the file may say anything here: an error is no types */
    alm_json *doc = NULL;
    alm_ctx_fork(cx, &own);
    if (alm_json_parse(&own, text, &doc) != ALM_OK)
        return ALM_OK;
    const alm_json *columns = alm_json_get(doc, "columns");
    for (size_t i = 0; i < alm_json_count(columns) && i < ALM_PQ_COLUMNS_MAX; i++)
        take_column_type(file, (uint32_t)i, alm_json_text(alm_json_at(columns, i)));
    const int64_t ts = alm_json_int(alm_json_get(doc, "timestamp"), -1);
    for (uint32_t i = 0; i < file->n_columns && ts >= 0; i++)
        if (file->column[i].field == ts && file->column[i].refused == NULL &&
            alm_type_is_timestamp(file->column[i].type)) {
            file->ts_col = (int32_t)i;
            break;
        }
    alm_json_free(doc);
    return ALM_OK;
}

alm_status alm_pq_map_schema(alm_ctx *cx, alm_arena *arena, alm_pq_file *file)
{
    const alm_pq_file_meta *meta = &file->meta;
    walker self = {.cx = cx, .arena = arena, .file = file, .at = 1, .refused_col = -1};
    if (meta->n_schema == 0 || meta->schema[0].physical >= 0)
        return alm_pq_fail(cx, file, -1, NULL, "the schema has no root");
    ALM_TRY(ALM_NEWN(cx, arena, meta->n_schema, &file->leaf));
    ALM_TRY(ALM_NEWN(cx, arena, meta->n_schema, &file->column));
    for (int32_t i = 0; i < meta->schema[0].n_children; i++) {
        const around root = {.path = ""};
        self.field = (uint32_t)i;
        ALM_TRY(reader_types_walk(&self, &root));
    }
    if (self.at != meta->n_schema)
        return alm_pq_fail(cx, file, -1, NULL, "the schema has fields beyond its root");
    for (uint32_t i = 0; i < meta->n_key_value; i++)
        if (alm_str_eq(meta->key_value[i].key, ALM_STR(ALM_PQ_KEY)) &&
            meta->key_value[i].value.ptr != NULL)
            ALM_TRY(take_written_types(cx, file, meta->key_value[i].value));
    return ALM_OK;
}
