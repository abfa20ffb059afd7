#!/bin/sh
# Writes a configuration for this Redis and becomes it. For images that have a shell, redis-server and redis-cli.
#
# PORT, REDIS_DIR        where it listens and where it keeps its data
# RUN_DIR                for what is written at every start: configuration and users, passwords in it
# API_PASSWORD, WORKER_PASSWORD, DASHBOARD_PASSWORD, REPLICA_PASSWORD, SENTINEL_PASSWORD
#                        of the users of users.acl; none at all: everybody may do everything
# TLS_DIR, SENTINELS, SERVICE, FIRST_PRIMARY, ANNOUNCE ("HOST PORT" of this one): see primary.sh; empty: it is alone
# MAX_MEMORY             such as 400mb; empty: no limit
set -eu
here=$(dirname "$0")
. "$here/primary.sh"
: "${PORT:=6379}" "${REDIS_DIR:=/data}" "${RUN_DIR:=/run/redis}" "${BIND:=* -::*}" "${ANNOUNCE:=}"
umask 077
passwords=${API_PASSWORD:-}${WORKER_PASSWORD:-}${DASHBOARD_PASSWORD:-}${REPLICA_PASSWORD:-}${SENTINEL_PASSWORD:-}

write_users() {
  users=$(sed -e '/^#/d' -e '/^$/d' -e :a -e '/\\$/N;s/ *\\\n */ /;ta' "$here/users.acl")
  for name in api worker dashboard replica sentinel; do
    eval "password=\${$(echo "$name" | tr '[:lower:]' '[:upper:]')_PASSWORD:-}"
    if [ -n "$password" ]; then
      hash=$(printf %s "$password" | sha256sum | cut -c1-64)
      users=$(printf '%s\n' "$users" | sed "s/@$name@/$hash/")
    else
      users=$(printf '%s\n' "$users" | sed "/^user $name /d")
    fi
  done
  printf '%s\n' "$users" >"$RUN_DIR/users.acl"
}

write_configuration() {
  cat <<END
bind $BIND
protected-mode no
dir $REDIS_DIR
appendonly yes
appendfsync everysec
auto-aof-rewrite-min-size 8mb
save ""
stream-node-max-bytes 256
repl-diskless-sync-delay 0
maxmemory ${MAX_MEMORY:-0}
maxmemory-policy noeviction
END
  write_ports
  if [ -n "$passwords" ]; then echo "aclfile $RUN_DIR/users.acl"; fi
  if [ -n "$SENTINELS" ]; then write_place; fi
}

# A primary that hears from no replica for this long may be cut off, and another one be made: it must take nothing more.
write_place() {
  printf '%s\n' "min-replicas-to-write ${MIN_REPLICAS:-1}" "min-replicas-max-lag 10" \
    "replica-announce-ip ${ANNOUNCE% *}" "replica-announce-port ${ANNOUNCE#* }"
  if [ -n "${REPLICA_PASSWORD:-}" ]; then printf '%s\n' "masteruser replica" "masterauth $REPLICA_PASSWORD"; fi
  place=$(primary)
  if [ "$(echo $place)" != "$ANNOUNCE" ]; then echo "replicaof $place"; fi
}

mkdir -p "$REDIS_DIR" "$RUN_DIR"
if [ -n "$passwords" ]; then write_users; fi
write_configuration >"$RUN_DIR/redis.conf"
exec redis-server "$RUN_DIR/redis.conf"
