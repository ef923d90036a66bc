/*
 * oidc_record.c - notes about log-outs (oidc_state.h): the newest log-out of each user and session, and ids of logout tokens.
 *
 * Room        A note is kept for its time at least, and longer while there is room. Where all places are taken, who has most gives: of log-outs
 *             his oldest session, for which all that he began before it is over then. Where everybody has one, there is no room.
 */
#include <stdlib.h>

#include "auth/oidc_state.h"

static alm_str oidc_record_text_of(const uint8_t key[ALM_OIDC_HASH])
{
    return (alm_str){(const char *)key, ALM_OIDC_HASH};
}

bool alm_oidc_notes_init(alm_oidc_notes *notes, size_t limit, bool of_log_outs)
{
    *notes = (alm_oidc_notes){.of_log_outs = of_log_outs};
    alm_map_init(&notes->map, false);
    return alm_share_init(&notes->share, limit);
}

static void unlink_note(alm_oidc_notes *notes, alm_oidc_note *note)
{
    if (note->newer != NULL)
        note->newer->older = note->older;
    else
        notes->newest = note->older;
    if (note->older != NULL)
        note->older->newer = note->newer;
    else
        notes->oldest = note->newer;
}

static void link_note(alm_oidc_notes *notes, alm_oidc_note *note, int64_t now_ns)
{
    ALM_ASSERT(notes->newest == NULL || notes->newest->kept_ns <= now_ns);
    note->kept_ns = now_ns;
    note->newer = NULL;
    note->older = notes->newest;
    if (notes->newest != NULL)
        notes->newest->newer = note;
    else
        notes->oldest = note;
    notes->newest = note;
}

static void remove_note(alm_oidc_notes *notes, alm_oidc_note *note)
{
    ALM_ASSERT(alm_map_get(&notes->map, oidc_record_text_of(note->key)) == note);
    (void)alm_map_remove(&notes->map, oidc_record_text_of(note->key));
    alm_share_remove(&notes->share, &note->node);
    unlink_note(notes, note);
    free(note);
}

void alm_oidc_notes_deinit(alm_oidc_notes *notes)
{
    while (notes->oldest != NULL)
        remove_note(notes, notes->oldest);
    alm_map_deinit(&notes->map);
    alm_share_deinit(&notes->share);
}

alm_oidc_note *alm_oidc_notes_find(const alm_oidc_notes *notes, const uint8_t key[ALM_OIDC_HASH])
{
    return alm_map_get(&notes->map, oidc_record_text_of(key));
}

void alm_oidc_notes_touch(alm_oidc_notes *notes, alm_oidc_note *note)
{
    alm_share_used(&notes->share, &note->node);
}

/* ----------------------------------------------------------------------------- room */

void alm_oidc_moment_join(alm_oidc_moment *to, alm_oidc_moment more)
{
    to->at_s = ALM_MAX(to->at_s, more.at_s);
    to->at_ns = ALM_MAX(to->at_ns, more.at_ns);
}

/* Of who has most, the session that ended first: what he began before its log-out is over from here on, in other sessions, too. */
static bool oidc_record_fold(alm_oidc_notes *notes)
{
    alm_oidc_note *session = (alm_oidc_note *)(void *)alm_share_victim(&notes->share);
    alm_oidc_note *user = alm_oidc_notes_find(notes, alm_share_key(&session->node));
    if (user == NULL || user == session)
        return false;
    alm_oidc_moment_join(&user->all, session->all);
    remove_note(notes, session);
    return true;
}

static bool oidc_record_make_room(alm_oidc_notes *notes, int64_t keep_ns, int64_t now_ns)
{
    if (notes->share.n < notes->share.limit)
        return true;
    if (now_ns - notes->oldest->kept_ns > keep_ns) {
        remove_note(notes, notes->oldest);
        return true;
    }
    if (notes->share.most < 2)
        return false;
    if (notes->of_log_outs)
        return oidc_record_fold(notes);
    remove_note(notes, (alm_oidc_note *)(void *)alm_share_victim(&notes->share));
    return true;
}

alm_oidc_note *alm_oidc_notes_put(alm_oidc_notes *notes, const uint8_t key[ALM_OIDC_HASH],
                                  const uint8_t owner[ALM_OIDC_HASH], int64_t keep_ns,
                                  int64_t now_ns)
{
    alm_ctx cx = {0};
    alm_oidc_note *note = alm_oidc_notes_find(notes, key);
    if (note != NULL) {
        alm_share_used(&notes->share, &note->node);
        unlink_note(notes, note);
        link_note(notes, note, now_ns);
        return note;
    }
    note = oidc_record_make_room(notes, keep_ns, now_ns) ? calloc(1, sizeof *note) : NULL;
    if (note == NULL)
        return NULL;
    memcpy(note->key, key, ALM_OIDC_HASH);
    if (alm_map_put(&cx, &notes->map, oidc_record_text_of(note->key), note, NULL) != ALM_OK) {
        free(note);
        return NULL;
    }
    alm_share_add(&notes->share, &note->node, owner);
    link_note(notes, note, now_ns);
    return note;
}
