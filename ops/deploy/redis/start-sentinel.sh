#!/bin/sh
# Writes a configuration for this sentinel, unless it has one, and becomes it. What it learns it writes there itself,
# together with its password, so that the configuration is kept in memory; the volume gets all of it but the password.
#
# PORT, SENTINEL_DIR     where it listens and what it knows;
# RUN_DIR                in memory, for as long as the pod lives;
# ANNOUNCE "HOST PORT"   as the others reach it
# TLS_DIR, SENTINELS, SERVICE, FIRST_PRIMARY: see primary.sh
# QUORUM                 so many must miss the primary; a majority then chooses who replaces it
# DOWN_AFTER_MS          how long it must be missed
# FAILOVER_TIMEOUT_MS    an attempt that fails is made again after twice this
# SENTINEL_PASSWORD      of the user `sentinel`, where the Redis processes have users
set -eu
here=$(dirname "$0")
. "$here/primary.sh"
: "${PORT:=26379}" "${BIND:=* -::*}" "${QUORUM:=2}" "${DOWN_AFTER_MS:=1500}" "${FAILOVER_TIMEOUT_MS:=10000}"
: "${RUN_DIR:=/run/sentinel}"
umask 077
mkdir -p "$SENTINEL_DIR" "$RUN_DIR"
file=$RUN_DIR/sentinel.conf saved=$SENTINEL_DIR/sentinel.conf

without_password() { sed -e '/^sentinel auth-pass /d' -e '/^sentinel auth-user /d' "$1"; }

# Replaced at once, and only where it differs: the Redis beside this sentinel reads it, too.
save() {
  without_password "$file" >"$saved.new"
  if cmp -s "$saved.new" "$saved"; then rm "$saved.new"; else mv "$saved.new" "$saved"; fi
}

if [ ! -s "$file" ] && [ -s "$saved" ]; then
  cp "$saved" "$file"
elif [ ! -s "$file" ]; then
  cat >"$file" <<END
bind $BIND
protected-mode no
$(write_ports)
dir $SENTINEL_DIR
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip ${ANNOUNCE% *}
sentinel announce-port ${ANNOUNCE#* }
sentinel monitor $SERVICE $(echo $(primary)) $QUORUM
sentinel down-after-milliseconds $SERVICE $DOWN_AFTER_MS
sentinel failover-timeout $SERVICE $FAILOVER_TIMEOUT_MS
sentinel parallel-syncs $SERVICE 1
END
fi
# The password is the present one, whatever was written before, also by versions that wrote it to the volume.
without_password "$file" >"$file.new"
if [ -n "${SENTINEL_PASSWORD:-}" ]; then
  printf '%s\n' "sentinel auth-user $SERVICE sentinel" "sentinel auth-pass $SERVICE $SENTINEL_PASSWORD" >>"$file.new"
fi
mv "$file.new" "$file"
save
while sleep 1 && kill -0 $$ 2>/dev/null; do save; done & # $$ is the sentinel from the next line on
exec redis-server "$file" --sentinel
