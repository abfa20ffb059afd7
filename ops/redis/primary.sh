# Sourced by the start scripts. Says where the primary is: as a sentinel knows it, else as the sentinel on this volume
# knew it last, else FIRST_PRIMARY. Prints HOST PORT.
#
# SENTINELS      "HOST:PORT HOST:PORT ..."; empty: this Redis is alone
# SERVICE        the name under which they watch the primary
# FIRST_PRIMARY  "HOST PORT" of the one that begins as primary
# SENTINEL_DIR   where the sentinel beside us keeps what it knows
: "${SENTINELS:=}" "${SERVICE:=miniserve}" "${FIRST_PRIMARY:=}" "${SENTINEL_DIR:=/data/sentinel}"

primary() {
  for sentinel in $SENTINELS; do
    answer=$(timeout 2 redis-cli -h "${sentinel%:*}" -p "${sentinel##*:}" --raw \
      sentinel get-master-addr-by-name "$SERVICE" 2>/dev/null | tr '\n' ' ') || continue
    case $answer in
      *' '[0-9]*) echo "$answer"; return ;;
    esac
  done
  remembered=$(sed -n "s/^sentinel monitor $SERVICE \([^ ]*\) \([0-9]*\) .*/\1 \2/p" "$SENTINEL_DIR/sentinel.conf" \
    2>/dev/null) || remembered=
  echo "${remembered:-$FIRST_PRIMARY}"
}
