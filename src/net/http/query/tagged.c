/* tagged.c - see tagged.h. */
#include "net/http/query/tagged.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct alm_tagged_list {
    pthread_mutex_t lock;
    alm_tagged *first;
};

alm_status alm_tagged_list_new(alm_ctx *cx, alm_tagged_list **out)
{
    alm_tagged_list *list = calloc(1, sizeof(*list));
    if (list == NULL)
        return alm_fail(cx, ALM_E_MEMORY, -1, "out of memory");
    (void)pthread_mutex_init(&list->lock, NULL);
    *out = list;
    return ALM_OK;
}

void alm_tagged_list_free(alm_tagged_list *list)
{
    if (list == NULL)
        return;
    ALM_ASSERT(list->first == NULL);
    (void)pthread_mutex_destroy(&list->lock);
    free(list);
}

static bool tagged_is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

bool alm_tag_is_good(alm_str tag)
{
    for (size_t i = 0; i < tag.len; i++) {
        const char byte = tag.ptr[i];
        if (!tagged_is_letter(byte) &&
            (i == 0 || !((byte >= '0' && byte <= '9') || byte == '-' || byte == '_')))
            return false;
    }
    return tag.len > 0 && tag.len < sizeof(((alm_tagged *)0)->tag);
}

void alm_tagged_enter(alm_tagged_list *list, alm_tagged *entry, alm_str tag, alm_session *session)
{
    ALM_ASSERT(alm_tag_is_good(tag));
    (void)memcpy(entry->tag, tag.ptr, tag.len);
    entry->tag[tag.len] = 0;
    entry->session = session;
    entry->begin_ns = alm_monotonic_ns();
    entry->list = list;
    (void)pthread_mutex_lock(&list->lock);
    entry->next = list->first;
    if (list->first != NULL)
        list->first->prev = entry;
    list->first = entry;
    (void)pthread_mutex_unlock(&list->lock);
}

void alm_tagged_leave(alm_tagged *entry)
{
    alm_tagged_list *list = entry->list;
    if (list == NULL)
        return;
    (void)pthread_mutex_lock(&list->lock);
    *(entry->prev != NULL ? &entry->prev->next : &list->first) = entry->next;
    if (entry->next != NULL)
        entry->next->prev = entry->prev;
    (void)pthread_mutex_unlock(&list->lock);
    entry->list = NULL;
}

/* Under the lock, which keeps the entry and its session. */
static alm_tagged *tagged_look_up(const alm_tagged_list *list, alm_str tag,
                                  const alm_session *session)
{
    alm_tagged *entry = list->first;
    while (entry != NULL && !(alm_str_eq(alm_str_of(entry->tag), tag) &&
                              alm_session_is_of(entry->session, alm_session_identity(session))))
        entry = entry->next;
    return entry;
}

bool alm_tagged_end(alm_tagged_list *list, alm_str tag, const alm_session *session)
{
    (void)pthread_mutex_lock(&list->lock);
    const alm_tagged *entry = tagged_look_up(list, tag, session);
    if (entry != NULL)
        alm_session_cancel(entry->session, 0);
    (void)pthread_mutex_unlock(&list->lock);
    return entry != NULL;
}

bool alm_tagged_progress(alm_tagged_list *list, alm_str tag, const alm_session *session,
                         int64_t *rows, int64_t *elapsed_ns, uint64_t *statement)
{
    (void)pthread_mutex_lock(&list->lock);
    const alm_tagged *entry = tagged_look_up(list, tag, session);
    if (entry != NULL) {
        *rows = atomic_load(&entry->rows);
        *elapsed_ns = alm_monotonic_ns() - entry->begin_ns;
        *statement = alm_session_statement(entry->session);
    }
    (void)pthread_mutex_unlock(&list->lock);
    return entry != NULL;
}
