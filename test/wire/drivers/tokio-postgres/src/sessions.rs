//! Logins, transactions, COPY, errors, cancel, time limits, pools.
use std::time::Duration;

use bytes::Bytes;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use futures_util::{future, pin_mut, SinkExt, TryStreamExt};
use openssl::ssl::{SslConnector, SslMethod, SslVerifyMode};
use postgres_openssl::MakeTlsConnector;
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::config::{ChannelBinding, SslMode, TargetSessionAttrs};
use tokio_postgres::error::ErrorPosition;
use tokio_postgres::types::Type;
use tokio_postgres::{IsolationLevel, NoTls};

use crate::values::{borrowed, expect_rows, rows, COLUMNS, N};
use crate::{column, config, connect, connect_by, create, env, one, state, table, Param};

pub async fn connects() {
    let c = connect().await;
    let version: String = one(&c, "show server_version", &[]).await;
    assert!(version.split(['.', ' ']).next().unwrap().parse::<i32>().unwrap() >= 14, "{version}");
    assert_eq!(state(connect_by(config().password("wrong")).await), "28P01");
    assert_eq!(state(connect_by(config().user("nobody")).await), "28P01");
    for mut more in [config(), config()] {
        more.application_name("tokio").target_session_attrs(TargetSessionAttrs::ReadWrite).keepalives(true);
        assert_eq!(one::<String>(&connect_by(&more).await.unwrap(), "show application_name", &[]).await, "tokio");
    }
}

pub async fn tls() {
    let verified = || {
        let mut b = SslConnector::builder(SslMethod::tls()).unwrap();
        b.set_ca_file(env("PGSSLROOTCERT")).unwrap();
        b
    };
    let mut unverified = SslConnector::builder(SslMethod::tls()).unwrap();
    unverified.set_verify(SslVerifyMode::NONE);
    for (what, builder) in [("require", unverified), ("verify-full", verified())] {
        let mut c = config();
        c.ssl_mode(SslMode::Require);
        c.channel_binding(ChannelBinding::Require);
        let (client, connection) = c.connect(MakeTlsConnector::new(builder.build())).await.unwrap_or_else(|e| panic!("{what}: {e:?}"));
        tokio::spawn(connection);
        assert_eq!(one::<i32>(&client, "select 1", &[]).await, 1);
    }
    let system = SslConnector::builder(SslMethod::tls()).unwrap().build(); // does not know the authority of the tests
    let mut c = config();
    c.ssl_mode(SslMode::Require);
    let refused = c.connect(MakeTlsConnector::new(system)).await;
    assert!(refused.is_err_and(|e| format!("{e:?}").contains("certificate")), "an unknown authority");
}

pub async fn transaction() {
    let mut c = connect().await;
    let t = table("transaction");
    create(&c, &t, "(id int)").await;
    let insert = |n: i32| format!("insert into {t} values ({n})");
    let count = format!("select count() from {t}");
    let tx = c.transaction().await.unwrap();
    tx.execute(&insert(1), &[]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(one::<i64>(&c, &count, &[]).await, 1, "commit");
    let tx = c.build_transaction().isolation_level(IsolationLevel::Serializable).start().await.unwrap();
    tx.execute(&insert(2), &[]).await.unwrap();
    assert_eq!(tx.query_one(&count, &[]).await.unwrap().get::<_, i64>(0), 2, "own rows");
    tx.rollback().await.unwrap();
    assert_eq!(one::<i64>(&c, &count, &[]).await, 1, "rollback");
    let mut tx = c.transaction().await.unwrap();
    tx.execute(&insert(3), &[]).await.unwrap();
    let inner = tx.savepoint("a").await.unwrap();
    inner.execute(&insert(4), &[]).await.unwrap();
    inner.rollback().await.unwrap();
    let inner = tx.transaction().await.unwrap();
    inner.execute(&insert(5), &[]).await.unwrap();
    inner.commit().await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(column::<i32>(&c, &format!("select id from {t} order by id"), &[]).await, [1, 3, 5], "savepoints");
    let tx = c.transaction().await.unwrap();
    tx.execute(&insert(6), &[]).await.unwrap();
    assert_eq!(state(tx.execute("select nope", &[]).await), "42703");
    assert_eq!(state(tx.execute("select 1", &[]).await), "25P02");
    tx.commit().await.unwrap(); // the driver does not look at the answer
    assert_eq!(one::<i64>(&c, &count, &[]).await, 3, "COMMIT of a failed block");
    let tx = c.build_transaction().read_only(true).start().await.unwrap();
    assert_eq!(state(tx.execute(&insert(7), &[]).await), "25006", "read only");
}

pub async fn copy_in() {
    let c = connect().await;
    let t = table("copy_in");
    create(&c, &t, &format!("(k int, {COLUMNS})")).await;
    let described = c.prepare(&format!("select * from {t}")).await.unwrap();
    let types: Vec<Type> = described.columns().iter().map(|c| c.type_().clone()).collect();
    assert_eq!(types.len(), N + 1);
    let writer = BinaryCopyInWriter::new(c.copy_in(&format!("copy {t} from stdin with (format binary)")).await.unwrap(), &types);
    pin_mut!(writer);
    for (k, want) in rows().iter().enumerate() {
        let mut params: Vec<Param> = vec![Box::new(k as i32)];
        params.extend(want.params());
        writer.as_mut().write(&borrowed(&params)).await.unwrap();
    }
    assert_eq!(writer.finish().await.unwrap(), 3);
    expect_rows(&c, &t).await;
    let many = table("copy_many");
    create(&c, &many, "(ts timestamp, id long, v varchar) timestamp(ts) partition by day").await;
    for (bad, want) in [(-1, "no error"), (500, "22P02")] {
        let sink = c.copy_in(&format!("copy {many} from stdin with (format csv)")).await.unwrap();
        pin_mut!(sink);
        for i in 0..1000 {
            let id = if i == bad { "x".into() } else { i.to_string() };
            if sink.send(Bytes::from(format!("2024-01-01T00:{:02}:{:02}Z,{id},\"v,{i}\"\n", i / 60, i % 60))).await.is_err() {
                break;
            }
        }
        assert_eq!(state(sink.finish().await), want);
        assert_eq!(one::<i64>(&c, &format!("select count() from {many}"), &[]).await, 1000);
    }
}

pub async fn copy_out() {
    let c = connect().await;
    let text: Vec<Bytes> = c.copy_out("copy (select x, 'a,b' s from long_sequence(3)) to stdout with (format csv, header true)").await.unwrap().try_collect().await.unwrap();
    assert_eq!(text.concat(), b"x,s\n1,\"a,b\"\n2,\"a,b\"\n3,\"a,b\"\n");
    let stream = c.copy_out("copy (select x, x * 0.5 h from long_sequence(100000)) to stdout with (format binary)").await.unwrap();
    let rows: Vec<_> = BinaryCopyOutStream::new(stream, &[Type::INT8, Type::FLOAT8]).try_collect().await.unwrap();
    assert_eq!((rows.len(), rows[99999].get::<i64>(0), rows[99999].get::<f64>(1)), (100000, 100000, 50000.0));
    assert_eq!(state(c.copy_out("copy (select nope) to stdout").await.map(|_| ())), "42703");
    assert_eq!(one::<i32>(&c, "select 1", &[]).await, 1);
}

pub async fn errors() {
    let c = connect().await;
    for (sql, want, position) in [("select 1 +", "42601", 10), ("select * from nosuch_table", "42P01", 15), ("select 'ü', nope from long_sequence(1)", "42703", 13),
        ("select 'abc'::decimal(5,2)", "22P02", 8), ("select nosuch_function(1)", "42883", 8)] {
        for simple in [false, true] {
            let e = if simple { c.simple_query(sql).await.err() } else { c.query(sql, &[]).await.err() }.unwrap();
            let e = e.as_db_error().unwrap_or_else(|| panic!("{sql}"));
            assert_eq!((e.code().code(), e.severity()), (want, "ERROR"), "{sql}");
            assert_eq!(e.position(), Some(&ErrorPosition::Original(position)), "{sql}");
        }
    }
    assert_eq!(one::<i32>(&c, "select 1", &[]).await, 1);
}

const SLOW: &str = "select sum(x % 7) from long_sequence(1000000000000)";

pub async fn cancel() {
    let c = connect().await;
    for sql in [SLOW, "select count() from (select x from long_sequence(100000000000) where x % 3 = 1)"] {
        let token = c.cancel_token();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            token.cancel_query(NoTls).await.unwrap();
        });
        assert_eq!(state(c.query(sql, &[]).await), "57014", "{sql}");
        assert_eq!(one::<i32>(&c, "select 1", &[]).await, 1);
    }
}

pub async fn timeout() {
    let c = connect().await;
    c.batch_execute("set statement_timeout = 200").await.unwrap();
    assert_eq!(state(c.query(SLOW, &[]).await), "57014", "SET");
    c.batch_execute("set statement_timeout = 0").await.unwrap();
    assert_eq!(one::<i32>(&c, "select 1", &[]).await, 1);
    let c = connect_by(config().options("-c statement_timeout=200")).await.unwrap();
    assert_eq!(state(c.query(SLOW, &[]).await), "57014", "at start-up");
}

/// The driver knows the columns and parameters of a statement; for the rest there is information_schema.
pub async fn metadata() {
    let c = connect().await;
    let t = table("metadata");
    create(&c, &t, "(ts timestamp, sym symbol, v double, a double[], de decimal(10,2)) timestamp(ts) partition by day").await;
    let p = c.prepare(&format!("select * from {t} where ts > $1 and v < $2 and sym = $3 limit $4")).await.unwrap();
    assert_eq!(p.params(), [Type::TIMESTAMP, Type::FLOAT8, Type::VARCHAR, Type::INT8]);
    let columns: Vec<_> = p.columns().iter().map(|c| (c.name(), c.type_().name())).collect();
    assert_eq!(columns, [("ts", "timestamp"), ("sym", "varchar"), ("v", "float8"), ("a", "_float8"), ("de", "numeric")]);
    assert_eq!(column::<String>(&c, "select column_name || ' ' || data_type from information_schema.columns where table_name = $1 order by ordinal_position", &[&t]).await,
        ["ts timestamp without time zone", "sym character varying", "v double precision", "a ARRAY", "de numeric"]);
    for keys in ["table_constraints", "key_column_usage", "referential_constraints"] {
        assert_eq!(one::<i64>(&c, &format!("select count(*) from information_schema.{keys}"), &[]).await, 0, "{keys}");
    }
    assert_eq!(one::<String>(&c, "select typname from pg_type where oid = $1", &[&1022u32]).await, "_float8");
}

pub async fn pool() {
    for method in [RecyclingMethod::Fast, RecyclingMethod::Verified, RecyclingMethod::Clean] {
        let manager = Manager::from_config(config(), NoTls, ManagerConfig { recycling_method: method.clone() });
        let pool = Pool::builder(manager).max_size(4).build().unwrap();
        let all = (0..8i32).map(|worker| {
            let pool = pool.clone();
            tokio::spawn(async move {
                for i in 0..100i32 {
                    let c = pool.get().await.unwrap();
                    let p = c.prepare_cached("select $1::int * 1000 + $2::int").await.unwrap();
                    assert_eq!(c.query_one(&p, &[&worker, &i]).await.unwrap().get::<_, i32>(0), worker * 1000 + i);
                }
            })
        });
        future::try_join_all(all).await.unwrap();
        assert!(pool.status().size <= 4);
        if matches!(method, RecyclingMethod::Clean) {
            for _ in 0..8 {
                let c = pool.get().await.unwrap();
                assert_eq!(c.query_one("show application_name", &[]).await.unwrap().get::<_, String>(0), "", "reset");
                c.batch_execute("set application_name = 'left'").await.unwrap();
            }
        }
        let mut c = pool.get().await.unwrap();
        let t = table("pool");
        create(&c, &t, "(id int)").await;
        let tx = c.transaction().await.unwrap();
        tx.execute(&format!("insert into {t} values (1)"), &[]).await.unwrap();
        drop(tx); // rolls back
        drop(c);
        assert_eq!(one::<i64>(&connect().await, &format!("select count() from {t}"), &[]).await, 0);
    }
}
