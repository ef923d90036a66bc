# Sensor readings with ruby-pg: a table, a batch of rows, time buckets, a large result in pieces, an error.
#
#     gem install pg
#     ruby sensors.rb
require "pg"

conn = PG.connect(
  host: ENV.fetch("PGHOST", "127.0.0.1"),
  port: ENV.fetch("PGPORT", "8812"),
  user: ENV.fetch("PGUSER", "admin"),
  password: ENV.fetch("PGPASSWORD", "quest"),
  dbname: ENV.fetch("PGDATABASE", "qdb")
)
# Values come as Ruby's own; a TIMESTAMP has no zone and is UTC.
conn.type_map_for_results = PG::BasicTypeMapForResults.new(conn).tap do |map|
  map.add_coder(PG::TextDecoder::TimestampUtc.new(oid: 1114, name: "timestamp"))
end
utc = PG::TextEncoder::TimestampUtc.new

conn.exec("DROP TABLE IF EXISTS ruby_sensors")
conn.exec("CREATE TABLE ruby_sensors (ts TIMESTAMP, sensor SYMBOL, temperature DOUBLE) TIMESTAMP(ts) PARTITION BY DAY")

# A batch: COPY is the fastest way in. The encoder makes a line of each row.
start = Time.utc(2026, 1, 6, 10)
copied = conn.copy_data("COPY ruby_sensors FROM STDIN", PG::TextEncoder::CopyRow.new) do
  3600.times { |i| conn.put_copy_data([utc.encode(start + i), "s#{i % 2}", (20 + i % 10).to_s]) }
end
puts "inserted #{copied.cmd_tuples} rows"

# The same row by row, with parameters: a block makes them one commit.
conn.prepare("insert", "INSERT INTO ruby_sensors VALUES ($1, $2, $3)")
conn.transaction do
  10.times { |i| conn.exec_prepared("insert", [utc.encode(start + 3600 + i), "s2", 20 + i]) }
end

# Buckets of time, with parameters.
sql = "SELECT ts, count() AS n, avg(temperature) AS mean FROM ruby_sensors WHERE sensor = $1 AND ts >= $2 SAMPLE BY 15m"
conn.exec_params(sql, ["s1", utc.encode(start)]).each { |row| puts "#{row["ts"]} #{row["n"]} #{row["mean"]}" }

# A large result in pieces: row by row as they come, none is kept.
sum = 0
conn.send_query("SELECT x FROM long_sequence(1000000)")
conn.set_single_row_mode
conn.get_result.stream_each_row { |row| sum += row[0] }
conn.get_result
puts "sum of a million rows: #{sum}"

# An error has an SQLSTATE and, where the statement is at fault, a position. The connection goes on.
begin
  conn.exec("SELECT nope FROM ruby_sensors")
rescue PG::UndefinedColumn => e
  state, message, at = [PG::PG_DIAG_SQLSTATE, PG::PG_DIAG_MESSAGE_PRIMARY, PG::PG_DIAG_STATEMENT_POSITION].map { |f| e.result.error_field(f) }
  puts "#{state} #{message} at #{at}"
end

conn.exec("DROP TABLE ruby_sensors")
conn.close
