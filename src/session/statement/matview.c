/*
 * matview.c - REFRESH MATERIALIZED VIEW: the query of a view over the rows of whole buckets that were
 * touched, put in the place of the rows it had there.
 *
 * What        A view is its query over its base table as of the LSN it names (storage.h). Touched times
 *             behind that LSN, widened to buckets of SAMPLE BY, are computed again; everything, where
 *             the query does not follow its base bucket by bucket (alm_view_shape).
 * TTL         Rows of the base that have expired are read where their bucket is not over (alm_table.visible_from).
 *             Buckets that are over stay as they are, whatever is computed again: history outlives the rows.
 * Period      Rows of the base from period_hi on wait for their period to end.
 * Locks       The maintenance lock of the view, from before the snapshot to behind the commit: what is
 *             written was read after the state it goes on from.
 * Errors      Of the query make the view invalid, with the message as the reason; others (no memory, no
 *             room, cancelled) leave it as it was.
 */
#include "session/statement/matview.h"
#include "session/access/access.h"

#include "session/statement/statement.h"
#include "time/bucket.h"

enum { UNITS_PER_US_NS = 1000 };

static bool is_ns(const alm_table *table)
{
    return table->ts_col >= 0 && table->cols[table->ts_col].type.id == ALM_T_TIMESTAMP_NS;
}

static alm_time_unit matview_unit_of(const alm_table *table)
{
    return is_ns(table) ? ALM_TIME_NS : ALM_TIME_US;
}

/* ---------------------------------------------------------------- time */

static alm_status bucketer_of(alm_ctx *cx, alm_every every, const char *zone, int64_t origin,
                              alm_time_unit unit, alm_bucketer *out)
{
    alm_bucket_spec spec = {.unit = every.unit,
                            .count = every.count,
                            .time_unit = unit,
                            .has_origin = origin != ALM_TS_NULL,
                            .origin = origin};
    if (zone != NULL && zone[0] != 0)
        ALM_TRY(alm_zone_find(cx, alm_str_of(zone), -1, &spec.zone));
    return alm_bucketer_init(cx, -1, &spec, out);
}

alm_status alm_matview_timer(alm_ctx *cx, const alm_view_def *def, int64_t now_us, int64_t *last,
                             int64_t *next)
{
    alm_bucketer bucketer;
    ALM_TRY(bucketer_of(cx, def->every, def->zone, def->start_us, ALM_TIME_US, &bucketer));
    *last = alm_bucket_start(&bucketer, now_us);
    *next = alm_bucket_next(&bucketer, now_us);
    if (def->start_us != ALM_TS_NULL && now_us < def->start_us) {
        *last = INT64_MIN;
        *next = def->start_us;
    }
    return ALM_OK;
}

/* `micros` less a length of time; as far back as times go where that is further */
static int64_t minus(int64_t micros, alm_every every)
{
    if (every.count == 0)
        return micros;
    const int64_t time = alm_time_add(micros, ALM_TIME_US, every.unit, -(int64_t)every.count);
    return time == ALM_TS_NULL ? INT64_MIN / 2000 : time;
}

alm_status alm_matview_period_hi(alm_ctx *cx, const alm_view_def *def, const alm_table *base,
                                 int64_t now_us, int64_t *out)
{
    alm_bucketer bucketer;
    *out = INT64_MAX;
    if (def->period.count == 0)
        return ALM_OK;
    ALM_TRY(bucketer_of(cx, def->period, def->zone, ALM_TS_NULL, ALM_TIME_US, &bucketer));
    const int64_t micros = alm_bucket_start(&bucketer, minus(now_us, def->delay));
    *out = is_ns(base) ? micros * UNITS_PER_US_NS : micros;
    return ALM_OK;
}

/* ------------------------------------------------------------- what to compute */

typedef struct work {
    alm_cursor *c;
    const alm_stmt *stmt;
    alm_refresh *r;
    const alm_table *view, *base;
    const alm_sample_spec *sample;
    bool incremental; /* the query follows its base bucket by bucket */
    int64_t open;     /* buckets before this time have lost rows for ever; INT64_MIN: none has */
    alm_bucketer buckets;
    alm_view_def state;
    bool all;
    alm_scan_range *out; /* buckets that are replaced */
    alm_interval *scan;  /* rows that are read */
    uint32_t n, n_scan;
    bool in_query; /* what fails is the query of the view */
} work;

static void matview_add_range(work *self, int64_t lo, int64_t hi)
{
    if (lo > hi)
        return;
    const int64_t from = alm_bucket_start(&self->buckets, lo);
    const int64_t next = alm_bucket_next(&self->buckets, hi);
    const int64_t to = next == INT64_MAX ? INT64_MAX : next - 1;
    uint32_t place = 0;
    while (place < self->n && self->out[place].hi < from)
        place++;
    uint32_t end = place;
    alm_scan_range one = {from, to};
    for (; end < self->n && self->out[end].lo <= to; end++) {
        one.lo = ALM_MIN(one.lo, self->out[end].lo);
        one.hi = ALM_MAX(one.hi, self->out[end].hi);
    }
    memmove(self->out + place + 1, self->out + end, (self->n - end) * sizeof *self->out);
    self->out[place] = one;
    self->n = self->n - (end - place) + 1;
}

/* Rows of the buckets, but those that wait for their period. */
static alm_status read_ranges(work *self)
{
    alm_ctx *cx = &self->c->cx;
    ALM_TRY(ALM_NEWN(cx, cx->arena, self->n + 2, &self->scan));
    uint32_t count = 0;
    const int64_t end = self->state.period_hi == INT64_MAX ? INT64_MAX : self->state.period_hi - 1;
    if (self->all)
        self->scan[count++] = (alm_interval){INT64_MIN, end};
    for (uint32_t i = 0; i < self->n && !self->all; i++)
        if (self->out[i].lo <= end)
            self->scan[count++] =
                (alm_interval){ALM_MAX(self->out[i].lo, self->open), ALM_MIN(self->out[i].hi, end)};
    self->n = self->all ? 0 : self->n;
    self->n_scan = count;
    return ALM_OK;
}

static alm_status bucketer_of_query(work *self)
{
    alm_ctx *cx = &self->c->cx;
    const alm_sample_spec *sample_spec = self->sample;
    alm_bucket_spec spec = {.unit = sample_spec->unit,
                            .count = sample_spec->count,
                            .time_unit = matview_unit_of(self->base),
                            .offset = sample_spec->offset};
    if (sample_spec->zone != NULL)
        ALM_TRY(alm_zone_find(cx, alm_str_of(sample_spec->zone), -1, &spec.zone));
    return alm_bucketer_init(cx, -1, &spec, &self->buckets);
}

/* The first bucket that has all its rows still. A view that came when its bucket had lost some goes on with
 * the others: these stay, now that it needs them. One that was never refreshed has nothing to lose: it takes
 * all that statements see. */
static int64_t open_from(const work *self)
{
    const alm_table *base = self->base;
    const alm_view_def *was = self->view->view;
    const bool fresh = was->lsn == 0;
    if (!self->incremental || base->kept_from == INT64_MIN || (fresh && !base->hides))
        return INT64_MIN;
    const int64_t shown = base->hides ? base->visible_from : INT64_MIN;
    const int64_t from = fresh ? shown : ALM_MAX(shown, base->kept_from);
    const int64_t place = alm_bucket_start(&self->buckets, from);
    const int64_t first = alm_bucket_start(&self->buckets, base->kept_from);
    const int64_t whole =
        first == base->kept_from ? first : alm_bucket_next(&self->buckets, base->kept_from);
    return whole > place && (fresh || was->bucket.count > 0) ? place : whole;
}

/* Everything, but buckets that have lost rows: they stay, unless they are of the base before this one. */
static alm_status all_open(work *self)
{
    alm_ctx *cx = &self->c->cx;
    self->all = self->open == INT64_MIN;
    if (self->all)
        return ALM_OK;
    ALM_TRY(ALM_NEWN(cx, cx->arena, 2, &self->out));
    self->out[0] = (alm_scan_range){self->view->view->lsn == 0 ? INT64_MIN : self->open, INT64_MAX};
    self->n = 1;
    return ALM_OK;
}

/* Times of REFRESH RANGE in the unit of the base. */
static alm_status range_bounds(work *self, int64_t *lo, int64_t *hi)
{
    alm_ctx *cx = &self->c->cx;
    const alm_stmt *stmt = self->stmt;
    if (!alm_time_parse(stmt->range_from, matview_unit_of(self->base), lo))
        return alm_fail(cx, ALM_E_ARG, stmt->range_from_pos, "invalid FROM timestamp value");
    if (!alm_time_parse(stmt->range_to, matview_unit_of(self->base), hi))
        return alm_fail(cx, ALM_E_ARG, stmt->range_to_pos, "invalid TO timestamp value");
    if (*lo > *hi)
        return alm_fail(cx, ALM_E_ARG, stmt->range_to_pos,
                        "TO timestamp must not be earlier than FROM timestamp");
    if (*hi < self->open)
        return alm_fail(
            cx, ALM_E_ARG, stmt->range_to_pos,
            "rows of '%s' before TO have expired: the buckets of the view stay as they are",
            self->base->name);
    *lo = ALM_MAX(*lo, self->open);
    return ALM_OK;
}

/* Touched times behind the state of the view. *nothing: there is nothing to do. */
static alm_status touched_ranges(work *self, bool *nothing)
{
    alm_ctx *cx = &self->c->cx;
    const alm_view_def *was = self->view->view;
    alm_scan_range *touched = NULL;
    uint32_t n_toucheds = 0;
    int64_t from = INT64_MIN;
    ALM_TRY(alm_table_touched(cx, cx->arena, self->base, was->lsn, &touched, &n_toucheds));
    const bool moved = self->state.period_hi != was->period_hi;
    *nothing = n_toucheds == 0 && !moved;
    if (*nothing)
        return ALM_OK;
    if (!self->incremental ||
        (n_toucheds == 1 && touched[0].lo == INT64_MIN && touched[0].hi == INT64_MAX))
        return all_open(self);
    if (was->limit.count > 0) {
        from = minus(cx->now_ns / 1000, was->limit);
        from = alm_bucket_start(&self->buckets, is_ns(self->base) ? from * UNITS_PER_US_NS : from);
    }
    from = ALM_MAX(from, self->open);
    const int64_t end = self->state.period_hi == INT64_MAX ? INT64_MAX : self->state.period_hi - 1;
    ALM_TRY(ALM_NEWN(cx, cx->arena, n_toucheds + 2, &self->out));
    for (uint32_t i = 0; i < n_toucheds; i++)
        matview_add_range(self, ALM_MAX(touched[i].lo, from), ALM_MIN(touched[i].hi, end));
    if (moved)
        matview_add_range(self, ALM_MAX(was->period_hi, from), end);
    return ALM_OK;
}

/* ------------------------------------------------------------------- the query */

static alm_status matview_check_columns(work *self, const alm_plan *plan)
{
    bool same = plan->n_cols == self->view->n_cols;
    for (uint32_t i = 0; same && i < plan->n_cols; i++) {
        const alm_type type = plan->cols[i].type;
        same = alm_type_eq(type, self->view->cols[i].type) || type.id == ALM_T_NULL;
    }
    return same ? ALM_OK
                : alm_fail(&self->c->cx, ALM_E_TYPE, -1,
                           "columns of the query are not those of the view any more");
}

static alm_status plan_query(work *self, bool restricted, alm_plan **plan)
{
    alm_ctx *cx = &self->c->cx;
    alm_plan_env env;
    alm_plan_env_init(&env, self->c, NULL, 0);
    env.as_view = self->view->name;
    if (restricted) {
        env.only_table = self->base->id;
        env.only = self->scan;
        env.n_only = self->n_scan;
    }
    ALM_TRY(alm_plan_view(cx, &env, self->view->view->sql, plan));
    return matview_check_columns(self, *plan);
}

static alm_status matview_take_rows(alm_ctx *cx, void *arg, const alm_batch *batch)
{
    return alm_refresh_append(cx, arg, batch);
}

static alm_status run_query(work *self)
{
    alm_plan *plan = NULL;
    ALM_TRY(plan_query(self, !self->all || self->state.period_hi != INT64_MAX, &plan));
    return alm_run_plan(self->c, plan, self->c->snapshot, matview_take_rows, self->r);
}

static alm_status matview_commit(work *self)
{
    alm_ctx *cx = &self->c->cx;
    const alm_io *io = self->c->session->db->io;
    self->state.finished_us = io->wall_ns(io) / 1000;
    self->state.status_us =
        self->view->view->reason[0] == 0 ? self->view->view->status_us : self->state.finished_us;
    self->state.reason = "";
    alm_refresh *r = self->r;
    self->r = NULL;
    return alm_refresh_commit(cx, r, self->out, self->n, self->all,
                              ALM_VIEW_STATE | ALM_VIEW_STATUS, &self->state, NULL);
}

/* TTL of the view. */
static alm_status matview_expire(alm_cursor *cursor, alm_str name)
{
    ALM_TRY(alm_cursor_look_again(cursor));
    const alm_table *view = alm_snapshot_find(cursor->snapshot, name);
    if (view == NULL || view->kind != ALM_TABLE_MATVIEW)
        return ALM_OK;
    const alm_status status = alm_table_expire(&cursor->cx, cursor->session->db->storage, view->id);
    if (status != ALM_E_BUSY)
        return status;
    alm_error_clear(&cursor->cx); /* the background thread of storage tries again */
    return ALM_OK;
}

/* ---------------------------------------------------------------------- refresh */

/*
 * Another table has the name of the base. It keeps what is touched from the commit on that makes the view follow it:
 * only a snapshot that comes behind may be read (ALM_E_STALE). The view has nothing of this table yet.
 */
static alm_status follow(work *self)
{
    alm_ctx *cx = &self->c->cx;
    alm_view_def to = *self->view->view;
    to.base_id = self->base->id;
    to.lsn = 0;
    ALM_TRY(alm_view_change(cx, self->c->session->db->storage, self->view->id,
                            ALM_VIEW_BASE | ALM_VIEW_STATE, &to));
    return alm_fail(cx, ALM_E_STALE, -1, "another table has the name of the base");
}

/* The base of the view; a FULL refresh takes the table that has its name now. */
static alm_status matview_find_base(work *self, bool full)
{
    alm_ctx *cx = &self->c->cx;
    const alm_view_def *was = self->view->view;
    self->base = alm_snapshot_find(self->c->snapshot, alm_str_of(was->base));
    if (self->base == NULL || self->base->kind == ALM_TABLE_VIEW ||
        (self->base->id != was->base_id && !full))
        return alm_fail(cx, ALM_E_TABLE, -1, "base table is dropped or renamed");
    return self->base->id == was->base_id ? ALM_OK : follow(self);
}

static alm_status matview_choose(work *self, bool *nothing)
{
    alm_ctx *cx = &self->c->cx;
    const alm_view_def *was = self->view->view;
    const bool range = alm_str_eq(self->stmt->what, ALM_STR("range"));
    const bool full = alm_str_eq(self->stmt->what, ALM_STR("full"));
    alm_plan *plan = NULL;
    ALM_TRY(matview_find_base(self, full));
    ALM_TRY(plan_query(self, false, &plan));
    self->sample = alm_view_shape(plan, self->base->id, &self->incremental);
    self->incremental = self->incremental && self->view->ts_col >= 0 &&
                        plan->ts_col == self->view->ts_col &&
                        is_ns(self->view) == is_ns(self->base);
    if (self->incremental)
        ALM_TRY(bucketer_of_query(self));
    self->open = open_from(self);
    self->state.bucket = self->incremental ? alm_view_bucket(self->sample) : (alm_every){0};
    if (range) {
        int64_t lo = 0, hi = 0;
        self->in_query = false;
        ALM_TRY(range_bounds(self, &lo, &hi));
        self->in_query = true;
        self->all = !self->incremental || was->lsn == 0;
        ALM_TRY(ALM_NEWN(cx, cx->arena, 2, &self->out));
        if (!self->all) {
            matview_add_range(self, lo, hi);
            return ALM_OK; /* the state stays: other times may still be behind */
        }
    }
    ALM_TRY(alm_matview_period_hi(cx, was, self->base, cx->now_ns / 1000, &self->state.period_hi));
    self->state.lsn = alm_snapshot_lsn(self->c->snapshot);
    return self->all || full || was->lsn == 0 ? all_open(self) : touched_ranges(self, nothing);
}

static alm_status matview_refresh(work *self)
{
    bool nothing = false;
    self->in_query = true;
    self->state = *self->view->view;
    self->state.started_us = self->c->cx.now_ns / 1000;
    ALM_TRY(matview_choose(self, &nothing));
    if (nothing)
        return ALM_OK;
    ALM_TRY(read_ranges(self));
    ALM_TRY(run_query(self));
    self->in_query = false;
    return matview_commit(self);
}

static bool matview_is_passing(alm_status status)
{
    switch ((int)status) {
    case ALM_E_MEMORY:
    case ALM_E_IO:
    case ALM_E_CORRUPT: /* of the base: until the damaged partition is dropped or comes back */
    case ALM_E_DISK_FULL:
    case ALM_E_BUSY:
    case ALM_E_CANCEL:
    case ALM_E_SHUTDOWN:
    case ALM_E_CONFLICT:
    case ALM_E_STALE:
    case ALM_E_LIMIT:
        return true;
    default:
        return false;
    }
}

/* Keeps the error of the query as the reason why the view is invalid. */
static void invalidate(alm_cursor *cursor, uint64_t view_id)
{
    alm_ctx cx = cursor->cx;
    const alm_view_def to = {.reason = cursor->cx.err.msg, .status_us = cursor->cx.now_ns / 1000};
    alm_error_clear(&cx);
    if (alm_view_change(&cx, cursor->session->db->storage, view_id, ALM_VIEW_STATUS, &to) != ALM_OK)
        alm_error_clear(&cx); /* it was dropped, or the next refresh tells */
}

/* REFRESH is possible without SELECT on the view; why its query fails tells of what it reads. */
static alm_status hide_reason(alm_ctx *cx, alm_status status, const char *view)
{
    const int32_t pos = cx->err.sql_pos;
    alm_error_clear(cx);
    return alm_fail(
        cx, status, pos,
        "the query of the view failed: why is told to those with SELECT on it [view=%s]", view);
}

/* `tells`: who asked for it may hear why the query fails. */
static alm_status refresh_once(alm_cursor *cursor, const alm_stmt *stmt, uint64_t view_id,
                               bool tells)
{
    alm_ctx *cx = &cursor->cx;
    work self = {.c = cursor, .stmt = stmt};
    ALM_TRY(alm_refresh_begin(cx, cursor->session->db->storage, view_id, &self.r));
    alm_status status =
        alm_cursor_look_again(cursor); /* behind the state that the lock holds still */
    self.view = alm_refresh_table(self.r);
    const bool invalid = self.view->view->reason[0] != 0;
    const char *view = NULL;
    if (status == ALM_OK)
        status = alm_arena_zstr(cx, cx->arena, alm_str_of(self.view->name), &view);
    if (status == ALM_OK && invalid && !alm_str_eq(stmt->what, ALM_STR("full")))
        status = alm_fail(cx, ALM_E_ARG, stmt->table_pos,
                          "materialized view is invalid and needs a full refresh [view=%s%s%s]",
                          self.view->name, tells ? ", reason=" : "",
                          tells ? self.view->view->reason : "");
    else if (status == ALM_OK)
        status = matview_refresh(&self);
    alm_refresh_rollback(self.r);
    if (status == ALM_E_TIMEOUT) {
        alm_error_clear(cx);
        status = alm_fail(cx, ALM_E_TIMEOUT, stmt->table_pos,
                          "refresh of '%.*s' took longer than mat.view.refresh.timeout (%lld ms)",
                          (int)stmt->table.len, stmt->table.ptr, (long long)cx->timeout_ms);
    }
    if (status != ALM_OK && self.in_query) {
        cx->err.sql_pos = stmt->table_pos; /* not a place in the text of the view */
        if (!invalid && !matview_is_passing(status))
            invalidate(cursor, view_id);
        if (!tells && !matview_is_passing(status))
            status = hide_reason(cx, status, view);
    }
    return status;
}

/* ---------------------------------------------------------------------- runs */

/* The names are copied: the snapshot of the statement ends before the run does. */
static alm_status run_begins(alm_cursor *cursor, const alm_table *view, alm_refresh_run *run)
{
    alm_ctx *cx = &cursor->cx;
    alm_db *db = cursor->session->db;
    const alm_table *base = alm_snapshot_find(cursor->snapshot, alm_str_of(view->view->base));
    *run = (alm_refresh_run){.session = cursor->session,
                             .statement = cursor->statement,
                             .view_id = view->id,
                             .base_id = base != NULL ? base->id : 0};
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(view->name), &run->view));
    ALM_TRY(alm_arena_zstr(cx, cx->arena, alm_str_of(view->view->base), &run->base));
    (void)pthread_mutex_lock(&db->refreshes.lock);
    run->next = db->refreshes.first;
    db->refreshes.first = run;
    (void)pthread_mutex_unlock(&db->refreshes.lock);
    return ALM_OK;
}

static void run_ends(alm_db *db, alm_refresh_run *run)
{
    (void)pthread_mutex_lock(&db->refreshes.lock);
    alm_refresh_run **at = &db->refreshes.first;
    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    (void)pthread_mutex_unlock(&db->refreshes.lock);
}

/* Nobody defines the view any more whom a refresh could ask. */
static bool maker_is_gone(alm_ctx *cx, const alm_db *db, const alm_acl *acl, const char *view)
{
    const char *name = NULL;
    if (acl == NULL || alm_lower_name(cx, alm_str_of(view), &name) != ALM_OK)
        return false;
    const alm_definer *definer = alm_acl_definer(acl, name);
    if (definer == NULL || strcmp(definer->name, db->conf->acl_admin_user) == 0)
        return false;
    const alm_entity *maker = alm_acl_definer_entity(acl, definer);
    return maker == NULL || !maker->enabled;
}

static const char *useless(alm_ctx *cx, const alm_db *db, const alm_snapshot *snap,
                           const alm_acl *acl, const alm_refresh_run *run)
{
    const alm_table *view = alm_snapshot_find(snap, alm_str_of(run->view));
    const alm_table *base = alm_snapshot_find(snap, alm_str_of(run->base));
    if (view == NULL || view->id != run->view_id)
        return "the view was dropped";
    if (run->base_id != 0 && (base == NULL || base->id != run->base_id))
        return "its base table was dropped or renamed";
    return maker_is_gone(cx, db, acl, run->view) ? "its definer was dropped or disabled" : NULL;
}

void alm_refreshes_watch(alm_ctx *cx, alm_db *db)
{
    alm_snapshot *snap = NULL;
    alm_acl *acl = NULL;
    (void)pthread_mutex_lock(&db->refreshes.lock);
    const bool any = db->refreshes.first != NULL;
    (void)pthread_mutex_unlock(&db->refreshes.lock);
    if (!any || alm_snapshot_acquire(cx, db->storage, &snap) != ALM_OK)
        return;
    if (db->conf != NULL && db->conf->acl_enabled && alm_db_acl(cx, db, &acl) != ALM_OK)
        acl = NULL;
    (void)pthread_mutex_lock(&db->refreshes.lock);
    for (alm_refresh_run *run = db->refreshes.first; run != NULL; run = run->next) {
        if (run->why == NULL)
            run->why = useless(cx, db, snap, acl, run);
        if (run->why != NULL)
            alm_session_cancel(run->session, run->statement);
    }
    (void)pthread_mutex_unlock(&db->refreshes.lock);
    if (acl != NULL)
        alm_acl_release(acl);
    alm_snapshot_release(snap);
    alm_error_clear(cx);
}

/* What the error says is for those who wait for the refresh, or read the reason why the view is invalid. */
static alm_status explain_end(alm_cursor *cursor, const alm_stmt *stmt, const alm_refresh_run *run,
                              alm_status status)
{
    alm_ctx *cx = &cursor->cx;
    if (status != ALM_E_CANCEL || run->why == NULL)
        return status;
    alm_error_clear(cx);
    return alm_fail(cx, ALM_E_CANCEL, stmt->table_pos, "refresh of '%.*s' was ended: %s",
                    (int)stmt->table.len, stmt->table.ptr, run->why);
}

/* As long as mat.view.refresh.timeout says, whatever the time limit of statements is; it can be cancelled. */
static void limit_time(alm_ctx *cx)
{
    cx->timeout_ms = cx->conf != NULL ? cx->conf->mat_view_refresh_timeout : 0;
    cx->deadline_ns = cx->timeout_ms > 0 ? alm_monotonic_ns() + cx->timeout_ms * 1000000 : 0;
}

alm_status alm_run_refresh(alm_cursor *cursor, const alm_stmt *stmt, alm_param *params, uint32_t n)
{
    enum { TRIES = 8 };
    (void)params;
    (void)n;
    alm_ctx *cx = &cursor->cx;
    ALM_TRY(alm_outside_block(cursor, stmt));
    ALM_TRY(alm_access_name(cx, alm_stmt_permission(stmt), stmt->table, stmt->table_pos));
    const alm_table *view = alm_snapshot_find(cursor->snapshot, stmt->table);
    if (view == NULL)
        return alm_fail(cx, ALM_E_TABLE, stmt->table_pos,
                        "materialized view does not exist [view=%.*s]", (int)stmt->table.len,
                        stmt->table.ptr);
    if (view->kind != ALM_TABLE_MATVIEW)
        return alm_fail(cx, ALM_E_ARG, stmt->table_pos,
                        "materialized view name expected, got table name");
    const uint64_t view_id = view->id;
    ALM_TRY(alm_access_may(cx, alm_stmt_permission(stmt), view->name, stmt->table_pos));
    const bool tells = alm_access_text(cx, view->name, "") != NULL;
    ALM_TRY(alm_cursor_as_definer(cursor,
                                  view->name)); /* the rows are the same, whoever asks for them */
    alm_refresh_run run;
    limit_time(cx);
    ALM_TRY(run_begins(cursor, view, &run));
    alm_status status = refresh_once(cursor, stmt, view_id, tells);
    for (int i = 1; status == ALM_E_STALE && i < TRIES; i++) {
        alm_error_clear(cx); /* an ALTER of the view came between, or it follows another base now */
        status = refresh_once(cursor, stmt, view_id, tells);
    }
    run_ends(cursor->session->db, &run);
    status = explain_end(cursor, stmt, &run, status);
    return status == ALM_OK ? matview_expire(cursor, stmt->table) : status;
}
