#!/usr/bin/env bash
# Installs the test runners of other languages, with the client libraries that their tests use, from PyPI and npm, into the folder
# $1, else $WORKGRAPH_CLIENTS, else target/clients. Doing it again changes nothing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
to=${1:-${WORKGRAPH_CLIENTS:-$here/target/clients}}
mkdir -p "$to/vitest"
to=$(cd "$to" && pwd)
[ -x "$to/pytest/bin/python" ] || python3 -m venv "$to/pytest"
"$to/pytest/bin/python" -c 'import importlib.metadata as m; assert (m.version("asana"), m.version("pytest")) == ("5.4.0", "9.2.0")' 2>/dev/null ||
  "$to/pytest/bin/python" -m pip install --quiet --disable-pip-version-check asana==5.4.0 pytest==9.2.0
[ -f "$to/vitest/package.json" ] || echo '{"name": "workgraph-testing-tests", "private": true, "type": "module"}' > "$to/vitest/package.json"
missing=()
for package in asana@3.2.0 vitest@3.2.7; do
  [ "$(node -p "JSON.parse(fs.readFileSync('$to/vitest/node_modules/${package%@*}/package.json')).version" 2>/dev/null)" = "${package##*@}" ] ||
    missing+=("$package")
done
[ ${#missing[@]} = 0 ] ||
  (cd "$to/vitest" && npm install --no-fund --no-audit --ignore-scripts --loglevel=error "${missing[@]}")
echo "test runners are in $to"
