#!/usr/bin/env bash
# Brings docker-compose.yml up for real, asks it, widens it, loads it, kills parts, takes it down. Leaves nothing behind.
# Usage: ops/deploy/compose_drill.sh [--if-available]      with the flag, no Docker daemon is no failure
# What it measures stands in docs/compose.md.
set -euo pipefail
cd "$(dirname "$0")/../.."

export MINISERVE_PORT=${MINISERVE_PORT:-18760} MINISERVE_DASHBOARD_PORT=${MINISERVE_DASHBOARD_PORT:-18761}
export MINISERVE_DASHBOARD_USERNAME=drill MINISERVE_DASHBOARD_PASSWORD=$RANDOM$RANDOM$RANDOM
# Where an exact tag is not on this machine but a broader one is, the latter serves: a machine may reach no registry.
stand_in() { # variable, exact tag, broader tag
  if [ -z "${!1:-}" ] && ! docker image inspect "$2" >/dev/null 2>&1 && docker image inspect "$3" >/dev/null 2>&1; then
    export "$1=$3"
  fi
}
PROJECT=miniserve-drill
URL=http://127.0.0.1:$MINISERVE_PORT
DASHBOARD=http://127.0.0.1:$MINISERVE_DASHBOARD_PORT
PATIENCE_S=120
REQUESTS=2000 CLIENTS=32 SPREAD_PERCENT=20

if ! docker info >/dev/null 2>&1; then
  if [ "${1:-}" = --if-available ]; then echo "Docker Compose was NOT run: no Docker daemon answers here"; exit 0; fi
  echo "Docker Compose was not run: no Docker daemon answers. Start one (systemctl start docker), or look with: docker info" >&2
  exit 1
fi
stand_in PYTHON_IMAGE python:3.11.14-slim python:3.11-slim
stand_in REDIS_IMAGE valkey/valkey:9.1.2-alpine redis:7-alpine
stand_in NGINX_IMAGE nginx:1.30.4-alpine nginx:alpine
if docker compose version >/dev/null 2>&1; then COMPOSE="docker compose"; else COMPOSE=docker-compose; fi
COMPOSE="$COMPOSE -p $PROJECT"

say() { echo "compose drill: $*"; }
fail() { say "FAILED: $*" >&2; $COMPOSE ps >&2; $COMPOSE logs --tail 10 >&2; exit 1; }
trap '$COMPOSE down --volumes --remove-orphans --timeout 20 >/dev/null 2>&1' EXIT

wait_for() { # what, command...
  local what=$1 deadline=$((SECONDS + PATIENCE_S)); shift
  until "$@"; do
    [ $SECONDS -lt $deadline ] || fail "not within $PATIENCE_S s: $what"
    sleep 0.5
  done
  say "$what (after $SECONDS s)"
}
ask() { # options of curl...
  curl -s --max-time 20 "$URL/correct" -H 'Content-Type: application/json' -d '{"sentence": "He goed to school"}' "$@"
}
is_right() { ask | grep -q '"corrected": "He went to school"'; }
containers() { # of a service, the healthy ones with `healthy`
  docker ps -q --filter "label=com.docker.compose.project=$PROJECT" --filter "label=com.docker.compose.service=$1" \
    --filter "label=com.docker.compose.oneoff=False" ${2:+--filter "health=$2"}
}
is_healthy() { [ "$(containers "$1" healthy | wc -l)" -eq "$2" ]; }
inside() { docker exec "$(containers "$1" | head -1)" "${@:2}"; }
page() { # path, options of curl...: the status
  curl -s -o /dev/null --max-time 10 -w '%{http_code}' "${@:2}" "$DASHBOARD$1"
}
logged_in() { curl -s --max-time 10 -u "$MINISERVE_DASHBOARD_USERNAME:$MINISERVE_DASHBOARD_PASSWORD" "$@"; }
has_workers() { [ "$(logged_in "$DASHBOARD/0/data/workers.json" | grep -o '"queues"' | wc -l)" -eq "$1" ]; }
load() { # options of miniserve loadtest...: its table; fails if a request failed
  docker run --rm --network "${PROJECT}_front" miniserve:local miniserve loadtest --url http://balancer:8080 "$@"
}
worker_counts() { # NAME COUNT, one worker a line
  local name count
  for name in $(inside redis redis-cli --raw smembers rq:workers); do
    count=$(inside redis redis-cli --raw hget "$name" successful_job_count)
    echo "${name#rq:worker:} ${count:-0}"
  done | sort
}
replica_counts() { # ADDRESS COUNT of answered corrections, one replica a line, by the balancer's log since a time
  docker logs --since "$1" "$(containers balancer)" 2>/dev/null | grep '"path": "/correct", "status": 200' |
    grep -oE '"replica": "[^"]*"' | grep -oE '[0-9.]+:[0-9]+"$' | tr -d '"' | sort | uniq -c | awk '{print $2, $1}'
}
check_shares() { # what, how many; NAME COUNT lines on standard input
  awk -v what="$1" -v wanted="$2" -v spread="$SPREAD_PERCENT" '
    { name[NR] = $1; count[NR] = $2; sum += $2 }
    END {
      if (NR != wanted || sum == 0) { print "compose drill: FAILED: " NR " of " wanted " " what; exit 1 }
      for (i = 1; i <= NR; i++) {
        share = 100 * (count[i] * NR / sum - 1)
        printf "compose drill:   %s %s: %d of %d (%+.1f %% of an even share)\n", what, name[i], count[i], sum, share
        if (share > spread || share < -spread) bad = 1
      }
      exit bad
    }'
}

say "building and starting"
SECONDS=0
$COMPOSE up -d --build >/dev/null 2>&1 || fail "up --build"
wait_for "the first answer through the balancer" is_right
for service in redis api worker dashboard balancer; do wait_for "$service is healthy" is_healthy $service 1; done
say "image miniserve:local has $(($(docker image inspect -f '{{.Size}}' miniserve:local) / 1000000)) MB, its base" \
  "$(($(docker image inspect -f '{{.Size}}' "${PYTHON_IMAGE:-python:3.11.14-slim}") / 1000000)) MB"

for service in redis api worker dashboard monitor balancer; do
  [ "$(inside $service id -u)" != 0 ] || fail "$service runs as root"
  ! inside $service sh -c 'touch /drill' 2>/dev/null || fail "$service can write to its root"
done
[ -z "$(docker port "$(containers redis)")" ] || fail "Redis is published"
say "nobody runs as root or can write but in /tmp; Redis has no published port"

for path in / /0/view/workers /0/view/jobs /0/data/queues.json /0/data/workers.json; do
  [ "$(page $path)" = 401 ] || fail "the dashboard shows $path without a log-in"
  [ "$(page $path -u "$MINISERVE_DASHBOARD_USERNAME:$MINISERVE_DASHBOARD_PASSWORD")" = 200 ] || fail "dashboard: $path"
done
job=$(ask -H 'Prefer: respond-async' | grep -oE '[0-9a-f]{32}')
shows_job() { logged_in -f -o /dev/null "$DASHBOARD/0/view/job/$job"; }
wait_for "the job of a request is on its page" shows_job
logged_in -X POST -H "Origin: $DASHBOARD" "$DASHBOARD/job/$job/delete" | grep -q DISABLED || fail "the dashboard deletes"
say "the dashboard's pages open with a log-in alone, and nothing can be deleted"

ask -i -H 'X-Request-ID: drill-1' | grep -qi '^x-request-id: drill-1' || fail "X-Request-ID does not come back"
ask -N -H 'Accept: text/event-stream' | grep -q '^event: done' || fail "no stream"
curl -s --max-time 20 -o /dev/null -w '%{http_code}' "$URL/correct" -H 'Content-Type: application/json' \
  --data-binary @<(head -c 20000000 /dev/zero | tr '\0' a) | grep -q 413 || fail "20 MB are not refused with 413"

say "widening to three replicas and two workers"
$COMPOSE up -d --scale api=3 --scale worker=2 >/dev/null 2>&1 || fail "up --scale"
wait_for "three healthy replicas" is_healthy api 3
wait_for "two healthy workers" is_healthy worker 2
wait_for "the dashboard shows two workers" has_workers 2
wait_for "the balancer knows three replicas" sh -c \
  "[ \$(docker exec $(containers balancer) grep -c server /tmp/replicas.conf) -eq 3 ]"

before=$(worker_counts) since=$(date -u +%Y-%m-%dT%H:%M:%SZ)
load --total $REQUESTS --concurrency $CLIENTS || fail "of $REQUESTS requests not all were answered"
replica_counts "$since" | check_shares replica 3 || fail "the replicas' shares differ by more than $SPREAD_PERCENT %"
join <(echo "$before") <(worker_counts) | awk '{print $1, $3 - $2}' | check_shares worker 2 ||
  fail "the workers' shares differ by more than $SPREAD_PERCENT %"

load --duration 12s --concurrency $CLIENTS >/tmp/$PROJECT.killed & loader=$!
sleep 3
inside worker sh -c 'kill -9 $(cat /proc/1/task/1/children)'
wait $loader || { cat /tmp/$PROJECT.killed >&2; fail "a request was lost with the worker"; }
grep -E 'requests|answered|latency' /tmp/$PROJECT.killed || true
wait_for "the killed worker is there again" is_healthy worker 2

load --duration 40s --concurrency $CLIENTS >/tmp/$PROJECT.rolling & loader=$!
for replica in $(containers api); do
  docker restart --time 15 "$replica" >/dev/null
  wait_for "replica $replica is restarted" is_healthy api 3
done
wait $loader || { cat /tmp/$PROJECT.rolling >&2; fail "a request failed while the replicas were restarted"; }
grep -E 'requests|answered|latency' /tmp/$PROJECT.rolling || true

docker kill "$(containers api | head -1)" >/dev/null
for _ in $(seq 10); do is_right || fail "the balancer did not pass by a dead replica"; done
say "10 of 10 requests answered after a replica was killed for good"

rm -f /tmp/$PROJECT.killed /tmp/$PROJECT.rolling
$COMPOSE down --volumes --remove-orphans --timeout 20 >/dev/null 2>&1
[ -z "$(docker ps -aq --filter "label=com.docker.compose.project=$PROJECT")" ] || fail "something is left"
say "all well, and all of it taken down"
