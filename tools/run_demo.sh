#!/bin/sh
# Starts the server on ROOT and fills the demo table through /imp when it is not there.
#   run_demo.sh BINDIR ROOT [SERVER ARGS]
# Ctrl-C stops the server cleanly; the exit code is the server's.
set -eu
bin=$1 root=$2
shift 2

rm -f "$root/conf/address" # a killed server leaves it behind
"$bin/almanac" -d "$root" "$@" &
server=$!
stop() { kill -TERM "$server" 2>/dev/null || true; }
trap stop INT TERM HUP EXIT

# A signal ends `wait` early, with a code above 128: ask again until the server itself has ended.
await() {
    code=0
    wait "$server" || code=$?
    while kill -0 "$server" 2>/dev/null || [ "$code" -gt 128 ]; do
        code=0
        wait "$server" || code=$?
    done
    return "$code"
}

address=""
until [ -n "$address" ] && curl -fsS -o /dev/null "http://$address/ping" 2>/dev/null; do
    if ! kill -0 "$server" 2>/dev/null; then
        code=0
        await || code=$?
        [ "$code" = 0 ] || echo "The server did not start. Where a port is taken: ALMANAC_HTTP_BIND_TO=127.0.0.1:9100" \
            "ALMANAC_PG_NET_BIND_TO=127.0.0.1:8912 ALMANAC_HTTP_MIN_NET_BIND_TO=127.0.0.1:9103 ./dev run" >&2
        exit "$code"
    fi
    sleep 0.05
    [ ! -s "$root/conf/address" ] || address=$(sed -n 's/^http=//p' "$root/conf/address")
done
pg=$(sed -n 's/^pg=//p' "$root/conf/address")
case $(curl -fsS "http://$address/chk?f=json&j=trades") in
*"Does not exist"*)
    "$bin/demo_trades" | curl -fsS -o /dev/null \
        -F 'schema=[{"name":"symbol","type":"SYMBOL"},{"name":"side","type":"SYMBOL"}]' \
        -F 'data=@-;filename=trades' \
        "http://$address/imp?name=trades&timestamp=timestamp&partitionBy=DAY&forceHeader=true&fmt=json"
    ;;
esac
cat <<EOT

Almanac is running. Data directory: $root

  REST and CSV       http://$address/exec   http://$address/exp
  PostgreSQL wire    PGPASSWORD=quest psql -h ${pg%:*} -p ${pg##*:} -U admin qdb

Three queries to try on the demo table (the same text works in psql):

  curl -G http://$address/exec --data-urlencode "query=SELECT timestamp, symbol, first(price) open, max(price) high, min(price) low, last(price) close, sum(amount) volume FROM trades WHERE symbol = 'BTC-USD' AND timestamp IN '2026-01-06' SAMPLE BY 1h"

  curl -G http://$address/exec --data-urlencode "query=SELECT * FROM trades LATEST ON timestamp PARTITION BY symbol"

  curl -G http://$address/exp --data-urlencode "query=SELECT symbol, side, count(), avg(price), sum(amount) FROM trades ORDER BY symbol, side"

Ctrl-C stops the server; the data stays.
EOT
await
