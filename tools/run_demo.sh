#!/bin/sh
# Starts the server on ROOT and fills the demo table through /imp when it is not there, with a dashboard over it;
# import/trades.parquet of ROOT has the same trades.
#   run_demo.sh BINDIR ROOT [SERVER ARGS]
# Ctrl-C stops the server cleanly; the exit code is the server's.
# shellcheck disable=SC2317 # functions that traps call
set -eu
bin=$1 root=$2
shift 2

# The same trades as a file, for read_parquet('trades.parquet'); one that is there stays.
if [ ! -e "$root/import/trades.parquet" ]; then
    mkdir -p "$root/import"
    "$bin/demo_trades" --parquet >"$root/import/trades.parquet.part"
    mv "$root/import/trades.parquet.part" "$root/import/trades.parquet"
fi

rm -f "$root/conf/address" # a killed server leaves it behind
"$bin/almanac" -d "$root" "$@" &
server=$!
stopping=""
stop() {
    stopping=yes
    kill -TERM "$server" 2>/dev/null || true
}
# Runs however the script ends. A Ctrl-C reaches the commands of this script as well, so that one of
# them may end it with 130 before `stop` has run. What counts is how the server ends.
finish() {
    code=$?
    trap '' INT TERM HUP
    case $code in 129 | 130 | 143) stopping=yes ;; esac
    kill -TERM "$server" 2>/dev/null || true
    ended=0
    wait "$server" || ended=$?
    # 127: waited for already; 143: it was only about to start
    case $ended in 127 | 143) ended=0 ;; esac
    [ -z "$stopping" ] || code=$ended
    exit "$code"
}
trap stop INT TERM HUP
trap finish EXIT

address=""
until [ -n "$address" ] && curl -fsS -o /dev/null "http://$address/ping" 2>/dev/null; do
    if ! kill -0 "$server" 2>/dev/null; then
        code=0
        wait "$server" || code=$?
        [ -n "$stopping" ] || echo "The server did not start. Where a port is taken: ALMANAC_HTTP_BIND_TO=127.0.0.1:9100" \
            "ALMANAC_PG_NET_BIND_TO=127.0.0.1:8912 ALMANAC_HTTP_MIN_NET_BIND_TO=127.0.0.1:9103 ALMANAC_LINE_TCP_NET_BIND_TO=127.0.0.1:9109 ./dev run" >&2
        exit "$code"
    fi
    sleep 0.05 || true # Ctrl-C ends it too
    [ ! -s "$root/conf/address" ] || address=$(sed -n 's/^http=//p' "$root/conf/address")
done
pg=$(sed -n 's/^pg=//p' "$root/conf/address")
case $(curl -fsS "http://$address/chk?f=json&j=trades") in
*"Does not exist"*)
    "$bin/demo_trades" | curl -fsS -o /dev/null \
        -F 'schema=[{"name":"symbol","type":"SYMBOL"},{"name":"side","type":"SYMBOL"}]' \
        -F 'data=@-;filename=trades' \
        "http://$address/imp?name=trades&timestamp=timestamp&partitionBy=DAY&forceHeader=true&fmt=json"
    # A dashboard over them, as the console keeps it: a text that holds JSON. Where there are preferences already, they stay.
    board=$(sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' "$(dirname "$0")/demo_board.json" | tr -d '\n')
    curl -sS -o /dev/null -H "Content-Type: application/json" -d "{\"board.Trades\":\"$board\"}" "http://$address/settings?version=0" || true
    ;;
esac
# printf is part of the shell: a Ctrl-C at this moment cannot end it
printf '%s\n' "
Almanac is running. Data directory: $root

  Web Console        http://$address/
  A dashboard        http://$address/#/boards?name=Trades
  REST and CSV       http://$address/exec   http://$address/exp
  PostgreSQL wire    PGPASSWORD=quest psql -h ${pg%:*} -p ${pg##*:} -U admin qdb

Three queries to try on the demo table (the same text works in psql):

  curl -G http://$address/exec --data-urlencode \"query=SELECT timestamp, symbol, first(price) open, max(price) high, min(price) low, last(price) close, sum(amount) volume FROM trades WHERE symbol = 'BTC-USD' AND timestamp IN '2026-01-06' SAMPLE BY 1h\"

  curl -G http://$address/exec --data-urlencode \"query=SELECT * FROM trades LATEST ON timestamp PARTITION BY symbol\"

  curl -G http://$address/exp --data-urlencode \"query=SELECT symbol, side, count(), avg(price), sum(amount) FROM trades ORDER BY symbol, side\"

Ctrl-C stops the server; the data stays."
code=0
wait "$server" || code=$?
exit "$code"
