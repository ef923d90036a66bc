//! Logins, transactions, COPY, errors, time limits, pools.
use futures_util::{future, TryStreamExt};
use sqlx::postgres::{PgErrorPosition, PgPoolOptions, PgSeverity, PgSslMode};
use sqlx::{ConnectOptions, Connection, Error, Executor, Row, SqlSafeStr, Statement};

use crate::{column, connect, create, env, one, options, query, run, server_error, state, table};

pub async fn connects() {
    let mut c = connect().await;
    assert!(c.server_version_num().unwrap() >= 140000);
    c.ping().await.unwrap();
    assert_eq!(state(options().password("wrong").connect().await), "28P01");
    assert_eq!(state(options().username("nobody").connect().await), "28P01");
    let mut named = options().application_name("sqlx").connect().await.unwrap();
    assert_eq!(one::<String>(&mut named, query("show application_name")).await, "sqlx");
}

pub async fn tls() {
    let ca = env("PGSSLROOTCERT");
    std::env::remove_var("PGSSLROOTCERT"); // the driver reads it itself
    for o in [options().ssl_mode(PgSslMode::Require), options().ssl_mode(PgSslMode::VerifyCa).ssl_root_cert(&ca), options().ssl_mode(PgSslMode::VerifyFull).ssl_root_cert(&ca)] {
        let mut c = o.connect().await.unwrap_or_else(|e| panic!("{e:?}"));
        assert_eq!(one::<i32>(&mut c, query("select 1")).await, 1);
    }
    // the system does not know the authority of the tests
    assert!(matches!(options().ssl_mode(PgSslMode::VerifyFull).connect().await, Err(Error::Tls(_))));
}

pub async fn transaction() {
    let mut c = connect().await;
    let t = table("transaction");
    create(&mut c, &t, "(id int)").await;
    let insert = |n: i32| format!("insert into {t} values ({n})");
    let count = || query(format!("select count() from {t}"));
    let mut tx = c.begin().await.unwrap();
    run(&mut tx, insert(1)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(one::<i64>(&mut c, count()).await, 1, "commit");
    let mut tx = c.begin_with("begin isolation level serializable").await.unwrap();
    run(&mut tx, insert(2)).await.unwrap();
    assert_eq!(one::<i64>(&mut tx, count()).await, 2, "own rows");
    drop(tx); // rolls back
    assert_eq!(one::<i64>(&mut c, count()).await, 1, "rollback");
    let mut tx = c.begin().await.unwrap();
    run(&mut tx, insert(3)).await.unwrap();
    let mut inner = tx.begin().await.unwrap(); // a savepoint
    run(&mut inner, insert(4)).await.unwrap();
    inner.rollback().await.unwrap();
    let mut inner = tx.begin().await.unwrap();
    run(&mut inner, insert(5)).await.unwrap();
    inner.commit().await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(column::<i32>(&mut c, query(format!("select id from {t} order by id"))).await, [1, 3, 5], "savepoints");
    let mut tx = c.begin().await.unwrap();
    run(&mut tx, insert(6)).await.unwrap();
    assert_eq!(state(run(&mut tx, "select nope").await), "42703");
    assert_eq!(state(run(&mut tx, "select 1").await), "25P02");
    tx.commit().await.unwrap(); // the driver does not look at the answer
    assert_eq!(one::<i64>(&mut c, count()).await, 3, "COMMIT of a failed block");
}

pub async fn copy_in() {
    let mut c = connect().await;
    let t = table("copy_in");
    create(&mut c, &t, "(ts timestamp, id long, v varchar) timestamp(ts) partition by day").await;
    let copy = format!("copy {t} from stdin with (format csv)");
    for bad in [-1, 500] {
        let mut sink = c.copy_in_raw(&copy).await.unwrap();
        for i in 0..1000 {
            let id = if i == bad { "x".to_string() } else { i.to_string() };
            sink.send(format!("2024-01-01T00:{:02}:{:02}Z,{id},\"v,{i}\"\n", i / 60, i % 60).as_bytes()).await.unwrap();
        }
        match bad {
            -1 => assert_eq!(sink.finish().await.unwrap(), 1000),
            _ => assert_eq!(state(sink.finish().await), "22P02"),
        }
    }
    let mut sink = c.copy_in_raw(&copy).await.unwrap();
    sink.send(&b"2024-01-02,1,a\n"[..]).await.unwrap();
    sink.abort("no more").await.unwrap();
    assert_eq!(one::<i64>(&mut c, query(format!("select count() from {t}"))).await, 1000);
}

pub async fn copy_out() {
    let mut c = connect().await;
    let parts: Vec<_> = c.copy_out_raw("copy (select x, 'a,b' s from long_sequence(3)) to stdout with (format csv, header true)").await.unwrap().try_collect().await.unwrap();
    assert_eq!(parts.concat(), b"x,s\n1,\"a,b\"\n2,\"a,b\"\n3,\"a,b\"\n");
    let parts: Vec<_> = c.copy_out_raw("copy (select x::int from long_sequence(100000)) to stdout with (format binary)").await.unwrap().try_collect().await.unwrap();
    assert_eq!(parts.concat().len(), 19 + 100000 * 10 + 2);
    // the driver does not read the end of that answer: the connection is of no use to it any more
    assert_eq!(state(c.copy_out_raw("copy (select nope) to stdout").await.map(|_| ())), "42703");
}

pub async fn errors() {
    let mut c = connect().await;
    for (sql, want, position) in [("select 1 +", "42601", 10), ("select * from nosuch_table", "42P01", 15), ("select 'ü', nope from long_sequence(1)", "42703", 13),
        ("select 'abc'::decimal(5,2)", "22P02", 8), ("select nosuch_function(1)", "42883", 8)] {
        let e = server_error(run(&mut c, sql).await);
        assert_eq!((e.code(), e.severity()), (want, PgSeverity::Error), "{sql}");
        assert!(matches!(e.position(), Some(PgErrorPosition::Original(p)) if p == position), "{sql}: {:?}", e.position());
    }
    assert_eq!(one::<i32>(&mut c, query("select 1")).await, 1);
}

pub async fn timeout() {
    const SLOW: &str = "select sum(x % 7) from long_sequence(1000000000000)";
    let mut c = connect().await;
    run(&mut c, "set statement_timeout = 200").await.unwrap();
    assert_eq!(state(run(&mut c, SLOW).await), "57014", "SET");
    run(&mut c, "set statement_timeout = 0").await.unwrap();
    assert_eq!(one::<i32>(&mut c, query("select 1")).await, 1);
    let mut c = options().options([("statement_timeout", "200")]).connect().await.unwrap();
    assert_eq!(state(run(&mut c, SLOW).await), "57014", "at start-up");
}

/// The driver knows the columns and parameters of a statement; for the rest there is information_schema.
pub async fn metadata() {
    let mut c = connect().await;
    let t = table("metadata");
    create(&mut c, &t, "(ts timestamp, sym symbol, v double, a double[], de decimal(10,2)) timestamp(ts) partition by day").await;
    let text = sqlx::AssertSqlSafe(format!("select * from {t} where ts > $1 and v < $2 and sym = $3 limit $4")).into_sql_str();
    let described = c.prepare(text).await.unwrap();
    assert_eq!(format!("{:?}", Statement::parameters(&described).map(|p| p.map_left(|l| l.iter().map(|t| t.to_string()).collect::<Vec<_>>()))),
        "Some(Left([\"TIMESTAMP\", \"FLOAT8\", \"VARCHAR\", \"INT8\"]))");
    let names = column::<String>(&mut c, query("select column_name || ' ' || data_type from information_schema.columns where table_name = $1 order by ordinal_position").bind(t)).await;
    assert_eq!(names, ["ts timestamp without time zone", "sym character varying", "v double precision", "a ARRAY", "de numeric"]);
    for keys in ["table_constraints", "key_column_usage", "referential_constraints"] {
        assert_eq!(one::<i64>(&mut c, query(format!("select count(*) from information_schema.{keys}"))).await, 0, "{keys}");
    }
}

pub async fn pool() {
    let pool = PgPoolOptions::new().max_connections(4).test_before_acquire(true).connect_with(options()).await.unwrap();
    let all = (0..8i32).map(|worker| {
        let pool = pool.clone();
        tokio::spawn(async move {
            for i in 0..100i32 {
                let r = query("select $1::int * 1000 + $2::int").bind(worker).bind(i).fetch_one(&pool).await.unwrap();
                assert_eq!(r.get::<i32, _>(0), worker * 1000 + i);
            }
        })
    });
    future::try_join_all(all).await.unwrap();
    assert!(pool.size() <= 4);
    let mut c = connect().await;
    let t = table("pool");
    create(&mut c, &t, "(id int)").await;
    let mut tx = pool.begin().await.unwrap();
    run(&mut tx, format!("insert into {t} values (1)")).await.unwrap();
    drop(tx); // the pool rolls back
    for _ in 0..8 {
        assert_eq!(query(format!("select count() from {t}")).fetch_one(&pool).await.unwrap().get::<i64, _>(0), 0);
    }
    pool.close().await;
}
