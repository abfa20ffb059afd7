# Sourced by the other scripts. `primary` prints HOST PORT of the primary: as a sentinel knows it, else as the sentinel on
# this volume knew it last, else FIRST_PRIMARY.
#
# SENTINELS      "HOST:PORT HOST:PORT ..."; empty: this Redis is alone
# SERVICE        the name under which they watch the primary
# FIRST_PRIMARY  "HOST PORT" of the one that begins as primary
# SENTINEL_DIR   where the sentinel beside us keeps what it knows
# TLS_DIR        holds tls.crt, tls.key and ca.crt: nothing but TLS is spoken then; empty: none is
: "${SENTINELS:=}" "${SERVICE:=miniserve}" "${FIRST_PRIMARY:=}" "${SENTINEL_DIR:=/data/sentinel}" "${TLS_DIR:=}"

ask() { # HOST:PORT of a sentinel, and what it is asked
  sentinel_host=${1%:*} sentinel_port=${1##*:}
  shift
  timeout 2 redis-cli ${TLS_DIR:+--tls --cacert "$TLS_DIR/ca.crt"} -h "$sentinel_host" -p "$sentinel_port" --raw "$@"
}

primary() {
  for sentinel in $SENTINELS; do
    answer=$(ask "$sentinel" sentinel get-master-addr-by-name "$SERVICE" 2>/dev/null | tr '\n' ' ') || continue
    case $answer in
      *' '[0-9]*) echo "$answer"; return ;;
    esac
  done
  remembered=$(sed -n "s/^sentinel monitor $SERVICE \([^ ]*\) \([0-9]*\) .*/\1 \2/p" "$SENTINEL_DIR/sentinel.conf" \
    2>/dev/null) || remembered=
  echo "${remembered:-$FIRST_PRIMARY}"
}

# The lines of a configuration that say where to listen, and how.
write_ports() {
  if [ -n "$TLS_DIR" ]; then
    printf '%s\n' "port 0" "tls-port $PORT" "tls-auth-clients no" "tls-replication yes" \
      "tls-cert-file $TLS_DIR/tls.crt" "tls-key-file $TLS_DIR/tls.key" "tls-ca-cert-file $TLS_DIR/ca.crt"
  else
    echo "port $PORT"
  fi
}
