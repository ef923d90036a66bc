<?php
// What the two programs of PHP share: the lines of the checks, the values of every type, statements with ? for parameters.
declare(strict_types=1);

define('PREFIX', getenv('TABLE_PREFIX') ?: 'php_');
const SLOW = 'select sum(x % 7) from long_sequence(1000000000000)';
const TYPES = PREFIX . 'types';
const P = PREFIX . 'params';

/** Bytes, which are sent otherwise than a text. */
final class Bytes
{
    public function __construct(public readonly string $bytes)
    {
    }
}

function same(mixed $got, mixed $want, string $what): void
{
    if ($got != $want || gettype($got) !== gettype($want) || json_encode($got) !== json_encode($want)) {
        throw new Exception("$what: got " . substr(var_export($got, true), 0, 400) . ', want ' . substr(var_export($want, true), 0, 400));
    }
}

function run_all(array $checks, array $names): void
{
    foreach ($checks as $name => $body) {
        if ($names !== [] && !in_array($name, $names, true)) {
            continue;
        }
        try {
            $body();
            echo "ok $name\n";
        } catch (Throwable $e) {
            $lines = array_column(array_filter($e->getTrace(), fn ($t) => str_ends_with($t['file'] ?? '', 'check.php')), 'line');
            echo "fail $name: ", preg_replace('/\s+/', ' ', get_class($e) . ': ' . $e->getMessage()), ' at lines ', implode(', ', [$e->getLine(), ...$lines]), "\n";
        }
    }
}

const QUOTES = "it's \"q\" \\ \u{fc} \u{6f22}\u{5b57} \u{1F600} $1 -- /*";
const NINES = '999999999999999999999999999999999999999999999999999999999999999999.9999999999';
/** [name, type, values of three rows: usual, least, greatest] */
define('COLUMNS', [
    ['bo', 'boolean', [true, false, true]],
    ['b', 'byte', [7, -128, 127]],
    ['sh', 'short', [-7, -32768, 32767]],
    ['i', 'int', [12, -2147483647, 2147483647]],
    ['l', 'long', [1 << 40, PHP_INT_MIN + 1, PHP_INT_MAX]],
    ['f', 'float', [0.1, -3.4028235e38, 1e-45]],
    ['d', 'double', [0.1, -PHP_FLOAT_MAX, PHP_FLOAT_MIN]],
    ['c', 'char', ['x', "\u{fc}", "\u{6f22}"]],
    ['s', 'string', [QUOTES, '', "a\nb\tc"]],
    ['v', 'varchar', [QUOTES, '', "a\nb\tc"]],
    ['sy', 'symbol', [QUOTES, '', "a\nb\tc"]],
    ['da', 'date', ['2024-01-02 03:04:05.123', '1969-12-31 23:59:59.999', '0001-01-01 00:00:00.000']],
    ['ts', 'timestamp', ['2024-03-01 09:00:00.123456', '1969-07-20 20:17:40.000001', '9999-12-31 23:59:59.999999']],
    ['ns', 'timestamp_ns', ['2024-03-01 09:00:00.123456', '1969-07-20 20:17:40.000001', '2262-01-01 00:00:00.999999']],
    ['u', 'uuid', ['11111111-2222-3333-4444-555555555555', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000001']],
    ['ip', 'ipv4', ['192.168.0.1', '0.0.0.1', '255.255.255.255']],
    ['w', 'long256', ['0xff', '0x01', '0x7' . str_repeat('f', 63)]],
    ['g', 'geohash(5c)', ['u33db', '00000', 'zzzzz']],
    ['gb', 'geohash(7b)', ['0110101', '0000000', '1111111']],
    ['de', 'decimal(20,4)', ['12.5000', '-9999999999999999.9999', '0.0001']],
    ['dw', 'decimal(76,10)', ['0.5000000000', '-' . NINES, NINES]],
    ['bi', 'binary', [new Bytes("\x00\x01\xff'\\"), new Bytes(''), new Bytes(implode('', array_map(chr(...), range(0, 255))))]],
    ['a', 'double[]', [[1.5, null, -2.0], [], [PHP_FLOAT_MAX]]],
    ['m', 'double[][]', [[[1.0, 2.0], [null, 4.0]], [[7.0]], [[1.0], [2.0], [3.0]]]],
]);
const NOT_COMPARED = ['boolean', 'binary', 'double[]', 'double[][]', 'geohash(7b)'];

function create_types(): string
{
    return 'create table ' . TYPES . ' (n int, ' . implode(', ', array_map(fn ($k) => "$k[0] $k[1]", COLUMNS)) . ')';
}

/** Where values are written into the text, bytes and arrays get their type by a cast. */
function insert_types(bool $emulated = false): string
{
    $place = fn ($k) => !$emulated || !preg_match('/\[\]|binary/', $k[1]) ? '?' : "?::$k[1]";
    return 'insert into ' . TYPES . ' values (?, ' . implode(', ', array_map($place, COLUMNS)) . ')';
}

function null_of(string $type): mixed
{
    return match ($type) { 'boolean' => false, 'byte', 'short' => 0, default => null };
}

/** {1.5,NULL,{...}} */
function list_text(array $values): string
{
    $one = fn ($v) => $v === null ? 'NULL' : (is_array($v) ? list_text($v) : (is_string($v) ? '"' . addcslashes($v, '"\\') . '"' : var_export($v, true)));
    return '{' . implode(',', array_map($one, $values)) . '}';
}

/** What the driver gave, as the value that was sent: both drivers leave floating numbers and arrays as texts. */
function read_as(mixed $got, mixed $like): mixed
{
    if (is_float($like) && is_string($got)) {
        return (float) $got;
    }
    if (!is_array($like) || !is_string($got)) {
        return $got;
    }
    $json = strtr($got, ['{' => '[', '}' => ']', 'NULL' => 'null']);
    $whole = fn ($v) => is_array($v) ? array_map($GLOBALS['whole'], $v) : ($v === null ? null : (float) $v);
    $GLOBALS['whole'] = $whole;
    return $whole(json_decode($json, true));
}

const CREATE_P = 'create table ' . P . ' (ts timestamp, id int, n long, d double, s symbol, v varchar) timestamp(ts) partition by day';
/** [what, statement, values, what the column has] */
define('QUERIES', [
    ['WHERE', 'select id from ' . P . ' where id = ? and s = ?', [4, 's1'], [4]],
    ['a long', 'select id from ' . P . ' where n = ?', [50], [5]],
    ['BETWEEN', 'select id from ' . P . ' where d between ? and ?', [0.25, 0.45], [3, 4]],
    ['times', 'select id from ' . P . ' where ts >= ? and ts < ?', ['2024-01-01T09:00:00Z', '2024-01-01 12:00:00+02:00'], [9]],
    ['IN, LIMIT', 'select id from ' . P . ' where s in (?, ?) order by id limit ?', ['s0', 's2', 3], [2, 3, 5]],
    ['OFFSET', 'select id from ' . P . ' order by id limit ? offset ?', [2, 7], [8, 9]],
    ['ANY of integers', 'select id from ' . P . ' where id = any(?::int[]) order by id', [[2, 4, 99]], [2, 4]],
    ['ANY of texts', 'select id from ' . P . ' where s = any(?) and id < ? order by id', [['s1', "it's, {\"x\"}"], 6], [1, 4]],
    ['casts', 'select ?::int + 1', [41], [42]],
    ['no type', 'select ?', ['plain'], ['plain']],
    ['a boolean', 'select count() from ' . P . ' where n is null and ?::boolean', [true], [5]],
    ['LIKE', 'select id from ' . P . ' where v like ? order by id', ['V1%'], [1, 10]],
]);

function row_of(int $i): array
{
    return [sprintf('2024-01-01T%02d:00:00Z', $i), $i, $i % 2 === 0 ? null : $i * 10, $i / 10, 's' . $i % 3, "v$i"];
}

/** [statement, SQLSTATE, position in it or null] */
define('ERRORS', [
    ['select 1 +', '42601', null], ['create tabel x (a int)', '42601', 8], ['select * from ' . PREFIX . 'nope', '42P01', 15],
    ["select 'it''s \u{fc}', nope from long_sequence(1)", '42703', 19], ["select cast('x1' as uuid)", '22P02', 13],
]);

const T = PREFIX . 'trades';
const Q = PREFIX . 'quotes';
const SERIES = [
    'drop table if exists ' . T, 'drop table if exists ' . Q,
    'create table ' . T . ' (ts timestamp, sym symbol, price double) timestamp(ts) partition by day',
    'create table ' . Q . ' (ts timestamp, sym symbol, bid double) timestamp(ts) partition by day',
    'insert into ' . T . " select timestamp_sequence('2024-01-01', 60000000), case when x % 2 = 0 then 'A' else 'B' end, x::double from long_sequence(240)",
    'insert into ' . Q . " select timestamp_sequence('2024-01-01', 600000000), 'A', x * 10.0 from long_sequence(24)",
];
const SERIES_QUERIES = [
    ['SAMPLE BY', 'select ts, sum(price) s, count() n from ' . T . ' where ts >= ? and ts < ? and sym = ? sample by 1h', ['2024-01-01T01:00:00Z', '2024-01-01T03:00:00Z', 'A'],
     [['2024-01-01 01:00:00.000000', '2730', 30], ['2024-01-01 02:00:00.000000', '4530', 30]]],
    ['LATEST ON', 'select sym, price from ' . T . ' where sym in (?, ?) and ts < ? latest on ts partition by sym order by sym', ['A', 'B', '2024-01-01T00:10:00Z'], [['A', '10'], ['B', '9']]],
    ['ASOF JOIN', 'select t.ts, t.price, q.bid from ' . T . ' t asof join ' . Q . ' q on (sym) where t.sym = ? and t.ts > ? limit ?', ['A', '2024-01-01T00:15:00Z', 2],
     [['2024-01-01 00:17:00.000000', '18', '20'], ['2024-01-01 00:19:00.000000', '20', '20']]],
];

function large_text(): string
{
    return str_repeat("\u{fc}0123456789abcdef", intdiv(2 << 20, 18) + 1);
}

/** Resident memory in MiB. */
function resident(): int
{
    preg_match('/VmRSS:\s+(\d+)/', file_get_contents('/proc/self/status'), $m);
    return intdiv((int) $m[1], 1024);
}

/** This program as a process of its own: [process, its output]. */
function child(string ...$args): array
{
    $process = proc_open([PHP_BINARY, $_SERVER['argv'][0], ...$args], [1 => ['pipe', 'w']], $pipes);
    return [$process, $pipes[1]];
}

function cancel_later(int $pid): mixed
{
    return child('--cancel', (string) $pid)[0];
}

function many_queries(int $t): array
{
    return child('--sum', (string) $t);
}
