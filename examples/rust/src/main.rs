//! Sensor readings with tokio-postgres: a table, a batch of rows, time buckets, a large result in pieces, an error.
//!
//!     cargo run
use std::env::var;

use chrono::{Duration, NaiveDate, NaiveDateTime};
use futures_util::future::try_join_all;
use tokio_postgres::{Config, Error, NoTls};

fn env(name: &str, default: &str) -> String {
    var(name).unwrap_or(default.into())
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let (mut client, connection) = Config::new()
        .host(env("PGHOST", "127.0.0.1"))
        .port(env("PGPORT", "8812").parse().expect("a port"))
        .user(env("PGUSER", "admin"))
        .password(env("PGPASSWORD", "quest"))
        .dbname(env("PGDATABASE", "qdb"))
        .connect(NoTls)
        .await?;
    tokio::spawn(connection);

    client.batch_execute("DROP TABLE IF EXISTS rust_sensors").await?;
    client
        .batch_execute(
            "CREATE TABLE rust_sensors (ts TIMESTAMP, sensor SYMBOL, temperature DOUBLE) TIMESTAMP(ts) PARTITION BY DAY",
        )
        .await?;

    // A batch: executions that are awaited together are sent one behind the other; the block makes them one commit.
    let start = NaiveDate::from_ymd_opt(2026, 1, 6).unwrap().and_hms_opt(10, 0, 0).unwrap();
    let tx = client.transaction().await?;
    let insert = tx.prepare("INSERT INTO rust_sensors VALUES ($1, $2, $3)").await?;
    let done = try_join_all((0..3600).map(|i| {
        let (tx, insert) = (&tx, &insert);
        let row = (start + Duration::seconds(i), format!("s{}", i % 2), (20 + i % 10) as f64);
        async move { tx.execute(insert, &[&row.0, &row.1, &row.2]).await }
    }))
    .await?;
    tx.commit().await?;
    println!("inserted {} rows", done.iter().sum::<u64>());

    // Buckets of time, with parameters.
    let query = "SELECT ts, count(), avg(temperature) FROM rust_sensors WHERE sensor = $1 AND ts >= $2 SAMPLE BY 15m";
    for row in client.query(query, &[&"s1", &start]).await? {
        let (ts, n, mean): (NaiveDateTime, i64, f64) = (row.get(0), row.get(1), row.get(2));
        println!("{} {n} {mean:.1}", ts.format("%Y-%m-%dT%H:%M:%S"));
    }

    // A large result in pieces: a portal gives 10,000 rows at a time, whatever the result has.
    let tx = client.transaction().await?;
    let portal = tx.bind("SELECT x FROM long_sequence(1000000)", &[]).await?;
    let mut sum = 0;
    loop {
        let rows = tx.query_portal(&portal, 10_000).await?;
        if rows.is_empty() {
            break;
        }
        sum += rows.iter().map(|r| r.get::<_, i64>(0)).sum::<i64>();
    }
    tx.commit().await?;
    println!("sum of a million rows: {sum}");

    // An error has an SQLSTATE and, where the statement is at fault, a position. The connection goes on.
    if let Err(e) = client.query("SELECT nope FROM rust_sensors", &[]).await {
        let e = e.as_db_error().expect("an error of the server");
        if let Some(tokio_postgres::error::ErrorPosition::Original(at)) = e.position() {
            println!("{} {} at {at}", e.code().code(), e.message());
        }
    }
    client.batch_execute("DROP TABLE rust_sensors").await
}
