# Starting and stopping programs, ports, and what rsock-stat says; to be sourced.
# shellcheck shell=bash
# shellcheck disable=SC2034  # started, port and python are for whoever sources this

apps=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${apps%/*/*}
test_name=${0##*/}
build=$root/build
deadline_seconds=20
not_listed=3 # as in find_connection.py

say() { printf '%s\n' "$test_name: $*"; }

die() {
  printf '%s\n' "$test_name: $*" >&2
  exit 1
}

# With set -e alone, a failing command ends the test without a word.
set -E
trap 'printf "%s: line %s: %s: status %s\n" "$test_name" "$LINENO" "$BASH_COMMAND" "$?" >&2' ERR

needs() {
  local program
  for program; do
    command -v "$program" >/dev/null || die "$program is not installed"
  done
}

# Debian's own Python, for which there are packages, wherever the PATH may lead.
python=/usr/bin/python3
[[ -x $python ]] || python=python3

# nginx and getcap live where only root's PATH leads.
PATH=$PATH:/usr/sbin:/sbin
# What a caller set for other runs shall not decide this one.
unset LD_PRELOAD RSOCK_TRANSPORT RSOCK_UPGRADE RSOCK_LOG RSOCK_LOG_FILE RSOCK_STATS
export LC_ALL=C.UTF-8

# --- processes: ended by pid, and whatever happens --------------------------------------------

exec </dev/null
work=$(mktemp -d "${TMPDIR:-/tmp}/rsock-apps.XXXXXX")
chmod 755 "$work"
running=()
# Where a run leaves what it found.
results=$work

# start NAME COMMAND...: in the background, output to $work/NAME.log; sets started to its pid.
start() {
  local name=$1
  shift
  "$@" <&0 >>"$work/$name.log" 2>&1 &
  started=$!
  running+=("$started")
}

# redirected_to FILE COMMAND...: for start, with the output in a file of its own.
redirected_to() {
  local file=$1
  shift
  exec "$@" >"$file"
}

# until_true WHAT COMMAND...: waits for a command to succeed, and asks again and again.
until_true() {
  local what=$1 end=$((SECONDS + deadline_seconds))
  shift
  until "$@"; do
    ((SECONDS < end)) || die "waited $deadline_seconds s in vain: $what"
    sleep 0.02
  done
}

is_gone() {
  local stat
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
  [[ $stat == *') Z '* ]]
}

# finish PID: waits for a program that ends by itself, and fails if it fails.
finish() {
  local status=0
  until_true "process $1 ends" is_gone "$1"
  wait "$1" || status=$?
  forget "$1"
  ((status == 0)) || die "process $1 ended with status $status"
}

# stop PID: ends a program that would not end by itself. Its exit status is part of the results.
stop() {
  local status=0
  kill "$1" 2>/dev/null || die "process $1 had ended by itself"
  until_true "process $1 ends" is_gone "$1"
  wait "$1" || status=$?
  forget "$1"
  printf '%s\n' "$status" >>"$results/exit_status"
}

forget() {
  local pid
  local -a others=()
  for pid in "${running[@]}"; do [[ $pid == "$1" ]] || others+=("$pid"); done
  running=("${others[@]}")
}

# descendants PID: its children and theirs, by what /proc says now.
descendants() {
  local child
  while read -r -d ' ' child; do
    printf '%s\n' "$child"
    descendants "$child"
  done < <(cat "/proc/$1/task/"*/children 2>/dev/null)
}

clean_up() {
  local status=$? pid log
  trap '' INT TERM
  for pid in "${running[@]}"; do
    # shellcheck disable=SC2046  # one word for each pid
    kill -KILL "$pid" $(descendants "$pid") 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  if ((status != 0)); then
    for log in "$work"/*.log; do
      [[ ! -s $log ]] || { printf -- '--- %s\n' "${log##*/}" && tail -n 20 "$log"; } >&2
    done
  fi
  rm -rf "$work"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- ports ------------------------------------------------------------------------------------

# free_port: sets port to one that nobody listens at. Below the range from which the kernel takes
# the ports of clients, so that none of those can take it meanwhile.
free_port() {
  port=$("$python" - <<'END'
import random, socket
while True:
    port = random.randrange(10000, 32000)
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
END
  )
}

# Without a connection, which some servers would take for their client.
is_listening() {
  local pid=$1 entry
  ! is_gone "$pid" || die "process $pid ended instead of listening at port $2"
  printf -v entry ':%04X [0-9A-F]+:0000 0A ' "$2"
  grep -qsE "$entry" /proc/net/tcp /proc/net/tcp6
}

# wait_for_port PORT PID
wait_for_port() { until_true "port $1 is open" is_listening "$2" "$1"; }

# --- proof ------------------------------------------------------------------------------------

# lists_connection SIDE PID PORT: whether rsock-stat lists a connection of the process, or of one
# that it forked, whose local (SIDE server) or peer (SIDE client) address has the port.
lists_connection() {
  local status=0
  "$build/rsock-stat" --json >"$work/stat.json" || die "rsock-stat --json failed"
  "$python" "$apps/find_connection.py" "$@" <"$work/stat.json" || status=$?
  ((status == 0 || status == not_listed)) || die "rsock-stat --json is not in its format"
  return "$status"
}
