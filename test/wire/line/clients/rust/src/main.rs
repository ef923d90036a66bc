//! Writes the same three rows by every protocol version over HTTP, and by the oldest over TCP.
//! ingest HTTP_ADDRESS TCP_ADDRESS TCP_LOGIN
use questdb::ingress::{Sender, TimestampMicros, TimestampNanos};
use std::error::Error;

const START_NS: i64 = 1709283600000000000;

fn ingest(config: &str, table: &str, version: i32) -> Result<(), Box<dyn Error>> {
    let mut sender = Sender::from_conf(config)?;
    let mut buffer = sender.new_buffer();
    for i in 0..3 {
        buffer
            .table(table)?
            .symbol("symbol", "ETH USD")?
            .symbol("side", "a,b=c")?
            .column_f64("price", 2615.54)?
            .column_i64("n", i)?
            .column_bool("ok", true)?
            .column_str("note", "hé \"q\" \\ , =")?
            .column_ts("at", TimestampMicros::new(1709283600000000))?;
        if version >= 2 {
            buffer.column_arr("book", &vec![vec![1.0, 2.0], vec![3.0, 4.0]])?;
        }
        if version >= 3 {
            buffer.column_dec("cost", "12.50")?;
        }
        buffer.at(TimestampNanos::new(START_NS + i * 1000000000))?;
    }
    sender.flush(&mut buffer)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let (http, tcp, login) = (&args[1], &args[2], &args[3]);
    for version in 1..=3 {
        let config = format!("http::addr={http};protocol_version={version};");
        ingest(&config, &format!("http{version}"), version)?;
    }
    ingest(&format!("http::addr={http};"), "http_auto", 2)?;
    ingest(&format!("tcp::addr={tcp};protocol_version=1;{login}"), "tcp1", 1)?;

    // what the server refuses must reach the caller
    let mut sender = Sender::from_conf(format!("http::addr={http};retry_timeout=0;"))?;
    let mut buffer = sender.new_buffer();
    buffer.table("http1")?.column_str("price", "text")?.at_now()?;
    match sender.flush(&mut buffer) {
        Ok(()) => std::process::exit(1),
        Err(e) => println!("refused: {}", e.msg()),
    }
    Ok(())
}
