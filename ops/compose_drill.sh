#!/usr/bin/env bash
# Brings docker-compose.yml up for real, asks it, widens it, kills a part, takes it down. Leaves nothing behind.
# Usage: ops/compose_drill.sh [--if-available]      with the flag, no Docker daemon is no failure
set -euo pipefail
cd "$(dirname "$0")/.."

export MINISERVE_PORT=${MINISERVE_PORT:-18760} MINISERVE_DASHBOARD_PORT=${MINISERVE_DASHBOARD_PORT:-18761}
URL=http://127.0.0.1:$MINISERVE_PORT
DASHBOARD=http://127.0.0.1:$MINISERVE_DASHBOARD_PORT
PATIENCE_S=90

if ! docker info >/dev/null 2>&1; then
  echo "compose drill: no Docker daemon answers"
  [ "${1:-}" = --if-available ] && exit 0
  exit 1
fi
if docker compose version >/dev/null 2>&1; then COMPOSE="docker compose"; else COMPOSE=docker-compose; fi
COMPOSE="$COMPOSE -p miniserve-drill"

say() { echo "compose drill: $*"; }
fail() { say "FAILED: $*" >&2; $COMPOSE ps >&2; $COMPOSE logs --tail 30 >&2; exit 1; }
trap '$COMPOSE down --volumes --remove-orphans --timeout 20 >/dev/null 2>&1' EXIT

ask() {
  curl -s --max-time 20 "$URL/correct" -H 'Content-Type: application/json' -d '{"sentence": "He goed to school"}'
}
is_right() { ask | grep -q '"corrected": "He went to school"'; }
num_workers() { curl -s --max-time 5 "$DASHBOARD/0/data/workers.json" | grep -o '"queues"' | wc -l; }
wait_for() { # what, command...
  local what=$1 deadline=$((SECONDS + PATIENCE_S)); shift
  until "$@"; do
    [ $SECONDS -lt $deadline ] || fail "not within $PATIENCE_S s: $what"
    sleep 0.5
  done
  say "$what"
}
has_workers() { [ "$(num_workers)" -eq "$1" ]; }
num_healthy() { docker ps -q --filter label=com.docker.compose.project=miniserve-drill \
  --filter label=com.docker.compose.service="$1" --filter health=healthy | wc -l; }
is_healthy() { [ "$(num_healthy "$1")" -eq "$2" ]; }

$COMPOSE up -d --build
wait_for "answers through the balancer" is_right
wait_for "the dashboard shows one worker" has_workers 1

$COMPOSE up -d --scale api=3 --scale worker=2
wait_for "three healthy replicas" is_healthy api 3
wait_for "two healthy workers" is_healthy worker 2
wait_for "the dashboard shows two workers" has_workers 2
sleep 3 # the balancer looks up the replicas every two seconds
for _ in $(seq 30); do is_right || fail "a request was not answered"; done
for replica in $($COMPOSE ps -q api); do
  address=$(docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$replica")
  curl -s --max-time 5 "http://$address:8000/readyz" | grep -q '"ready"' || fail "replica $address is not ready"
done
say "30 of 30 requests answered by a wider system"

docker kill "$($COMPOSE ps -q worker | head -1)" >/dev/null
for _ in $(seq 10); do is_right || fail "a request was lost with the worker"; done
say "10 of 10 requests answered after a worker was killed"

docker kill "$($COMPOSE ps -q api | head -1)" >/dev/null
for _ in $(seq 10); do is_right || fail "the balancer did not pass by a dead replica"; done
say "10 of 10 requests answered after a replica was killed"

[ "$(docker exec "$($COMPOSE ps -q api | tail -1)" id -u)" != 0 ] || fail "the API runs as root"
curl -s --max-time 20 -o /dev/null -w '%{http_code}' "$URL/correct" -H 'Content-Type: application/json' \
  --data-binary @<(head -c 20000000 /dev/zero | tr '\0' a) | grep -q 413 || fail "20 MB are not refused with 413"
say "all well"
