//! The scenario of the driver matrix by sqlx, with queries at run time: one line for each check, see ../README.md.
mod queries;
mod sessions;
mod values;

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgDatabaseError, PgSslMode, Postgres};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, ConnectOptions, Decode, Error, PgConnection, Type};

pub type Q = Query<'static, Postgres, PgArguments>;

pub fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

pub fn options() -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .host(&env("PGHOST"))
        .port(env("PGPORT").parse().unwrap())
        .username(&env("PGUSER"))
        .password(&env("PGPASSWORD"))
        .database(&env("PGDATABASE"))
        .ssl_mode(PgSslMode::Disable)
}

pub async fn connect() -> PgConnection {
    options().connect().await.unwrap()
}

pub fn table(name: &str) -> String {
    env("TABLE_PREFIX") + name
}

pub fn query(sql: impl Into<String>) -> Q {
    sqlx::query(AssertSqlSafe(sql.into()))
}

pub async fn run(c: &mut PgConnection, sql: impl Into<String>) -> Result<u64, Error> {
    query(sql).execute(c).await.map(|r| r.rows_affected())
}

pub async fn create(c: &mut PgConnection, name: &str, columns: &str) {
    run(c, format!("drop table if exists {name}")).await.unwrap();
    run(c, format!("create table {name} {columns}")).await.unwrap();
}

pub async fn one<T: for<'r> Decode<'r, Postgres> + Type<Postgres> + Send + Unpin>(c: &mut PgConnection, q: Q) -> T {
    use sqlx::Row;
    q.fetch_one(c).await.unwrap_or_else(|e| panic!("{e:?}")).get(0)
}

pub async fn column<T: for<'r> Decode<'r, Postgres> + Type<Postgres> + Send + Unpin>(c: &mut PgConnection, q: Q) -> Vec<T> {
    use sqlx::Row;
    q.fetch_all(c).await.unwrap_or_else(|e| panic!("{e:?}")).iter().map(|r| r.get(0)).collect()
}

pub fn server_error<T>(result: Result<T, Error>) -> Box<PgDatabaseError> {
    match result {
        Err(Error::Database(e)) => e.downcast::<PgDatabaseError>(),
        Err(e) => panic!("no error of the server: {e:?}"),
        Ok(_) => panic!("no error"),
    }
}

/// The SQLSTATE of an error of the server.
pub fn state<T>(result: Result<T, Error>) -> String {
    server_error(result).code().to_string()
}

async fn attempt(name: &str, check: impl Future<Output = ()>) {
    match AssertUnwindSafe(check).catch_unwind().await {
        Ok(()) => println!("ok {name}"),
        Err(e) => {
            let text = e.downcast_ref::<String>().cloned().or(e.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
            println!("fail {name}: {}", text.replace('\n', " ").chars().take(600).collect::<String>());
        }
    }
}

/// The version of the lock file this program is built by.
fn version() -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let at = lock.find("name = \"sqlx\"\n").unwrap();
    lock[at..].split('"').nth(3).unwrap()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    std::panic::set_hook(Box::new(|_| ())); // said in the line of the check
    println!("driver sqlx {}", version());
    std::env::remove_var("PGSSLMODE"); // the driver reads them itself
    attempt("connect", sessions::connects()).await;
    attempt("tls", sessions::tls()).await;
    attempt("select", queries::selects()).await;
    attempt("types", values::types()).await;
    attempt("nulls", values::nulls()).await;
    attempt("parameters", queries::parameters()).await;
    attempt("prepared", queries::prepared()).await;
    attempt("batch", queries::batch()).await;
    attempt("fetch", queries::fetch()).await;
    attempt("large", queries::large()).await;
    attempt("transaction", sessions::transaction()).await;
    attempt("copy_in", sessions::copy_in()).await;
    attempt("copy_out", sessions::copy_out()).await;
    attempt("errors", sessions::errors()).await;
    println!("none cancel: the driver has no call for it");
    attempt("timeout", sessions::timeout()).await;
    attempt("metadata", sessions::metadata()).await;
    attempt("pool", sessions::pool()).await;
    attempt("time_series", queries::time_series()).await;
}
