#!/usr/bin/env bash
# What the tests of `make test-system` need beside the project, and with the argument `nightly` those of
# `make test-nightly`: installs what is missing where it may (as root, with apt), and says what to install where it may
# not.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin

# command, Debian's package
TOOLS=(
  "nginx nginx-light"
  "haproxy haproxy"
  "caddy caddy"
  "apache2 apache2"
  "varnishd varnish"
  "promtool prometheus"
  "chromium chromium"
  "redis-server redis-server"
  "docker-compose docker-compose"
  "openssl openssl"
  "curl curl"
  "systemd-analyze systemd"
  "node nodejs"
)
[ "${1:-}" != nightly ] || TOOLS+=(
  "npm npm"
  "soffice libreoffice-writer"
)

missing=()
[ "${1:-}" != nightly ] || /usr/bin/python3 -c 'import uno' 2>/dev/null || missing+=(python3-uno)
for tool in "${TOOLS[@]}"; do
  read -r command package <<<"$tool"
  command -v "$command" >/dev/null || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "make test-${1:-system} needs: ${missing[*]}"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "not root, or no apt-get here; run this and then again: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
# No service is started by the installation: a policy that says no, for as long as it takes.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
apt-get update -q >/dev/null
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
