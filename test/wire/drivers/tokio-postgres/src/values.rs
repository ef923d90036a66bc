//! Values of every type as the driver maps them.
use chrono::NaiveDateTime;
use postgres_array::{Array, Dimension};
use rust_decimal::Decimal;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use crate::{connect, create, one, table, Param, Params};

pub const COLUMNS: &str = "bo boolean, by byte, sh short, i int, l long, f float, d double, c char, s string, v varchar, sy symbol, \
    da date, ts timestamp, tn timestamp_ns, u uuid, ip ipv4, l2 long256, gh geohash(4c), gb geohash(7b), de decimal(20,4), \
    dw decimal(76,10), bi binary, a double[], m double[][]";
pub const N: usize = 24;

#[derive(Clone, Debug, PartialEq)]
pub struct Values {
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
    m: Array<Option<f64>>,
}

pub fn at(text: &str) -> NaiveDateTime {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").unwrap()
}

fn texts(v: [&str; 4]) -> [String; 4] {
    v.map(String::from)
}

fn matrix(rows: i32, columns: i32, v: Vec<Option<f64>>) -> Array<Option<f64>> {
    Array::from_parts(v, vec![Dimension { len: rows, lower_bound: 1 }, Dimension { len: columns, lower_bound: 1 }])
}

pub fn rows() -> Vec<Values> {
    let times = |a, b, c| [at(a), at(b), at(c)];
    vec![
        Values {
            bo: true, by: 7, sh: -300, i: 70000, l: 1 << 40, f: 1.5, d: 0.1,
            texts: texts(["x", "it's \"q\" \\ ü €", "text 😀", "sym'bol"]),
            times: times("2024-01-02T03:04:05.123", "2024-03-01T09:00:00.123456", "2024-03-01T09:00:00.654321"),
            u: Uuid::parse_str("11111111-2222-3333-4444-555555555555").unwrap(),
            odd: texts(["192.168.0.1", "0xff00000000000000000000000000000001", "u33d", "0101101"]),
            de: Decimal::new(-1234567890123456, 4), dw: Decimal::new(1, 10), bi: vec![0, 1, 255, b'\\'],
            a: vec![Some(1.5), None, Some(-2.0)], m: matrix(2, 3, vec![Some(1.0), Some(2.0), Some(3.0), Some(4.0), None, Some(6.0)]),
        },
        Values {
            bo: false, by: -128, sh: i16::MIN, i: i32::MIN + 1, l: i64::MIN + 1, f: f32::MIN, d: f64::MIN,
            texts: texts(["é", "", "", ""]),
            times: times("1969-12-31T23:59:59.999", "1901-02-03T04:05:06.789012", "1700-01-01T00:00:00.000001"),
            u: Uuid::from_u128(1), odd: texts(["0.0.0.1", "0x01", "0000", "0000000"]),
            de: Decimal::from_i128_with_scale(-99999999999999999999, 4), dw: Decimal::from_i128_with_scale(-(10i128.pow(28) - 1), 10), bi: vec![],
            a: vec![], m: matrix(1, 1, vec![None]),
        },
        Values {
            bo: true, by: 127, sh: i16::MAX, i: i32::MAX, l: i64::MAX, f: f32::from_bits(1), d: f64::from_bits(1),
            texts: texts(["€", "a\tb\nc", "'", "\""]),
            times: times("2099-12-31T00:00:00", "9999-12-31T23:59:59.999999", "2262-01-01T00:00:00.999999"),
            u: Uuid::from_u128(u128::MAX - 1), odd: texts(["255.255.255.255", &format!("0x{}", "f".repeat(64)), "zzzz", "1111111"]),
            de: Decimal::from_i128_with_scale(99999999999999999999, 4), dw: Decimal::from_i128_with_scale(10i128.pow(28) - 1, 10), bi: vec![0; 100000],
            a: vec![Some(0.0); 1000], m: matrix(1, 2, vec![Some(f64::MAX), Some(5e-324)]),
        },
    ]
}

impl Values {
    pub fn params(&self) -> Vec<Param> {
        let v = self.clone();
        let mut out: Vec<Param> = vec![Box::new(v.bo), Box::new(v.by), Box::new(v.sh), Box::new(v.i), Box::new(v.l), Box::new(v.f), Box::new(v.d)];
        v.texts.into_iter().for_each(|t| out.push(Box::new(t)));
        v.times.into_iter().for_each(|t| out.push(Box::new(t)));
        out.push(Box::new(v.u));
        v.odd.into_iter().for_each(|t| out.push(Box::new(t)));
        out.extend([Box::new(v.de) as Param, Box::new(v.dw), Box::new(v.bi), Box::new(v.a), Box::new(v.m)]);
        out
    }

    /// From the columns `first` and on.
    pub fn read(r: &Row, first: usize) -> Values {
        let g = |i: usize| -> String { r.get(first + i) };
        let t = |i: usize| -> NaiveDateTime { r.get(first + i) };
        let at = |i: usize| first + i;
        Values {
            bo: r.get(at(0)), by: r.get(at(1)), sh: r.get(at(2)), i: r.get(at(3)), l: r.get(at(4)), f: r.get(at(5)), d: r.get(at(6)),
            texts: [g(7), g(8), g(9), g(10)], times: [t(11), t(12), t(13)], u: r.get(at(14)), odd: [g(15), g(16), g(17), g(18)],
            de: r.get(at(19)), dw: r.get(at(20)), bi: r.get(at(21)), a: r.get(at(22)), m: r.get(at(23)),
        }
    }
}

pub fn borrowed(params: &[Param]) -> Vec<&(dyn tokio_postgres::types::ToSql + Sync)> {
    params.iter().map(|p| p.as_ref() as _).collect()
}

pub fn markers(n: usize) -> String {
    (1..=n).map(|i| format!("${i}")).collect::<Vec<_>>().join(", ")
}

pub async fn expect_rows(c: &Client, t: &str) {
    let got = c.query(&format!("select * from {t} order by k"), &[]).await.unwrap();
    for (r, want) in got.iter().zip(rows()) {
        assert_eq!(Values::read(r, 1), want);
    }
    assert_eq!(got.len(), rows().len());
}

pub async fn types() {
    let c = connect().await;
    let t = table("types");
    create(&c, &t, &format!("(k int, {COLUMNS})")).await;
    let insert = c.prepare(&format!("insert into {t} values ({})", markers(N + 1))).await.unwrap();
    for (k, want) in rows().iter().enumerate() {
        let mut params: Vec<Param> = vec![Box::new(k as i32)];
        params.extend(want.params());
        c.execute(&insert, &borrowed(&params)).await.unwrap_or_else(|e| panic!("{e:?}"));
    }
    expect_rows(&c, &t).await;
    let names: Vec<String> = insert.params().iter().map(|p| p.name().to_string()).collect();
    assert_eq!(names.join(" "), "int4 bool int2 int2 int4 int8 float4 float8 bpchar varchar varchar varchar timestamp timestamp timestamp uuid \
        varchar varchar varchar varchar numeric numeric bytea _float8 _float8");
}

/// BOOLEAN, BYTE and SHORT have no null: they are false and 0.
pub async fn nulls() {
    let c = connect().await;
    let t = table("nulls");
    create(&c, &t, &format!("({COLUMNS})")).await;
    let mut params: Vec<Param> = vec![Box::new(None::<bool>), Box::new(None::<i16>), Box::new(None::<i16>), Box::new(None::<i32>), Box::new(None::<i64>),
        Box::new(None::<f32>), Box::new(None::<f64>)];
    params.extend((0..4).map(|_| Box::new(None::<String>) as Param));
    params.extend((0..3).map(|_| Box::new(None::<NaiveDateTime>) as Param));
    params.push(Box::new(None::<Uuid>));
    params.extend((0..4).map(|_| Box::new(None::<String>) as Param));
    params.extend([Box::new(None::<Decimal>) as Param, Box::new(None::<Decimal>), Box::new(None::<Vec<u8>>), Box::new(None::<Vec<f64>>), Box::new(None::<Array<f64>>)]);
    c.execute(&format!("insert into {t} values ({})", markers(N)), &borrowed(&params)).await.unwrap();
    let r = c.query_one(&format!("select * from {t}"), &[]).await.unwrap();
    assert_eq!((r.get::<_, bool>(0), r.get::<_, i16>(1), r.get::<_, i16>(2)), (false, 0, 0));
    assert_eq!((r.get::<_, Option<i32>>(3), r.get::<_, Option<i64>>(4), r.get::<_, Option<f32>>(5), r.get::<_, Option<f64>>(6)), (None, None, None, None));
    for i in [7, 8, 9, 10, 15, 16, 17, 18] {
        assert_eq!(r.get::<_, Option<String>>(i), None, "column {i}");
    }
    for i in [11, 12, 13] {
        assert_eq!(r.get::<_, Option<NaiveDateTime>>(i), None, "column {i}");
    }
    assert_eq!((r.get::<_, Option<Uuid>>(14), r.get::<_, Option<Decimal>>(19), r.get::<_, Option<Decimal>>(20)), (None, None, None));
    assert_eq!((r.get::<_, Option<Vec<u8>>>(21), r.get::<_, Option<Vec<f64>>>(22), r.get::<_, Option<Array<f64>>>(23)), (None, None, None));
    let none: Params = &[];
    assert_eq!(one::<i64>(&c, &format!("select count() from {t} where l is null and ts is null and u is null and a is null"), none).await, 1);
}
