#!/bin/sh
# Prints the TF_CONFIG of one machine: tf_config.sh INDEX HOST:PORT...
# Pass the same hosts in the same order on all machines. The first machine writes checkpoints.

fail() {
  echo "error: $1. Usage: tf_config.sh INDEX HOST:PORT..." >&2
  exit 2
}

index=${1-}
case $index in
  '' | *[!0-9]* | 0?* | ??????*) fail "INDEX must be an integer >= 0. Received: '$index'" ;;
esac
shift
[ $# -gt 0 ] || fail "HOST:PORT is missing"
[ "$index" -lt $# ] || fail "INDEX must be less than the number of hosts, $#. Received: $index"

workers=
for host; do
  name=${host%:*} port=${host##*:}
  case $name in
    '' | "$host" | *[!][A-Za-z0-9.:_-]*) fail "'$host' is not HOST:PORT" ;;
  esac
  case $port in
    '' | *[!0-9]*) fail "'$host' is not HOST:PORT" ;;
  esac
  workers="$workers, \"$host\""
done
printf '{"cluster": {"worker": [%s]}, "task": {"type": "worker", "index": %s}}\n' \
  "${workers#, }" "$index"
