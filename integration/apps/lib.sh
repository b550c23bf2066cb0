# What the application tests share; to be sourced by integration/apps/PROGRAM.
#
# A test defines `exercise` and calls `compare_runs exercise`, which runs it twice, natively and
# under the shim, and compares what the two runs left in $results byte for byte. exercise starts
# its programs with "${server[@]}" or "${client[@]}" in front, which are empty or rsock-run.
# shellcheck shell=bash
# shellcheck disable=SC2034  # server, client, results and started are for the tests

apps=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${apps%/*/*}
test_name=${0##*/}
build=$root/build
mode=both
deadline_seconds=20
not_listed=3 # as in find_connection.py

usage() {
  cat <<END
Usage: integration/apps/$test_name [--build DIR] [--mode both|server-only|client-only]

Runs the programs natively and under librsock.so of the build, and compares the results.
END
}

say() { printf '%s\n' "$test_name: $*"; }

die() {
  printf '%s\n' "$test_name: $*" >&2
  exit 1
}

while (($# > 0)); do
  case $1 in
    --build | --mode)
      (($# > 1)) || die "$1 needs a value"
      [[ $1 == --build ]] && build=$(cd "$2" && pwd) || mode=$2
      shift 2
      ;;
    --help)
      usage
      exit 0
      ;;
    *) die "unknown argument: $1 (see --help)" ;;
  esac
done
case $mode in
  both) shimmed_sides=(server client) ;;
  server-only) shimmed_sides=(server) ;;
  client-only) shimmed_sides=(client) ;;
  *) die "unknown mode: $mode" ;;
esac

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

work=$(mktemp -d "${TMPDIR:-/tmp}/rsock-apps.XXXXXX")
chmod 755 "$work"
running=()

# start NAME COMMAND...: in the background, output to $work/NAME.log; sets started to its pid.
start() {
  local name=$1
  shift
  "$@" >>"$work/$name.log" 2>&1 &
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

is_gone() { [[ ! -e /proc/$1 || $(<"/proc/$1/stat") == *') Z '* ]] 2>/dev/null; }

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

# prove SIDE PID PORT: waits until rsock-stat lists a connection of the process, or of a process
# that it forked, whose local (for a server) or peer (for a client) address is the port. Does
# nothing for a side that runs natively.
prove() {
  [[ $run == shim && " ${shimmed_sides[*]} " == *" $1 "* ]] || return 0
  until_true "rsock-stat lists the $1, process $2, at port $3" lists_connection "$@"
}

lists_connection() {
  local status=0
  "$build/rsock-stat" --json >"$work/stat.json" || die "rsock-stat --json failed"
  "$python" "$apps/find_connection.py" "$@" <"$work/stat.json" || status=$?
  ((status == 0 || status == not_listed)) || die "rsock-stat --json is not in its format"
  return "$status"
}

# --- runs -------------------------------------------------------------------------------------

# compare_runs FUNCTION
compare_runs() {
  local file
  for file in librsock.so rsock-stat; do
    [[ -e $build/$file ]] || die "$build/$file is not there: build first"
  done
  export RSOCK_LIBRARY=$build/librsock.so
  local shim=("$root/scripts/rsock-run" --transport tcp --log-file "$work/shim.log" --)

  for run in native shim; do
    results=$work/$run
    mkdir "$results"
    server=() client=()
    if [[ $run == shim ]]; then
      [[ $mode == client-only ]] || server=("${shim[@]}")
      [[ $mode == server-only ]] || client=("${shim[@]}")
    fi
    "$1"
    ((${#running[@]} == 0)) || die "the test left processes: ${running[*]}"
    [[ $(ls -A "$results") ]] || die "the $run run left no results to compare"
  done

  [[ ! -s $work/shim.log ]] || die "the shim logged something in a healthy run"
  diff -ra "$work/native" "$work/shim" >"$work/differences.log" ||
    die "the results under the shim ($mode) are not those without"
  say "same results natively and under the shim ($mode)"
}
