#!/bin/sh
# Starts nginx, and tells it where the replicas are: nginx itself looks a name up once, at its start. Every second the
# addresses of `api` are looked up; when some came or went the list is written anew and nginx reads it (its old process
# goes on until its last answer is out). Runs in any nginx image: needs sh, grep, sed, sort and nslookup or getent.
set -eu
NAME=${REPLICAS_NAME:-api} PORT=${REPLICAS_PORT:-8000}
DIRECTORY=${BALANCER_DIRECTORY:-/tmp} CONFIGURATION=${0%/*}/nginx.conf

addresses() { # one a line; nslookup says first which name server it asked. Fails where there are none
  { if command -v nslookup >/dev/null; then nslookup "$NAME" | sed -n '/^Name:/,$p'; else getent ahostsv4 "$NAME"; fi; } \
    2>/dev/null | grep -oE '([0-9]{1,3}\.){3}[0-9]{1,3}' | sort -u | grep .
}

tell() { # addresses, to both of nginx.conf's lists; renamed into place, so that nginx never reads half a list
  write replicas "max_fails=1 fail_timeout=1s" "$1"
  write all_replicas "max_fails=0" "$1"
}

write() { # list, what holds of each server, addresses
  for address in $3; do echo "server $address:$PORT $2;"; done >"$DIRECTORY/$1.new"
  mv "$DIRECTORY/$1.new" "$DIRECTORY/$1.conf"
}

follow() { # what is known so far. No answer at all changes nothing: the name server may be away
  known=$1
  while sleep 1; do
    found=$(addresses) || continue
    [ "$found" != "$known" ] || continue
    tell "$found"
    kill -HUP "$(cat "$DIRECTORY/nginx.pid")" && known=$found
  done
}

until first=$(addresses); do sleep 0.5; done
tell "$first"
patience_s=${MINISERVE_REQUEST_TIMEOUT_S:-30}
echo "proxy_read_timeout $((${patience_s%.*} + 10))s;" >"$DIRECTORY/patience.conf"
follow "$first" &
exec nginx -c "$CONFIGURATION" -e stderr -g 'daemon off;'
