"""Runs the command line it is given (scripts/bench --json ...) and checks the report's form: every
row is there, with plausible numbers. How large they are is no matter of a test."""

import json
import subprocess
import sys

EXPECTED_ROWS = {
    "alone: read/foreign",
    "alone: read/far",
    "alone: write/foreign",
    "alone: close/foreign",
    "alone: read/followed",
    "alone: write/followed",
    "call: read_empty_pipe",
    "call: write_nothing",
    "call: close_nothing",
    "call: poll_nothing",
    "call: getsockopt_udp",
    "call: fcntl_pipe",
    "call: recv_empty_tcp",
    "call: send_nothing_tcp",
    "process: /bin/true",
}


def main() -> None:
    output = subprocess.run(sys.argv[1:], check=True, stdout=subprocess.PIPE).stdout
    report = json.loads(output)
    names = [row["name"] for row in report["rows"]]
    if set(names) != EXPECTED_ROWS or len(names) != len(EXPECTED_ROWS):
        sys.exit(f"unexpected or missing rows: {set(names) ^ EXPECTED_ROWS or names}")
    for row in report["rows"]:
        if not (row["native"] > 0 and row["shim"] > 0 and row["unit"] in ("ns", "us")):
            sys.exit(f"not a measurement: {row}")
        if (row["target_added"] is None) != (row["met"] is None):
            sys.exit(f"a target without a verdict, or the reverse: {row}")


if __name__ == "__main__":
    main()
