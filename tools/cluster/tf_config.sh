#!/bin/sh
# Prints one machine's TF_CONFIG: tf_config.sh INDEX HOST:PORT...
# All machines are given the same hosts in the same order; the first writes the files.

fail() {
  echo "error: $1. Usage: tf_config.sh INDEX HOST:PORT..." >&2
  exit 2
}

index=${1-}
case $index in
  '' | *[!0-9]* | 0?* | ??????*) fail "INDEX is a number from 0. Received: '$index'" ;;
esac
shift
[ $# -gt 0 ] || fail "there are no hosts"
[ "$index" -lt $# ] || fail "INDEX is $index, and the number of hosts $#"

workers=
for host; do
  name=${host%:*} port=${host##*:}
  case $name in
    '' | "$host" | *[!][A-Za-z0-9.:_-]*) fail "'$host' is no HOST:PORT" ;;
  esac
  case $port in
    '' | *[!0-9]*) fail "'$host' is no HOST:PORT" ;;
  esac
  workers="$workers, \"$host\""
done
printf '{"cluster": {"worker": [%s]}, "task": {"type": "worker", "index": %s}}\n' \
  "${workers#, }" "$index"
