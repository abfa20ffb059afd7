#!/usr/bin/env bash
# `make up` and `make test` of what is committed here, with the Python of other releases of Debian: each in a chroot
# with what the README asks for, git and curl, as root and as a plain user. Ends with status 1 where one of them is red.
#   [USERS="root plain"] ops/deploy/pythons_drill.sh [SUITE ...]     default: trixie sid
# Needs root and debootstrap. Debian's packages come from where apt gets them here, Python's from where pip does.
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "a chroot needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "apt install debootstrap" >&2; exit 1; }
root=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' 'Component: main' | head -n 1)
chroots=$(mktemp -d "${TMPDIR:-/tmp}/miniserve-pythons.XXXXXX")

clean_up() {
  for mounted in "$chroots"/*/{proc,dev/shm,dev/pts,dev}; do
    if mountpoint -q "$mounted"; then umount "$mounted"; fi
  done
  rm -rf --one-file-system "$chroots"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

prepare() { # a suite
  local place=$chroots/$1
  debootstrap --variant=minbase --include=python3,python3-venv,make,ca-certificates,curl,git "$1" "$place" "$mirror" \
    >"$chroots/$1.log" || { tail -n 20 "$chroots/$1.log" >&2; return 1; }
  mount -t proc proc "$place/proc"
  mount --bind /dev "$place/dev"
  mount --bind /dev/pts "$place/dev/pts"
  mount --bind /dev/shm "$place/dev/shm"
  cp -L /etc/resolv.conf /etc/hosts "$place/etc/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$place/etc/ssl/certs/"
  if [ -e /etc/pip.conf ]; then cp -L /etc/pip.conf "$place/etc/"; fi
  chroot "$place" useradd --create-home --shell /bin/bash plain
}

# Runs inside: the system comes up, answers as it prints, ends in order; then the tests.
read -r -d '' SCRIPT <<'END' || true
set -euo pipefail
cd ~/miniserve
python3 --version
port=$(python3 -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
make up UP_OPTIONS="--port $port" >up.log 2>&1 &
make=$!
until grep -q '^  ready' up.log; do
  kill -0 $make 2>/dev/null || { cat up.log; exit 1; }
  sleep 1
done
sh -c "$(sed -n 's/^  try  *//p' up.log)" | grep '"corrected": "He went to school"'
kill -TERM $(cat /proc/$make/task/$make/children)
wait $make
rm up.log
make test
END

run_as() { # a user, a suite
  local home=/home/$1
  [ "$1" != root ] || home=/root
  git clone -q "$root" "$chroots/$2$home/miniserve"
  if [ -e ~/.config/pip/pip.conf ]; then install -D ~/.config/pip/pip.conf "$chroots/$2$home/.config/pip/pip.conf"; fi
  chroot "$chroots/$2" chown -R "$1" "$home"
  chroot "$chroots/$2" su "$1" -s /bin/bash -c "export HOME=$home LANG=C.UTF-8; $SCRIPT"
}

is_red=0
for suite in ${*:-trixie sid}; do
  prepare "$suite"
  for user in ${USERS:-root plain}; do
    echo "== Debian $suite as $user"
    if run_as "$user" "$suite"; then echo "== green: Debian $suite as $user"
    else is_red=1; echo "== red: Debian $suite as $user"; fi
  done
done
exit $is_red
