<?php
// Sensor readings with PDO: a table, a batch of rows, time buckets, a large result in pieces, an error.
//
//     php sensors.php                 (with the extension pdo_pgsql)

$env = fn (string $name, string $other) => getenv($name) ?: $other;
$conn = new PDO(
    sprintf('pgsql:host=%s;port=%s;dbname=%s', $env('PGHOST', '127.0.0.1'), $env('PGPORT', '8812'), $env('PGDATABASE', 'qdb')),
    $env('PGUSER', 'admin'),
    $env('PGPASSWORD', 'quest'),
    [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]
);

$conn->exec('DROP TABLE IF EXISTS php_sensors');
$conn->exec('CREATE TABLE php_sensors (ts TIMESTAMP, sensor SYMBOL, temperature DOUBLE) TIMESTAMP(ts) PARTITION BY DAY');

// A batch: many rows in one INSERT, each value a parameter; the block makes all of them one commit.
$start = new DateTimeImmutable('2026-01-06T10:00:00Z');
$insert = $conn->prepare('INSERT INTO php_sensors VALUES ' . implode(', ', array_fill(0, 600, '(?, ?, ?)')));
$conn->beginTransaction();
$inserted = 0;
for ($at = 0; $at < 3600; $at += 600) {
    $values = [];
    for ($i = $at; $i < $at + 600; $i++) {
        array_push($values, $start->modify("+$i seconds")->format('Y-m-d\TH:i:s.u\Z'), 's' . $i % 2, 20 + $i % 10);
    }
    $insert->execute($values);
    $inserted += $insert->rowCount();
}
$conn->commit();
echo "inserted $inserted rows\n";

// Buckets of time, with parameters. Floating numbers and times come as texts; a TIMESTAMP is UTC.
$query = $conn->prepare('SELECT ts, count() AS n, avg(temperature) AS mean FROM php_sensors WHERE sensor = :sensor AND ts >= :start SAMPLE BY 15m');
$query->execute(['sensor' => 's1', 'start' => $start->format('c')]);
foreach ($query as $row) {
    echo "$row[ts] $row[n] $row[mean]\n";
}

// A large result in pieces: PDO keeps whole results in memory, so a cursor of the server gives 10,000 rows at a time.
$sum = 0;
$conn->beginTransaction();
$conn->exec('DECLARE big NO SCROLL CURSOR FOR SELECT x FROM long_sequence(1000000)');
while ($rows = $conn->query('FETCH 10000 FROM big')->fetchAll(PDO::FETCH_COLUMN)) {
    $sum += array_sum($rows);
}
$conn->commit();
echo "sum of a million rows: $sum\n";

// An error has an SQLSTATE; the place in the statement is in its message. The connection goes on.
try {
    $conn->query('SELECT nope FROM php_sensors');
} catch (PDOException $e) {
    echo $e->errorInfo[0], ' ', preg_replace('/\s+/', ' ', $e->errorInfo[2]), "\n";
}

$conn->exec('DROP TABLE php_sensors');
