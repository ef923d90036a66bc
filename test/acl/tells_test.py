#!/usr/bin/env python3
"""What the server tells and records: files outside of its folders, names that look like others, what errors and headers say, and the audit trail.

    tells_test.py [--binary FILE] [PATTERN]      PATTERN: of the names of the parts below
"""
import base64, hashlib, http.client, json, pathlib, re, shutil, socket, ssl, subprocess, sys, tempfile, threading, time

from acl_test import House
from lib.acl_checks import ADMIN, ENV, PW, Pg, Rest, pg_answer, run_suite
from lib.certs import Certs
from lib.pgclient import Wire, msg, query, startup
from lib.server import Server

# Exchanges two names all the while: renameat2(RENAME_EXCHANGE).
EXCHANGE = """import ctypes, sys
libc, (a, b) = ctypes.CDLL(None), [x.encode() for x in sys.argv[1:3]]
while True:
    libc.renameat2(-100, a, -100, b, 2)
"""
SECONDS = 1.5


def export(rest, path, user=None, what="(select 1 x)", options=""):
    """How COPY TO that path ends, and what it says."""
    number = rest.must(f"copy {what} to '{path}' with format parquet{options}", *([user] if user else []))["dataset"][0][0]
    end = time.monotonic() + 30
    while time.monotonic() < end:
        got = [row for row in rest.rows(f"select status, message from sys.copy_export_log where id = '{number}'") if row[0] != "started"]
        if got:
            return got[0]
        time.sleep(0.005)
    raise AssertionError(f"COPY TO {path} does not end")


def exports_of_others(check, s):
    """COPY TO replaces nobody else's file, and comes into nobody else's folder: who reads it there takes it for the other's rows."""
    rest, (one, _), (two, _) = s.rest, s.user(), s.user()
    for user in (one, two):
        rest.must(f"grant read file to {user}")
    exports = s.root / "export"
    bytes_of = lambda name: (exports / name).read_bytes()
    check.that(export(rest, "taxes")[0] == "finished" and export(rest, "mine", (one, PW))[0] == "finished", "a new name is anybody's")
    rest.must("create table daily (ts timestamp, v long) timestamp(ts) partition by day")
    rest.must("insert into daily values ('2024-01-01', 1), ('2024-01-02', 2)")
    for user in (one, two):
        rest.must(f"grant select on daily to {user}")
    by_day = lambda path, user=None: export(rest, path, user, "daily", " partition_by day")
    check.that(by_day("days")[0] == "finished" and by_day("own", (one, PW))[0] == "finished", "folders")
    (exports / "shared").mkdir()
    (exports / "byhand.parquet").write_bytes((s.root / "import" / "one.parquet").read_bytes())
    (exports / "empty.parquet").write_bytes(b"")
    (exports / "aim.parquet").symlink_to("mine.parquet")
    before = {name: bytes_of(name) for name in ("taxes.parquet", "mine.parquet", "byhand.parquet", "empty.parquet")}
    for path, user in (("taxes", two), ("./taxes", two), (".//taxes.parquet", two), ("mine", two), ("byhand", two), ("empty", two), ("aim", one), ("days/2024-01-01", two), ("days/new", two), ("days/deep/new", two), ("./days/new", two), ("own/new", two)):
        ends = export(rest, path, (user, PW))
        check.that(ends[0] == "failed" and ("no export of yours" in str(ends[1]) or "somebody else's exports" in str(ends[1])), f"COPY TO {path} is refused: {ends}")
    for path in ("days", "own"):
        ends = by_day(path, (two, PW))
        check.that(ends[0] == "failed" and "somebody else's exports" in str(ends[1]), f"COPY TO {path} by day is refused: {ends}")
    check.that(before == {name: bytes_of(name) for name in before} and sorted(p.name for p in (exports / "days").glob("**/*.parquet")) == ["2024-01-01.parquet", "2024-01-02.parquet"], "what was there is there")
    check.that(export(rest, "mine", (one, PW))[0] == "finished" and by_day("own", (one, PW))[0] == "finished" and export(rest, "own/more", (one, PW))[0] == "finished", "one's own is replaced")
    check.that(export(rest, "shared/one", (one, PW))[0] == "finished" and export(rest, "shared/two", (two, PW))[0] == "finished" and export(rest, "shared/one", (two, PW))[0] == "failed", "a folder that somebody made by hand is for all, its files are not")
    check.that(all(export(rest, path)[0] == "finished" for path in ("mine", "byhand", "own/admins", "taxes")), "an administrator replaces all")
    check.that(export(rest, "mine", (one, PW))[0] == "failed", "and it is his from then on")
    rest.must(f"drop user {two}")
    rest.must(f"create user {two} with password '{PW}'")
    rest.must(f"grant http, read file to {two}")
    check.that(export(rest, "shared/two", (two, PW))[0] == "failed", "another user of that name is another")
    listed = str(rest.rows("select path from export_files()"))
    check.that("exporter" not in listed and "own/more" in listed, "marks are not listed")


def links_of_folders(check, s):
    """Lists show neither links nor what they lead to; no answer says whether a file outside is there."""
    rest, (user, _) = s.rest, s.user()
    rest.must(f"grant read file to {user}")
    who, imports, exports = (user, PW), s.root / "import", s.root / "export"
    exports.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as tmp:
        secret = pathlib.Path(tmp) / "secret"
        secret.mkdir()
        (secret / "told.csv").write_text("a\n" + "7" * 4321 + "\n")
        (secret / "told.parquet").write_bytes((imports / "one.parquet").read_bytes())
        (imports / "inner").mkdir(exist_ok=True)
        (imports / "inner" / "two.parquet").write_bytes((imports / "one.parquet").read_bytes())
        for top in (imports, exports):
            (top / "link").symlink_to(secret)
            (top / "link.csv").symlink_to(secret / "told.csv")
            (top / "link.parquet").symlink_to(secret / "told.parquet")
            (top / "inside").symlink_to("inner")
        for ask in ("import_files()", "export_files()", "files('')", "files('link')", "files('link/')", "files('inside')", "files('./link')"):
            found = rest.rows(f"select path, \"diskSize\" from {ask}", who)
            check.that("told" not in str(found) and "link" not in str(found) and "inside" not in str(found), f"{ask}: {found}")
        check.that(["inner/two.parquet"] in rest.rows("select path from import_files()", who) and rest.rows("select path from files('inner')", who) == [["inner/two.parquet"]], "files that are there are listed")
        answers = {name: rest.sql(f"select * from read_parquet('{name}')", who) for name in ("link/told.parquet", "link/none.parquet", "link.parquet")}
        check.that(all(status == 403 for status, _ in answers.values()), f"there or not, the answer is the same: {answers}")
        for pattern in ("l*/*.parquet", "l*.parquet", "link/*.parquet", "**/told.parquet", "*/told.parquet"):
            status, text = rest.sql(f"select * from read_parquet('{pattern}')", who)
            check.that(status == 400 and "no file below" in text, f"{pattern}: {status} {text}")
        check.that(rest.rows("select count() from read_parquet('inside/*.parquet')", who) == [[1]] and rest.rows("select count() from read_parquet('inside/two.parquet')", who) == [[1]], "a link inside is followed by name")
        told = [rest.sql(f"copy taken from '{name}' header true") for name in ("link/told.csv", "link/none.csv", "link.csv")]
        check.that(len({(status, text.split("[file=")[0].split('"error"')[1]) for status, text in told}) == 1 and told[0][0] == 400, f"COPY FROM: {told}")
        for name in ("link/new", "link/a/b", "inner/x", "inside/y"):
            ends = export(rest, name)
            check.that(ends[0] == ("finished" if name[0] == "i" else "failed") and ("leads out" in str(ends[1])) == (name[0] == "l"), f"COPY TO {name}: {ends}")
        check.that(sorted(p.name for p in (exports / "inner").iterdir() if p.name[0] != ".") == ["x.parquet", "y.parquet"], "a link inside is followed by name")
        for top in (imports, exports):
            for name in ("link", "link.csv", "link.parquet", "inside"):
                (top / name).unlink()
        check.that(sorted(p.name for p in secret.iterdir()) == ["told.csv", "told.parquet"], f"nothing is written outside: {list(secret.iterdir())}")


def races_of_folders(check, s):
    """A folder and a link to the outside change places all the while; nothing is read, listed or written there."""
    rest, imports, exports = s.rest, s.root / "import", s.root / "export"
    with tempfile.TemporaryDirectory(dir=s.root) as tmp:
        secret, racers = pathlib.Path(tmp), []
        (secret / "rows.csv").write_text("a\nsecret\n")
        (secret / "one.parquet").write_bytes(b"PAR1 of no form PAR1")
        (secret / "outside.txt").write_text("secret")
        for top in (imports, exports):
            (top / "race").mkdir(parents=True)
            (top / "race" / "rows.csv").write_text("a\nopen\n")
            (top / "race" / "one.parquet").write_bytes((imports / "one.parquet").read_bytes())
            (top / "other").symlink_to(secret)
            racers.append(subprocess.Popen([sys.executable, "-c", EXCHANGE, str(top / "race"), str(top / "other")]))
        end, seen, faults = time.monotonic() + SECONDS, {}, []

        def walk(number):
            rest.must(f"create table race{number} (a varchar)")
            while time.monotonic() < end:
                for what, text in (("list", "select path from import_files() where path like 'race%' or path like 'other%'"), ("files", "select path from files('race')"), ("exports", "select path from export_files() where path not like 'race/out%'"),
                                   ("parquet", "select count() from read_parquet('race/one.parquet')"), ("pattern", "select count() from read_parquet('race/*.parquet')"), ("copy", f"copy race{number} from 'race/rows.csv' header true"),
                                   ("export", f"copy (select 1 x) to 'race/out{number}' with format parquet")):
                    status, body = rest.sql(text)
                    seen.setdefault(what, set()).add(status)
                    if "outside.txt" in body or "footer" in body or "magic" in body:
                        faults.append((text, body))
        threads = [threading.Thread(target=walk, args=(n,)) for n in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        while rest.rows("select count() from query_activity() where query ilike 'copy %' and username != 'runner'") != [[0]]:
            time.sleep(0.01)
        for p in racers:
            p.kill()
            p.wait()
        check.that(not faults, f"what is outside was told: {faults[:3]}")
        check.that(all(200 in seen[what] for what in seen) and len(seen["copy"]) > 1 and len(seen["parquet"]) > 1, f"there was a race: {seen}")
        check.that(sorted(p.name for p in secret.iterdir()) == ["one.parquet", "outside.txt", "rows.csv"], f"written outside: {list(secret.iterdir())}")
        rows = [rest.rows(f"select distinct a from race{n}") for n in range(3)]
        check.that("secret" not in str(rows) and "open" in str(rows), f"read outside: {rows}")
        for n in range(3):
            rest.must(f"drop table race{n}")


def names(check, s):
    """No name is taken for another: blanks at the ends, what is not seen, what reads the same; of users, groups, accounts, aliases and grantees."""
    rest = s.rest
    for one in ("create user anna", "create group \"Gruppe Süd\"", "create service account bot"):
        rest.must(one)
    hidden = [" ", "admin ", " admin", "\u202eadmin", "ad\u200bmin", "admin\u200f", "admin\u00a0", "\u3000admin", "a\u2066b", "\ufeffadmin", "ad\u00admin", "admin\u2028", "a\u034fb", "\u3164", "\u2800", "a\tb", "a\nb", "a\x7fb", "a\u0085b", "a\ufe0fb",
              "a\U000e0041b", "\ue000", "\U0010ffff", "admin\x01"]
    twins = ["ADMIN", "Admin", "ANNA", "Anna", "Bot", "gruppe süd", "GRUPPE SÜD", "Gruppe Su\u0308d", "\uff41dmin", "ann\u00aa"]
    for name in hidden + twins:
        quoted = '"' + name + '"'
        for one in (f"create user {quoted}", f"create user if not exists {quoted} with password '{PW}'", f"create group {quoted}", f"create service account {quoted}"):
            status, text = rest.sql(one)
            check.that(status == 400 and ("a name must not" in text if name in hidden else "reads as" in text), f"{one!r}: {status} {text}")
    for name in hidden:
        quoted = '"' + name + '"'
        for one in (f"create group fresh with external alias {quoted}", f"alter group \"Gruppe Süd\" with external alias {quoted}", f"grant http to {quoted}", f"grant assume service account bot to {quoted}"):
            status, text = rest.sql(one)
            check.that(status == 400 and "name must not" in text, f"{one!r}: {status} {text}")
    check.that(sorted(row[0] for row in rest.rows("select name from all_users()") if row[0] in (*hidden, *twins)) == [], "none was made")
    good = ["jane doe", "müller", "Ωmega", "田中", "o'neil", "a-b_c.d@e", "ann2"]
    for name in good:
        for one in ("create user \"%s\"", "grant http to \"%s\"", "revoke http from \"%s\"", "drop user \"%s\""):
            rest.must(one % name)
    rest.must("create user if not exists anna")
    for one in ("drop user anna", "drop group \"Gruppe Süd\"", "drop service account bot"):
        rest.must(one)


def passwords(check, s):
    """Too short ones and leaked ones are refused wherever one is set; files of both forms; one that cannot be read lets nothing through."""
    leaked = ["password1", "correct horse", "grün und lang genug"]
    with tempfile.TemporaryDirectory() as tmp:
        plain, hashed, bad = (pathlib.Path(tmp) / name for name in ("plain", "hashed", "bad"))
        plain.write_text("\r\n".join(leaked) + "\n")
        hashed.write_text("".join(f"{line}:{n}\n" for n, line in enumerate(sorted(hashlib.sha1(p.encode()).hexdigest().upper() for p in [*leaked, *(f"other {n}" for n in range(2000))]))))
        bad.write_text(hashed.read_text()[:1000] + "no hash\n" * 400)
        settings = {**ENV, "ALMANAC_ACL_PASSWORD_LENGTH_MIN": "9"}
        for file, listed in ((plain, True), (hashed, True), (bad, None), (pathlib.Path(tmp) / "none", None), (None, False)):
            with Server(binary=s.binary, env={**settings, **({"ALMANAC_ACL_PASSWORD_LEAKED_FILE": str(file)} if file else {})}) as one:
                rest = Rest(one)
                rest.must("create user ann")
                rest.must("create service account bot")

                def tries(password):
                    return [rest.sql(text.format(password=password)) for text in ("create user jim with password '{password}'", "alter user ann with password '{password}'", "create service account b2 with password '{password}'",
                                                                                  "alter service account bot with password '{password}'")]
                what = f"{file and file.name}: "
                for short in ("12345678", "grün ist", "", "ü" * 8):
                    got = tries(short)
                    check.that(all(status == 400 and ("acl.password.length.min" in text or not short) for status, text in got), f"{what}{short!r} is too short: {got}")
                for password in leaked:
                    got = tries(password)
                    ok = status_of(got) == ([400] if listed else [200] if listed is False else status_of(got)) and (listed is False or all("acl.password.leaked.file" in text for _, text in got))
                    check.that(ok and (listed is not None or min(status_of(got)) >= 400), f"{what}{password}: {got}")
                    for text in ("drop user if exists jim", "drop service account if exists b2"):
                        rest.must(text)
                got = tries("nobody has this one")
                check.that(status_of(got) == ([200] if listed is not None else status_of(got)) and (listed is not None or min(status_of(got)) >= 400), f"{what}another: {got}")
                warned = [line for line in one.log_path.read_text().splitlines() if "acl.admin.password: " in line]
                check.that(len(warned) == (listed is None), f"{what}a line of the log at the start: {warned}")
                check.that(not any(str(tmp) in text for _, text in got), f"{what}paths are not told: {got}")
                if listed is not None:
                    check.that(rest.sql("select 1", ("jim", "nobody has this one"))[0] in (200, 403), "and it is set")
        with Server(binary=s.binary, env=ENV) as one:
            rest, conf = Rest(one), one.root / "conf" / "server.conf"
            rest.must("create user ann with password 'x'")
            (one.root / "leaked.txt").write_text("leaked.\n")
            conf.write_text(conf.read_text() + "\nacl.password.length.min=6\nacl.password.leaked.file=leaked.txt\n")
            rest.must("select reload_config()")
            got = [rest.sql(f"alter user ann with password '{password}'")[0] for password in ("12345", "leaked.", "leaked!")]
            check.that(got == [400, 400, 200], f"after a reload: {got}")


HIDDEN = ("select {c} from {t}", "select * from {t}", "select count() from {t}", "select 1 from {T}", "select * from public.{t}", "select * from qdb.public.{t}", "select * from {t} where {c} = 1", "select x.{c} from {t} x", "select * from long_sequence(1) a join {t} b on true",
          "select * from long_sequence(1) where x in (select {c} from {t})", "select (select max({c}) from {t}) m", "with q as (select {c} from {t}) select * from q", "with {t} as (select * from {t}) select * from {t}", "select 1 x union all select {c} from {t}",
          "select {c} from {t} latest on ts partition by {c}", "select max({c}) from {t} sample by 1h", "select * from {t} asof join {t} z", "declare @t := {t} select * from @t", "select * from ({t})", "table {t}", "select * from \"{t}\"", "select * from '{t}'",
          "select {t}.{c} from {t}", "select {c}::nosuchtype from {t}", "select nosuch({c}) from {t}", "select * from {t} where", "explain select {c} from {t}", "explain analyze select {c} from {t}", "explain update {t} set {c} = 1", "explain delete from {t} where {c} = 1",
          "explain insert into {t} values (1)", "show columns from {t}", "show columns from public.{t}", "show columns from {T}", "show partitions from {t}", "show create table {t}", "show create view {t}", "show create materialized view {t}", "select * from table_columns('{t}')",
          "select * from table_partitions('{t}')", "select * from table_columns('{T}')", "select '{t}'::regclass", "select '{t}'::regclass::int is null", "select to_regclass('{t}')", "select pg_relation_size('{t}')", "select pg_total_relation_size('{t}')", "select pg_table_size('{t}')",
          "select has_table_privilege('{t}', 'select')", "select has_column_privilege('{t}', '{c}', 'select')", "select obj_description('{t}'::regclass)", "select wait_wal_table('{t}')", "select col_description('{t}'::regclass, 1)", "select * from wal_transactions('{t}')",
          "select pg_get_viewdef('{t}'::regclass)", "select pg_get_viewdef('{t}')", "select * from show_create_table('{t}')", "select table_name from tables() where table_name = '{t}'",
          "insert into {t} values (0, 1, 'x')", "insert into {t} values (0)", "insert into {t} ({c}) values (1)", "insert into {t} ({C}) values (1)", "insert into {t} select * from {t}", "insert into {t} select x from long_sequence(1)", "insert into {t} values (0, 1, 'x') returning {c}",
          "insert into {t} ({c}) values (1) returning nosuch", "insert batch 10 into {t} select x from long_sequence(1)", "insert atomic into {t} select x from long_sequence(1)", "insert into public.{t} ({c}) values (1)",
          "update {t} set {c} = 1", "update {t} set {C} = 1", "update {t} set {c} = {c} + 1 where {c} > 0", "update {t} set {c} = 1 returning {c}", "update {t} x set {c} = 1 from {t} y where x.{c} = y.{c}", "update {t} set ts = 0", "update {t} set {c} = 'text'", "update public.{t} set {c} = 1",
          "delete from {t} where {c} = 1", "delete from {t}", "delete from {t} where {c} = 1 returning {c}", "truncate table {t}", "truncate table if exists {t}", "drop table {t}", "drop table if exists {t}", "drop table {t} cascade permissions", "drop view {t}", "drop view if exists {t}",
          "drop materialized view {t}", "drop materialized view if exists {t}", "drop table if exists nothere_at_all, {t}", "rename table {t} to other_name", "rename table if exists {t} to other_name", "rename table {t} to t", "alter table {t} add column z int", "alter table {t} add column {c} int",
          "alter table {t} add column if not exists {c} int", "alter table {t} drop column {c}", "alter table {t} drop column if exists {c}", "alter table {t} rename column {c} to z", "alter table {t} alter column {c} type long", "alter table {t} alter column {c} add index",
          "alter table {t} alter column {c} drop index", "alter table {t} alter column {c} symbol capacity 512", "alter table {t} alter column {c} nocache", "alter table {t} drop partition list '1970-01-01'", "alter table {t} drop partition where ts > 0",
          "alter table {t} detach partition list '1970-01-01'", "alter table {t} attach partition list '1970-01-01'", "alter table {t} convert partition to parquet list '1970-01-01'", "alter table {t} convert partition to native list '1970-01-01'", "alter table {t} squash partitions",
          "alter table {t} set ttl 1 week", "alter table {t} set param maxUncommittedRows = 10", "alter table {t} set type bypass wal", "alter table {t} dedup enable upsert keys(ts, {c})", "alter table {t} dedup disable", "alter table {t} suspend wal", "alter table {t} resume wal",
          "alter table if exists {t} add column z int", "alter table {t} rename to other_name", "alter materialized view {t} set ttl 1 week", "alter materialized view {t} set refresh manual", "alter materialized view {t} set refresh limit 1 day", "alter materialized view {t} resume wal",
          "alter materialized view {t} alter column {c} add index", "alter view {t} as (select 1 x)", "alter view {t} as (select {c} from {t})", "refresh materialized view {t} full", "refresh materialized view {t} incremental", "create index i on {t} ({c})", "create index on {t} ({c})",
          "create index if not exists i on {t} ({c})", "create unique index i on {t} ({c})", "drop index {t}_{c}_idx", "drop index if exists {t}_{c}_idx", "vacuum table {t}", "scrub table {t}", "vacuum {t}", "vacuum full {t}", "analyze {t}", "analyze {t} ({c})", "reindex table {t} column {c} lock exclusive",
          "reindex table {t} column {c} partition '1970-01-01' lock exclusive", "reindex table {t}", "comment on table {t} is 'x'", "comment on column {t}.{c} is 'x'", "comment on view {t} is 'x'", "comment on materialized view {t} is 'x'", "backup table {t}", "backup table {t} to 'x'",
          "copy {t} to 'x' with format parquet", "copy {t} ({c}) to 'x' with format parquet",
          "copy (select {c} from {t}) to 'x' with format parquet", "create table made_of as (select {c} from {t})", "create table if not exists made_of as (select {c} from {t})", "create table made_of (like {t})", "create view made_of as (select {c} from {t})",
          "create or replace view made_of as (select {c} from {t})", "create materialized view made_of as (select ts, max({c}) m from {t} sample by 1h) partition by day", "create materialized view made_of with base {t} as (select ts, max(a) m from t sample by 1h) partition by day", "create materialized view made_of with base {t} as (select ts, max({c}) m from {t} sample by 1h) partition by day",
          "create materialized view if not exists made_of as (select ts, max({c}) m from {t} sample by 1h) partition by day", "grant select on {t} to g", "grant select on {t}({c}) to g", "grant select on {t}(*) to g", "grant select on {t}(*) exclude ({c}) to g", "grant select on {t} to g with verification",
          "grant select on {t}({c}) to g with verification", "revoke select on {t} from g", "revoke select on {t}({c}) from g", "revoke select on {t}(*) from g", "lock table {t} in exclusive mode", "cluster {t}")
# Who may create learns that a name is taken; who may not learns nothing.
CREATES = ("copy {t} from 'rows.csv' with header true", "copy {t} ({c}) from 'rows.csv' with header true", "copy {t} from 'rows.csv' (format text)", "copy {t} from 'one.parquet' (format parquet)", "create table {t} (x int)", "create table if not exists {t} (x int)", "create table {t} as (select 1 x)", "create table if not exists {t} as (select 1 x)", "create view {t} as (select 1 x)", "create view if not exists {t} as (select 1 x)", "create or replace view {t} as (select 1 x)",
           "create materialized view {t} as (select ts, max(a) m from t sample by 1h) partition by day", "create materialized view if not exists {t} as (select ts, max(a) m from t sample by 1h) partition by day", "create table {t} (like t)")


def hidden_names(check, s):
    """The answer about a table, view or column that is there and about one that is not are the same for who may not list it: over every statement, REST, PG, /imp, /write, /chk."""
    rest = s.rest
    for one in ("create table hid1 (ts timestamp, c1 int, s symbol index) timestamp(ts) partition by day wal dedup upsert keys(ts)", "insert into hid1 values (0, 1, 'x')", "create view hid2 as (select * from hid1)",
                "create materialized view hid3 as (select ts, max(c1) c1 from hid1 sample by 1h) partition by day", "create table Hid4 (ts timestamp, C1 int)"):
        rest.must(one)
    poor, maker = s.user(), s.user()
    rest.must(f"grant read file, create table, create view, create materialized view, backup database, snapshot, list users to {maker[0]}")
    rest.must(f"grant select on t to {maker[0]}")
    count = 0

    def same(what, answers):
        check.that(len(set(answers)) == 1, f"{what}: {sorted(set(answers))}")

    def told(answer, **names):
        status, text = answer
        text = json.loads(text) if text.startswith("{") else text
        if isinstance(text, dict):
            text.pop("query", None)
            text.pop("errorId", None)
            text = json.dumps(text)
        for name in sorted(names.values(), key=len, reverse=True):
            text = text.replace(name, "NAME")
        return status, text[:300]
    tables = ("hid1", "hid2", "hid3", "hid4", "not1")
    for who in (poor, maker):
        for text in (*HIDDEN, *(CREATES if who == poor else ())):
            ways = [rest, Pg(s)] if count % 6 == 0 else [rest]
            count += 1
            for over in ways:
                answers = []
                for t in tables:
                    for c in ("c1", "d1") if "{c}" in text or "{C}" in text else ("c1",):
                        answers.append(told(over.sql(text.format(t=t, c=c, T=t.upper(), C=c.upper()), who), t=t, c=c, T=t.upper(), C=c.upper()))
                same(f"{who[0]}: {text}", answers)
        form = lambda name: {"data": '--x\r\nContent-Disposition: form-data; name="data"; filename="t.csv"\r\n\r\nts,c1\r\n1000,5\r\n--x--\r\n'}[name]
        for what, method, path, headers, body in (("/imp", "POST", "/imp?name={t}&forceHeader=true&fmt=json", {"Content-Type": "multipart/form-data; boundary=x"}, form("data")), ("/write", "POST", "/write", {}, "{t} c1=1i 1000\n"), ("/write", "POST", "/write", {}, "{t} c1=\"text\",d1=1i 1000\n"),
                                                  ("/chk", "GET", "/chk?f=json&j={t}", {}, None), ("/exp", "GET", "/exp?query=select+c1+from+{t}", {}, None), ("validate", "GET", "/api/v1/sql/validate?query=update+{t}+set+c1=1", {}, None)):
            if who == maker and what in ("/imp", "/write"):
                continue
            same(f"{who[0]}: {what}", [told(rest.request(path.format(t=t), method, who, headers, body and body.replace("{t}", t))[:2], t=t) for t in tables])
    for kind in ("table", "view", "materialized view"):
        check.that([rest.sql(f"drop {kind} if exists {t}", poor)[0] for t in tables] == [200] * 5, f"drop {kind} if exists: as if it were not there")
    check.that(rest.rows("select count() from tables() where table_name ilike 'hid%'") == [[4]], "and nothing goes")
    check.that("did you mean" not in rest.sql("select * from hid11", poor)[1], "nothing is suggested")
    rest.must(f"grant select on hid1(s) to {poor[0]}")
    check.that([rest.sql(q, poor)[0] for q in ("select c1 from hid1", "select s from hid1", "select nosuch from hid1", "show columns from hid1")] == [403, 200, 400, 200], "columns of a table that one sees are listed, all of them")
    rest.must(f"grant select on not1 to {poor[0]}")
    check.that(rest.sql("select * from not1", poor)[0] == 400, "who might list it is told that it is not there")
    for one in ("drop view hid2", "drop materialized view hid3", "drop table hid1", "drop table hid4"):
        rest.must(one)


def fetch(address, path="/exec?query=select+1", context=None, host="localhost", **headers):
    """(status, headers by small letters, cookies) of a request over TLS or in clear."""
    at, port = address.rsplit(":", 1)
    c = http.client.HTTPSConnection(at, int(port), timeout=30, context=context) if context else http.client.HTTPConnection(at, int(port), timeout=30)
    c.request("GET", path, headers={"Host": host, **{k.replace("_", "-"): v for k, v in headers.items()}})
    r = c.getresponse()
    r.read()
    c.close()
    return r.status, {k.lower(): v for k, v in r.getheaders()}, r.headers.get_all("Set-Cookie") or []


def headers(check, s):
    """No version in Server, nothing with data is kept by a browser, HSTS and __Host- with TLS alone."""
    admin = {"Authorization": "Basic " + base64.b64encode(":".join(ADMIN).encode()).decode()}
    files = ("/index.html", "/")
    for path in ("/exec?query=select+1", "/exec?query=selec", "/exp?query=select+1", "/chk?f=json&j=t", "/settings", "/warnings", "/query", "/nothing", "/snapshot/none", "/api/v1/sql/validate?query=select+1", "/exec?query=select+1&snapshot=new", "/openapi.json", *files):
        status, got, _ = fetch(s.http, path, **admin)
        kept = got.get("cache-control", "")
        check.that(got["server"] == "almanac" and "strict-transport-security" not in got, f"{path}: {got}")
        if path not in files and path != "/openapi.json":
            check.that(got.get("content-security-policy") == "default-src 'none'; frame-ancestors 'none'" and got.get("cross-origin-resource-policy") == "same-origin", f"{path}: {got}")
        check.that(kept == "no-store" if path not in files and path != "/openapi.json" else "no-store" in kept or "no-cache" in kept, f"{path}: {status} {kept}")
    check.that(fetch(s.http)[1]["cache-control"] == "no-store", "401")
    _, _, cookies = fetch(s.http, "/exec?query=select+1&session=true", **admin)
    check.that([c.split("=")[0] for c in cookies] == ["qdb_session"] and "Secure" not in cookies[0], f"in clear: {cookies}")
    certs = Certs()
    tls = {f"ALMANAC_{name}_{key}": value for name in ("HTTP", "HTTP_MIN") for key, value in (("TLS_ENABLED", "true"), ("TLS_CERT_PATH", certs.path("ec.pem")), ("TLS_PRIVATE_KEY_PATH", certs.path("ec.key")))}
    context = ssl.create_default_context(cafile=certs.path("ca.pem"))
    try:
        for login, settings in ((admin, {**ENV, **tls}), (admin, {"ALMANAC_HTTP_USER": ADMIN[0], "ALMANAC_HTTP_PASSWORD": ADMIN[1], **tls})):
            with Server(binary=s.binary, env=settings) as one:
                status, got, cookies = fetch(one.http, "/exec?query=select+1&session=true", context, **login)
                check.that(status == 200 and got.get("strict-transport-security") == "max-age=31536000" and got["cache-control"] == "no-store", f"HSTS: {got}")
                check.that(len(cookies) == 1 and cookies[0].startswith("__Host-qdb_session=qs1") and all(word in cookies[0] for word in ("; Secure", "; HttpOnly", "; Path=/", "SameSite=Strict")) and "Domain" not in cookies[0], f"the cookie: {cookies}")
                value = cookies[0].split(";")[0].split("=", 1)[1]
                check.that(fetch(one.http, context=context, Cookie="__Host-qdb_session=" + value)[0] == 200, "is taken")
                check.that(fetch(one.http, context=context, Cookie="qdb_session=" + value)[0] == 401, "and not by the name that another host could give")
                status, _, gone = fetch(one.http, "/exec?query=select+1&session=false", context, Cookie="__Host-qdb_session=" + value, X_Requested_With="XMLHttpRequest")
                check.that(status == 200 and gone[0].startswith("__Host-qdb_session=;") and "Secure" in gone[0] and "Max-Age=0" in gone[0], f"log-out: {gone}")
                check.that(fetch(one.http, context=context, Cookie="__Host-qdb_session=" + value)[0] == 401, "it is over")
                check.that("strict-transport-security" in fetch(one.health, "/status", context)[1], "the health port")
        with Server(binary=s.binary, env={"ALMANAC_HTTP_CORS_ORIGINS": "https://a.example", "ALMANAC_HTTP_FRAME_ANCESTORS": "https://wiki.example.com"}) as one:
            for origin, allowed in (("https://a.example", "https://a.example"), ("https://b.example", None)):
                _, got, _ = fetch(one.http, Origin=origin)
                check.that((got.get("cross-origin-resource-policy"), got.get("access-control-allow-origin")) == ("cross-origin", allowed), f"with http.cors.origins: {got}")
            check.that("frame-ancestors https://wiki.example.com;" in fetch(one.http, "/index.html")[1]["content-security-policy"], "the console in frames of others")
        with Server(binary=s.binary, env={**tls, "ALMANAC_HTTP_TLS_HSTS_MAX_AGE": "0"}) as one:
            check.that("strict-transport-security" not in fetch(one.http, context=context)[1], "http.tls.hsts.max.age=0")
    finally:
        shutil.rmtree(certs.home)
    for port in (s.http, s.health):
        for head, wanted in ((b"GET / HTTP/1.1\r\n\r\n", b"400"), (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", b"400"), (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"421")):
            at, number = port.rsplit(":", 1)
            with socket.create_connection((at, int(number)), timeout=30) as c:
                c.sendall(head)
                got = c.recv(300).split(b" ")[1]
                check.that(got == wanted, f"{port}: {head}: {got}")


def health(check, s):
    """The health port asks who wants something as the main port does, unless its setting says otherwise."""
    def basic(user, word):
        return {"Authorization": "Basic " + base64.b64encode(f"{user}:{word}".encode()).decode()}
    user, other = s.user()[0], s.user()[0]
    token = s.rest.rows(f"alter user {user} create token type rest with ttl '1d'")[0][1]
    s.rest.must(f"revoke http from {other}")
    for path in ("/", "/status", "/metrics"):
        for who, wanted in (({}, 401), (basic(ADMIN[0], "wrong"), 401), (basic("nobody", PW), 401), ({"Authorization": "Bearer qt1made-up"}, 401), (basic(other, PW), 403), (basic(*ADMIN), 200), (basic(user, PW), 200),
                            ({"Authorization": "Bearer " + token}, 200)):
            got = [fetch(s.health, path, **who) for _ in range(2)]  # kept, too
            check.that([one[0] for one in got] == [wanted] * 2, f"{path}: {who}: {got}")
            check.that(all("charset=utf-8" in one[1]["content-type"] or "json" in one[1]["content-type"] for one in got), f"{path}: {got}")
        check.that(fetch(s.health, path)[1].get("www-authenticate") == fetch(s.http)[1].get("www-authenticate"), "with the challenge of the main port")
    at, port = s.health.rsplit(":", 1)
    c = http.client.HTTPConnection(at, int(port), timeout=30)  # requests of one connection, with a body too, are each asked
    for who, wanted in ((basic(user, PW), 200), ({}, 401), (basic(ADMIN[0], "wrong"), 401), (basic(user, PW), 200)):
        c.request("GET", "/metrics", b"body", headers=who)
        r = c.getresponse()
        text = r.read()
        check.that((r.status, b"almanac_" in text) == (wanted, wanted == 200), f"on one connection: {r.status}")
    c.close()
    with Server(binary=s.binary, env={**ENV, "ALMANAC_HTTP_HEALTH_CHECK_AUTHENTICATION_REQUIRED": "false"}) as one:
        for path in ("/", "/status", "/metrics"):
            got = fetch(one.health, path)
            check.that(got[0] == 200 and "charset=utf-8" in got[1]["content-type"], f"without a login: {got}")


def faults(check, s):
    """Broken requests, those of other pages and failed handshakes are one line each at the default level, with the address; a flood is a count."""
    certs, floods = Certs(), 300
    tls = {"ALMANAC_HTTP_MIN_TLS_ENABLED": "true", "ALMANAC_HTTP_MIN_TLS_CERT_PATH": certs.path("ec.pem"), "ALMANAC_HTTP_MIN_TLS_PRIVATE_KEY_PATH": certs.path("ec.key"), **certs.env("ec")}
    secret = "never to be logged"

    def send(address, *parts):
        """What comes back until the server closes; None: nothing is waited for."""
        at, port = address.rsplit(":", 1)
        with socket.create_connection((at, int(port)), timeout=30) as c:
            for part in parts:
                if part is None:
                    return
                c.sendall(part)
            while c.recv(4096):
                pass

    def lines(what):
        return [line.split(" ", 3)[1:] for line in one.log_path.read_text(errors="replace").splitlines() if what in line]

    def wait(what, enough):
        end = time.monotonic() + 20
        while time.monotonic() < end and not enough(lines(what)):
            time.sleep(0.02)
        return lines(what)
    with Server(binary=s.binary, env={**ENV, "ALMANAC_LOG_LEVEL": "info", **tls}) as one:
        login = b"Authorization: Basic " + base64.b64encode(":".join(ADMIN).encode()) + b"\r\nConnection: close\r\n"
        foreign = b"Sec-Fetch-Site: cross-site\r\nOrigin: https://%s.example\r\n" % secret.replace(" ", "-").encode()
        broken = b"GET /%s HTTP/1.1\r\nHost: a b\r\n\r\n" % secret.replace(" ", "-").encode()
        insert = b"GET /exec?query=create+table+%s(x+int) HTTP/1.1\r\nHost: localhost\r\n" % secret.replace(" ", "_").encode() + login
        send(one.http, broken)
        check.that(wait("refused request: ", len) == [["WARN", "http", "127.0.0.1: refused request: Bad Host header"]], f"a broken head: {lines('refused request: ')}")
        for _ in range(floods):
            send(one.http, broken)
        send(one.http, b"POST /exec HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" + login + b"\r\nrubbish\r\n")
        send(one.http, insert + foreign + b"\r\n")
        told = wait("another page", len)
        check.that(len(told) == 1 and told[0][2].startswith("127.0.0.1: refused request of another page: ") and "another site" in told[0][2], f"a statement of another page: {told}")
        send(one.http, b"DELETE /query/1 HTTP/1.1\r\nHost: localhost\r\n" + foreign + login + b"\r\n")
        send(one.http, insert + b"Upgrade-Insecure-Requests: 1\r\n\r\n")  # a link
        send(one.http, b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")  # a name that leads here
        send(one.health, broken)  # no TLS
        with socket.create_connection(tuple(one.health.split(":"))) as plain, ssl.create_default_context().wrap_socket(plain, do_handshake_on_connect=False, server_hostname="localhost") as t:
            try:
                t.do_handshake()
                check.that(False, "the certificate was taken")
            except ssl.SSLError:
                pass
        send(one.pg, b"\0\0\0\x08\x04\xd2\x16\x2f", broken)
        send(one.pg, b"\0\0\0\x09\0\3\0\0x")
        send(one.pg, broken)
        sealed = wait("TLS failed", lambda got: len({line[1] for line in got}) == 2)
        check.that({tuple(line[:2]) for line in sealed} == {("WARN", "health")} or {line[1] for line in sealed} == {"health", "pg"}, f"handshakes: {sealed}")
        check.that(all(line[0] == "WARN" and line[2].startswith("127.0.0.1: ") for line in sealed), f"handshakes: {sealed}")
        check.that(wait("broken message", len)[0][:2] == ["WARN", "pg"], f"a broken message: {lines('broken message')}")
        more = wait("refused request: ", lambda got: len(got) > 1)
        check.that([line[2] for line in more] == ["127.0.0.1: refused request: Bad Host header", f"127.0.0.1: refused request: {floods + 1} more"], f"a flood: {more[:5]}")
        more = wait("another page: ", lambda got: len(got) > 1)
        check.that(len(more) == 2 and more[1][2] == "127.0.0.1: refused request of another page: 3 more", f"of other pages: {more}")
        text = one.log_path.read_text(errors="replace")
        check.that(not any(form in text for form in (secret, secret.replace(" ", "-"), secret.replace(" ", "_"), "evil.example")), "nothing of what was sent")
    shutil.rmtree(certs.home)


def parameters(check, s):
    """Paths, and the identity provider, are for administrators; every other setting is for all."""
    rest, user = s.rest, s.user()
    all_of = {row[0]: row for row in rest.rows("show parameters")}
    seen = {row[0]: row for row in rest.rows("show parameters", user)}
    hidden = {key for key in seen if seen[key] != all_of[key]}
    check.that(set(seen) == set(all_of) and {"cairo.sql.copy.root", "cairo.sql.backup.root", "tls.cert.path", "acl.oidc.host", "acl.oidc.client.id", "acl.password.leaked.file", "http.static.public.directory", "wal.archive.dir"} <= hidden, f"hidden: {hidden}")
    check.that(all(key.startswith("acl.oidc.") or key.rsplit(".", 1)[1] in ("path", "file", "root", "dir", "directory") or "/" in str(all_of[key][2]) for key in hidden), f"nothing else: {hidden}")
    check.that(all(seen[key][2] == "****" and seen[key][3] is None for key in hidden) and "backups" not in str(seen), "no value, and not where it comes from")
    before = len(rest.rows("select * from sys.audit_log"))
    rest.must("select * from show_parameters()", user)
    check.that(len(rest.rows("select * from sys.audit_log")) == before, "which is no refusal")
    rest.must(f"grant system admin to {user[0]}")
    check.that({row[0]: row for row in rest.rows("show parameters", user)} == all_of, "with SYSTEM ADMIN")


COLUMNS = "timestamp event result user_name interface address detail identity real_user real_identity repeats last_timestamp".split()


def trail(rest, auth=ADMIN, **wanted):
    """Rows of the audit log, oldest first, as dictionaries; those that have these values. Identities without the number that tells users of one name apart."""
    rows = [dict(zip(COLUMNS, row)) for row in rest.rows("select * from sys.audit_log", auth)]
    for row in rows:
        row.update({k: re.sub("^local [0-9]+:", "local:", row[k]) for k in ("identity", "real_identity")})
    return [row for row in rows if all(row[k] == v for k, v in wanted.items())]


def audit(check, s):
    """Each row says who, from where, what about whom; names cannot look like something else; floods displace nothing."""
    rest, (user, _) = s.rest, s.user()
    for one in (f"grant select, update on t(a, b), u to {user} with grant option", f"revoke update on t from {user}", f"grant select on all tables to {user}", f"revoke select on all tables from {user}", f"grant http to {user}", "create group audited",
                f"add user {user} to audited, g", f"alter user {user} disable", f"alter user {user} enable", f"alter user {user} with password '{PW}'", f"alter user {user} with no password", f"alter user {user} set memory limit 100M", f"alter user {user} set memory limit unlimited",
                f"alter user {user} create token type rest with ttl '1h' transient", f"alter user {user} create token type jwk", f"alter user {user} drop token type jwk", "alter group audited with external alias 'the, \"others\"'", "alter group audited drop external alias 'the, \"others\"'",
                f"grant assume service account sa to {user}", f"remove user {user} from audited", "create user \"x' result=ok user='admin\"", "drop user \"x' result=ok user='admin\"", "drop group audited"):
        rest.must(one)
    said = [row["detail"] for row in trail(rest, event="acl", result="ok")]
    for wanted in (f"GRANT TO {user} WITH GRANT OPTION: SELECT, UPDATE ON t(a, b), u", f"REVOKE FROM {user}: UPDATE ON t", f"GRANT TO {user}: SELECT ON ALL TABLES", f"GRANT TO {user}: HTTP", f"ADD USER {user} TO audited, g", f"ALTER USER {user} DISABLE", f"ALTER USER {user} ENABLE",
                   f"ALTER USER {user} WITH PASSWORD", f"ALTER USER {user} WITH NO PASSWORD", f"ALTER USER {user} SET MEMORY LIMIT 100M", f"ALTER USER {user} SET MEMORY LIMIT UNLIMITED", f"ALTER USER {user} CREATE TOKEN TYPE REST WITH TTL '1h' TRANSIENT", f"ALTER USER {user} CREATE TOKEN TYPE JWK",
                   f"ALTER USER {user} DROP TOKEN TYPE JWK", 'ALTER GROUP audited WITH EXTERNAL ALIAS "the, ""others"""', 'ALTER GROUP audited DROP EXTERNAL ALIAS "the, ""others"""', f"GRANT TO {user}: ASSUME SERVICE ACCOUNT sa", f"REMOVE USER {user} FROM audited",
                   "CREATE USER \"x' result=ok user='admin\"", "DROP GROUP audited"):
        check.that(wanted in said, f"{wanted}: {[one for one in said if one.split()[0] == wanted.split()[0]][-8:]}")
    check.that(all(row["address"] == "127.0.0.1" and row["interface"] in ("http", "pg", "line") for row in trail(rest)), f"address and interface: {[r for r in trail(rest) if r['address'] != '127.0.0.1'][:3]}")
    # who: the administrator, users, and those who only have the name
    rest.must(f"alter user {user} with password '{PW}'")
    for auth in ((user, PW), (ADMIN[0], "wrong"), ("x' result=ok user='admin", "y"), ("\u202eadmin", "y"), ("a\nevent=acl", "y")):
        rest.sql("select * from hidden_from_him", auth)
    log = s.log_path.read_text(errors="replace")
    check.that(trail(rest, event="login", user_name=user, result="ok")[-1]["identity"] == f"local:{user}" and trail(rest, event="acl")[-1]["identity"] == "admin:admin" and trail(rest, event="denied", user_name=user)[-1]["identity"] == f"local:{user}", "identities")
    check.that({row["identity"] for row in trail(rest, event="login", user_name="admin", result="refused")} == {""}, "who did not get in is nobody")
    check.that(trail(rest, user_name="x' result=ok user='admin") != [] and trail(rest, user_name="\\u202Eadmin") != [] and trail(rest, user_name="a\\u000Aevent=acl") != [], f"names: {[r['user_name'] for r in trail(rest, event='login', result='refused')][-4:]}")
    check.that("user='x\\' result=ok user=\\'admin'" in log and "\u202e" not in log and "user='\\u202Eadmin'" in log and not any(line.startswith("event=acl") for line in log.splitlines()), "the log has them escaped")
    # under ASSUME both
    w = Wire(s.pg, user=user, password=PW)
    for one in ("assume service account sa", "select * from t"):
        w.send(query(one))
        pg_answer(w)
    w.s.close()
    row = trail(rest, event="denied", user_name="sa")[-1]
    check.that((row["identity"], row["real_user"], row["real_identity"], row["interface"]) == ("local:sa", user, f"local:{user}", "pg"), f"assumed: {row}")
    check.that(f"real='{user}'" in s.log_path.read_text(errors="replace"), "in the log, too")
    # a statement that is made long hides nobody
    rest.must(f"grant {', '.join(['select'] * 400)} on t to {user}")
    rest.must("create table " + "w" * 60 + " (x int)")
    rest.must(f"grant select on {', '.join(['t'] * 3000)}, u to {user}")
    rows = trail(rest, event="acl")
    check.that(all(row["detail"].startswith(f"GRANT TO {user}: ") for row in rows[-2:]) and any(row["detail"].endswith(", u") for row in rows[-3:]), f"long lists: {[row['detail'][-40:] for row in rows[-3:]]}")
    rest.must("drop table " + "w" * 60)


def scram_first(s, user):
    """(rounds, salt) that anybody is told of a name."""
    w = Wire(s.pg, login=False)
    w.send(startup([("user", user), ("database", "qdb")]))
    w.read()
    first = b"n,,n=,r=abcdefghijklmnop"
    w.send(msg(b"p", b"SCRAM-SHA-256\0" + len(first).to_bytes(4, "big") + first))
    told = dict(one.split("=", 1) for one in w.read()[1][4:].decode().split(","))
    w.s.close()
    return int(told["i"]), told["s"]


def texts_of_views(check, s):
    """The query of a view is for who may read all of it, in all lists."""
    rest = s.rest
    for one in (f"create user vic with password '{PW}'", "grant http to vic", "create table behind (ts timestamp, wisdom9 int) timestamp(ts) partition by day", "create view shown as (select wisdom9 from behind where wisdom9 != 77)",
                "create materialized view stored as (select ts, max(wisdom9) w from behind where wisdom9 != 77 sample by 1d) partition by day", "grant set table param on shown to vic", "grant set table param on stored to vic"):
        rest.must(one)
    vic = ("vic", PW)
    asked = ["select * from views()", "select * from materialized_views()", "select * from pg_catalog.pg_views", "select * from pg_catalog.pg_matviews", "select * from information_schema.views",
             "select pg_get_viewdef(oid) from pg_catalog.pg_class where relname in ('shown', 'stored')"]
    for sql in asked:
        got = rest.sql(sql, vic)
        check.that(got[0] == 200 and "behind" not in got[1].replace("materialized_views", ""), f"{sql}: {got[1][:300]}")
    rest.must("grant select on shown to vic")
    rest.must("grant select on stored to vic")
    seen = [sql for sql in asked if "behind" in rest.sql(sql, vic)[1]]
    check.that(seen == asked, f"who may read it is shown it: {seen}")
    for one in ("revoke select on shown from vic", "revoke select on stored from vic", "grant refresh materialized view on stored to vic", "alter table behind drop column wisdom9", "insert into behind values (1)"):
        rest.must(one)
    rest.sql("refresh materialized view stored full")
    for sql in asked + ["refresh materialized view stored full", "refresh materialized view stored incremental", "tables()", "compile view shown", "select * from shown"]:
        got = rest.sql(sql, vic)
        check.that("wisdom9" not in got[1] and "behind" not in got[1].replace("materialized_views", ""), f"nor why it fails: {sql}: {got[1][:300]}")
    check.that(all("wisdom9" in rest.sql(f"select * from {name}()")[1] for name in ("views", "materialized_views")), "who may read it is told")
    rest.must("rename table behind to behind2")
    for sql in asked + ["refresh materialized view stored full"]:
        got = rest.sql(sql, vic)
        check.that("behind" not in got[1].replace("materialized_views", ""), f"nor of a base that has gone: {sql}: {got[1][:300]}")
    for one in ("drop view shown", "drop materialized view stored", "drop table behind2", "drop user vic"):
        rest.must(one)


def made_up_names(check, s):
    """Salts and rounds of names that are not there are as those of names that are: after a restart, DISABLE, other rounds for new passwords; so is the time of an answer."""
    there, nobody = [f"old{i}" for i in range(20)], [f"nobody{i}" for i in range(60)]

    def house(rounds, root=None):
        return Server(binary=s.binary, root=root, env={**ENV, "ALMANAC_PG_AUTH_CLEARTEXT": "false", "ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT": str(rounds)})

    def firsts(one, names):
        return {name: scram_first(one, name) for name in names}
    with house(4096) as one:
        rest = Rest(one)
        for name in there:
            rest.must(f"create user {name} with password '{PW}'")
            rest.must(f"grant pgwire to {name}")
        before = firsts(one, there + nobody + ["admin"])
        check.that({rounds for rounds, _ in before.values()} == {4096} and len({salt for _, salt in before.values()}) == len(before), "each has its salt")
        rest.must("alter user old3 disable")
        check.that(scram_first(one, "old3") == before["old3"] and pg_login(one, "old3", PW) is not None and pg_login(one, "old4", PW) is None, "DISABLE is not seen, and counts")
        rest.must("alter user old4 with no password")
        check.that(scram_first(one, "old4") != before["old4"], "one without a password is as one who is not there")
        before["old4"] = scram_first(one, "old4")
        one.stop()
        one.start()
        after = firsts(one, before)
        check.that(before == after, f"the same after a restart: {[name for name in before if before[name] != after[name]]}")
        check.that(pg_login(one, *ADMIN) is None and pg_login(one, "old5", PW) is None and pg_login(one, "old5", "wrong") is not None, "log-ins work")
        one.stop()
        one.env["ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT"] = "100000"
        one.start()
        check.that(before == {**firsts(one, before)}, "nor by the setting alone")
        for i in range(10):
            Rest(one).must(f"create user new{i} with password '{PW}'")
        after = firsts(one, nobody)
        check.that(scram_first(one, "admin")[0] in (4096, 100000), "the administrator's are among them")
        kinds = {rounds: [name for name in nobody if after[name][0] == rounds] for rounds in (4096, 100000)}
        check.that(len(kinds[4096]) > 20 and len(kinds[100000]) > 5, f"made-up names have the rounds of both: {[len(names) for names in kinds.values()]}")
        check.that(all(after[name] == before[name] for name in kinds[4096]) and all(after[name][1] != before[name][1] for name in kinds[100000]), "other rounds look like another password")
        there.remove("old4")
        check.that(firsts(one, there) == {name: before[name] for name in there}, "those who are there keep theirs")

        def seconds(name):
            began = time.monotonic()
            status = Rest(one).sql("select 1", (name, "wrong"))[0]
            return time.monotonic() - began if status == 401 else 0
        took = [min(seconds(name) for name in names) for names in (there[:3], kinds[4096][:3], ["new1", "new2", "new3"], kinds[100000][:3])]
        check.that(0 < max(took[:2]) < min(took[2:]) / 3, f"and the time of an answer: {took}")


def pg_login(s, user, word):
    """None: in."""
    try:
        Wire(s.pg, user=user, password=word).s.close()
    except PermissionError as e:
        return e
    return None


def audit_floods(check, s):
    """Failures, refusals, log-ins and a user's own changes displace no changes of permissions; repeats are one row with a count, and few lines."""
    with Server(binary=s.binary, env={**ENV, "ALMANAC_ACL_AUDIT_ROWS_MAX": "20"}) as one:
        rest = Rest(one)
        for text in (f"create user ann with password '{PW}'", f"create user bob with password '{PW}'", "grant http, create table to ann", "grant http to bob", "create table t (a int)", "grant select on t to ann"):
            rest.must(text)
        ann = ("ann", PW)
        rest.must("create table of_ann (a int)", ann)
        for i in range(30):
            rest.must("grant select on of_ann to bob", ann)
            rest.must("revoke select on of_ann from bob", ann)
        rest.must("select a from t", ann)
        rest.sql("select * from of_bob", ("bob", PW))
        for i in range(60):
            rest.sql(f"select * from no{i}", ann)
            rest.must(f"alter user ann create token type rest with ttl '{i + 1}h' transient", ann)
        denied = trail(rest, event="denied")
        check.that(len(denied) == 20 and denied[0]["user_name"] == "bob" and {row["user_name"] for row in denied[1:]} == {"ann"} and "no59" in denied[-1]["detail"], f"whose refusals are few keeps them: {[(row['user_name'], row['detail']) for row in denied]}")
        for i in range(200):
            rest.sql("select * from hidden", ann)
        for i in range(4):
            rest.request("/exec?query=select+1", auth=(f"nobody{i}", "x"))
        acl = [row["detail"] for row in trail(rest, event="acl", result="ok") if row["identity"].startswith("admin")]
        check.that(acl == ["CREATE USER ann WITH PASSWORD", "CREATE USER bob WITH PASSWORD", 'GRANT TO ann: HTTP, "CREATE TABLE"', "GRANT TO bob: HTTP", "GRANT TO ann: SELECT ON t"], f"changes of permissions: {acl}")
        check.that(len(trail(rest, event="denied", result="refused")) == 20 and len(trail(rest, event="login", result="refused")) == 4 and len([r for r in trail(rest, event="acl", user_name="ann") if "TOKEN" in r["detail"]]) == 20 and len([r for r in trail(rest, event="acl", user_name="ann") if "of_ann" in r["detail"]]) == 20 and trail(rest, event="login", user_name="ann", result="ok") != [], "each kind has its rows")
        row = [r for r in trail(rest, event="denied") if r["detail"] == "SELECT on hidden"]
        check.that(len(row) == 1 and row[0]["repeats"] == 200 and row[0]["last_timestamp"] > row[0]["timestamp"], f"repeats: {row}")
        lines = [line for line in one.log_path.read_text().splitlines() if "detail='SELECT on hidden'" in line]
        check.that(1 <= len(lines) < 20, f"lines of the log: {len(lines)}")
        stamps = [r["timestamp"] for r in trail(rest)]
        check.that(stamps == sorted(stamps), "in order")



def audit_settings(check, s):
    """audit.ddl, audit.export, audit.read.tables: by whichever way, and nothing without them."""
    ways = {"ALMANAC_AUDIT_DDL": "true", "ALMANAC_AUDIT_EXPORT": "true", "ALMANAC_AUDIT_READ_TABLES": "pay, VPAY"}
    backups = {"ALMANAC_CAIRO_SQL_BACKUP_ROOT": "backups"}
    for settings in ({}, ways):
        with Server(binary=s.binary, env={**ENV, **backups, **settings}) as one:
            rest = Rest(one)
            for text in ("create table pay (ts timestamp, a int, s symbol) timestamp(ts) partition by day", "insert into pay values (0, 1, 'x')", "create table other (a int)", "create view vpay as (select a from pay)", "create view vother as (select a from other)", f"create user ann with password '{PW}'",
                         "grant http, pgwire, create table, read file to ann", "grant all on pay to ann", "grant select on vpay, vother, other to ann", "grant insert on other to ann"):
                rest.must(text)
            ann = ("ann", PW)
            began = len(trail(rest))
            reads = ["select a from pay where a = 1", "select * from vpay", "select count() from pay", "with q as (select a from pay) select * from q a join q b on a.a = b.a", "select x from long_sequence(1) where x in (select a from pay)", "insert into other select a from pay",
                     "update pay set a = 2 where a = 1", "create table copied as (select * from pay)", "explain analyze select a from pay", "select a from pay where a = 1",
                     "backup table pay to 'of_ann'"]
            planned = ["values ((select max(a) from pay))", "select * from (values (1, (select max(a) from pay))) v", "with q as (values ((select max(a) from pay))) select * from q", "select a from other union all values ((select max(a) from pay))", "create table zz as (values ((select max(a) from pay)))",
                       "insert into other values ((select max(a)::int from pay))", "select * from other limit (select max(a) from pay)", "select * from other limit 0, (select max(a) from pay)", "select * from long_sequence((select max(a) from pay))", "select * from generate_series(1, (select max(a) from pay))",
                       "select sum(x) over (order by x rows (select max(a) from pay) preceding) from long_sequence(3)", "select ts, sum(a) from pay2 sample by 1h fill((select max(a)::int from pay))", "select * from other pivot (sum(a) for a in (select s from pay))"]
            rest.must("create table pay2 (ts timestamp, a int) timestamp(ts) partition by day")
            rest.must("grant select on pay2 to ann")
            reads += [text for text in planned if rest.sql(text, ann)[0] == 200]
            check.that(len(reads) > 20, f"statements that read while they are planned: {[(text, rest.sql(text, ann)[1][:200]) for text in planned if text not in reads]}")
            rest.sql("drop table zz", ann)
            rest.must("grant create materialized view to ann")
            reads.append("create materialized view mvp as (select ts, max(a) m from pay sample by 1d) partition by day")
            began = len(trail(rest))
            for text in reads:
                rest.must(text, ann)
            for text in ("select * from other", "select * from vother", "select 1", "show tables", "explain select a from pay"):
                rest.must(text, ann)
            rest.must("alter table pay add column secret_name varchar", ann)
            rest.must("rename table copied to copied2", ann)
            rest.must("truncate table copied2", ann)
            rest.must("rename table pay to pay9", ann)
            rest.must("rename table pay9 to pay", ann)
            rest.must("drop table copied2", ann)
            rest.request("/write", "POST", ann, None, "made x=1i 1000\n")
            rest.request("/write", "POST", ann, None, "made x=1i,y=2i 2000\n")
            rest.request("/imp?name=loaded&forceHeader=true", "POST", ann, {"Content-Type": "multipart/form-data; boundary=x"}, '--x\r\nContent-Disposition: form-data; name="data"; filename="t.csv"\r\n\r\na,b\r\n1,2\r\n--x--\r\n')
            rest.request("/exp?query=select+a+from+other", auth=ann)
            rest.must("copy other to 'file' with format parquet", ann)
            Pg(one).sql("copy (select a from other) to stdout", ann)
            rows = [row for row in trail(rest)[began:] if row["event"] in ("ddl", "export", "read")]
            check.that(all((row["user_name"], row["identity"], row["address"], row["result"]) == ("ann", "local:ann", "127.0.0.1", "ok") for row in rows), f"who: {rows[:2]}")
            if not settings:
                check.that(rows == [], f"nothing without the settings: {rows}")
                continue
            read = [row["detail"] for row in rows if row["event"] == "read"]
            for text in reads:
                check.that(any(detail.endswith(": " + text) and detail.split(":")[0] in ("pay", "pay, vpay", "vpay, pay") for detail in read), f"read: {text}: {read}")
            check.that(len(read) == len(reads), f"and nothing else: {read}")
            ddl = [row["detail"].split(":")[0] for row in rows if row["event"] == "ddl"]
            for wanted in ("CREATE TABLE copied", "ALTER TABLE pay", "DROP TABLE copied2", "TRUNCATE TABLE copied2", "RENAME TABLE copied TO copied2", "RENAME TABLE pay TO pay9", "RENAME TABLE pay9 TO pay", "CREATE TABLE made", "ALTER TABLE made ADD COLUMN y", "CREATE TABLE loaded"):
                check.that(wanted in ddl, f"ddl: {wanted}: {ddl}")
            export = [(row["interface"], row["detail"]) for row in rows if row["event"] == "export"]
            check.that(export == [("http", "BACKUP: backup table pay to 'of_ann'"), ("http", "/exp: select a from other"), ("http", "COPY TO file: copy other to 'file' with format parquet"), ("pg", "COPY TO STDOUT: copy (select a from other) to stdout")], f"exports: {export}")


def status_of(answers):
    return sorted({status for status, _ in answers})


PARTS = [exports_of_others, links_of_folders, races_of_folders, names, passwords, hidden_names, headers, health, faults, parameters, audit, audit_floods, audit_settings, texts_of_views, made_up_names]


if __name__ == "__main__":
    run_suite(PARTS, House, ENV)
