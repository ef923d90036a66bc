#!/bin/sh
# Checks the layout, the rules and the layers of the web console: lint_console.sh [--write]. --write formats the files and
# settles what eslint can settle by itself. Needs what build_console.sh needs.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=/dev/null
. "$top/tools/console_node.sh"
if [ "${1:-}" = --write ]; then
    node node_modules/eslint/bin/eslint.js --fix . || true # what is left is for ./dev lint to tell
    exec node node_modules/prettier/bin/prettier.cjs --write --log-level warn .
fi
node node_modules/prettier/bin/prettier.cjs --check --log-level warn .
node node_modules/eslint/bin/eslint.js --max-warnings 0 .
node node_modules/typescript-native/bin/tsc --noEmit
