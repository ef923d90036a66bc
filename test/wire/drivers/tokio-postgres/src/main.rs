//! The scenario of the driver matrix by tokio-postgres and deadpool: one line for each check, see ../README.md.
mod queries;
mod sessions;
mod values;

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio_postgres::{types::FromSql, types::ToSql, Client, Config, Error, NoTls};

pub type Param = Box<dyn ToSql + Sync + Send>;
pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

pub fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

pub fn config() -> Config {
    let mut c = Config::new();
    c.host(env("PGHOST")).port(env("PGPORT").parse().unwrap()).user(env("PGUSER")).password(env("PGPASSWORD")).dbname(env("PGDATABASE"));
    c
}

pub async fn connect_by(config: &Config) -> Result<Client, Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

pub async fn connect() -> Client {
    connect_by(&config()).await.unwrap()
}

pub fn table(name: &str) -> String {
    env("TABLE_PREFIX") + name
}

pub async fn create(c: &Client, name: &str, columns: &str) {
    c.batch_execute(&format!("drop table if exists {name}; create table {name} {columns}")).await.unwrap();
}

pub async fn one<T: for<'a> FromSql<'a>>(c: &Client, sql: &str, params: Params<'_>) -> T {
    c.query_one(sql, params).await.unwrap_or_else(|e| panic!("{e:?}: {sql}")).get(0)
}

pub async fn column<T: for<'a> FromSql<'a>>(c: &Client, sql: &str, params: Params<'_>) -> Vec<T> {
    c.query(sql, params).await.unwrap_or_else(|e| panic!("{e:?}: {sql}")).iter().map(|r| r.get(0)).collect()
}

/// The SQLSTATE of an error of the server.
pub fn state<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "no error".into(),
        Err(e) => e.code().map_or(format!("{e:?}"), |c| c.code().to_string()),
    }
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
    let at = lock.find("name = \"tokio-postgres\"\n").unwrap();
    lock[at..].split('"').nth(3).unwrap()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    std::panic::set_hook(Box::new(|_| ())); // said in the line of the check
    println!("driver tokio-postgres {}", version());
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
    attempt("cancel", sessions::cancel()).await;
    attempt("timeout", sessions::timeout()).await;
    attempt("metadata", sessions::metadata()).await;
    attempt("pool", sessions::pool()).await;
    attempt("time_series", queries::time_series()).await;
}
