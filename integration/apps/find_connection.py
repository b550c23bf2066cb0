"""Whether rsock-stat lists a connection: find_connection.py SIDE PID PORT < rsock-stat --json

Exits with 0 if the process PID, or one that descends from it, has a connection whose local
(SIDE server) or peer (SIDE client) port is PORT, and with 3 if not. Whatever is not as the format
says is an error, with a traceback and status 1.
"""

import json
import sys

SCHEMA = "rsock-stat/1"
NOT_LISTED = 3


def parent(pid):
    """The parent of a process, or 0 if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return int(stat.read().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def descends(pid, ancestor):
    while pid not in (0, ancestor):
        pid = parent(pid)
    return pid == ancestor


def is_the_one(connection, end, port):
    # Neither a socket that is not connected nor a listener.
    if "-" in (connection["local"], connection["peer"]):
        return False
    if int(connection[end].rpartition(":")[2]) != port:
        return False
    assert connection["path"] == "tcp", connection
    assert connection["reason"], connection
    assert connection["fd"] in connection["fds"], connection
    return connection["tx_tcp_bytes"] + connection["rx_tcp_bytes"] > 0


def main():
    side, pid, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    end = {"server": "local", "client": "peer"}[side]
    listing = json.load(sys.stdin)
    assert listing["schema"] == SCHEMA, listing["schema"]
    for process in listing["processes"]:
        if not descends(process["pid"], pid):
            continue
        if any(is_the_one(connection, end, port) for connection in process["connections"]):
            # A child counts from its fork on.
            assert process["pid"] != pid or process["counters"]["sockets_tracked"] > 0, process
            return 0
    return NOT_LISTED


sys.exit(main())
