<?php
// The driver matrix over PHP's PDO_PGSQL: php check.php [CHECK...]
declare(strict_types=1);

require __DIR__ . '/../php-pgsql/scenario.php';

/** A connection, with parts of the DSN and attributes besides those of the environment. */
function open(array $more = [], array $attributes = [], ?string $password = null, ?string $user = null): PDO
{
    $dsn = ['host' => getenv('PGHOST'), 'port' => getenv('PGPORT'), 'dbname' => getenv('PGDATABASE'), ...$more];
    $parts = implode(';', array_map(fn ($k, $v) => "$k=$v", array_keys($dsn), $dsn));
    return new PDO("pgsql:$parts", $user ?? getenv('PGUSER'), $password ?? getenv('PGPASSWORD'), [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION] + $attributes);
}

/** The ways a statement goes out: prepared on the server, described each time, or with its values written into the text. */
const WAYS = [[], [PDO::PGSQL_ATTR_DISABLE_PREPARES => true], [PDO::ATTR_EMULATE_PREPARES => true]];

function refused(string $state, string $what, callable $call): PDOException
{
    try {
        $call();
    } catch (PDOException $e) {
        same((string) ($e->errorInfo[0] ?? $e->getCode()), $state, "$what ({$e->getMessage()})");
        return $e;
    }
    throw new Exception("$what: no error, want $state");
}

/** Binds each value by its type of PHP. */
function run(PDO $c, string $sql, array $values = []): PDOStatement
{
    $st = $c->prepare($sql);
    foreach (array_values($values) as $i => $v) {
        $kind = is_bool($v) ? PDO::PARAM_BOOL : (is_int($v) ? PDO::PARAM_INT : ($v === null ? PDO::PARAM_NULL : PDO::PARAM_STR));
        if ($v instanceof Bytes) {
            [$v, $kind] = [$v->bytes, PDO::PARAM_LOB];
        }
        $st->bindValue($i + 1, is_array($v) ? list_text($v) : (is_float($v) ? var_export($v, true) : $v), $kind);
    }
    $st->execute();
    return $st;
}

function column(PDO $c, string $sql, array $values = []): array
{
    return run($c, $sql, $values)->fetchAll(PDO::FETCH_COLUMN);
}

function all(PDO $c, string ...$statements): void
{
    array_map($c->exec(...), $statements);
}

$checks = [];

$checks['connect'] = function () {
    $c = open();
    same((int) $c->getAttribute(PDO::ATTR_SERVER_VERSION) >= 14, true, 'server version');
    same($c->getAttribute(PDO::ATTR_CONNECTION_STATUS), 'Connection OK; waiting to send.', 'status');
    foreach (['no' => null, 'quest' => 'nobody'] as $password => $user) { // the driver has one state for all of these
        $e = refused('08006', 'a refused login', fn () => open(password: $password, user: $user));
        same(str_contains($e->getMessage(), 'invalid username/password'), true, $e->getMessage());
    }
};

$checks['tls'] = function () {
    foreach (['require', 'verify-ca', 'verify-full'] as $mode) {
        $c = open(['sslmode' => $mode, 'sslrootcert' => getenv('PGSSLROOTCERT'), 'channel_binding' => 'require']);
        same(column($c, 'select sum(x) from long_sequence(1000)'), [500500], $mode);
    }
    refused('08006', 'another authority', fn () => open(['sslmode' => 'verify-full', 'sslrootcert' => '/etc/ssl/certs/ca-certificates.crt']));
};

$checks['select'] = function () {
    $c = open();
    $row = $c->query("select 1 a, 'it''s \\ \u{fc} \u{1F600}' b, null c, 1.5 d, true e")->fetch(PDO::FETCH_ASSOC);
    same($row, ['a' => 1, 'b' => "it's \\ \u{fc} \u{1F600}", 'c' => null, 'd' => '1.5', 'e' => true], 'a row');
    same($c->query('select x from long_sequence(0)')->fetchAll(), [], 'no rows');
    same($c->query('select x from long_sequence(3)')->fetchAll(PDO::FETCH_COLUMN), [1, 2, 3], 'a column');
    same($c->query('select 1 a, 2 b')->fetchObject()->b, 2, 'an object');
    same($c->query($c->quote("it's \\ \u{fc}") ? 'select ' . $c->quote("it's \\ \u{fc}") : '')->fetchColumn(), "it's \\ \u{fc}", 'quote');
};

$checks['types'] = function () {
    foreach (WAYS as $way => $attributes) {
        $c = open(attributes: $attributes);
        $emulated = $way === 2;
        all($c, 'drop table if exists ' . TYPES, create_types());
        for ($row = 0; $row < 3; $row++) {
            $given = array_map(fn ($k) => $k[2][$row], COLUMNS);
            same(run($c, insert_types(emulated: $emulated), [$row, ...$given])->rowCount(), 1, 'an insert');
        }
        foreach ($c->query('select * from ' . TYPES . ' order by n')->fetchAll(PDO::FETCH_ASSOC) as $row => $got) {
            foreach (COLUMNS as [$name, $type, $values]) {
                $value = is_resource($got[$name]) ? new Bytes(stream_get_contents($got[$name])) : $got[$name];
                same(read_as($value, $values[$row]), $values[$row], "way $way: $type of row $row");
            }
        }
        same(run($c, 'update ' . TYPES . ' set bo = ? where n = ?', [false, 2])->rowCount(), 1, "way $way: UPDATE");
        foreach (COLUMNS as [$name, $type, $values]) {
            for ($row = 0; $row < 3 && !in_array($type, NOT_COMPARED, true); $row++) {
                same(column($c, 'select n from ' . TYPES . " where $name = ?", [$values[$row]]), [$row], "way $way: where $type");
            }
        }
    }
    $st = open(attributes: [PDO::ATTR_STRINGIFY_FETCHES => true])->query('select i, bo, d from ' . TYPES . ' where n = 0');
    same($st->fetch(PDO::FETCH_NUM), ['12', '1', '0.1'], 'all as texts');
    same(open()->query("select '2024-03-01T09:00:00.123456789Z'::timestamp_ns")->fetchColumn(), '2024-03-01 09:00:00.123456', 'nanoseconds are cut');
};

$checks['nulls'] = function () {
    foreach (WAYS as $way => $attributes) {
        $c = open(attributes: $attributes);
        all($c, 'drop table if exists ' . TYPES, create_types());
        run($c, insert_types(), [1, ...array_fill(0, count(COLUMNS), null)]);
        $got = $c->query('select * from ' . TYPES)->fetch(PDO::FETCH_ASSOC);
        foreach (COLUMNS as [$name, $type]) {
            same($got[$name], null_of($type), "way $way: null of $type");
        }
    }
};

$checks['parameters'] = function () {
    foreach (WAYS as $way => $attributes) {
        $c = open(attributes: $attributes);
        all($c, 'drop table if exists ' . P, CREATE_P);
        for ($i = 1; $i <= 10; $i++) {
            run($c, 'insert into ' . P . ' (ts, id, n, d, s, v) values (?, ?, ?, ?, ?, upper(?))', row_of($i));
        }
        foreach (QUERIES as [$what, $sql, $values, $want]) {
            same(column($c, $sql, $values), $want, "way $way: $what");
        }
        $st = $c->prepare('select id from ' . P . ' where id between :low and :high and s = :s');
        same([$st->execute(['low' => 2, 'high' => 8, 's' => 's1']), $st->fetchAll(PDO::FETCH_COLUMN)], [true, [4, 7]], "way $way: names");
    }
};

$checks['prepared'] = function () {
    $t = PREFIX . 'prep';
    $c = open();
    all($c, "drop table if exists $t", "create table $t (a int, b varchar)", "insert into $t values (1, 'x'), (2, 'y')");
    $some = $c->prepare("select b from $t where a = ?");
    $star = $c->prepare("select * from $t where a = ?");
    $one = function (PDOStatement $st, int $a) {
        $st->execute([$a]);
        return $st->fetchAll(PDO::FETCH_NUM);
    };
    for ($i = 0; $i < 100; $i++) {
        same($one($some, 1 + $i % 2), [[$i % 2 ? 'y' : 'x']], "turn $i");
    }
    same($one($star, 1), [[1, 'x']], 'all columns');
    all($c, "alter table $t add column z double", "insert into $t values (3, 'z', 1.5)");
    same($one($some, 3), [['z']], 'the same shape after ALTER TABLE');
    refused('0A000', 'another shape', fn () => $one($star, 3));
    same($one($c->prepare("select * from $t where a = ?"), 3), [[3, 'z', '1.5']], 'prepared anew');
};

$checks['batch'] = function () {
    $t = PREFIX . 'batch';
    $c = open();
    all($c, "drop table if exists $t", "create table $t (ts timestamp, a int, s varchar) timestamp(ts) partition by day");
    $insert = function (int $bad) use ($c, $t) { // the driver has no pipeline: a block
        $c->beginTransaction();
        $st = $c->prepare("insert into $t values (?, ?, ?)");
        for ($i = 0; $i < 1000; $i++) {
            $st->execute([gmdate('Y-m-d\TH:i:s\Z', 1704067200 + $i), $i === $bad ? 'no number' : $i, "t$i"]);
        }
        $c->commit();
    };
    $count = fn () => $c->query("select count(), sum(a) from $t")->fetch(PDO::FETCH_NUM);
    $insert(-1);
    same($count(), [1000, 499500], 'rows of a block');
    refused('22P02', 'an error in the middle', fn () => $insert(500));
    $c->rollBack();
    same($count(), [1000, 499500], 'nothing of a block that failed');
    $values = array_merge(...array_map(fn ($i) => ['2024-01-01', $i, "t$i"], range(0, 999)));
    run($c, "insert into $t values " . implode(', ', array_fill(0, 1000, '(?, ?, ?)')), $values);
    same($count(), [2000, 999000], 'many rows in one statement');
    same($c->exec("insert into $t values ('2024-01-03', 1, 'a'), ('2024-01-04', 2, 'b'); update $t set s = 'c' where a = 2"), 3, 'a text of several statements');
};

$checks['fetch'] = function () {
    $c = open();
    $before = resident();
    $c->beginTransaction();
    $c->exec("declare cur no scroll cursor for select x, 'row ' || x t from long_sequence(1000000)");
    [$sum, $n] = [0, 0];
    while ($rows = $c->query('fetch 10000 from cur')->fetchAll(PDO::FETCH_NUM)) {
        $n += count($rows);
        $sum += array_sum(array_column($rows, 0));
    }
    $c->commit();
    same([$n, $sum], [1000000, 500000500000], 'by a cursor');
    // a scrollable cursor of the driver needs one of the server, which goes forward only
    refused('0A000', 'a cursor that scrolls', fn () => $c->prepare('select x from long_sequence(3)', [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL])->execute());
    same(resident() - $before < 64, true, "memory grew from $before to " . resident() . ' MiB');
};

$checks['large'] = function () {
    $t = PREFIX . 'large';
    [$text, $bytes] = [large_text(), random_bytes(2 << 20)];
    $c = open();
    all($c, "drop table if exists $t", "create table $t (v varchar, s string, b binary)");
    run($c, "insert into $t values (?, ?, ?)", [$text, $text, new Bytes($bytes)]);
    $got = $c->query("select * from $t")->fetch(PDO::FETCH_NUM);
    same([$got[0] === $text, $got[1] === $text, stream_get_contents($got[2]) === $bytes], [true, true, true], '2 MiB');
    $rows = $c->query('select x, x::varchar, x * 0.5 from long_sequence(100000)')->fetchAll(PDO::FETCH_NUM);
    same([count($rows), array_sum(array_map(fn ($r) => $r[0] + (int) $r[1] + (int) (2 * $r[2]), $rows))], [100000, 15000150000], '100,000 rows');
};

$checks['transaction'] = function () {
    $t = PREFIX . 'tx';
    [$c, $other, $list] = [open(), open(), "select a from $t order by a"];
    all($c, "drop table if exists $t", "create table $t (a int)");
    $c->beginTransaction();
    $c->exec("insert into $t values (1)");
    same([column($c, $list), column($other, $list), $c->inTransaction()], [[1], [], true], 'seen by its own transaction alone');
    $c->rollBack();
    $c->beginTransaction();
    all($c, "insert into $t values (2)", 'savepoint s', "insert into $t values (3)", 'rollback to s', "insert into $t values (4)");
    $c->commit();
    same([column($other, $list), $c->inTransaction()], [[2, 4], false], 'commit, rollback, savepoint');
    $c->beginTransaction();
    $c->exec("insert into $t values (5)");
    refused('42703', 'a bad statement', fn () => $c->query("select nope from $t"));
    refused('25P02', 'a failed block', fn () => $c->query('select 1'));
    $c->commit();
    same(column($c, $list), [2, 4], 'COMMIT of a failed block is a rollback');
};

$checks['copy_in'] = function () {
    $t = PREFIX . 'copy_in';
    $c = open();
    all($c, "drop table if exists $t", "create table $t (ts timestamp, a int, b varchar) timestamp(ts) partition by day");
    same($c->pgsqlCopyFromArray($t, ["2024-01-01\t1\tx\n", "2024-01-02\t\\N\ty,z\n"]), true, 'from an array');
    same($c->pgsqlCopyFromArray($t, array_map(fn ($i) => "2024-01-05\t$i", range(0, 49999)), "\t", '\\\\N', 'ts, a'), true, 'some columns, many rows');
    refused('22P02', 'a bad value', fn () => $c->pgsqlCopyFromArray($t, ["2024-01-04\t1\tx\n", "2024-01-04\tx\ty\n"]));
    $file = tempnam(sys_get_temp_dir(), 'pdo');
    file_put_contents($file, "2024-01-07\t7\tfile\n");
    same([$c->pgsqlCopyFromFile($t, $file), unlink($file)], [true, true], 'from a file');
    same($c->query("select count(), sum(a) from $t")->fetch(PDO::FETCH_NUM), [50003, 1249975008], 'rows after all');
};

$checks['copy_out'] = function () {
    $t = PREFIX . 'copy_out';
    $c = open();
    all($c, "drop table if exists $t", "create table $t (ts timestamp, a int, b varchar) timestamp(ts) partition by day", "insert into $t values ('2024-01-01', 1, 'x'), ('2024-01-02', null, 'y\"z')");
    same($c->pgsqlCopyToArray($t, "\t", '\\\\N', 'a, b'), ["1\tx\n", "\\N\ty\"z\n"], 'to an array');
    $file = tempnam(sys_get_temp_dir(), 'pdo');
    same($c->pgsqlCopyToFile($t, $file, ',', 'none', 'a, b'), true, 'to a file');
    same([file_get_contents($file), unlink($file)], ["1,x\nnone,y\"z\n", true], 'the file');
};

$checks['errors'] = function () {
    foreach (WAYS as $attributes) {
        $c = open(attributes: $attributes);
        foreach (ERRORS as [$sql, $state, $marked]) {
            $e = refused($state, $sql, fn () => $c->query($sql)->fetchAll());
            $shown = [" at character $marked", "\nLINE 1: $sql\n" . str_repeat(' ', 8 + (int) $marked - 1) . '^']; // where libpq knows the text or not
            same($marked === null || str_contains($e->getMessage(), $shown[0]) || str_contains($e->getMessage(), $shown[1]), true, "position in: {$e->getMessage()}");
        }
        same(column($c, 'select 1'), [1], 'after the errors');
    }
};

$checks['cancel'] = function () { // the driver has no cancel of its own: another connection asks for it
    $c = open();
    $pid = $c->query('select pg_backend_pid()')->fetchColumn();
    $child = cancel_later((int) $pid);
    refused('57014', 'a cancelled query', fn () => $c->query(SLOW));
    proc_close($child);
    same(column($c, 'select 1'), [1], 'after the cancel');
};

$checks['timeout'] = function () {
    $c = open();
    $c->exec('set statement_timeout = 200');
    refused('57014', 'SET statement_timeout', fn () => $c->query(SLOW));
    same(column($c, 'select 1'), [1], 'after the time-out');
    refused('57014', 'statement_timeout at the start', fn () => open(['options' => "'-c statement_timeout=200'"])->query(SLOW));
};

$checks['metadata'] = function () {
    $t = PREFIX . 'meta';
    $c = open();
    all($c, "drop table if exists $t", "create table $t (ts timestamp, y symbol index, de decimal(10,2), a double[])");
    $st = $c->query("select * from $t");
    $about = array_map(fn ($i) => $st->getColumnMeta($i), range(0, 3));
    same(array_map(fn ($m) => [$m['name'], $m['native_type'], $m['pgsql:oid'], $m['precision']], $about),
         [['ts', 'timestamp', 1114, -1], ['y', 'varchar', 1043, -1], ['de', 'numeric', 1700, 655366], ['a', '_float8', 1022, -1]], 'getColumnMeta');
    same(column($c, 'select column_name from information_schema.columns where table_name = ? order by ordinal_position', [$t]), ['ts', 'y', 'de', 'a'], 'columns');
    same(column($c, 'select 1 from information_schema.table_constraints where table_name = ?', [$t]), [], 'no keys');
};

$checks['pool'] = function () { // connections that outlive their object: PDO's own pool
    $persistent = [PDO::ATTR_PERSISTENT => true];
    $c = open(attributes: $persistent);
    $pid = $c->query('select pg_backend_pid()')->fetchColumn();
    $c->beginTransaction();
    $c = null;
    $c = open(attributes: $persistent);
    same([$c->query('select pg_backend_pid()')->fetchColumn(), $c->inTransaction()], [$pid, false], 'a clean connection comes back');
    $children = array_map(fn ($t) => many_queries($t), range(0, 7)); // PHP has no threads: processes
    same(array_sum(array_map(fn ($child) => (int) stream_get_contents($child[1]), $children)), 100 * 28000 + 8 * 4950 + 800, 'sum over all');
};

$checks['time_series'] = function () {
    foreach (WAYS as $way => $attributes) {
        $c = open(attributes: $attributes);
        all($c, ...SERIES);
        foreach (SERIES_QUERIES as [$what, $sql, $values, $want]) {
            same(run($c, $sql, $values)->fetchAll(PDO::FETCH_NUM), $want, "way $way: $what");
        }
    }
};

if (($argv[1] ?? '') === '--sum') { // a process of the check "pool"
    $c = open();
    echo array_sum(array_map(fn ($i) => column($c, 'select ?::int + 1', [(int) $argv[2] * 1000 + $i])[0], range(0, 99)));
} elseif (($argv[1] ?? '') === '--cancel') {
    usleep(200000);
    open()->query('select pg_cancel_backend(' . (int) $argv[2] . ')');
} else {
    echo 'driver php-pdo ', phpversion('pdo_pgsql'), "\n";
    run_all($checks, array_slice($argv, 1));
}
