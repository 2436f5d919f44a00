#!/bin/sh
# Makes the secrets of deploy/compose.yaml in deploy/secrets, once. They stay as they are where they exist.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }
[ -e secrets/keys.json ] || printf '{"current":1,"keys":{"1":"%s"}}\n' "$(random 32)" > secrets/keys.json
[ -e secrets/database-password ] || random 24 > secrets/database-password
[ -e secrets/redis-password ] || random 24 > secrets/redis-password
printf 'requirepass %s\n' "$(cat secrets/redis-password)" > secrets/redis-settings
{
    printf 'WORKGRAPH_STORE_URL=postgres://workgraph:%s@postgres/workgraph?sslmode=disable\n' "$(cat secrets/database-password)"
    printf 'WORKGRAPH_SHARED_LIMITS_URL=redis://:%s@redis:6379\n' "$(cat secrets/redis-password)"
} > secrets/workgraph.env
# Containers read them as users of their own: of the image of the server, and of Redis.
if [ "$(id -u)" = 0 ]; then
    chown 10001 secrets/keys.json
    chown 999 secrets/redis-settings secrets/redis-password
else
    echo "now run: sudo chown 10001 deploy/secrets/keys.json && sudo chown 999 deploy/secrets/redis-settings deploy/secrets/redis-password"
fi
echo "the secrets are in deploy/secrets; keep a copy of keys.json apart from the backups of the database"
