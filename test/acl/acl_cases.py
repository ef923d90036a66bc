"""Who may what, as tables: each kind of statement and each end point, with the permission that it asks for.

STATEMENTS  kind (a row of src/sql/parse/statement.def; ALTER and a row of alm_alter_kind; ACL and a row of alm_acl_verb), statement, what the
            refusal names, grants with which it passes ("WITH GRANT OPTION" among them: all with it; None: with no grant), then if there are any:
            statements before, statements after, and "pg" for those that need a connection. A statement may be a list, over one connection.
FREE        kind and statements that whoever may connect may run.
NOT_THERE   permissions of the reference's statements that are not here: they can be granted, and nothing asks for them.
END_POINTS  methods and path of a route (src/net/http/route.def), and the requests: method, address, body, headers, what the refusal names (None: HTTP is
            enough), grants, status with them. Whether a route needs a login is what its row says.

acl_test.py fails for a permission, a kind of statement or a route that has no row here.
"""
import gzip

DAY = "'1970-01-01'"
PARTS = ["create table n (ts timestamp, y int) timestamp(ts) partition by day", "insert into n values (0, 1), (86400000000, 2), (172800000000, 3)"]
MATVIEW = ["create table n (ts timestamp, y int) timestamp(ts) partition by day",
           "create materialized view m as (select ts, sum(y) y from n sample by 1h) partition by day"]
NO_MATVIEW = ["drop materialized view if exists m", "drop table n"]
N, NO_N = ["create table n (x int, y int)"], ["drop table if exists n"]
X, NO_X = ["create user x"], ["drop user if exists x"]

STATEMENTS = [
    ("SELECT", "select a from t", "SELECT on t", ["select on t(a)"]),
    ("SELECT", "select ts, a from t", "SELECT on t", ["select on t(a)"]),
    ("SELECT", "select count() from t", "SELECT on t", ["select on t(b)"]),
    ("SELECT", "select * from t", "SELECT on t", ["select on t"]),
    ("SELECT", "select * from qdb.public.t", "SELECT on t", ["select on public.t"]),
    ("SELECT", "declare @t := public.t select a from @t", "SELECT on t", ["select on qdb.public.t(a)"]),
    ("SELECT", "select * from v", "SELECT on v", ["select on v"]),
    ("SELECT", "select a from t where a in (select a from u)", "SELECT on t", ["select on t(a)", "select on u(a)"]),
    ("SELECT", "with x as (select a from t) select * from x", "SELECT on t", ["select on t(a)"]),
    ("SELECT", "select sum(a) from t sample by 1h", "SELECT on t", ["select on t(a)"]),
    ("SELECT", "select t.a from t asof join u", "SELECT on t", ["select on t(a)", "select on u(a)"]),
    ("SELECT", "select (select max(a) from t) x", "SELECT on t", ["select on t(a)"]),
    ("SELECT", "select row_number() over (partition by a order by b) r from t", "SELECT on t(b)", ["select on t(b)"], ["grant select on t(a) to %s"], []),
    ("SELECT", "select b from t latest on ts partition by a", "SELECT on t(a)", ["select on t(a)"], ["grant select on t(b) to %s"], []),
    ("SELECT", "select a from t union select a from u", "SELECT on t", ["select on t(a)", "select on u(a)"]),
    ("SELECT", "select * from sys.audit_log", "DATABASE ADMIN", ["database admin"]),
    ("SELECT", "select * from external_aliases()", "LIST USERS", ["list users"]),
    ("SELECT", "select * from memory_limits()", "LIST USERS", ["list users"]),
    ("SELECT", "select * from import_files()", "READ FILE", ["read file"]),
    ("SELECT", "select * from export_files()", "READ FILE", ["read file"]),
    ("SELECT", "select * from files('.')", "READ FILE", ["read file"]),
    ("SELECT", "select * from read_parquet('one.parquet')", "READ FILE", ["read file"]),
    ("SELECT", "select * from parquet_metadata('one.parquet')", "READ FILE", ["read file"]),
    ("SELECT", "select * from parquet_schema('one.parquet')", "READ FILE", ["read file"]),
    ("SELECT", "select reload_config()", "SYSTEM ADMIN", ["system admin"]),
    ("SELECT", "select reload_tls()", "SYSTEM ADMIN", ["system admin"]),
    ("SELECT", "select flush_user_info_cache()", "SYSTEM ADMIN", ["system admin"]),
    ("EXPLAIN", "explain select a from t", "SELECT on t", ["select on t(a)"]),
    ("EXPLAIN", "explain analyze select a from t", "SELECT on t", ["select on t(a)"]),
    ("EXPLAIN", "explain update t set a = 1", "UPDATE on t(a)", ["update on t(a)"]),
    ("SHOW", "show columns from t", "SELECT on t", ["select on t(a)"]),
    ("SHOW", "show columns from public.t", "SELECT on t", ["select on t(a)"]),
    ("SHOW", "show partitions from t", "SELECT on t", ["select on t(a)"]),
    ("SHOW", "show create table t", "SELECT on t", ["select on t(a)"]),
    ("SHOW", "show create view v", "SELECT on v", ["select on v"]),
    ("SHOW", "show create database tables", "SELECT on n", ["select on n(x)"], N + ["grant insert on n to %s"], NO_N),
    ("SHOW", "show create database acl", "LIST USERS", ["list users", "user details"]),
    ("SHOW", "show create database users", "USER DETAILS", ["user details"], ["grant list users to %s"], []),
    ("SHOW", "show users", "LIST USERS", ["list users"]),
    ("SHOW", "show groups", "LIST USERS", ["list users"]),
    ("SHOW", "show service accounts", "LIST USERS", ["list users"]),
    ("SHOW", "show user other", "USER DETAILS", ["user details"]),
    ("SHOW", "show permissions other", "USER DETAILS", ["user details"]),
    ("INSERT", "insert into t values (0, 1, 2)", "INSERT on t", ["insert on t"]),
    ("INSERT", "insert into qdb.public.t values (0, 1, 2)", "INSERT on t", ["insert on public.t"]),
    ("INSERT", "insert into t select ts, a, a from u", "INSERT on t", ["insert on t", "select on u(a)"]),
    ("INSERT", "insert into t values (0, 1, 2) returning a", "INSERT on t", ["insert on t", "select on t(a)"]),
    ("INSERT", "insert into n values (1, 2) returning y", "SELECT on n(y)", ["select on n(y)"], N + ["grant insert on n to %s"], NO_N),
    ("UPDATE", "update t set a = 1", "UPDATE on t(a)", ["update on t(a)"]),
    ("UPDATE", "update public.t set a = 1", "UPDATE on t(a)", ["update on qdb.public.t(a)"]),
    ("UPDATE", "update t set a = b", "UPDATE on t(a)", ["update on t(a)", "select on t(b)"]),
    ("UPDATE", "update n set x = 1 returning y", "SELECT on n(y)", ["select on n(y)"], N + ["grant update on n(x) to %s"], NO_N),
    ("DELETE", "delete from t where a = 77", "DELETE on t", ["delete on t", "select on t(a)"]),
    ("DELETE", "delete from qdb.public.t where a = 77", "DELETE on t", ["delete on t", "select on t(a)"]),
    ("DELETE", "delete from n where x = 1 returning y", "SELECT on n(x, y)", ["select on n(x)", "select on n(y)"], N + ["grant delete on n to %s"], NO_N),
    ("CREATE_TABLE", "create table n (x int)", "CREATE TABLE", ["create table"], [], NO_N),
    ("CREATE_TABLE", "create table n as (select a from t)", "CREATE TABLE", ["create table", "select on t(a)"], [], NO_N),
    ("CREATE_TABLE", "create table n (like t)", "CREATE TABLE", ["create table", "select on t(a)"], [], NO_N),
    ("DROP_TABLE", "drop table if exists other.n, qdb.public.n", "DROP TABLE on n", ["drop table on n"],
     N + ["grant select on n to %s"], NO_N),
    ("DROP_TABLE", "drop table n", "DROP TABLE on n", ["drop table on n"], N, NO_N),
    ("RENAME_TABLE", "rename table n to m", "RENAME TABLE on n", ["rename table on n"], N, ["drop table if exists n", "drop table if exists m"]),
    ("TRUNCATE", "truncate table public.n", "TRUNCATE TABLE on n", ["truncate table on n"], N, NO_N),
    ("TRUNCATE", "truncate table n", "TRUNCATE TABLE on n", ["truncate table on n"], N, NO_N),
    ("ALTER ADD_COLUMN", "alter table n add column z int", "ADD COLUMN on n", ["add column on n"], N, NO_N),
    ("ALTER DROP_COLUMN", "alter table n drop column y", "DROP COLUMN on n(y)", ["drop column on n(y)"], N, NO_N),
    ("ALTER RENAME_COLUMN", "alter table n rename column y to z", "RENAME COLUMN on n(y)", ["rename column on n(y)"], N, NO_N),
    ("ALTER COLUMN_TYPE", "alter table n alter column y type long", "ALTER COLUMN TYPE on n(y)", ["alter column type on n(y)"], N, NO_N),
    ("ALTER COLUMN_CAPACITY", "alter table n alter column s symbol capacity 512", "ALTER COLUMN TYPE on n(s)", ["alter column type on n(s)"],
     ["create table n (s symbol)"], NO_N),
    ("ALTER ADD_INDEX", "alter table n alter column s add index", "ADD INDEX on n(s)", ["add index on n(s)"], ["create table n (s symbol)"], NO_N),
    ("ALTER DROP_INDEX", "alter table n alter column s drop index", "DROP INDEX on n(s)", ["drop index on n(s)"], ["create table n (s symbol index)"], NO_N),
    ("CREATE_INDEX", "create index i on n (s)", "ADD INDEX on n(s)", ["add index on n(s)"], ["create table n (s symbol, y int)"], NO_N),
    ("CREATE_INDEX", "create index i on n (s, y)", "ADD INDEX on n(s, y)", ["add index on n(s, y)"], ["create table n (s symbol, y int)"], NO_N),
    ("DROP_INDEX", "drop index n_s_idx", "DROP INDEX on n(s)", ["drop index on n(s)"],
     ["create table n (s symbol index, y int)", "grant select on n(y) to %s"], NO_N),
    ("ALTER CACHE", "alter table n alter column s nocache", "ALTER COLUMN CACHE on n(s)", ["alter column cache on n(s)"], ["create table n (s symbol)"], NO_N),
    ("ALTER DROP_PARTITION", f"alter table n drop partition list {DAY}", "DROP PARTITION on n", ["drop partition on n"], PARTS, NO_N),
    ("ALTER DETACH_PARTITION", f"alter table n detach partition list {DAY}", "DETACH PARTITION on n", ["detach partition on n"], PARTS, NO_N),
    ("ALTER ATTACH_PARTITION", f"alter table n attach partition list {DAY}", "ATTACH PARTITION on n", ["attach partition on n"],
     PARTS + [f"alter table n detach partition list {DAY}"], NO_N),
    ("ALTER TO_PARQUET", f"alter table n convert partition to parquet list {DAY}", "DROP PARTITION on n", ["drop partition on n"], PARTS, NO_N),
    ("ALTER TO_NATIVE", f"alter table n convert partition to native list {DAY}", "DROP PARTITION on n", ["drop partition on n"],
     PARTS + [f"alter table n convert partition to parquet list {DAY}"], NO_N),
    ("ALTER SQUASH", "alter table t squash partitions", "DROP PARTITION on t", ["drop partition on t"]),
    ("ALTER SET_TTL", "alter table t set ttl 100 weeks", "SET TABLE PARAM on t", ["set table param on t"]),
    ("ALTER SET_PARAM", "alter table t set param maxUncommittedRows = 1000", "SET TABLE PARAM on t", ["set table param on t"]),
    ("ALTER SET_TYPE", "alter table n set type bypass wal", "SET TABLE TYPE on n", ["set table type on n"], PARTS, NO_N),
    ("ALTER DEDUP", "alter table t dedup enable upsert keys(ts)", "DEDUP ENABLE on t", ["dedup enable on t"]),
    ("ALTER DEDUP_OFF", "alter table t dedup disable", "DEDUP DISABLE on t", ["dedup disable on t"]),
    ("ALTER SUSPEND_WAL", "alter table n suspend wal", "RESUME WAL on n", ["resume wal on n"], PARTS, ["alter table n resume wal"] + NO_N),
    ("ALTER RESUME_WAL", "alter table n resume wal", "RESUME WAL on n", ["resume wal on n"], PARTS, NO_N),
    ("ALTER REFRESH", "alter materialized view m set refresh manual", "ALTER MATERIALIZED VIEW on m", ["alter materialized view on m"], MATVIEW, NO_MATVIEW),
    ("ALTER REFRESH_LIMIT", "alter materialized view m set refresh limit 1 day", "ALTER MATERIALIZED VIEW on m", ["alter materialized view on m"], MATVIEW, NO_MATVIEW),
    ("ALTER QUERY", "alter view w as (select a from t)", "ALTER VIEW on w", ["alter view on w", "select on t(a)"], ["create view w as (select a from u)"], ["drop view w"]),
    ("ALTER_MATVIEW", "alter materialized view m set ttl 2 weeks", "ALTER MATERIALIZED VIEW on m", ["alter materialized view on m"], MATVIEW, NO_MATVIEW),
    ("CREATE_VIEW", "create view w as (select a from t)", "CREATE VIEW", ["create view", "select on t(a)"], [], ["drop view w"]),
    ("CREATE_VIEW", "create materialized view m as (select ts, sum(a) a from t sample by 1h) partition by day", "CREATE MATERIALIZED VIEW",
     ["create materialized view", "select on t(a)"], [], ["drop materialized view m"]),
    ("ALTER_VIEW", "alter view w as (select a from t)", "ALTER VIEW on w", ["alter view on w", "select on t(a)"], ["create view w as (select a from u)"], ["drop view w"]),
    ("DROP_VIEW", "drop view w", "DROP VIEW on w", ["drop view on w"], ["create view w as (select a from u)"], ["drop view if exists w"]),
    ("DROP_MATVIEW", "drop materialized view m", "DROP MATERIALIZED VIEW on m", ["drop materialized view on m"], MATVIEW, NO_MATVIEW),
    ("REFRESH", "refresh materialized view m full", "REFRESH MATERIALIZED VIEW on m", ["refresh materialized view on m"], MATVIEW, NO_MATVIEW),
    ("BACKUP", "backup database to 'of_case'", "BACKUP DATABASE", ["backup database"]),
    ("BACKUP", "backup table t to 'of_table{number}'", "BACKUP TABLE on t", ["backup table on t"]),
    ("CHECKPOINT", "checkpoint create", "SNAPSHOT", ["snapshot"], [], ["checkpoint release"]),
    ("CHECKPOINT", "checkpoint release", "SNAPSHOT", ["snapshot"]),
    ("MAINTAIN", "vacuum table t", "VACUUM TABLE on t", ["vacuum table on t"]),
    ("MAINTAIN", "scrub table t", "SCRUB TABLE on t", ["scrub table on t"]),
    ("MAINTAIN", "reindex table n column s lock exclusive", "REINDEX on n", ["reindex on n(s)"], ["create table n (s symbol index)"], NO_N),
    ("COMMENT", "comment on table t is 'x'", "SET TABLE PARAM on t", ["set table param on t"]),
    ("COMMENT", "comment on column t.a is 'x'", "SET TABLE PARAM on t", ["set table param on t"]),
    ("COMMENT", "comment on view v is 'x'", "SET TABLE PARAM on v", ["set table param on v"]),
    ("COPY_FROM", "copy t from stdin", "INSERT on t", ["insert on t"], [], [], "pg"),
    ("COPY_FROM", "copy t from 'rows.csv' with header true", "READ FILE", ["read file", "insert on t"]),
    ("COPY_FROM", "copy made from 'rows.csv' with header true", "READ FILE", ["read file", "create table"], [], ["drop table if exists made"]),
    ("COPY_TO", "copy t to stdout", "SELECT on t", ["select on t"], [], [], "pg"),
    ("COPY_TO", "copy public.t to stdout", "SELECT on t", ["select on t"], [], [], "pg"),
    ("COPY_TO", "copy (select a from t) to stdout", "SELECT on t", ["select on t(a)"], [], [], "pg"),
    ("COPY_TO", "copy t to 'of_case' with format parquet", "READ FILE", ["read file", "select on t"]),
    ("COPY_TO", "copy (select a from t) to 'of_case' with format parquet", "SELECT on t", ["select on t(a)"], ["grant read file to %s"], []),
    ("DECLARE_CURSOR", "declare c cursor with hold for select a from t", "SELECT on t", ["select on t(a)"], [], [], "pg"),
    ("PREPARE", ["prepare p as select a from t", "execute p"], "SELECT on t", ["select on t(a)"], [], [], "pg"),
    ("EXECUTE", ["prepare p as update t set a = $1", "execute p(1)"], "UPDATE on t(a)", ["update on t(a)"], [], [], "pg"),
    ("COPY_FROM", "copy '{copying}' cancel", "CANCEL ANY COPY", ["cancel any copy"]),
    ("DROP_SESSION", "drop session '{session}'", "SQL ENGINE ADMIN", ["sql engine admin"]),
    ("CANCEL", "cancel query {running}", "SQL ENGINE ADMIN", ["sql engine admin"]),
    ("ACL CREATE", "create user x", "CREATE USER", ["create user"], [], NO_X),
    ("ACL CREATE", "create group x", "CREATE GROUP", ["create group"], [], ["drop group if exists x"]),
    ("ACL CREATE", "create service account x", "CREATE SERVICE ACCOUNT", ["create service account"], [], ["drop service account if exists x"]),
    ("ACL DROP", "drop user x", "DROP USER", ["drop user"], X, NO_X),
    ("ACL DROP", "drop group x", "DROP GROUP", ["drop group"], ["create group x"], ["drop group if exists x"]),
    ("ACL DROP", "drop service account x", "DROP SERVICE ACCOUNT", ["drop service account"], ["create service account x"],
     ["drop service account if exists x"]),
    ("ACL DISABLE", "alter user x disable", "DISABLE USER", ["disable user"], X, NO_X),
    ("ACL ENABLE", "alter user x enable", "ENABLE USER", ["enable user"], X, NO_X),
    ("ACL PASSWORD", "alter user x with password of_its_own", "ADD PASSWORD", ["add password"], X, NO_X),
    ("ACL PASSWORD", "alter user x with no password", "REMOVE PASSWORD", ["remove password"], X, NO_X),
    ("ACL MEMORY", "alter user x set memory limit 100M", "SET MEMORY LIMIT", ["set memory limit"], X, NO_X),
    ("ACL MEMORY", "alter group g set memory limit unlimited", "SET MEMORY LIMIT", ["set memory limit"]),
    ("ACL ADD_TOKEN", "alter user x create token type rest with ttl '1h'", "CREATE REST TOKEN", ["create rest token"], X, NO_X),
    ("ACL ADD_TOKEN", "alter user x create token type jwk", "CREATE JWK", ["create jwk"], X, NO_X),
    ("ACL DROP_TOKEN", "alter user x drop token type rest", "DROP REST TOKEN", ["drop rest token"], X, NO_X),
    ("ACL DROP_TOKEN", "alter user x drop token type jwk", "DROP JWK", ["drop jwk"], X, NO_X),
    ("ACL ADD_MEMBER", "add user x to g", "ADD USER", ["add user"], X, NO_X),
    ("ACL REMOVE_MEMBER", "remove user x from g", "REMOVE USER", ["remove user"], X + ["add user x to g"], NO_X),
    ("ACL ADD_ALIAS", "alter group g with external alias 'A, B'", "ADD EXTERNAL ALIAS", ["add external alias"], [], ["alter group g drop external alias 'A, B'"]),
    ("ACL DROP_ALIAS", "alter group g drop external alias q", "REMOVE EXTERNAL ALIAS", ["remove external alias"], ["alter group g with external alias q"], []),
    ("ACL GRANT", "grant select on t to g", "GRANT SELECT on t", ["select on t", "WITH GRANT OPTION"]),
    ("ACL REVOKE", "revoke select on t from g", "GRANT SELECT on t", ["select on t", "WITH GRANT OPTION"]),
    ("ACL GRANT_ASSUME", "grant assume service account sa to g", "ASSUME SERVICE ACCOUNT", ["assume service account sa", "WITH GRANT OPTION"]),
    ("ACL REVOKE_ASSUME", "revoke assume service account sa from g", "ASSUME SERVICE ACCOUNT", ["assume service account sa", "WITH GRANT OPTION"]),
    ("ACL ASSUME", "assume service account sa", "ASSUME SERVICE ACCOUNT", ["assume service account sa"], [], [], "pg"),
    ("ACL EXIT", ["assume service account sa", "exit service account sa"], "ASSUME SERVICE ACCOUNT", ["assume service account sa"], [], [], "pg"),
]

FREE = [
    ("EMPTY", ""), ("SET", "set datestyle to 'iso'"), ("SET_TRANSACTION", ["begin", "set transaction isolation level repeatable read"]),
    ("BEGIN", "begin"), ("COMMIT", ["begin", "commit"]), ("ROLLBACK", ["begin", "rollback"]), ("SAVEPOINT", ["begin", "savepoint s"]),
    ("FETCH", ["begin", "declare c cursor for select 1", "fetch c"]), ("SELECT", "select current_user(), session_user()"),
    ("SHOW", "show permissions"), ("SHOW", "show tables"), ("ACL PASSWORD", "alter user {me} with password of_the_own"),
    ("ACL ADD_TOKEN", "alter user {me} create token type rest with ttl '1h' transient"), ("ACL DROP_TOKEN", "alter user {me} drop token type rest"),
]
# ALTER TABLE is its parts; OTHER are statements that are refused to all.
WITHOUT = {"ALTER_TABLE", "OTHER"}

NOT_THERE = {"DROP LIVE VIEW", "CREATE LIVE VIEW", "COMPILE VIEW", "SET STORAGE POLICY", "REMOVE STORAGE POLICY", "ENABLE STORAGE POLICY", "DISABLE STORAGE POLICY"}

FORM = b'--x\r\nContent-Disposition: form-data; name="data"; filename="t.csv"\r\n\r\nts,a,b\r\n1000,5,6\r\n--x--\r\n'
PARQUET_FORM = b'--x\r\nContent-Disposition: form-data; name="data"; filename="one.parquet"\r\n\r\n{one.parquet}\r\n--x--\r\n'
PACKED_FORM = b'--x\r\nContent-Disposition: form-data; name="data"; filename="t.csv.gz"\r\n\r\n' + gzip.compress(b"ts,a,b\r\n1000,5,6\r\n" * 400) + b"\r\n--x--\r\n"
MULTIPART = {"Content-Type": "multipart/form-data; boundary=x"}
ASK = {"Content-Type": "application/x-www-form-urlencoded"}
LINE = b"t a=5i,b=6i 1700000000000000000\n"


def asks(path):
    """A statement through one of the end points that run them."""
    return [("GET", f"{path}?query=select+a+from+t", None, {}, "SELECT on t", ["select on t(a)"], 200),
            ("HEAD", f"{path}?query=select+1", None, {}, None, [], 200),
            ("POST", path, b"query=select+a+from+t", ASK, "SELECT on t", ["select on t(a)"], 200)]


END_POINTS = {
    ("GET,HEAD,POST", "/exec"): asks("/exec"),
    ("GET,HEAD,POST", "/api/v1/sql/execute"): asks("/api/v1/sql/execute"),
    ("GET,HEAD,POST", "/exp"): asks("/exp"),
    ("GET,HEAD,POST", "/api/v1/sql/validate"): [
        ("GET", "/api/v1/sql/validate?query=select+a+from+t", None, {}, "SELECT on t", ["select on t(a)"], 200),
        ("HEAD", "/api/v1/sql/validate?query=select+1", None, {}, None, [], 200),
        ("POST", "/api/v1/sql/validate", b"query=select+a+from+t", ASK, "SELECT on t", ["select on t(a)"], 200)],
    ("POST,PUT", "/imp"): [(method, f"/imp?name={name}&forceHeader=true&fmt=json", FORM, MULTIPART, needs, [grant], 200) for method in ("POST", "PUT")
                           for name, needs, grant in (("t", "INSERT on t", "insert on t"), (f"made_by_{method}", "CREATE TABLE", "create table"))]
                          + [("POST", f"/imp?name={name}&forceHeader=true&fmt=json", PACKED_FORM, MULTIPART, needs, [grant], 200)
                             for name, needs, grant in (("t", "INSERT on t", "insert on t"), ("made_of_packed", "CREATE TABLE", "create table"))]
                          + [("POST", f"/imp?name={name}&fmt=json", PARQUET_FORM, MULTIPART, needs, [grant], 200)
                             for name, needs, grant in (("ints", "INSERT on ints", "insert on ints"), ("made_of_parquet", "CREATE TABLE", "create table"))],
    ("POST", "/write"): [("POST", "/write", LINE, {}, "INSERT on t", ["insert on t"], 204),
                         ("POST", "/write", LINE.replace(b"t ", b"made_by_line "), {}, "CREATE TABLE", ["create table"], 204),
                         ("POST", "/write", LINE.replace(b",b=", b",made="), {}, "INSERT on t", ["add column on t", "insert on t"], 204)],
    ("POST", "/api/v2/write"): [("POST", "/api/v2/write?bucket=b&org=o", LINE, {}, "INSERT on t", ["insert on t"], 204)],
    ("GET,HEAD", "/query"): [(method, "/query", None, {}, None, [], 200) for method in ("GET", "HEAD")],
    ("DELETE", "/query/"): [("DELETE", "/query/{running}", None, {}, "SQL ENGINE ADMIN", ["sql engine admin"], 200)],
    ("GET,HEAD", "/query/"): [(method, "/query/a-tag-of-nobody", None, {}, None, [], 204) for method in ("GET", "HEAD")],
    ("GET,HEAD", "/snapshot/"): [(method, "/snapshot/{held}", None, {}, None, [], 404) for method in ("GET", "HEAD")],  # that of somebody else
    ("DELETE", "/snapshot/"): [("DELETE", "/snapshot/{held}", None, {}, None, [], 404)],
    ("GET,HEAD", "/chk"): [("GET", "/chk?f=json&j=t", None, {}, "Does not exist", ["select on t(a)"], 200), ("HEAD", "/chk?f=json&j=t", None, {}, None, [], 200)],
    ("GET,HEAD", "/ping"): [("GET", "/ping", None, {}, None, [], 204), ("HEAD", "/ping", None, {}, None, [], 204)],
    ("GET,HEAD", "/settings"): [("GET", "/settings", None, {}, None, [], 200), ("HEAD", "/settings", None, {}, None, [], 200)],
    ("PUT,POST", "/settings"): [(method, "/settings?version={version}", b'{"instance_name":"x"}', {}, "SETTINGS", ["settings"], 200) for method in ("PUT", "POST")],
    ("GET,HEAD", "/warnings"): [(method, "/warnings", None, {}, None, [], 200) for method in ("GET", "HEAD")],
    ("GET,HEAD", "/metrics"): [(method, "/metrics", None, {}, None, [], 200) for method in ("GET", "HEAD")],
    ("POST", "/oidc/backchannel-logout"): [("POST", "/oidc/backchannel-logout", b"logout_token=x", {}, None, [], 404)],  # without a provider
    ("GET,HEAD", "/openapi.json"): [(method, "/openapi.json", None, {}, None, [], 200) for method in ("GET", "HEAD")],
    ("GET,HEAD", "/"): [(method, "/", None, {}, None, [], 301) for method in ("GET", "HEAD")],
}
