// Sensor readings with Npgsql: a table, a batch of rows, time buckets, a large result in pieces, an error.
//
//     dotnet run
using System.Globalization;
using Npgsql;

CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
static string Env(string name, string fallback) => Environment.GetEnvironmentVariable(name) ?? fallback;

var settings = new NpgsqlConnectionStringBuilder
{
    Host = Env("PGHOST", "127.0.0.1"),
    Port = int.Parse(Env("PGPORT", "8812")),
    Username = Env("PGUSER", "admin"),
    Password = Env("PGPASSWORD", "quest"),
    Database = Env("PGDATABASE", "qdb"),
};
await using var source = NpgsqlDataSource.Create(settings);
await using var conn = await source.OpenConnectionAsync();

await Run("DROP TABLE IF EXISTS cs_sensors");
await Run("CREATE TABLE cs_sensors (ts TIMESTAMP, sensor SYMBOL, temperature DOUBLE) TIMESTAMP(ts) PARTITION BY DAY");

// A batch goes in one write and is one transaction. A TIMESTAMP has no zone: the kind of the DateTime is Unspecified.
var start = new DateTime(2026, 1, 6, 10, 0, 0, DateTimeKind.Unspecified);
await using (var batch = new NpgsqlBatch(conn))
{
    for (var i = 0; i < 3600; i++)
    {
        var insert = new NpgsqlBatchCommand("INSERT INTO cs_sensors VALUES ($1, $2, $3)");
        insert.Parameters.Add(new() { Value = start.AddSeconds(i) });
        insert.Parameters.Add(new() { Value = $"s{i % 2}" });
        insert.Parameters.Add(new() { Value = 20.0 + i % 10 });
        batch.BatchCommands.Add(insert);
    }
    Console.WriteLine($"inserted {await batch.ExecuteNonQueryAsync()} rows");
}

// Buckets of time, with parameters.
const string buckets = "SELECT ts, count(), avg(temperature) FROM cs_sensors WHERE sensor = $1 AND ts >= $2 SAMPLE BY 15m";
await using (var query = new NpgsqlCommand(buckets, conn))
{
    query.Parameters.Add(new() { Value = "s1" });
    query.Parameters.Add(new() { Value = start });
    await using var rows = await query.ExecuteReaderAsync();
    while (await rows.ReadAsync())
        Console.WriteLine($"{rows.GetDateTime(0):yyyy-MM-ddTHH:mm:ss} {rows.GetInt64(1)} {rows.GetDouble(2):F1}");
}

// A large result in pieces: rows are read as they arrive, none is kept.
await using (var query = new NpgsqlCommand("SELECT x FROM long_sequence(1000000)", conn))
{
    await using var rows = await query.ExecuteReaderAsync();
    long sum = 0;
    while (await rows.ReadAsync())
        sum += rows.GetInt64(0);
    Console.WriteLine($"sum of a million rows: {sum}");
}

// An error has an SQLSTATE and, where the statement is at fault, a position. The connection goes on.
try
{
    await Run("SELECT nope FROM cs_sensors");
}
catch (PostgresException e)
{
    Console.WriteLine($"{e.SqlState} {e.MessageText} at {e.Position}");
}
await Run("DROP TABLE cs_sensors");

async Task Run(string sql)
{
    await using var command = new NpgsqlCommand(sql, conn);
    await command.ExecuteNonQueryAsync();
}
