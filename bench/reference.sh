#!/usr/bin/env bash
# Starts the reference server (QuestDB, from its published package) as a speed peer and an oracle.
# usage: reference.sh ROOT HTTP_PORT PG_PORT ILP_PORT HEALTH_PORT [HEAP]   prints its pid
# Needs java 17 or later and mvn; listens on 127.0.0.1 only.
set -euo pipefail
version=9.3.0
root=$1 http=$2 pg=$3 ilp=$4 health=$5 heap=${6:-4g}
lib=${XDG_CACHE_HOME:-$HOME/.cache}/questdb-reference/$version
mkdir -p "$root" "$lib"
for artifact in org.questdb:questdb:$version org.checkerframework:checker-qual:3.49.3 org.jetbrains:annotations:26.0.2; do
    name=$(cut -d: -f2 <<<"$artifact")
    compgen -G "$lib/$name-*.jar" >/dev/null ||
        mvn -q dependency:copy -Dartifact="$artifact" -DoutputDirectory="$lib" >/dev/null 2>&1 ||
        echo "no $artifact" >&2
done
export QDB_TELEMETRY_ENABLED=false QDB_HTTP_BIND_TO=127.0.0.1:$http QDB_HTTP_NET_BIND_TO=127.0.0.1:$http \
    QDB_PG_NET_BIND_TO=127.0.0.1:$pg QDB_LINE_TCP_NET_BIND_TO=127.0.0.1:$ilp QDB_HTTP_MIN_NET_BIND_TO=127.0.0.1:$health
nohup java "-Xmx$heap" -cp "$lib/*" io.questdb.ServerMain -d "$root" >"$root/server.log" 2>&1 &
pid=$!
for _ in $(seq 120); do
    if curl -sf -o /dev/null "http://127.0.0.1:$http/exec?query=select%201"; then
        echo "$pid"
        exit 0
    fi
    sleep 0.5
done
tail -5 "$root/server.log" >&2
kill "$pid"
exit 1
