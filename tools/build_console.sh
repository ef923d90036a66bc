#!/bin/sh
# Builds the web console into a folder: build_console.sh FOLDER. Needs Node 20.19 or newer with npm; the packages of
# console/package-lock.json are fetched once.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
out=$1
# shellcheck source=/dev/null
. "$top/tools/console_node.sh"
node node_modules/typescript-native/bin/tsc --noEmit
OUT_DIR=$out node node_modules/vite/bin/vite.js build --logLevel warn
