/* file_kind.c - see file_kind.h. Magic numbers as the formats define them. */
#include "codec/file_kind.h"

#include "base/utf8.h"
#include "codec/json_scan.h"

typedef struct magic {
    uint32_t at;
    alm_str bytes;
    alm_file_kind kind;
    const char *name;
} magic;

#define BYTES(text) {text, sizeof(text) - 1}

static const magic MAGICS[] = {
    {0, BYTES("PAR1"), ALM_FILE_PARQUET, NULL},
    {0, BYTES("PARE"), ALM_FILE_PARQUET, NULL},
    {0, BYTES("\x1f\x8b\x08"), ALM_FILE_GZIP, NULL},
    {0, BYTES("\x28\xb5\x2f\xfd"), ALM_FILE_ZSTD, NULL},
    {0, BYTES("\xfd\x37zXZ\x00"), ALM_FILE_FOREIGN, "an xz file"},
    {0, BYTES("\x04\x22\x4d\x18"), ALM_FILE_FOREIGN, "an LZ4 file"},
    {0, BYTES("\xff\x06\x00\x00sNaPpY"), ALM_FILE_FOREIGN, "a Snappy file"},
    {0, BYTES("7z\xbc\xaf\x27\x1c"), ALM_FILE_FOREIGN, "a 7z archive"},
    {0, BYTES("Rar!\x1a\x07"), ALM_FILE_FOREIGN, "a RAR archive"},
    {257, BYTES("ustar"), ALM_FILE_FOREIGN, "a tar archive"},
    {0, BYTES("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), ALM_FILE_FOREIGN, "an old Office file (xls)"},
    {0, BYTES("%PDF-"), ALM_FILE_FOREIGN, "a PDF document"},
    {0, BYTES("\x89PNG\r\n\x1a\n"), ALM_FILE_FOREIGN, "a PNG picture"},
    {0, BYTES("\xff\xd8\xff"), ALM_FILE_FOREIGN, "a JPEG picture"},
    {0, BYTES("GIF87a"), ALM_FILE_FOREIGN, "a GIF picture"},
    {0, BYTES("GIF89a"), ALM_FILE_FOREIGN, "a GIF picture"},
    {0, BYTES("II*\x00"), ALM_FILE_FOREIGN, "a TIFF picture"},
    {0, BYTES("MM\x00*"), ALM_FILE_FOREIGN, "a TIFF picture"},
    {0, BYTES("Obj\x01"), ALM_FILE_FOREIGN, "an Avro file"},
    {0, BYTES("ARROW1\x00\x00"), ALM_FILE_FOREIGN, "an Arrow file"},
    {0, BYTES("SQLite format 3\x00"), ALM_FILE_FOREIGN, "an SQLite database"},
    {0, BYTES("\x89HDF\r\n\x1a\n"), ALM_FILE_FOREIGN, "an HDF5 file"},
    {0, BYTES("CDF\x01"), ALM_FILE_FOREIGN, "a NetCDF file"},
    {0, BYTES("CDF\x02"), ALM_FILE_FOREIGN, "a NetCDF file"},
    {0, BYTES("CDF\x05"), ALM_FILE_FOREIGN, "a NetCDF file"},
    {0, BYTES("\x93NUMPY"), ALM_FILE_FOREIGN, "a NumPy array"},
    {0,
     BYTES("\x7f"
           "ELF"),
     ALM_FILE_FOREIGN, "a program"},
};

static bool file_kind_has_at(alm_str head, size_t offset, alm_str bytes)
{
    return head.len >= offset + bytes.len && memcmp(head.ptr + offset, bytes.ptr, bytes.len) == 0;
}

static bool file_kind_holds(alm_str head, alm_str bytes)
{
    return memmem(head.ptr, head.len, bytes.ptr, bytes.len) != NULL;
}

/* Office files are zip archives. */
static const char *zip_name(alm_str head)
{
    if (file_kind_holds(head, ALM_STR("opendocument.spreadsheet")))
        return "an OpenDocument spreadsheet";
    if (file_kind_holds(head, ALM_STR("word/")))
        return "a Word document (docx)";
    if (file_kind_holds(head, ALM_STR("xl/")) ||
        file_kind_holds(head, ALM_STR("[Content_Types].xml")))
        return "an Excel workbook (xlsx)";
    return "a zip archive";
}

/* Magic numbers of letters alone, with what must follow so that no header of a CSV file is one. */
static const char *lettered(alm_str head)
{
    if (file_kind_has_at(head, 0, ALM_STR("PK\x03\x04")) ||
        file_kind_has_at(head, 0, ALM_STR("PK\x05\x06")))
        return zip_name(head);
    if (file_kind_has_at(head, 0, ALM_STR("BZh")) && file_kind_has_at(head, 4, ALM_STR("1AY&SY")))
        return "a bzip2 file";
    if (file_kind_has_at(head, 0, ALM_STR("ORC")) && head.len > 3 &&
        ((unsigned char)head.ptr[3] < ' ' || (unsigned char)head.ptr[3] >= 0x80))
        return "an ORC file";
    return NULL;
}

/* Bytes that are neither UTF-8 nor of a code page, which has no control characters. */
static bool is_binary(alm_str head)
{
    const size_t bad = alm_utf8_bad_at(head);
    if (head.len - bad < 4) /* a character that the end cuts */
        return false;
    for (size_t i = 0; i < head.len; i++) {
        const unsigned char byte = (unsigned char)head.ptr[i];
        if (byte < ' ' && strchr("\t\n\v\f\r\x1b", byte) == NULL)
            return true;
        if (byte == 0)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------------- texts */

static size_t past_blanks(alm_str text, size_t offset)
{
    while (offset < text.len && memchr(" \t\r\n", text.ptr[offset], 4) != NULL)
        offset++;
    return offset;
}

static bool file_kind_begins(alm_str text, size_t offset, const char *word)
{
    const size_t len = strlen(word);
    return text.len - offset >= len &&
           alm_str_ieq((alm_str){text.ptr + offset, len}, (alm_str){word, len});
}

static bool file_kind_is_object(alm_str line)
{
    alm_ctx probe = {0};
    alm_json_value value;
    return alm_json_check(&probe, line, &value) == ALM_OK && value.kind == ALM_JSON_OBJECT;
}

static alm_file_kind json_kind(alm_str text, size_t offset, bool whole, const char **name)
{
    const char *const line_end = memchr(text.ptr + offset, '\n', text.len - offset);
    const size_t end = line_end != NULL ? (size_t)(line_end - text.ptr) : text.len;
    const size_t next = past_blanks(text, offset + 1);
    const char byte = next < text.len ? text.ptr[next] : 0;
    const bool object = text.ptr[offset] == '{';
    if (byte == 0 && !whole)
        return ALM_FILE_MORE;
    if (byte == 0 || (object ? strchr("\"}", byte) : strchr("{[\"", byte)) == NULL)
        return ALM_FILE_TEXT;
    if (object && line_end == NULL && !whole)
        return ALM_FILE_MORE;
    if (object && file_kind_is_object((alm_str){text.ptr + offset, end - offset}))
        return ALM_FILE_NDJSON;
    *name = object ? "a JSON document" : "a JSON list";
    return ALM_FILE_FOREIGN;
}

static alm_file_kind text_kind(alm_str head, bool whole, const char **name)
{
    const size_t mark = alm_utf8_is_marked(head) ? ALM_UTF8_MARK_BYTES : 0;
    const size_t offset = past_blanks(head, mark);
    if (offset == head.len)
        return ALM_FILE_TEXT;
    if (head.ptr[offset] == '{' || head.ptr[offset] == '[')
        return json_kind(head, offset, whole, name);
    *name = file_kind_begins(head, offset, "<?xml") ? "an XML document"
            : file_kind_begins(head, offset, "<!doctype html") ||
                    file_kind_begins(head, offset, "<html")
                ? "an HTML page"
                : NULL;
    return *name != NULL ? ALM_FILE_FOREIGN : ALM_FILE_TEXT;
}

alm_file_kind alm_file_kind_of(alm_str head, bool whole, bool texts, const char **name)
{
    *name = NULL;
    if (head.len == 0)
        return ALM_FILE_TEXT;
    for (size_t i = 0; i < ALM_COUNT(MAGICS); i++)
        if (file_kind_has_at(head, MAGICS[i].at, MAGICS[i].bytes)) {
            *name = MAGICS[i].name;
            return MAGICS[i].kind;
        }
    *name = lettered(head);
    if (*name == NULL && !file_kind_has_at(head, 0, ALM_STR("\xff\xfe")) &&
        !file_kind_has_at(head, 0, ALM_STR("\xfe\xff")) && is_binary(head))
        *name = "no text";
    if (*name != NULL)
        return ALM_FILE_FOREIGN;
    return texts ? text_kind(head, whole, name) : ALM_FILE_TEXT;
}
