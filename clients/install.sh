#!/usr/bin/env bash
# Installs the client libraries and the tap that the end-to-end tests drive, from PyPI and npm, into the
# folder $1, else $WORKGRAPH_CLIENTS, else target/clients. Doing it again changes nothing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
to=${1:-${WORKGRAPH_CLIENTS:-$here/target/clients}}
mkdir -p "$to/node"
to=$(cd "$to" && pwd)
[ -x "$to/python/bin/python" ] || python3 -m venv "$to/python"
"$to/python/bin/python" -c 'import importlib.metadata as m; assert m.version("asana") == "5.4.0"' 2>/dev/null ||
  "$to/python/bin/python" -m pip install --quiet --disable-pip-version-check asana==5.4.0
# The tap has an environment of its own: it brings another version of the library.
[ -x "$to/tap/bin/python" ] || python3 -m venv "$to/tap"
"$to/tap/bin/python" -c 'import importlib.metadata as m; assert m.version("tap-asana") == "2.5.1"' 2>/dev/null ||
  "$to/tap/bin/python" -m pip install --quiet --disable-pip-version-check tap-asana==2.5.1
# What reads the OpenAPI document has one, too.
[ -x "$to/openapi/bin/python" ] || python3 -m venv "$to/openapi"
"$to/openapi/bin/python" -c 'import importlib.metadata as m; assert (m.version("schemathesis"), m.version("openapi-python-client")) == ("4.32.5", "0.29.1")' 2>/dev/null ||
  "$to/openapi/bin/python" -m pip install --quiet --disable-pip-version-check schemathesis==4.32.5 openapi-python-client==0.29.1
[ -f "$to/node/package.json" ] || echo '{"name": "workgraph-clients", "private": true}' > "$to/node/package.json"
missing=()
for package in asana@3.2.0 @auth/core@0.41.3 openid-client@6.8.9; do
  [ "$(node -p "JSON.parse(fs.readFileSync('$to/node/node_modules/${package%@*}/package.json')).version" 2>/dev/null)" = "${package##*@}" ] ||
    missing+=("$package")
done
[ ${#missing[@]} = 0 ] ||
  (cd "$to/node" && npm install --no-fund --no-audit --ignore-scripts --loglevel=error "${missing[@]}")
echo "clients are in $to"
