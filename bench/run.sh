#!/usr/bin/env bash
# ./dev bench [SCALE [bench.py ARGS]]: this server beside its peers, on the same data, in one run.
# ./dev bench ingest [ingest.py ARGS]: the same for ways in; ./dev bench serve [serve.py ARGS]: for ways out.
# ./dev bench scale [scale.py ARGS]: start, stop, recovery and memory of large directories, of this server alone.
# Peers that cannot be had on the machine are left out and named. Data and databases stay in
# build/bench for the next run; results are build/bench/result.json and result.md, ingest.json.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
scale=${1:-1}
[ $# -gt 0 ] && shift
if [ "$scale" = scale ]; then
    mkdir -p "$top/build/bench"
    exec python3 "$top/bench/scale.py" --work "$top/build/bench" "$@"
fi
ways=
case $scale in ingest | serve) ways=$scale scale=1 ;; esac
work=$top/build/bench
mkdir -p "$work"
stamp=$work/venv/.$(cksum <"$top/bench/requirements.txt" | cut -d' ' -f1)
if [ ! -e "$stamp" ]; then
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q --disable-pip-version-check -r "$top/bench/requirements.txt"
    : >"$stamp"
fi
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true' EXIT
root=$work/root-$scale
mkdir -p "$root"
rm -f "$root/conf/address"
cc -O2 -shared -fPIC -o "$work/sync_count.so" "$top/test/lib/preload/sync_count.c" -ldl
SYNC_COUNT_FILE=$work/syncs LD_PRELOAD=$work/sync_count.so ALMANAC_PG_AUTH_CLEARTEXT=true ALMANAC_PG_NET_CONNECTION_LIMIT=200 \
    ALMANAC_QUERY_TIMEOUT=900s ALMANAC_HTTP_BIND_TO=127.0.0.1:0 ALMANAC_PG_NET_BIND_TO=127.0.0.1:0 ALMANAC_HTTP_MIN_NET_BIND_TO=127.0.0.1:0 ALMANAC_LINE_TCP_NET_BIND_TO=127.0.0.1:0 \
    "$top/build/release/almanac" -d "$root" 2>"$work/server.log" &
pids+=($!)
for _ in $(seq 200); do [ -s "$root/conf/address" ] && break; sleep 0.05; done
http=$(sed -n 's/^http=//p' "$root/conf/address") pg=$(sed -n 's/^pg=//p' "$root/conf/address") line=$(sed -n 's/^line=//p' "$root/conf/address")
engines=target ref=()
if command -v java >/dev/null && command -v mvn >/dev/null &&
    pid=$(QDB_CAIRO_SQL_COPY_ROOT=$work bash "$top/bench/reference.sh" "$work/ref-$scale" 9100 8912 9109 9103); then
    pids+=("$pid")
    engines+=,questdb
    ref=(--ref-url http://127.0.0.1:9100 --ref-pg 127.0.0.1:8912 --ref-ilp 127.0.0.1:9109 --ref-import-prefix "data-$scale")
else
    echo "left out: the reference (needs java and mvn)" >&2
fi

# PostgreSQL as Debian packs it, with a cluster of its own; it refuses to run as root
start_postgres() {
    local bin as=()
    bin=$(printf "%s\n" /usr/lib/postgresql/*/bin | tail -1)
    [ -x "$bin/pg_ctl" ] || return 1
    mkdir -p "$work/postgres"
    if [ "$(id -u)" = 0 ]; then
        chown postgres "$work/postgres"
        as=(runuser -u postgres --)
    fi
    [ -e "$work/postgres/PG_VERSION" ] || "${as[@]}" "$bin/initdb" -D "$work/postgres" -A trust -U postgres >/dev/null || return 1
    "${as[@]}" "$bin/pg_ctl" -s -w -D "$work/postgres" -l "$work/postgres/log" -o "-p 5499 -c listen_addresses=127.0.0.1 -c max_connections=200 -c unix_socket_directories=$work/postgres" start || return 1
    pids+=("$(head -1 "$work/postgres/postmaster.pid")")
}
if [ -n "$ways" ]; then
    postgres=()
    if start_postgres; then postgres=(--postgres 127.0.0.1:5499); else echo "left out: PostgreSQL" >&2; fi
    [ ${#ref[@]} -gt 0 ] && ref=(--ref-url http://127.0.0.1:9100 --ref-pg 127.0.0.1:8912)
    if [ "$ways" = serve ]; then
        "$work/venv/bin/python" "$top/bench/serve.py" --data "$work/data-1" --work "$work" --url "http://$http" --pg "$pg" "${ref[@]}" "${postgres[@]}" --json "$work/serve.json" "$@"
        exit
    fi
    [ ${#ref[@]} -gt 0 ] && ref+=(--ref-ilp 127.0.0.1:9109)
    "$work/venv/bin/python" "$top/bench/ingest.py" --data "$work/data-1" --work "$work" --url "http://$http" --pg "$pg" --ilp "$line" "${ref[@]}" "${postgres[@]}" \
        --syncs "$work/syncs" --json "$work/ingest.json" "$@"
    exit
fi
for peer in duckdb:duckdb clickhouse:chdb polars:polars; do
    if "$work/venv/bin/python" -c "import ${peer#*:}" 2>/dev/null; then engines+=,${peer%:*}; else echo "left out: ${peer%:*}" >&2; fi
done
"$work/venv/bin/python" "$top/bench/bench.py" --data "$work/data-$scale" --work "$work" --scale "$scale" --engines "$engines" \
    --url "http://$http" --pg "$pg" "${ref[@]}" --base questdb --phases load,query --json "$work/result.json" --markdown "$work/result.md" "$@"
