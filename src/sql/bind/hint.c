/*
 * hint.c - what to write here instead of what other clients and databases know: \d, USE, HELP; and SHOW.
 *
 * None of these is a keyword: a table may be called so, and is found first. The hints are part of the
 * error that there is no such table.
 */
#include "base/nearest.h"
#include "sql/bind/bind.h"
#include "storage/catalog.h"

static const struct {
    const char *word, *hint;
} hints[] = {
    {"help", "SHOW TABLES lists the tables, SHOW COLUMNS FROM t the columns of t, and "
             "SELECT * FROM functions() what can be called"},
    {"use", "there is one database, and no USE: write the name of the table alone"},
    {"exit", "the client ends the session, there is no statement for it"},
    {"quit", "the client ends the session, there is no statement for it"},
    {"describe", "write DESCRIBE t, or SHOW COLUMNS FROM t"},
};

/* `SHWO tables` is the rows of a table SHWO, which is called tables there. */
static bool means_show(const alm_from *from)
{
    static const char *const words[] = {"tables", "columns",   "parameters", "all",  "users",
                                        "groups", "databases", "partitions", "user", "permissions"};
    alm_nearest near = alm_nearest_of(from->name);
    alm_nearest_offer(&near, ALM_STR("show"));
    for (size_t i = 0; from->pos == 0 && near.found.len > 0 && i < ALM_COUNT(words); i++)
        if (alm_str_ieq(from->alias, alm_str_of(words[i])))
            return true;
    return false;
}

alm_status alm_hint_no_table(alm_planner *planner, const alm_from *from)
{
    if (!from->quoted && means_show(from))
        return alm_fail(planner->cx, ALM_E_SYNTAX, from->pos,
                        "unexpected token [%.*s], did you mean 'SHOW'?", (int)from->name.len,
                        from->name.ptr);
    for (size_t i = 0; i < ALM_COUNT(hints) && !from->quoted; i++)
        if (alm_str_ieq(from->name, alm_str_of(hints[i].word)))
            return alm_fail(planner->cx, ALM_E_TABLE, from->pos,
                            "table does not exist [table=%.*s]: %s", (int)from->name.len,
                            from->name.ptr, hints[i].hint);
    return ALM_OK;
}
