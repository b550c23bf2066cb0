# What the scripts of this folder share; to be sourced.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
script=${0##*/}

say() { printf '%s\n' "$script: $*"; }

die() {
  printf '%s\n' "$script: $*" >&2
  exit 1
}

# How many commands a build runs at once; CMAKE_BUILD_PARALLEL_LEVEL is CMake's own variable.
jobs_max() { printf '%s\n' "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"; }

# quietly COMMAND...: on a terminal as it is, so that one sees it advance; otherwise its output is
# shown only if it fails.
quietly() {
  if [[ -t 1 ]]; then
    "$@"
    return
  fi
  local output status=0
  output=$(mktemp)
  "$@" >"$output" 2>&1 || status=$?
  ((status == 0)) || cat "$output" >&2
  rm -f "$output"
  return "$status"
}

# The Python of Debian, for which the packages are, wherever a PATH may lead.
python() {
  if [[ -x /usr/bin/python3 ]]; then
    /usr/bin/python3 "$@"
  else
    python3 "$@"
  fi
}

# Files of the project whose names end in one of the given ways, in the folders that hold its code.
# project_files EXTENSION...
project_files() {
  local extension
  local -a names=()
  for extension; do names+=(-o -name "*.$extension"); done
  (
    cd "$root" || exit
    find core preload tools tests integration -type f \( "${names[@]:1}" \) 2>/dev/null | sort
  )
}
