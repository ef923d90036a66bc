//! Statements, parameters, batches, results in pieces.
use chrono::{Duration, NaiveDateTime};
use futures_util::{future, pin_mut, TryStreamExt};
use tokio_postgres::{types::ToSql, types::Type, SimpleQueryMessage};

use crate::values::at;
use crate::{column, connect, create, one, state, table};

pub async fn selects() {
    let c = connect().await;
    let r = c.query_one("select 1 a, 2L b, 1.5 c, 'it''s \\ ü 😀' d, true e, null f, '2024-01-02T03:04:05.678901Z'::timestamp g", &[]).await.unwrap();
    let names: String = r.columns().iter().map(|c| c.name()).collect();
    assert_eq!(names, "abcdefg");
    assert_eq!((r.get::<_, i32>(0), r.get::<_, i64>(1), r.get::<_, f64>(2), r.get::<_, String>(3), r.get::<_, bool>(4)), (1, 2, 1.5, "it's \\ ü 😀".to_string(), true));
    assert_eq!((r.get::<_, Option<String>>(5), r.get::<_, NaiveDateTime>(6)), (None, at("2024-01-02T03:04:05.678901")));
    assert!(c.query("select 1 where false", &[]).await.unwrap().is_empty());
    let all = c.simple_query("select 'a', 1; select x from long_sequence(3)").await.unwrap();
    let rows: Vec<_> = all.iter().filter_map(|m| if let SimpleQueryMessage::Row(r) = m { r.get(0) } else { None }).collect();
    assert_eq!(rows, ["a", "1", "2", "3"], "as text");
    c.simple_query("").await.unwrap(); // how the driver asks whether a connection is alive
}

pub async fn parameters() {
    let c = connect().await;
    let t = table("parameters");
    create(&c, &t, "(id long, sym symbol, v double, ts timestamp) timestamp(ts) partition by day").await;
    let start = at("2024-01-01T00:00:00");
    for i in 0..10i64 {
        c.execute(&format!("insert into {t} values ($1, $2, $3, $4)"), &[&i, &format!("s{}", i % 3), &(i as f64 / 2.0), &(start + Duration::hours(i))]).await.unwrap();
    }
    let count = format!("select count() from {t} where ");
    let n = |w: &str| count.clone() + w;
    assert_eq!(one::<i64>(&c, &n("id = $1 and sym = $2 and v = $3 and ts = $4"), &[&4i64, &"s1", &2.0f64, &(start + Duration::hours(4))]).await, 1);
    assert_eq!(one::<i64>(&c, &n("ts >= $1 and ts < $2"), &[&start, &(start + Duration::hours(3))]).await, 3);
    assert_eq!(one::<i64>(&c, &n("sym in ($1, $2)"), &[&"s0", &"s2"]).await, 7);
    assert_eq!(one::<i64>(&c, &n("sym = any($1)"), &[&vec!["s0", "s1"]]).await, 7);
    assert_eq!(one::<i64>(&c, &n("id = any($1)"), &[&vec![1i64, 2, 99]]).await, 2);
    assert_eq!(one::<i64>(&c, &n("v = any($1)"), &[&vec![0.5f64, 1.0]]).await, 2);
    assert_eq!(one::<i64>(&c, &n("ts = any($1)"), &[&vec![start, start + Duration::hours(1)]]).await, 2);
    assert_eq!(one::<String>(&c, "select $1::varchar || '!'", &[&"ü'"]).await, "ü'!");
    assert_eq!(one::<i64>(&c, "select $1::long + $2::int", &[&(1i64 << 40), &2i32]).await, (1 << 40) + 2);
    assert_eq!(column::<i64>(&c, &format!("select id from {t} order by id limit $1 offset $2"), &[&2i64, &3i64]).await, [3, 4]);
    let typed = c.query_typed("select $1 + 1, $2", &[(&5i32, Type::INT4), (&"x", Type::TEXT)]).await.unwrap();
    assert_eq!((typed[0].get::<_, i32>(0), typed[0].get::<_, String>(1)), (6, "x".into()), "types given");
    let p = c.prepare_typed(&n("id < $1"), &[Type::INT4]).await.unwrap();
    assert_eq!(c.query_one(&p, &[&3i32]).await.unwrap().get::<_, i64>(0), 3);
}

pub async fn prepared() {
    let c = connect().await;
    let t = table("prepared");
    create(&c, &t, "(id int, v varchar)").await;
    let put = c.prepare(&format!("insert into {t} (id, v) values ($1, $2)")).await.unwrap();
    let get = c.prepare(&format!("select v from {t} where id = $1")).await.unwrap();
    let all = c.prepare(&format!("select * from {t} where id = $1")).await.unwrap();
    for i in 0..100i32 {
        assert_eq!(c.execute(&put, &[&i, &format!("v{i}")]).await.unwrap(), 1);
        assert_eq!(c.query_one(&get, &[&i]).await.unwrap().get::<_, String>(0), format!("v{i}"));
    }
    c.execute(&format!("alter table {t} add column more double"), &[]).await.unwrap();
    assert_eq!(c.query_one(&get, &[&7i32]).await.unwrap().get::<_, String>(0), "v7");
    c.execute(&put, &[&100i32, &"v100"]).await.unwrap();
    assert_eq!(state(c.query(&all, &[&7i32]).await), "0A000");
    drop(all); // closes it on the server
    let all = c.prepare(&format!("select * from {t} where id = $1")).await.unwrap();
    assert_eq!(c.query_one(&all, &[&7i32]).await.unwrap().len(), 3);
    assert_eq!(one::<i64>(&c, &format!("select count() from {t}"), &[]).await, 101);
}

/// The driver sends the executions one behind the other without waiting, when their futures are polled together.
pub async fn batch() {
    let mut c = connect().await;
    let t = table("batch");
    create(&c, &t, "(ts timestamp, id int, v varchar) timestamp(ts) partition by day").await;
    let start = at("2024-01-01T00:00:00");
    for bad in [None, Some(500)] {
        let tx = c.transaction().await.unwrap();
        let put = tx.prepare(&format!("insert into {t} values ($1, $2::varchar::decimal(9,0)::int, $3)")).await.unwrap();
        let rows: Vec<(NaiveDateTime, String, String)> =
            (0..1000).map(|i| (start + Duration::seconds(i), if Some(i) == bad { "x".into() } else { i.to_string() }, format!("v{i}"))).collect();
        let sent = rows.iter().map(|r| async { let p: [&(dyn ToSql + Sync); 3] = [&r.0, &r.1, &r.2]; tx.execute(&put, &p).await });
        let done = future::try_join_all(sent).await;
        if bad.is_some() {
            assert_eq!(state(done), "22P02");
            drop(tx);
        } else {
            assert_eq!(done.unwrap().iter().sum::<u64>(), 1000);
            tx.commit().await.unwrap();
        }
    }
    assert_eq!(one::<i64>(&c, &format!("select count() from {t}"), &[]).await, 1000);
    assert_eq!(one::<i64>(&c, &format!("select sum(id) from {t}"), &[]).await, 499500);
}

fn peak_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

pub async fn fetch() {
    let mut c = connect().await;
    let before = peak_bytes();
    let tx = c.transaction().await.unwrap();
    let portal = tx.bind("select x, 'some text ' || x from long_sequence(1000000)", &[]).await.unwrap();
    let (mut sum, mut n) = (0i64, 0);
    loop {
        let part = tx.query_portal(&portal, 10000).await.unwrap();
        if part.is_empty() {
            break;
        }
        assert!(part.len() <= 10000);
        sum += part.iter().map(|r| r.get::<_, i64>(0)).sum::<i64>();
        n += part.len();
    }
    assert_eq!((sum, n), (500000500000, 1000000), "by a portal");
    tx.commit().await.unwrap();
    let rows = c.query_raw("select x from long_sequence($1)", [&1000000i64]).await.unwrap();
    pin_mut!(rows);
    let mut sum = 0i64;
    while let Some(r) = rows.try_next().await.unwrap() {
        sum += r.get::<_, i64>(0);
    }
    assert_eq!(sum, 500000500000, "as a stream");
    assert!(peak_bytes() - before < 96 << 20, "the client took {} bytes", peak_bytes() - before);
}

pub async fn large() {
    let c = connect().await;
    let t = table("large");
    create(&c, &t, "(v varchar, b binary)").await;
    let text = "0123456789abcdeü".repeat(1 << 17); // 17 bytes each
    c.execute(&format!("insert into {t} values ($1, $2)"), &[&text, &text.as_bytes()]).await.unwrap();
    let r = c.query_one(&format!("select v, b from {t}"), &[]).await.unwrap();
    assert!(r.get::<_, &str>(0) == text && r.get::<_, &[u8]>(1) == text.as_bytes());
    assert_eq!(column::<i64>(&c, "select x from long_sequence(100000)", &[]).await.len(), 100000);
}

pub async fn time_series() {
    let c = connect().await;
    let (trades, quotes) = (table("trades"), table("quotes"));
    create(&c, &trades, "(ts timestamp, sym symbol, price double, n long) timestamp(ts) partition by day").await;
    create(&c, &quotes, "(ts timestamp, sym symbol, bid double) timestamp(ts) partition by day").await;
    let start = at("2024-01-01T00:00:00");
    for i in 0..120i64 {
        let (ts, sym) = (start + Duration::minutes(i), ["A", "B"][i as usize % 2]);
        c.execute(&format!("insert into {trades} values ($1, $2, $3, $4)"), &[&ts, &sym, &(i as f64), &i]).await.unwrap();
        c.execute(&format!("insert into {quotes} values ($1, $2, $3)"), &[&(ts - Duration::seconds(1)), &sym, &(i as f64 - 0.5)]).await.unwrap();
    }
    let read = |sql: String, params: Vec<Box<dyn ToSql + Sync + Send>>| {
        let c = &c;
        async move {
            let rows = c.query(&sql, &crate::values::borrowed(&params)).await.unwrap_or_else(|e| panic!("{e:?}: {sql}"));
            rows.iter().map(|r| (r.get::<_, NaiveDateTime>(0), r.get::<_, String>(1), r.get::<_, f64>(2), r.get::<_, i64>(3))).collect::<Vec<_>>()
        }
    };
    let m = |n| start + Duration::minutes(n);
    assert_eq!(read(format!("select ts, sym, avg(price), sum(n) from {trades} where ts >= $1 and ts < $2 and sym = $3 sample by 1h"),
        vec![Box::new(start), Box::new(m(120)), Box::new("A")]).await, [(m(0), "A".into(), 29.0, 870), (m(60), "A".into(), 89.0, 2670)]);
    assert_eq!(read(format!("select ts, sym, price, n from {trades} where ts <= $1 latest on ts partition by sym"), vec![Box::new(m(100))]).await,
        [(m(99), "B".into(), 99.0, 99), (m(100), "A".into(), 100.0, 100)]);
    assert_eq!(read(format!("select t.ts, t.sym, q.bid, t.n from {trades} t asof join {quotes} q on (sym) where t.n between $1 and $2 and t.sym = $3"),
        vec![Box::new(10i64), Box::new(13i64), Box::new("A")]).await, [(m(10), "A".into(), 9.5, 10), (m(12), "A".into(), 11.5, 12)]);
}
