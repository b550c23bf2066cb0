"""Works against memcached over many connections at once: memcached_client.py PORT READY GATE

Prints every reply, thread by thread: short ones as they are, values as their checksums. Then it
creates the file READY, holds its connections until the file GATE exists, and uses each of them once
more. Only the standard library; what is sent depends on the number of the thread alone.
"""

import hashlib
import os
import random
import socket
import sys
import threading
import time

THREADS = 8
VALUES = 60
VALUE_BYTES_MAX = 200_000
GATE_POLL_SECONDS = 0.02
TIMEOUT_SECONDS = 20


class Client:
    def __init__(self, port, number):
        self.number = number
        self.random = random.Random(number)
        self.replies = []
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)
        self.file = self.socket.makefile("rb")

    def ask(self, request):
        """Sends a request whose answer is one line."""
        self.socket.sendall(request)
        self.replies.append(self.file.readline().strip().decode())

    def get(self, keys):
        self.socket.sendall(b"get " + b" ".join(keys) + b"\r\n")
        while True:
            line = self.file.readline().strip().decode()
            self.replies.append(line)
            if not line.startswith("VALUE "):
                return
            content = self.file.read(int(line.split()[3]) + 2)
            self.replies.append(hashlib.sha256(content).hexdigest())

    def work(self):
        keys = []
        for i in range(VALUES):
            key = b"key-%d-%d" % (self.number, i)
            value = self.random.randbytes(self.random.randrange(VALUE_BYTES_MAX))
            keys.append(key)
            self.ask(b"set %s %d 0 %d\r\n%s\r\n" % (key, i, len(value), value))
            if i % 10 == 9:
                self.get(keys[-10:])
        self.get(keys)
        self.ask(b"add %s 0 0 1\r\nx\r\n" % keys[0])
        self.ask(b"append %s 0 0 4\r\ntail\r\n" % keys[0])
        self.ask(b"delete %s\r\n" % keys[1])
        self.ask(b"set n-%d 0 0 2\r\n40\r\n" % self.number)
        self.ask(b"incr n-%d 2\r\n" % self.number)
        self.ask(b"nosuchcommand\r\n")
        self.get(keys[:3])


def main():
    port, ready, gate = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    clients = [Client(port, number) for number in range(THREADS)]
    threads = [threading.Thread(target=client.work) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(ready, "wb"):
        pass
    while not os.path.exists(gate):
        time.sleep(GATE_POLL_SECONDS)
    for client in clients:
        client.get([b"key-%d-0" % client.number])
        client.socket.close()
        print(client.number, *client.replies, sep="\n")


main()
