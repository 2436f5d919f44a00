#!/usr/bin/env bash
# Installs the test runners of other languages, with the client libraries that their tests use.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
python_packages pytest asana==5.4.0 pytest==9.2.0
node_packages vitest asana@3.2.0 vitest@3.2.7
echo "test runners are in $to"
