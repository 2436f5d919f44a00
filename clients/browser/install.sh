#!/usr/bin/env bash
# Installs axe-core, which the browser test checks pages with, from npm into browser/ of the folder $1,
# else target/clients. Doing it again changes nothing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
to=${1:-$here/target/clients}/browser
mkdir -p "$to"
to=$(cd "$to" && pwd)
[ -f "$to/package.json" ] || echo '{"name": "workgraph-browser", "private": true}' > "$to/package.json"
[ "$(node -p "require('$to/node_modules/axe-core/package.json').version" 2>/dev/null)" = 4.14.1 ] ||
  (cd "$to" && npm install --no-fund --no-audit --ignore-scripts --loglevel=error axe-core@4.14.1)
echo "axe-core is in $to"
