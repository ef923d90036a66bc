#!/bin/sh
# Starts the server on ROOT and fills the demo table through /imp when it is not there.
#   run_demo.sh BINDIR ROOT [SERVER ARGS]
set -eu
bin=$1 root=$2
shift 2
"$bin/almanac" -d "$root" "$@" &
server=$!
trap 'kill -TERM $server 2>/dev/null || true' INT TERM HUP
address=""
for _ in $(seq 200); do
    kill -0 $server 2>/dev/null || { wait $server; exit $?; }
    if [ -s "$root/conf/address" ]; then
        address=$(sed -n 's/^http=//p' "$root/conf/address")
        [ -n "$address" ] && curl -fsS -o /dev/null "http://$address/ping" 2>/dev/null && break
    fi
    sleep 0.05
done
[ -n "$address" ] || { echo "the server did not answer" >&2; kill $server; exit 1; }
pg=$(sed -n 's/^pg=//p' "$root/conf/address")
exists=$(curl -fsS "http://$address/chk?f=json&j=trades")
case $exists in
*"Does not exist"*)
    "$bin/demo_trades" | curl -fsS -o /dev/null -F 'data=@-;filename=trades' \
        "http://$address/imp?name=trades&timestamp=timestamp&partitionBy=DAY&forceHeader=true&fmt=json"
    ;;
esac
cat <<EOT

Almanac is running. Data directory: $root

  REST and CSV       http://$address/exec   http://$address/exp
  PostgreSQL wire    psql -h ${pg%:*} -p ${pg##*:} -U admin qdb      (password: quest)

Three queries to try on the demo table (the same text works in psql):

  curl -G http://$address/exec --data-urlencode "query=SELECT timestamp, symbol, first(price) open, max(price) high, min(price) low, last(price) close, sum(amount) volume FROM trades WHERE symbol = 'BTC-USD' AND timestamp IN '2026-01-06' SAMPLE BY 1h"

  curl -G http://$address/exec --data-urlencode "query=SELECT * FROM trades LATEST ON timestamp PARTITION BY symbol"

  curl -G http://$address/exp --data-urlencode "query=SELECT symbol, side, count(), avg(price), sum(amount) FROM trades ORDER BY symbol, side"

Ctrl-C stops the server; the data stays.
EOT
wait $server || true
# a signal ends the first wait: wait for the clean stop itself
wait $server 2>/dev/null || true
