//! Statements, parameters, batches, large results.
use chrono::{Duration, NaiveDateTime};
use futures_util::TryStreamExt;
use sqlx::{Column, Connection, Row};

use crate::values::at;
use crate::{column, connect, create, one, query, run, state, table};

pub async fn selects() {
    let mut c = connect().await;
    let r = query("select 1 a, 2L b, 1.5 c, 'it''s \\ ü 😀' d, true e, null f, '2024-01-02T03:04:05.678901Z'::timestamp g").fetch_one(&mut c).await.unwrap();
    assert_eq!(r.columns().iter().map(|c| c.name()).collect::<String>(), "abcdefg");
    assert_eq!((r.get::<i32, _>(0), r.get::<i64, _>(1), r.get::<f64, _>(2), r.get::<String, _>(3), r.get::<bool, _>(4)), (1, 2, 1.5, "it's \\ ü 😀".to_string(), true));
    assert_eq!((r.get::<Option<String>, _>(5), r.get::<NaiveDateTime, _>(6)), (None, at("2024-01-02T03:04:05.678901")));
    assert!(query("select 1 where false").fetch_optional(&mut c).await.unwrap().is_none());
    let all = sqlx::raw_sql("select 'a'; select 'b' from long_sequence(2)").fetch_all(&mut c).await.unwrap();
    assert_eq!(all.iter().map(|r| r.get::<String, _>(0)).collect::<Vec<_>>(), ["a", "b", "b"], "as text");
}

pub async fn parameters() {
    let mut c = connect().await;
    let t = table("parameters");
    create(&mut c, &t, "(id long, sym symbol, v double, ts timestamp) timestamp(ts) partition by day").await;
    let start = at("2024-01-01T00:00:00");
    for i in 0..10i64 {
        let q = query(format!("insert into {t} values ($1, $2, $3, $4)"));
        q.bind(i).bind(format!("s{}", i % 3)).bind(i as f64 / 2.0).bind(start + Duration::hours(i)).execute(&mut c).await.unwrap();
    }
    let n = |w: &str| query(format!("select count() from {t} where {w}"));
    assert_eq!(one::<i64>(&mut c, n("id = $1 and sym = $2 and v = $3 and ts = $4").bind(4i64).bind("s1").bind(2.0f64).bind(start + Duration::hours(4))).await, 1);
    assert_eq!(one::<i64>(&mut c, n("id = $1 and v < $2").bind(4i32).bind(10i64)).await, 1, "other types than the columns");
    assert_eq!(one::<i64>(&mut c, n("ts >= $1 and ts < $2").bind(start.and_utc()).bind((start + Duration::hours(3)).and_utc())).await, 3);
    assert_eq!(one::<i64>(&mut c, n("sym in ($1, $2)").bind("s0").bind("s2")).await, 7);
    assert_eq!(one::<i64>(&mut c, n("sym = any($1)").bind(vec!["s0", "s1"])).await, 7);
    assert_eq!(one::<i64>(&mut c, n("id = any($1)").bind(vec![1i64, 2, 99])).await, 2);
    assert_eq!(one::<i64>(&mut c, n("v = any($1)").bind(vec![0.5f64, 1.0])).await, 2);
    assert_eq!(one::<i64>(&mut c, n("ts = any($1)").bind(vec![start, start + Duration::hours(1)])).await, 2);
    assert_eq!(one::<String>(&mut c, query("select $1 || '!'").bind("ü'")).await, "ü'!");
    assert_eq!(column::<i64>(&mut c, query(format!("select id from {t} order by id limit $1 offset $2")).bind(2i64).bind(3i64)).await, [3, 4]);
}

pub async fn prepared() {
    let mut c = connect().await;
    let t = table("prepared");
    create(&mut c, &t, "(id int, v varchar)").await;
    let put = || query(format!("insert into {t} (id, v) values ($1, $2)"));
    let get = || query(format!("select v from {t} where id = $1"));
    let all = || query(format!("select * from {t} where id = $1"));
    for i in 0..100i32 {
        put().bind(i).bind(format!("v{i}")).execute(&mut c).await.unwrap();
        assert_eq!(one::<String>(&mut c, get().bind(i)).await, format!("v{i}"));
        assert_eq!(all().bind(i).fetch_one(&mut c).await.unwrap().len(), 2);
    }
    assert_eq!(c.cached_statements_size(), 5, "two of them made the table");
    run(&mut c, format!("alter table {t} add column more double")).await.unwrap();
    assert_eq!(one::<String>(&mut c, get().bind(7i32)).await, "v7");
    put().bind(100i32).bind("v100").execute(&mut c).await.unwrap();
    assert_eq!(state(all().bind(7i32).fetch_one(&mut c).await), "0A000");
    c.clear_cached_statements().await.unwrap();
    assert_eq!(all().bind(7i32).fetch_one(&mut c).await.unwrap().len(), 3);
    assert_eq!(one::<i64>(&mut c, query(format!("select count() from {t}"))).await, 101);
}

/// A transaction of executions of one statement: the driver has no pipeline.
pub async fn batch() {
    let mut c = connect().await;
    let t = table("batch");
    create(&mut c, &t, "(ts timestamp, id int, v varchar) timestamp(ts) partition by day").await;
    let start = at("2024-01-01T00:00:00");
    for bad in [-1, 500] {
        let mut tx = c.begin().await.unwrap();
        let mut result = Ok(());
        for i in 0..1000i64 {
            let id = if i == bad { "x".to_string() } else { i.to_string() };
            let q = query(format!("insert into {t} values ($1, $2::varchar::decimal(9,0)::int, $3)"));
            if let Err(e) = q.bind(start + Duration::seconds(i)).bind(id).bind(format!("v{i}")).execute(&mut *tx).await {
                result = Err(e);
                break;
            }
        }
        if bad < 0 {
            result.unwrap();
            tx.commit().await.unwrap();
        } else {
            assert_eq!(state(result), "22P02");
            tx.rollback().await.unwrap();
        }
    }
    assert_eq!(one::<i64>(&mut c, query(format!("select count() from {t}"))).await, 1000);
    assert_eq!(one::<i64>(&mut c, query(format!("select sum(id) from {t}"))).await, 499500);
}

fn peak_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Rows come as a stream; for pieces there is a cursor.
pub async fn fetch() {
    let mut c = connect().await;
    let before = peak_bytes();
    let mut sum = 0i64;
    let mut rows = query("select x, 'some text ' || x from long_sequence(1000000)").fetch(&mut c);
    while let Some(r) = rows.try_next().await.unwrap() {
        sum += r.get::<i64, _>(0);
    }
    drop(rows);
    assert_eq!(sum, 500000500000, "as a stream");
    let mut tx = c.begin().await.unwrap();
    run(&mut tx, "declare cur cursor for select x from long_sequence(1000000)").await.unwrap();
    let mut sum = 0i64;
    loop {
        let part = column::<i64>(&mut tx, query("fetch 10000 from cur")).await;
        if part.is_empty() {
            break;
        }
        sum += part.iter().sum::<i64>();
    }
    tx.commit().await.unwrap();
    assert_eq!(sum, 500000500000, "by a cursor");
    assert!(peak_bytes() - before < 96 << 20, "the client took {} bytes", peak_bytes() - before);
}

pub async fn large() {
    let mut c = connect().await;
    let t = table("large");
    create(&mut c, &t, "(v varchar, b binary)").await;
    let text = "0123456789abcdeü".repeat(1 << 17); // 17 bytes each
    query(format!("insert into {t} values ($1, $2)")).bind(text.clone()).bind(text.clone().into_bytes()).execute(&mut c).await.unwrap();
    let r = query(format!("select v, b from {t}")).fetch_one(&mut c).await.unwrap();
    assert!(r.get::<String, _>(0) == text && r.get::<Vec<u8>, _>(1) == text.as_bytes());
    assert_eq!(column::<i64>(&mut c, query("select x from long_sequence(100000)")).await.len(), 100000);
}

pub async fn time_series() {
    let mut c = connect().await;
    let (trades, quotes) = (table("trades"), table("quotes"));
    create(&mut c, &trades, "(ts timestamp, sym symbol, price double, n long) timestamp(ts) partition by day").await;
    create(&mut c, &quotes, "(ts timestamp, sym symbol, bid double) timestamp(ts) partition by day").await;
    let start = at("2024-01-01T00:00:00");
    for i in 0..120i64 {
        let (ts, sym) = (start + Duration::minutes(i), ["A", "B"][i as usize % 2]);
        query(format!("insert into {trades} values ($1, $2, $3, $4)")).bind(ts).bind(sym).bind(i as f64).bind(i).execute(&mut c).await.unwrap();
        query(format!("insert into {quotes} values ($1, $2, $3)")).bind(ts - Duration::seconds(1)).bind(sym).bind(i as f64 - 0.5).execute(&mut c).await.unwrap();
    }
    let m = |n| start + Duration::minutes(n);
    let sampled = query(format!("select ts, sym, avg(price), sum(n) from {trades} where ts >= $1 and ts < $2 and sym = $3 sample by 1h")).bind(start).bind(m(120)).bind("A");
    let latest = query(format!("select ts, sym, price, n from {trades} where ts <= $1 latest on ts partition by sym")).bind(m(100));
    let joined = query(format!("select t.ts, t.sym, q.bid, t.n from {trades} t asof join {quotes} q on (sym) where t.n between $1 and $2 and t.sym = $3")).bind(10i64).bind(13i64).bind("A");
    let want: [[(NaiveDateTime, &str, f64, i64); 2]; 3] = [[(m(0), "A", 29.0, 870), (m(60), "A", 89.0, 2670)], [(m(99), "B", 99.0, 99), (m(100), "A", 100.0, 100)],
        [(m(10), "A", 9.5, 10), (m(12), "A", 11.5, 12)]];
    for (q, want) in [sampled, latest, joined].into_iter().zip(want) {
        let rows = q.fetch_all(&mut c).await.unwrap();
        let got: Vec<_> = rows.iter().map(|r| (r.get::<NaiveDateTime, _>(0), r.get::<&str, _>(1), r.get::<f64, _>(2), r.get::<i64, _>(3))).collect();
        assert_eq!(got, want);
    }
}
