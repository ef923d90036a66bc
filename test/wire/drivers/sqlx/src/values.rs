//! Values of every type as the driver maps them. It has arrays of one dimension only: those of two go as text.
use chrono::NaiveDateTime;
use rust_decimal::Decimal;
use sqlx::postgres::PgRow;
use sqlx::{Column, Executor, PgConnection, Row, SqlSafeStr, Statement, TypeInfo};
use uuid::Uuid;

use crate::{connect, create, one, query, table, Q};

pub const COLUMNS: &str = "bo boolean, by byte, sh short, i int, l long, f float, d double, c char, s string, v varchar, sy symbol, \
    da date, ts timestamp, tn timestamp_ns, u uuid, ip ipv4, l2 long256, gh geohash(4c), gb geohash(7b), de decimal(20,4), \
    dw decimal(76,10), bi binary, a double[], m double[][]";
const N: usize = 24;

#[derive(Clone, Debug, PartialEq)]
struct Values {
    bo: bool,
    by: i16,
    sh: i16,
    i: i32,
    l: i64,
    f: f32,
    d: f64,
    texts: [String; 4],
    times: [NaiveDateTime; 3],
    u: Uuid,
    odd: [String; 4],
    de: Decimal,
    dw: Decimal,
    bi: Vec<u8>,
    a: Vec<Option<f64>>,
    m: String,
}

pub fn at(text: &str) -> NaiveDateTime {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").unwrap()
}

fn texts(v: [&str; 4]) -> [String; 4] {
    v.map(String::from)
}

fn rows() -> Vec<Values> {
    let times = |a, b, c| [at(a), at(b), at(c)];
    vec![
        Values {
            bo: true, by: 7, sh: -300, i: 70000, l: 1 << 40, f: 1.5, d: 0.1,
            texts: texts(["x", "it's \"q\" \\ ü €", "text 😀", "sym'bol"]),
            times: times("2024-01-02T03:04:05.123", "2024-03-01T09:00:00.123456", "2024-03-01T09:00:00.654321"),
            u: Uuid::parse_str("11111111-2222-3333-4444-555555555555").unwrap(),
            odd: texts(["192.168.0.1", "0xff00000000000000000000000000000001", "u33d", "0101101"]),
            de: Decimal::new(-1234567890123456, 4), dw: Decimal::new(1, 10), bi: vec![0, 1, 255, b'\\'],
            a: vec![Some(1.5), None, Some(-2.0)], m: "[[1.0,2.0,3.0],[4.0,null,6.0]]".into(),
        },
        Values {
            bo: false, by: -128, sh: i16::MIN, i: i32::MIN + 1, l: i64::MIN + 1, f: f32::MIN, d: f64::MIN,
            texts: texts(["é", "", "", ""]),
            times: times("1969-12-31T23:59:59.999", "1901-02-03T04:05:06.789012", "1700-01-01T00:00:00.000001"),
            u: Uuid::from_u128(1), odd: texts(["0.0.0.1", "0x01", "0000", "0000000"]),
            de: Decimal::from_i128_with_scale(-99999999999999999999, 4), dw: Decimal::from_i128_with_scale(-(10i128.pow(28) - 1), 10), bi: vec![],
            a: vec![], m: "[[null]]".into(),
        },
        Values {
            bo: true, by: 127, sh: i16::MAX, i: i32::MAX, l: i64::MAX, f: f32::from_bits(1), d: f64::from_bits(1),
            texts: texts(["€", "a\tb\nc", "'", "\""]),
            times: times("2099-12-31T00:00:00", "9999-12-31T23:59:59.999999", "2262-01-01T00:00:00.999999"),
            u: Uuid::from_u128(u128::MAX - 1), odd: texts(["255.255.255.255", &format!("0x{}", "f".repeat(64)), "zzzz", "1111111"]),
            de: Decimal::from_i128_with_scale(99999999999999999999, 4), dw: Decimal::from_i128_with_scale(10i128.pow(28) - 1, 10), bi: vec![0; 100000],
            a: vec![Some(0.0); 1000], m: "[[1.5,2.5]]".into(),
        },
    ]
}

impl Values {
    fn bind(self, q: Q) -> Q {
        let mut q = q.bind(self.bo).bind(self.by).bind(self.sh).bind(self.i).bind(self.l).bind(self.f).bind(self.d);
        for t in self.texts {
            q = q.bind(t);
        }
        for t in self.times {
            q = q.bind(t);
        }
        q = q.bind(self.u);
        for t in self.odd {
            q = q.bind(t);
        }
        q.bind(self.de).bind(self.dw).bind(self.bi).bind(self.a).bind(self.m)
    }

    fn read(r: &PgRow) -> Values {
        let g = |i: usize| -> String { r.get(i) };
        let t = |i: usize| -> NaiveDateTime { r.get(i) };
        Values {
            bo: r.get(0), by: r.get(1), sh: r.get(2), i: r.get(3), l: r.get(4), f: r.get(5), d: r.get(6),
            texts: [g(7), g(8), g(9), g(10)], times: [t(11), t(12), t(13)], u: r.get(14), odd: [g(15), g(16), g(17), g(18)],
            de: r.get(19), dw: r.get(20), bi: r.get(21), a: r.get(22), m: r.get(23),
        }
    }
}

fn markers(n: usize) -> String {
    let mut all: Vec<String> = (1..=n).map(|i| format!("${i}")).collect();
    all[23] += "::varchar::double[][]"; // the column m
    all.join(", ")
}

async fn last(c: &mut PgConnection, t: &str, k: i32) -> PgRow {
    let names: Vec<&str> = COLUMNS.split(", ").map(|c| c.split(' ').next().unwrap()).collect();
    query(format!("select {}, m::varchar from {t} where k = $1", names[..N - 1].join(", "))).bind(k).fetch_one(c).await.unwrap()
}

pub async fn types() {
    let mut c = connect().await;
    let t = table("types");
    create(&mut c, &t, &format!("({COLUMNS}, k int)")).await;
    for (k, want) in rows().into_iter().enumerate() {
        let q = want.clone().bind(query(format!("insert into {t} values ({})", markers(N + 1))));
        q.bind(k as i32).execute(&mut c).await.unwrap_or_else(|e| panic!("row {k}: {e:?}"));
        assert_eq!(Values::read(&last(&mut c, &t, k as i32).await), want);
    }
    let described = c.prepare(sqlx::AssertSqlSafe(format!("select * from {t}")).into_sql_str()).await.unwrap();
    let names: Vec<String> = Statement::columns(&described).iter().map(|c| c.type_info().name().to_string()).collect();
    assert_eq!(names.join(" "), "BOOL INT2 INT2 INT4 INT8 FLOAT4 FLOAT8 CHAR VARCHAR VARCHAR VARCHAR TIMESTAMP TIMESTAMP TIMESTAMP UUID \
        VARCHAR VARCHAR VARCHAR VARCHAR NUMERIC NUMERIC BYTEA FLOAT8[] FLOAT8[] INT4");
}

/// BOOLEAN, BYTE and SHORT have no null: they are false and 0.
pub async fn nulls() {
    let mut c = connect().await;
    let t = table("nulls");
    create(&mut c, &t, &format!("({COLUMNS}, k int)")).await;
    let mut q = query(format!("insert into {t} values ({})", markers(N + 1)));
    q = q.bind(None::<bool>).bind(None::<i16>).bind(None::<i16>).bind(None::<i32>).bind(None::<i64>).bind(None::<f32>).bind(None::<f64>);
    for i in 7..19 {
        q = match i {
            11..=13 => q.bind(None::<NaiveDateTime>),
            14 => q.bind(None::<Uuid>),
            _ => q.bind(None::<String>),
        };
    }
    q = q.bind(None::<Decimal>).bind(None::<Decimal>).bind(None::<Vec<u8>>).bind(None::<Vec<f64>>).bind(None::<String>).bind(1i32);
    q.execute(&mut c).await.unwrap();
    let r = last(&mut c, &t, 1).await;
    assert_eq!((r.get::<bool, _>(0), r.get::<i16, _>(1), r.get::<i16, _>(2)), (false, 0, 0));
    assert_eq!((r.get::<Option<i32>, _>(3), r.get::<Option<i64>, _>(4), r.get::<Option<f32>, _>(5), r.get::<Option<f64>, _>(6)), (None, None, None, None));
    for i in [7, 8, 9, 10, 15, 16, 17, 18, 23] {
        assert_eq!(r.get::<Option<String>, _>(i), None, "column {i}");
    }
    for i in [11, 12, 13] {
        assert_eq!(r.get::<Option<NaiveDateTime>, _>(i), None, "column {i}");
    }
    assert_eq!((r.get::<Option<Uuid>, _>(14), r.get::<Option<Decimal>, _>(19), r.get::<Option<Vec<u8>>, _>(21), r.get::<Option<Vec<f64>>, _>(22)), (None, None, None, None));
    assert_eq!(one::<i64>(&mut c, query(format!("select count() from {t} where l is null and ts is null and u is null and m is null"))).await, 1);
}
