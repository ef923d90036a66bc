# The driver matrix over ruby-pg: ruby check.rb [CHECK...]
require "pg"
require "bigdecimal"
require "time"

PREFIX = ENV.fetch("TABLE_PREFIX", "ruby_")
SLOW = "select sum(x % 7) from long_sequence(1000000000000)"

def equal(got, want, what)
  raise "#{what}: got #{got.inspect[0, 300]}, want #{want.inspect[0, 300]}" unless got == want
end

# The call must fail with this SQLSTATE; the error.
def refused(state, what)
  yield
rescue PG::Error => e
  got = e.result ? e.result.error_field(PG::PG_DIAG_SQLSTATE) : e.message[/(28P01|password|certificate)/]
  equal(got, state, "#{what} (#{e.message.strip})")
  e
else
  raise "#{what}: no error, want #{state}"
end

# A connection for the length of a block. Its results are mapped by their types, as the driver can.
def session(map: true, **options)
  c = PG.connect(**options)
  if map
    more = [PG::TextDecoder::TimestampUtc.new(oid: 1114, name: "timestamp"), PG::TextDecoder::String.new(oid: 2950, name: "uuid")]
    c.type_map_for_results = PG::BasicTypeMapForResults.new(c).tap { |m| more.each { |coder| m.add_coder(coder) } }
  end
  yield c
ensure
  c&.close
end

def all(c, *statements) = statements.each { |sql| c.exec(sql) }

QUOTES = "it's \"q\" \\ \u00fc \u6f22\u5b57 \u{1F600} $1 ? -- /*"
DAY = Time.utc(2024, 1, 2, 3, 4, 5, 123_000)
# [name, type, OID, values of three rows: usual, least, greatest]
COLUMNS = [
  ["bo", "boolean", 16, [true, false, true]],
  ["b", "byte", 21, [7, -128, 127]],
  ["sh", "short", 21, [-7, -32768, 32767]],
  ["i", "int", 23, [12, -2147483647, 2147483647]],
  ["l", "long", 20, [1 << 40, 1 - (1 << 63), (1 << 63) - 1]],
  ["f", "float", 700, [0.1, -3.4028235e38, 1e-45]],
  ["d", "double", 701, [0.1, -1.797693134862e308, 1e-10]], # the encoder of the driver has 16 digits and writes 1e-300 as 0e-301
  ["c", "char", 1042, ["x", "\u00fc", "\u6f22"]],
  ["s", "string", 1043, [QUOTES, "", "a\nb\tc"]],
  ["v", "varchar", 1043, [QUOTES, "", "a\nb\tc"]],
  ["sy", "symbol", 1043, [QUOTES, "", "a\nb\tc"]],
  ["da", "date", 1114, [DAY, Time.utc(1969, 12, 31, 23, 59, 59, 999_000), Time.utc(1, 1, 1)]],
  ["ts", "timestamp", 1114, [DAY + Rational(456, 1_000_000), Time.utc(1969, 7, 20, 20, 17, 40, 1), Time.utc(9999, 12, 31, 23, 59, 59, 999_999)]],
  ["ns", "timestamp_ns", 1114, [DAY + Rational(456, 1_000_000), Time.utc(1969, 7, 20, 20, 17, 40, 1), Time.utc(2262, 1, 1, 0, 0, 0, 999_999)]],
  ["u", "uuid", 2950, %w[11111111-2222-3333-4444-555555555555 ffffffff-ffff-ffff-ffff-ffffffffffff 00000000-0000-0000-0000-000000000001]],
  ["ip", "ipv4", 1043, %w[192.168.0.1 0.0.0.1 255.255.255.255]],
  ["w", "long256", 1043, ["0xff", "0x01", "0x7" + "f" * 63]],
  ["g", "geohash(5c)", 1043, %w[u33db 00000 zzzzz]],
  ["gb", "geohash(7b)", 1043, %w[0110101 0000000 1111111]],
  ["de", "decimal(20,4)", 1700, %w[12.5 -9999999999999999.9999 0.0001].map { |t| BigDecimal(t) }],
  ["dw", "decimal(76,10)", 1700, ["0.5", "-#{"9" * 66}.#{"9" * 10}", "#{"9" * 66}.#{"9" * 10}"].map { |t| BigDecimal(t) }],
  ["bi", "binary", 17, ["\x00\x01\xff'\\".b, "".b, (0..255).to_a.pack("C*")]],
  ["a", "double[]", 1022, [[1.5, nil, -2.0], [], [1e300]]],
  ["m", "double[][]", 1022, [[[1.0, 2.0], [nil, 4.0]], [[7.0]], [[1.0], [2.0], [3.0]]]],
].freeze
TYPES = "#{PREFIX}types"
NOT_COMPARED = ["boolean", "binary", "double[]", "double[][]", "geohash(7b)"].freeze

def create_types(c)
  all(c, "drop table if exists #{TYPES}", "create table #{TYPES} (n int, #{COLUMNS.map { |k| k[0, 2].join(" ") }.join(", ")})")
end

def insert_types = "insert into #{TYPES} values (#{(1..COLUMNS.size + 1).map { |i| "$#{i}" }.join(", ")})"

# How values are sent: by class of the value, texts and bytes without a type, or typed and binary where the driver has that.
def maps(c)
  by_class = PG::BasicTypeMapForQueries.new(c)
  by_class[Time] = PG::TextEncoder::TimestampUtc.new
  by_class[Array] = PG::TextEncoder::Array.new(elements_type: PG::TextEncoder::Float.new, oid: 0)
  by_class[BigDecimal] = PG::TextEncoder::Numeric.new(oid: 1700)
  by_class[PG::BasicTypeMapForQueries::BinaryData] = PG::BinaryEncoder::Bytea.new
  by_class
end

def sent(value) = value.is_a?(String) && value.encoding == Encoding::BINARY ? PG::BasicTypeMapForQueries::BinaryData.new(value) : value

def check_types
  session do |c|
    c.type_map_for_queries = maps(c)
    create_types(c)
    3.times { |row| equal(c.exec_params(insert_types, [row, *COLUMNS.map { |k| sent(k[3][row]) }]).cmd_tuples, 1, "an insert") }
    r = c.exec("select * from #{TYPES} order by n")
    equal(COLUMNS.each_index.map { |i| r.ftype(i + 1) }, COLUMNS.map { |k| k[2] }, "types of columns")
    r.each_with_index { |got, row| COLUMNS.each { |name, type, _, v| equal(got[name], v[row], "#{type} of row #{row}") } }
    (COLUMNS.reject { |k| NOT_COMPARED.include?(k[1]) }).each do |name, type, _, v|
      3.times { |row| equal(c.exec_params("select n from #{TYPES} where #{name} = $1", [v[row]]).column_values(0), [row], "where #{type} = #{v[row]}") }
    end
    equal(c.exec("select '2024-03-01T09:00:00.123456789Z'::timestamp_ns t")[0]["t"], Time.utc(2024, 3, 1, 9, 0, 0, 123_456), "nanoseconds are cut")
  end
  binary_types
end

# Results in binary, of the types whose binary form the driver reads; parameters in binary.
def binary_types
  session do |c|
    read = [16, 17, 20, 21, 23, 700, 701, 1043, 1114]
    c.type_map_for_results = PG::BasicTypeMapForResults.new(c).tap { |m| m.add_coder(PG::BinaryDecoder::TimestampUtc.new(oid: 1114, name: "timestamp", format: 1)) }
    some = COLUMNS.select { |k| read.include?(k[2]) && k[1] != "float" }
    r = c.exec_params("select #{some.map(&:first).join(", ")} from #{TYPES} where n >= $1 order by n", [{ value: [0].pack("N"), type: 23, format: 1 }], 1)
    r.each_with_index { |got, row| some.each { |name, type, _, v| equal(got[name], v[row], "binary #{type} of row #{row}") } }
    given = [{ value: [1 << 40].pack("q>"), type: 20, format: 1 }, { value: [1.5].pack("G"), type: 701, format: 1 }, { value: "\x01", type: 16, format: 1 }]
    equal(c.exec_params("select $1 l, $2 d, $3 b", given)[0], { "l" => 1 << 40, "d" => 1.5, "b" => true }, "binary parameters")
  end
end

def null_of(type) = type == "boolean" ? false : %w[byte short].include?(type) ? 0 : nil

def check_nulls
  session do |c|
    create_types(c)
    c.exec_params(insert_types, [1, *COLUMNS.map { nil }])
    row = c.exec("select * from #{TYPES}")[0]
    COLUMNS.each { |name, type| equal(row[name], null_of(type), "null of #{type}") }
    COLUMNS.reject { |k| k[1] == "binary" }.each { |_, type| equal(c.exec_params("select $1::#{type} n", [nil])[0]["n"], null_of(type), "null as #{type}") }
  end
end

def check_connect
  session { |c| equal([c.server_version >= 140_000, c.parameter_status("server_encoding"), c.exec("show server_version").getvalue(0, 0).to_i >= 14], [true, "UTF8", true], "version") }
  refused("password", "a wrong password") { session(password: "wrong") {} }
  refused("password", "an unknown user") { session(user: "nobody") {} }
end

def check_tls
  %w[require verify-ca verify-full].each do |mode|
    %w[prefer require].each do |binding|
      session(sslmode: mode, channel_binding: binding) do |c|
        equal([c.ssl_in_use?, c.exec("select sum(x) s from long_sequence(1000)")[0]["s"]], [true, 500_500], mode)
      end
    end
  end
  refused("certificate", "another authority") { session(sslmode: "verify-full", sslrootcert: "/etc/ssl/certs/ca-certificates.crt") {} }
end

def check_select
  session do |c|
    r = c.exec("select 1 a, 'it''s \\ \u00fc \u{1F600}' b, null c, 1.5 d, true e")
    equal([r.fields.join, r.to_a], ["abcde", [{ "a" => 1, "b" => "it's \\ \u00fc \u{1F600}", "c" => nil, "d" => 1.5, "e" => true }]], "a row")
    equal(c.exec("select x from long_sequence(0)").ntuples, 0, "no rows")
    c.send_query("select 1 a; select 2 b")
    equal([c.get_result.to_a, c.get_result.to_a, c.get_result], [[{ "a" => 1 }], [{ "b" => 2 }], nil], "two results")
  end
  session(map: false) { |c| equal(c.exec("select 1, true, 0.1").values, [%w[1 t 0.1]], "texts") }
end

P = "#{PREFIX}params"
AT = Time.utc(2024, 1, 1)
QUERIES = [
  ["WHERE", "select id from #{P} where id = $1 and s = $2", [4, "s1"], [4]],
  ["a long", "select id from #{P} where n = $1", [50], [5]],
  ["BETWEEN", "select id from #{P} where d between $1 and $2", [0.25, 0.45], [3, 4]],
  ["times", "select id from #{P} where ts >= $1 and ts < $2", [AT + 9 * 3600, AT + 10 * 3600], [9]],
  ["IN, LIMIT", "select id from #{P} where s in ($1, $2) order by id limit $3", ["s0", "s2", 3], [2, 3, 5]],
  ["OFFSET", "select id from #{P} order by id limit $1 offset $2", [2, 7], [8, 9]],
  ["ANY of integers", "select id from #{P} where id = any($1::int[]) order by id", [[2, 4, 99]], [2, 4]],
  ["ANY of longs", "select id from #{P} where n = any($1) order by id", [[10, 30]], [1, 3]],
  ["ANY of texts", "select id from #{P} where s = any($1) and id < $2 order by id", [["s1", "it's, {\"x\"}"], 6], [1, 4]],
  ["casts", "select $1::int + 1", [41], [42]],
  ["no type", "select $1", ["plain"], ["plain"]],
  ["a boolean", "select count() from #{P} where n is null and $1", [true], [5]],
  ["LIKE", "select id from #{P} where v like $1 order by id", ["V1%"], [1, 10]],
].freeze

def check_parameters
  session do |c|
    all(c, "drop table if exists #{P}", "create table #{P} (ts timestamp, id int, n long, d double, s symbol, v varchar) timestamp(ts) partition by day")
    c.type_map_for_queries = PG::BasicTypeMapForQueries.new(c)
    1.upto(10) { |i| c.exec_params("insert into #{P} (ts, id, n, d, s, v) values ($1, $2, $3, $4, $5, upper($6))", [AT + i * 3600, i, i.even? ? nil : i * 10, i / 10.0, "s#{i % 3}", "v#{i}"]) }
    QUERIES.each do |what, sql, values, want| # typed by their class, some of them binary
      [0, 1].each { |format| equal(c.exec_params(sql, values, format).column_values(0), want, "#{what}, format #{format}") }
    end
    c.type_map_for_queries = PG::TypeMapAllStrings.new # texts without a type
    QUERIES.reject { |_, _, values| values.any?(Array) }.each do |what, sql, values, want|
      equal(c.exec_params(sql, values.map { |v| v.is_a?(Time) ? v.iso8601 : v.to_s }).column_values(0), want, "#{what}, as text")
    end
  end
end

def check_prepared
  t = "#{PREFIX}prep"
  session do |c|
    all(c, "drop table if exists #{t}", "create table #{t} (a int, b varchar)", "insert into #{t} values (1, 'x'), (2, 'y')")
    c.prepare("some", "select b from #{t} where a = $1")
    c.prepare("star", "select * from #{t} where a = $1")
    about = c.describe_prepared("star")
    equal([about.nparams, about.paramtype(0), about.fields], [1, 23, %w[a b]], "describe_prepared")
    100.times { |i| equal(c.exec_prepared("some", [1 + i % 2]).column_values(0), [i.even? ? "x" : "y"], "turn #{i}") }
    equal(c.exec_prepared("star", [1]).values, [[1, "x"]], "all columns")
    all(c, "alter table #{t} add column z double", "insert into #{t} values (3, 'z', 1.5)")
    equal(c.exec_prepared("some", [3]).column_values(0), ["z"], "the same shape after ALTER TABLE")
    refused("0A000", "another shape") { c.exec_prepared("star", [3]) }
    c.exec("deallocate star")
    c.prepare("star", "select * from #{t} where a = $1")
    equal(c.exec_prepared("star", [3]).values, [[3, "z", 1.5]], "prepared anew")
    refused("42P05", "a name that is taken") { c.prepare("star", "select 1") }
    refused("26000", "a name that is not there") { c.exec_prepared("nope") }
  end
end

def insert_pipelined(c, table, bad)
  c.enter_pipeline_mode
  1000.times { |i| c.send_query_params("insert into #{table} values ($1, $2, $3)", [(AT + i).iso8601, i == bad ? "no number" : i.to_s, "t#{i}"]) }
  c.pipeline_sync
  states = Hash.new(0)
  loop do
    r = c.get_result or next
    states[r.result_status] += 1
    break if r.result_status == PG::PGRES_PIPELINE_SYNC
  end
  states
ensure
  c.exit_pipeline_mode
end

def check_batch
  t = "#{PREFIX}batch"
  count = "select count() n, sum(a) s from #{t}"
  session do |c|
    all(c, "drop table if exists #{t}", "create table #{t} (ts timestamp, a int, s varchar) timestamp(ts) partition by day")
    equal(insert_pipelined(c, t, -1)[PG::PGRES_COMMAND_OK], 1000, "a pipeline")
    equal(c.exec(count).values, [[1000, 499_500]], "its rows")
    states = insert_pipelined(c, t, 500)
    equal([states[PG::PGRES_FATAL_ERROR], states[PG::PGRES_PIPELINE_ABORTED] > 0], [1, true], "an error in the middle")
    equal(c.exec(count).values, [[1000, 499_500]], "nothing of it")
    refused("22P02", "an error in a block") do
      c.transaction { |tx| 100.times { |i| tx.exec_params("insert into #{t} values ($1, $2, $3)", [AT.iso8601, i == 50 ? "x" : i.to_s, "t"]) } }
    end
    equal(c.exec(count).values, [[1000, 499_500]], "nothing of a block that failed")
  end
end

def resident = File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i / 1024

def check_fetch
  session(map: false) do |c|
    before = resident
    sum = n = 0
    c.send_query("select x, 'row ' || x t from long_sequence(1000000)")
    c.set_single_row_mode
    c.get_result.stream_each_row { |row| n += 1; sum += row[0].to_i }
    equal([n, sum, c.get_result], [1_000_000, 500_000_500_000, nil], "row by row")
    sum = 0
    c.transaction do
      c.exec("declare cur no scroll cursor for select x, 'row ' || x t from long_sequence(1000000)")
      until (r = c.exec("fetch 10000 from cur")).ntuples.zero?
        sum += r.column_values(0).sum(&:to_i)
        r.clear
      end
      c.exec("close cur")
    end
    equal(sum, 500_000_500_000, "by a cursor")
    equal(resident - before < 64, true, "memory grew from #{before} to #{resident} MiB")
  end
end

def check_large
  t = "#{PREFIX}large"
  text = "\u00fc0123456789abcdef" * (2 * 1024 * 1024 / 18 + 1)
  bytes = Random.new(1).bytes(2 * 1024 * 1024)
  session do |c|
    all(c, "drop table if exists #{t}", "create table #{t} (v varchar, s string, b binary)")
    c.exec_params("insert into #{t} values ($1, $2, $3)", [text, text, { value: bytes, type: 17, format: 1 }])
    equal(c.exec("select * from #{t}")[0].values_at("v", "s", "b") == [text, text, bytes], true, "2 MiB")
    r = c.exec("select x, x::varchar t, x * 0.5 h from long_sequence(100000)")
    equal([r.ntuples, r.values.sum { |x, s, h| x + s.to_i + (2 * h).to_i }], [100_000, 15_000_150_000], "100,000 rows")
  end
end

def check_transaction
  t = "#{PREFIX}tx"
  list = "select a from #{t} order by a"
  session do |c|
    session do |other|
      all(c, "drop table if exists #{t}", "create table #{t} (a int)", "begin", "insert into #{t} values (1)")
      equal([c.exec(list).column_values(0), other.exec(list).column_values(0), c.transaction_status], [[1], [], PG::PQTRANS_INTRANS], "seen by its own transaction alone")
      all(c, "rollback", "begin", "insert into #{t} values (2)", "savepoint s", "insert into #{t} values (3)", "rollback to s", "insert into #{t} values (4)", "commit")
      equal(other.exec(list).column_values(0), [2, 4], "commit, rollback, savepoint")
      all(c, "begin", "insert into #{t} values (5)")
      refused("42703", "a bad statement") { c.exec("select nope from #{t}") }
      equal(c.transaction_status, PG::PQTRANS_INERROR, "the state of the block")
      refused("25P02", "a failed block") { c.exec("select 1") }
      equal([c.exec("commit").cmd_status, c.exec(list).column_values(0)], ["ROLLBACK", [2, 4]], "COMMIT of a failed block")
      c.transaction { |tx| tx.exec("insert into #{t} values (6)") }
      equal(other.exec(list).column_values(0), [2, 4, 6], "a block of the driver")
    end
  end
end

def copy_table(c, t) = all(c, "drop table if exists #{t}", "create table #{t} (ts timestamp, a int, b varchar) timestamp(ts) partition by day")

def check_copy_in
  t = "#{PREFIX}copy_in"
  session do |c|
    copy_table(c, t)
    c.copy_data("copy #{t} from stdin csv") { ["2024-01-01,1,x\n2024-01-02,,\"y,", "z\"\n"].each { |part| c.put_copy_data(part) } }
    c.copy_data("copy #{t} from stdin", PG::TextEncoder::CopyRow.new) { 50_000.times { |i| c.put_copy_data(["2024-01-05", i.to_s, "many"]) } }
    refused("22P02", "a bad value") { c.copy_data("copy #{t} from stdin") { c.put_copy_data("2024-01-04\t1\tx\n2024-01-04\tx\ty\n") } }
    begin
      c.copy_data("copy #{t} from stdin") { c.put_copy_data("2024-01-06\t1\tgone\n"); raise "stop" }
    rescue RuntimeError => e
      equal(e.message, "stop", "a copy that is given up")
    end
    equal(c.exec("select count() n, sum(a) s from #{t}").values, [[50_002, 1_249_975_001]], "rows after all")
  end
end

def check_copy_out
  t = "#{PREFIX}copy_out"
  session do |c|
    copy_table(c, t)
    c.exec("insert into #{t} values ('2024-01-01', 1, 'x'), ('2024-01-02', null, 'y,\"z\"')")
    read = lambda do |sql, decoder = nil|
      rows = []
      c.copy_data(sql, decoder) { while (row = c.get_copy_data) do rows << row end }
      rows
    end
    equal(read["copy (select a, b from #{t}) to stdout"].join, "1\tx\n\\N\ty,\"z\"\n", "text")
    equal(read["copy #{t} (a, b) to stdout", PG::TextDecoder::CopyRow.new], [%w[1 x], [nil, "y,\"z\""]], "rows")
    equal(read["copy #{t} (a, b) to stdout with (format csv, header)"].join, "a,b\n1,x\n,\"y,\"\"z\"\"\"\n", "CSV")
    packed = read["copy #{t} to stdout binary"]
    c.copy_data("copy #{t} from stdin binary") { packed.each { |part| c.put_copy_data(part) } }
    equal(c.exec("select count() n from #{t}")[0]["n"], 4, "binary, back in")
    equal(read["copy (select x from long_sequence(200000)) to stdout"].size, 200_000, "many rows")
  end
end

def check_errors
  session do |c|
    [["select 1 +", "42601", nil], ["create tabel x (a int)", "42601", "8"], ["select * from #{PREFIX}nope", "42P01", "15"],
     ["select 'it''s \u00fc', nope from long_sequence(1)", "42703", "19"], ["select cast('x1' as uuid)", "22P02", "13"]].each do |sql, state, position|
      [-> { c.exec(sql) }, -> { c.exec_params(sql, []) }].each do |call|
        r = refused(state, sql, &call).result
        at = r.error_field(PG::PG_DIAG_STATEMENT_POSITION)
        equal([r.error_field(PG::PG_DIAG_SEVERITY), position ? at : at.to_i > 0], ["ERROR", position || true], "position in #{sql}")
      end
    end
    [PG::UndefinedTable, PG::UndefinedColumn].zip(["select * from #{PREFIX}nope", "select nope"]).each do |kind, sql|
      equal(begin c.exec(sql) rescue $!.class end, kind, "class of the error")
    end
    notices = []
    c.set_notice_receiver { |r| notices << r.error_field(PG::PG_DIAG_SQLSTATE) }
    all(c, "begin", "begin", "rollback")
    equal([notices, c.exec("select 1 n")[0]["n"]], [["25001"], 1], "a warning, and after the errors")
  end
end

def check_cancel
  session do |c|
    3.times do
      by = Thread.new { sleep 0.2; c.cancel }
      refused("57014", "a cancelled query") { c.exec(SLOW) }
      equal([by.value, c.exec("select 1 n")[0]["n"]], [nil, 1], "after the cancel")
    end
  end
end

def check_timeout
  session do |c|
    c.exec("set statement_timeout = 200")
    refused("57014", "SET statement_timeout") { c.exec(SLOW) }
    equal(c.exec("select 1 n")[0]["n"], 1, "after the time-out")
  end
  session(options: "-c statement_timeout=200") { |c| refused("57014", "statement_timeout at the start") { c.exec(SLOW) } }
end

def check_metadata
  t = "#{PREFIX}meta"
  session do |c|
    all(c, "drop table if exists #{t}", "create table #{t} (ts timestamp, y symbol index, de decimal(10,2), a double[]) timestamp(ts) partition by day")
    r = c.exec("select * from #{t}")
    equal((0..3).map { |i| [r.fname(i), r.ftype(i), r.fsize(i), r.fmod(i), r.fformat(i)] },
          [["ts", 1114, 8, -1, 0], ["y", 1043, -1, -1, 0], ["de", 1700, -1, 655_366, 0], ["a", 1022, -1, -1, 0]], "fields of a result")
    names = c.exec_params("select format_type($1, $2) a, format_type($3, $4) b", [r.ftype(2), r.fmod(2), r.ftype(3), r.fmod(3)])
    equal(names.values, [["numeric(10,2)", "double precision[]"]], "names of types")
    equal(c.exec("select column_name from information_schema.columns where table_name = '#{t}' order by ordinal_position").column_values(0), %w[ts y de a], "columns")
    equal(c.exec("select 1 from information_schema.table_constraints where table_name = '#{t}'").ntuples, 0, "no keys")
    equal(PG::BasicTypeRegistry.new.register_default_types.coders_for(0, :decoder).nil?, false, "the registry of types")
  end
end

# Threads with a queue of connections, and reset on return: the gem has no pool of its own.
def check_pool
  queue = Queue.new
  4.times { queue << PG.connect }
  with = lambda do |&body|
    c = queue.pop
    begin
      body.call(c)
    ensure
      c.exec("rollback") unless c.transaction_status == PG::PQTRANS_IDLE
      c.exec("discard all")
      queue << c
    end
  end
  sums = 8.times.map { |t| Thread.new { 100.times.sum { |i| with.call { |c| c.exec_params("select $1::int + 1", [t * 1000 + i])[0].values[0].to_i } } } }
  equal(sums.sum(&:value), 100 * 28_000 + 8 * 4950 + 800, "sum over all threads")
  4.times { with.call { |c| all(c, "set statement_timeout = 77", "begin"); refused("42703", "a bad statement") { c.exec("select nope") } } }
  4.times { with.call { |c| equal([c.transaction_status, c.exec("show statement_timeout").getvalue(0, 0)], [PG::PQTRANS_IDLE, "0"], "clean connections") } }
  c = queue.pop
  c.reset
  equal(c.exec("select 1").getvalue(0, 0), "1", "PQreset")
  c.close
  queue.pop.close until queue.empty?
end

T, Q = "#{PREFIX}trades", "#{PREFIX}quotes"

def check_time_series
  session do |c|
    all(c, "drop table if exists #{T}", "drop table if exists #{Q}", "create table #{T} (ts timestamp, sym symbol, price double) timestamp(ts) partition by day",
        "create table #{Q} (ts timestamp, sym symbol, bid double) timestamp(ts) partition by day",
        "insert into #{T} select timestamp_sequence('2024-01-01', 60000000), case when x % 2 = 0 then 'A' else 'B' end, x::double from long_sequence(240)",
        "insert into #{Q} select timestamp_sequence('2024-01-01', 600000000), 'A', x * 10.0 from long_sequence(24)")
    c.type_map_for_queries = maps(c)
    at = ->(h, m = 0) { Time.utc(2024, 1, 1, h, m) }
    equal(c.exec_params("select ts, sum(price) s, count() n from #{T} where ts >= $1 and ts < $2 and sym = $3 sample by 1h", [at[1], at[3], "A"]).values,
          [[at[1], 2730.0, 30], [at[2], 4530.0, 30]], "SAMPLE BY")
    equal(c.exec_params("select sym, price from #{T} where sym in ($1, $2) and ts < $3 latest on ts partition by sym order by sym", ["A", "B", at[0, 10]]).values, [["A", 10.0], ["B", 9.0]], "LATEST ON")
    equal(c.exec_params("select t.ts, t.price, q.bid from #{T} t asof join #{Q} q on (sym) where t.sym = $1 and t.ts > $2 limit $3", ["A", at[0, 15], 2]).values,
          [[at[0, 17], 18.0, 20.0], [at[0, 19], 20.0, 20.0]], "ASOF JOIN")
  end
end

$stdout.sync = true
puts "driver ruby-pg #{PG::VERSION}"
%i[connect tls select types nulls parameters prepared batch fetch large transaction copy_in copy_out errors cancel timeout metadata pool time_series].each do |name|
  next unless ARGV.empty? || ARGV.include?(name.to_s)
  begin
    send("check_#{name}")
    puts "ok #{name}"
  rescue StandardError => e
    puts "fail #{name}: #{e.class}: #{e.message.gsub(/\s+/, " ")} at lines #{e.backtrace.grep(/check\.rb/).map { |l| l[/:(\d+):/, 1] }.join(", ")}"
  end
end
