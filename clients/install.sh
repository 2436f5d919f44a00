#!/usr/bin/env bash
# Installs the client libraries and the tap that the end-to-end tests drive.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
python_packages python asana==5.4.0
# The tap has an environment of its own: it brings another version of the library.
python_packages tap tap-asana==2.5.1
# What reads the OpenAPI document has one, too.
python_packages openapi schemathesis==4.32.5 openapi-python-client==0.29.1
node_packages node asana@3.2.0 @auth/core@0.41.3 openid-client@6.8.9
echo "clients are in $to"
