#!/bin/sh
# Before this Redis, or the sentinel of the same pod, is stopped (preStop of Kubernetes): where this Redis is the primary,
# a replica takes over first. A restart then costs the moment of a switch, not the time until the sentinels miss it.
# Ends when another is the primary, or after HAND_OVER_S.
#
# HOST_PORT "HOST PORT"  of this Redis, as the others reach it
# SENTINELS, SERVICE, TLS_DIR: see primary.sh
set -eu
. "$(dirname "$0")/primary.sh"
until_s=$(($(date +%s) + ${HAND_OVER_S:-20}))
while [ "$(echo $(primary))" = "$HOST_PORT" ] && [ "$(date +%s)" -lt "$until_s" ]; do
  for sentinel in $SENTINELS; do
    if ask "$sentinel" sentinel failover "$SERVICE" 2>/dev/null | grep -q OK; then break; fi
  done
  sleep 1
done
