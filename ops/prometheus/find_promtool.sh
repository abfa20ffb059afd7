#!/usr/bin/env bash
# Prints where promtool is. Where there is none Debian's package is unpacked below $1: that takes no root.
# By hand: apt-get download prometheus && dpkg-deb -x prometheus_*.deb DIR; then DIR/usr/bin/promtool is there.
set -euo pipefail
if found=$(command -v promtool); then
  echo "$found"
  exit
fi
mkdir -p "$1"
cd "$1"
if [ ! -x usr/bin/promtool ]; then
  if ! apt-get download -qq prometheus >&2; then # without package lists nothing can be downloaded
    [ "$(id -u)" = 0 ] || { echo "no package lists: run apt-get update as root, or put promtool on the PATH" >&2; exit 1; }
    apt-get update -qq >&2
    apt-get download -qq prometheus >&2
  fi
  dpkg-deb -x prometheus_*.deb .
fi
echo "$PWD/usr/bin/promtool"
