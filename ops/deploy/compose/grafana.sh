#!/bin/sh
# Starts Grafana with the password it is given. Without one it makes one at the first start, keeps it beside Grafana's
# data and says it in the log at each start, so that no Grafana is open to a password that everybody knows.
# START: what it becomes; DATA: where Grafana keeps its data.
set -eu
umask 077
: "${START:=/run.sh}" "${DATA:=/var/lib/grafana}"
if [ -z "${GF_SECURITY_ADMIN_PASSWORD:-}" ]; then
  [ -s "$DATA/first-password" ] || head -c 18 /dev/urandom | base64 | tr '+/' '-_' >"$DATA/first-password"
  GF_SECURITY_ADMIN_PASSWORD=$(cat "$DATA/first-password")
  export GF_SECURITY_ADMIN_PASSWORD
  echo "miniserve: log in to Grafana as admin, password $GF_SECURITY_ADMIN_PASSWORD, unless it was changed there"
fi
exec "$START"
