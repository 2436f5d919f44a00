#!/usr/bin/env bash
# Installs axe-core, which the browser test checks pages with.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../packages.sh"
node_packages browser axe-core@4.14.1
echo "axe-core is in $to/browser"
