<?php
// The driver matrix over PHP's pgsql extension: php check.php [CHECK...]
declare(strict_types=1);

use PgSql\Connection;
use PgSql\Result;

require __DIR__ . '/scenario.php';
error_reporting(E_ALL & ~E_WARNING); // what fails returns false, and says so in a warning besides

function open(string $more = ''): Connection
{
    return pg_connect($more === '' ? ' ' : $more, PGSQL_CONNECT_FORCE_NEW) ?: throw new Exception(error_get_last()['message'] ?? 'no connection');
}

/** The statement with $1, $2 ... for its question marks. */
function numbered(string $sql): string
{
    $n = 0;
    return preg_replace_callback('/\?/', function () use (&$n) {
        return '$' . ++$n;
    }, $sql);
}

function given(array $values): array
{
    $one = fn ($v) => match (true) {
        is_bool($v) => $v ? 't' : 'f', is_array($v) => list_text($v), is_float($v) => var_export($v, true), $v instanceof Bytes => '\x' . bin2hex($v->bytes), default => $v,
    };
    return array_map($one, array_values($values));
}

/** A result; an error of the server as an exception with its fields. */
final class Refused extends Exception
{
    public function __construct(public readonly Result $result)
    {
        parent::__construct(pg_result_error($result));
    }

    public function field(int $which): ?string
    {
        return pg_result_error_field($this->result, $which);
    }
}

function run(Connection $c, string $sql, ?array $values = null, ?string $name = null): Result
{
    if ($name !== null) {
        pg_send_execute($c, $name, given($values));
    } elseif ($values !== null) {
        pg_send_query_params($c, numbered($sql), given($values));
    } else {
        pg_send_query($c, $sql);
    }
    $last = false;
    $bad = null;
    while ($r = pg_get_result($c)) {
        $last = $r;
        $bad ??= pg_result_error_field($r, PGSQL_DIAG_SQLSTATE) !== null ? $r : null;
    }
    return $bad !== null ? throw new Refused($bad) : ($last ?: throw new Exception('no result: ' . pg_last_error($c)));
}

function prepare(Connection $c, string $name, string $sql): void
{
    pg_send_prepare($c, $name, numbered($sql));
    while ($r = pg_get_result($c)) {
        pg_result_error_field($r, PGSQL_DIAG_SQLSTATE) !== null && throw new Refused($r);
    }
}

/** A value by the type of its column: all come as texts. */
function cell(Result $r, int $row, int $i): mixed
{
    $text = pg_fetch_result($r, $row, $i);
    return $text === null ? null : match (pg_field_type($r, $i)) {
        'bool' => $text === 't', 'int2', 'int4', 'int8' => (int) $text, 'bytea' => new Bytes(pg_unescape_bytea($text)), default => $text,
    };
}

function rows(Result $r): array
{
    $rows = [];
    for ($row = 0; $row < pg_num_rows($r); $row++) {
        $rows[] = array_map(fn ($i) => cell($r, $row, $i), range(0, pg_num_fields($r) - 1));
    }
    return $rows;
}

function column(Connection $c, string $sql, ?array $values = null): array
{
    return array_column(rows(run($c, $sql, $values)), 0);
}

function all(Connection $c, string ...$statements): void
{
    foreach ($statements as $sql) {
        run($c, $sql);
    }
}

function refused(string $state, string $what, callable $call): Refused
{
    try {
        $call();
    } catch (Refused $e) {
        same($e->field(PGSQL_DIAG_SQLSTATE), $state, "$what ({$e->getMessage()})");
        return $e;
    }
    throw new Exception("$what: no error, want $state");
}

function not_connected(string $word, string $more): void
{
    try {
        open($more);
    } catch (Exception $e) {
        same(str_contains($e->getMessage(), $word), true, $e->getMessage());
        return;
    }
    throw new Exception("connected: $more");
}

$checks = [];

$checks['connect'] = function () {
    $c = open();
    same([(int) pg_version($c)['server'] >= 14, pg_parameter_status($c, 'server_encoding'), pg_ping($c), pg_dbname($c)], [true, 'UTF8', true, 'qdb'], 'version and parameters');
    not_connected('invalid username/password', 'password=no'); // the driver gives no SQLSTATE for a login
    not_connected('invalid username/password', 'user=nobody');
};

$checks['tls'] = function () {
    foreach (['require', 'verify-ca', 'verify-full'] as $mode) {
        same(column(open("sslmode=$mode channel_binding=require"), 'select sum(x) from long_sequence(1000)'), [500500], $mode);
    }
    not_connected('certificate verify failed', 'sslmode=verify-full sslrootcert=/etc/ssl/certs/ca-certificates.crt');
};

$checks['select'] = function () {
    $c = open();
    $r = pg_query($c, "select 1 a, 'it''s \\ \u{fc} \u{1F600}' b, null c, 1.5 d, true e");
    same(pg_fetch_assoc($r), ['a' => '1', 'b' => "it's \\ \u{fc} \u{1F600}", 'c' => null, 'd' => '1.5', 'e' => 't'], 'a row');
    same([pg_num_rows(pg_query($c, 'select x from long_sequence(0)')), pg_fetch_all_columns(pg_query($c, 'select x from long_sequence(2)'))], [0, ['1', '2']], 'none and a column');
    pg_send_query($c, 'select 1 a; select 2 b');
    same([pg_fetch_result(pg_get_result($c), 0, 0), pg_fetch_result(pg_get_result($c), 0, 0), pg_get_result($c)], ['1', '2', false], 'two results');
    $text = "it's \\ \u{fc}";
    same(column($c, 'select ' . pg_escape_literal($c, $text) . ' ' . pg_escape_identifier($c, 'a b')), [$text], 'literals and names');
};

$checks['types'] = function () {
    $c = open();
    all($c, 'drop table if exists ' . TYPES, create_types());
    for ($row = 0; $row < 3; $row++) {
        $r = run($c, insert_types(), [$row, ...array_map(fn ($k) => $k[2][$row], COLUMNS)]);
        same(pg_affected_rows($r), 1, 'an insert');
    }
    prepare($c, 'read types', 'select * from ' . TYPES . ' order by n');
    foreach ([null, 'read types'] as $name) {
        $r = run($c, 'select * from ' . TYPES . ' order by n', $name === null ? null : [], $name);
        foreach (rows($r) as $row => $got) {
            foreach (COLUMNS as $i => [, $type, $values]) {
                same(read_as($got[$i + 1], $values[$row]), $values[$row], "$type of row $row");
            }
        }
    }
    foreach (COLUMNS as [$name, $type, $values]) {
        for ($row = 0; $row < 3 && !in_array($type, NOT_COMPARED, true); $row++) {
            same(column($c, 'select n from ' . TYPES . " where $name = ?", [$values[$row]]), [$row], "where $type");
        }
    }
    same(column($c, "select '2024-03-01T09:00:00.123456789Z'::timestamp_ns"), ['2024-03-01 09:00:00.123456'], 'nanoseconds are cut');
    same(column($c, "select b from (select '" . pg_escape_bytea($c, "\x00'\xff") . "'::binary b)"), [new Bytes("\x00'\xff")], 'bytes in a text');
};

$checks['nulls'] = function () {
    $c = open();
    all($c, 'drop table if exists ' . TYPES, create_types());
    run($c, insert_types(), [1, ...array_fill(0, count(COLUMNS), null)]);
    $r = run($c, 'select * from ' . TYPES);
    foreach (COLUMNS as $i => [, $type]) {
        same([cell($r, 0, $i + 1), pg_field_is_null($r, 0, $i + 1)], [null_of($type), (int) (null_of($type) === null)], "null of $type");
    }
};

$checks['parameters'] = function () {
    $c = open();
    all($c, 'drop table if exists ' . P, CREATE_P);
    for ($i = 1; $i <= 10; $i++) {
        run($c, 'insert into ' . P . ' (ts, id, n, d, s, v) values (?, ?, ?, ?, ?, upper(?))', row_of($i));
    }
    foreach (QUERIES as [$what, $sql, $values, $want]) {
        same(column($c, $sql, $values), $want, $what);
        prepare($c, "p $what", $sql);
        same(array_column(rows(run($c, '', $values, "p $what")), 0), $want, "$what, prepared");
    }
};

$checks['prepared'] = function () {
    $t = PREFIX . 'prep';
    $c = open();
    all($c, "drop table if exists $t", "create table $t (a int, b varchar)", "insert into $t values (1, 'x'), (2, 'y')");
    prepare($c, 'some', "select b from $t where a = ?");
    prepare($c, 'star', "select * from $t where a = ?");
    $one = fn ($name, $a) => rows(run($c, '', [$a], $name));
    for ($i = 0; $i < 100; $i++) {
        same($one('some', 1 + $i % 2), [[$i % 2 ? 'y' : 'x']], "turn $i");
    }
    same($one('star', 1), [[1, 'x']], 'all columns');
    all($c, "alter table $t add column z double", "insert into $t values (3, 'z', 1.5)");
    same($one('some', 3), [['z']], 'the same shape after ALTER TABLE');
    refused('0A000', 'another shape', fn () => $one('star', 3));
    run($c, 'deallocate star');
    prepare($c, 'star', "select * from $t where a = ?");
    same($one('star', 3), [[3, 'z', '1.5']], 'prepared anew');
    refused('42P05', 'a name that is taken', fn () => prepare($c, 'star', 'select 1'));
    refused('26000', 'a name that is not there', fn () => run($c, '', [], 'nope'));
};

$checks['batch'] = function () {
    $t = PREFIX . 'batch';
    $c = open();
    all($c, "drop table if exists $t", "create table $t (ts timestamp, a int, s varchar) timestamp(ts) partition by day");
    prepare($c, 'batch', "insert into $t values (?, ?, ?)");
    $insert = function (int $bad) use ($c) {
        run($c, 'begin');
        for ($i = 0; $i < 1000; $i++) {
            run($c, '', [gmdate('Y-m-d\TH:i:s\Z', 1704067200 + $i), $i === $bad ? 'no number' : $i, "t$i"], 'batch');
        }
        run($c, 'commit');
    };
    $count = fn () => rows(run($c, "select count(), sum(a) from $t"));
    $insert(-1);
    same($count(), [[1000, 499500]], 'rows of a block');
    refused('22P02', 'an error in the middle', fn () => $insert(500));
    run($c, 'rollback');
    same($count(), [[1000, 499500]], 'nothing of a block that failed');
    $text = implode('; ', array_map(fn ($i) => "insert into $t values ('2024-01-02', $i, 't')", range(0, 999)));
    run($c, $text);
    refused('22P02', 'an error in a text of many', fn () => run($c, str_replace(', 500, ', ", 'x1', ", $text)));
    same($count(), [[2000, 999000]], 'a text of a thousand statements, and nothing of one that failed');
    same(pg_insert($c, $t, ['ts' => '2024-01-03', 'a' => 1, 's' => "it's"], PGSQL_DML_EXEC | PGSQL_DML_ESCAPE) !== false, true, 'pg_insert');
    same(column($c, "select s from $t where ts = '2024-01-03'"), ["it's"], 'its row');
};

$checks['fetch'] = function () {
    $c = open();
    $before = resident();
    [$sum, $n] = [0, 0];
    all($c, 'begin', "declare cur no scroll cursor for select x, 'row ' || x t from long_sequence(1000000)");
    while (($r = run($c, 'fetch 10000 from cur')) && ($got = pg_num_rows($r)) > 0) {
        $n += $got;
        $sum += array_sum(pg_fetch_all_columns($r));
    }
    run($c, 'commit');
    same([$n, $sum, resident() - $before < 64], [1000000, 500000500000, true], 'by a cursor, in bounded memory');
};

$checks['large'] = function () {
    $t = PREFIX . 'large';
    [$text, $bytes] = [large_text(), random_bytes(2 << 20)];
    $c = open();
    all($c, "drop table if exists $t", "create table $t (v varchar, s string, b binary)");
    run($c, "insert into $t values (?, ?, ?)", [$text, $text, new Bytes($bytes)]);
    [$got] = rows(run($c, "select * from $t"));
    same([$got[0] === $text, $got[1] === $text, $got[2]->bytes === $bytes], [true, true, true], '2 MiB');
    $rows = pg_fetch_all(run($c, 'select x, x::varchar t, x * 0.5 h from long_sequence(100000)'), PGSQL_NUM);
    same([count($rows), array_sum(array_map(fn ($r) => (int) $r[0] + (int) $r[1] + (int) (2 * $r[2]), $rows))], [100000, 15000150000], '100,000 rows');
};

$checks['transaction'] = function () {
    $t = PREFIX . 'tx';
    [$c, $other, $list] = [open(), open(), "select a from $t order by a"];
    all($c, "drop table if exists $t", "create table $t (a int)", 'begin', "insert into $t values (1)");
    same([column($c, $list), column($other, $list), pg_transaction_status($c)], [[1], [], PGSQL_TRANSACTION_INTRANS], 'seen by its own transaction alone');
    all($c, 'rollback', 'begin', "insert into $t values (2)", 'savepoint s', "insert into $t values (3)", 'rollback to s', "insert into $t values (4)", 'commit');
    same(column($other, $list), [2, 4], 'commit, rollback, savepoint');
    all($c, 'begin', "insert into $t values (5)");
    refused('42703', 'a bad statement', fn () => run($c, "select nope from $t"));
    same(pg_transaction_status($c), PGSQL_TRANSACTION_INERROR, 'the state of the block');
    refused('25P02', 'a failed block', fn () => run($c, 'select 1'));
    same([pg_result_status(run($c, 'commit'), PGSQL_STATUS_STRING), column($c, $list)], ['ROLLBACK', [2, 4]], 'COMMIT of a failed block');
};

function copy_table(Connection $c, string $t): void
{
    all($c, "drop table if exists $t", "create table $t (ts timestamp, a int, b varchar) timestamp(ts) partition by day");
}

$checks['copy_in'] = function () {
    $t = PREFIX . 'copy_in';
    $c = open();
    copy_table($c, $t);
    same(pg_copy_from($c, $t, ["2024-01-01\t1\tx\n", "2024-01-02\t\\N\ty,z\n"]), true, 'from an array');
    $by_lines = function (iterable $lines) use ($c, $t) {
        pg_query($c, "copy $t from stdin csv");
        foreach ($lines as $line) {
            pg_put_line($c, $line);
        }
        return pg_end_copy($c);
    };
    same($by_lines((function () {
        for ($i = 0; $i < 50000; $i++) {
            yield "2024-01-05,$i,many\n";
        }
    })()), true, 'line by line');
    same(pg_copy_from($c, $t, ["2024-01-04\t1\tx\n", "2024-01-04\tx\ty\n"]), false, 'a bad value');
    same(str_contains(pg_last_error($c), 'line 2'), true, 'its line: ' . pg_last_error($c));
    same(rows(run($c, "select count(), sum(a) from $t")), [[50002, 1249975001]], 'rows after all');
};

$checks['copy_out'] = function () {
    $t = PREFIX . 'copy_out';
    $c = open();
    copy_table($c, $t);
    run($c, "insert into $t values ('2024-01-01', 1, 'x'), ('2024-01-02', null, 'y\"z')");
    same(pg_copy_to($c, "$t (a, b)"), ["1\tx\n", "\\N\ty\"z\n"], 'to an array');
    same(count(pg_copy_to($c, '(select x from long_sequence(200000))')), 200000, 'many rows');
};

$checks['errors'] = function () {
    $c = open();
    foreach (ERRORS as [$sql, $state, $position]) {
        foreach ([null, []] as $values) {
            $e = refused($state, $sql, fn () => run($c, $sql, $values));
            same([$e->field(PGSQL_DIAG_SEVERITY), $position ?? (int) $e->field(PGSQL_DIAG_STATEMENT_POSITION) > 0],
                 ['ERROR', $position === null ? true : (int) $e->field(PGSQL_DIAG_STATEMENT_POSITION)], "position in $sql");
        }
    }
    all($c, 'begin', 'begin', 'rollback');
    same([str_contains(pg_last_notice($c), 'WARNING'), column($c, 'select 1')], [true, [1]], 'a warning, and after the errors');
};

$checks['cancel'] = function () {
    $c = open();
    foreach (['function', 'driver'] as $by) {
        if ($by === 'function') {
            $child = cancel_later(pg_get_pid($c));
            refused('57014', 'cancelled by another connection', fn () => run($c, SLOW));
            proc_close($child);
        } else {
            pg_send_query($c, SLOW);
            usleep(200000);
            same(pg_cancel_query($c), true, 'pg_cancel_query');
        }
        same(column($c, 'select 1'), [1], "after the cancel by $by");
    }
};

$checks['timeout'] = function () {
    $c = open();
    run($c, 'set statement_timeout = 200');
    refused('57014', 'SET statement_timeout', fn () => run($c, SLOW));
    same(column($c, 'select 1'), [1], 'after the time-out');
    refused('57014', 'statement_timeout at the start', fn () => run(open("options='-c statement_timeout=200'"), SLOW));
};

$checks['metadata'] = function () {
    $t = PREFIX . 'meta';
    $c = open();
    all($c, "drop table if exists $t", "create table $t (ts timestamp, y symbol index, de decimal(10,2), a double[], n long)");
    $r = run($c, "select * from $t");
    same(array_map(fn ($i) => [pg_field_name($r, $i), pg_field_type($r, $i), pg_field_type_oid($r, $i), pg_field_size($r, $i)], range(0, 4)),
         [['ts', 'timestamp', 1114, 8], ['y', 'varchar', 1043, -1], ['de', 'numeric', 1700, -1], ['a', '_float8', 1022, -1], ['n', 'int8', 20, 8]], 'fields of a result');
    $about = pg_meta_data($c, $t);
    same(array_map(fn ($m) => [$m['num'], $m['type'], $m['not null'], $m['array dims']], $about),
         ['ts' => [1, 'timestamp', false, 0], 'y' => [2, 'varchar', false, 0], 'de' => [3, 'numeric', false, 0], 'a' => [4, '_float8', false, 1], 'n' => [5, 'int8', false, 0]], 'pg_meta_data');
    same(pg_convert($c, $t, ['n' => '12', 'y' => "it's"]), ['"n"' => '12', '"y"' => "'it''s'"], 'pg_convert');
    same(column($c, 'select 1 from information_schema.table_constraints where table_name = ?', [$t]), [], 'no keys');
};

$checks['pool'] = function () { // connections that outlive their object: the extension's own pool
    $c = pg_pconnect(' ');
    $pid = pg_get_pid($c);
    all($c, 'set statement_timeout = 77', 'begin');
    pg_close($c);
    $c = pg_pconnect(' ');
    same([pg_get_pid($c), pg_connection_status($c)], [$pid, PGSQL_CONNECTION_OK], 'the connection comes back');
    same([pg_connection_reset($c), pg_transaction_status($c), column($c, 'show statement_timeout')], [true, PGSQL_TRANSACTION_IDLE, ['0']], 'clean after pg_connection_reset');
    $children = array_map(fn ($t) => many_queries($t), range(0, 7)); // PHP has no threads: processes
    same(array_sum(array_map(fn ($child) => (int) stream_get_contents($child[1]), $children)), 100 * 28000 + 8 * 4950 + 800, 'sum over all');
};

$checks['time_series'] = function () {
    $c = open();
    all($c, ...SERIES);
    foreach (SERIES_QUERIES as [$what, $sql, $values, $want]) {
        prepare($c, $what, $sql);
        same([rows(run($c, $sql, $values)), rows(run($c, '', $values, $what))], [$want, $want], $what);
    }
};

if (($argv[1] ?? '') === '--sum') { // a process of the check "pool"
    $c = open();
    echo array_sum(array_map(fn ($i) => column($c, 'select ?::int + 1', [(int) $argv[2] * 1000 + $i])[0], range(0, 99)));
} elseif (($argv[1] ?? '') === '--cancel') {
    usleep(200000);
    run(open(), 'select pg_cancel_backend(' . (int) $argv[2] . ')');
} else {
    echo 'driver php-pgsql ', phpversion('pgsql'), "\n";
    run_all($checks, array_slice($argv, 1));
}
