# What the application tests share; to be sourced by integration/apps/PROGRAM.
#
# A test defines `exercise` and calls `compare_runs exercise`, which runs it twice, natively and
# under the shim, and compares what the two runs left in $results byte for byte. exercise starts
# its programs with "${server[@]}" or "${client[@]}" in front, which are empty or rsock-run.
# shellcheck shell=bash
# shellcheck disable=SC2034  # server and client are for the tests

# shellcheck source=integration/apps/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<END
Usage: integration/apps/$test_name [--build DIR] [--mode both|server-only|client-only]

Runs the programs natively and under librsock.so of the build, and compares the results.
END
}

mode=both
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

# prove SIDE PID PORT: waits until rsock-stat lists the connection. Does nothing for a side that
# runs natively.
prove() {
  [[ $run == shim && " ${shimmed_sides[*]} " == *" $1 "* ]] || return 0
  until_true "rsock-stat lists the $1, process $2, at port $3" lists_connection "$@"
}

# compare_runs FUNCTION
compare_runs() {
  local file
  for file in librsock.so rsock-stat; do
    [[ -e $build/$file ]] || die "$build/$file is not there: build first"
  done
  export RSOCK_LIBRARY=$build/librsock.so
  local shim=("$root/scripts/rsock-run" --log-file "$work/shim.log" --)

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
