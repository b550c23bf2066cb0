"""A client of echo servers, with asyncio or threads: python_client.py KIND PORT READY GATE

Sends streams of several sizes over several connections at once, the last half of each only after
the file GATE exists; creates the file READY when the first halves have come back. Prints the
checksum of every echo.
"""

import asyncio
import hashlib
import os
import random
import socket
import sys
import threading
import time

# The server must be able to hold all connections at once: one for each of its workers.
SIZES = [2, 70_001, 500_000, 2_000_000]
BLOCK_BYTES = 64 * 1024
GATE_POLL_SECONDS = 0.02
TIMEOUT_SECONDS = 20


def content_of(number):
    return random.Random(number).randbytes(SIZES[number])


def halves(content):
    return content[: len(content) // 2], content[len(content) // 2 :]


def create(path):
    with open(path, "wb"):
        pass


def threads(port, ready, gate):
    digests = [""] * len(SIZES)
    at_half = threading.Barrier(len(SIZES), action=lambda: create(ready))

    def echo_half(connection, half, digest):
        sender = threading.Thread(target=connection.sendall, args=(half,))
        sender.start()
        left = len(half)
        while left > 0:
            block = connection.recv(min(left, BLOCK_BYTES))
            assert block, "the server closed early"
            digest.update(block)
            left -= len(block)
        sender.join()

    def work(number):
        digest = hashlib.sha256()
        with socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as connection:
            first, second = halves(content_of(number))
            echo_half(connection, first, digest)
            at_half.wait()
            while not os.path.exists(gate):
                time.sleep(GATE_POLL_SECONDS)
            echo_half(connection, second, digest)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b"", "more came back than was sent"
        digests[number] = digest.hexdigest()

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(SIZES))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return digests


def with_asyncio(port, ready, gate):
    async def echo_half(reader, writer, half, digest):
        async def send():
            writer.write(half)
            await writer.drain()

        _, back = await asyncio.gather(send(), reader.readexactly(len(half)))
        digest.update(back)

    async def work(number, at_half):
        digest = hashlib.sha256()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        first, second = halves(content_of(number))
        await echo_half(reader, writer, first, digest)
        at_half.append(number)
        if len(at_half) == len(SIZES):
            create(ready)
        while not os.path.exists(gate):
            await asyncio.sleep(GATE_POLL_SECONDS)
        await echo_half(reader, writer, second, digest)
        writer.write_eof()
        assert await reader.read() == b"", "more came back than was sent"
        writer.close()
        await writer.wait_closed()
        return digest.hexdigest()

    async def main():
        at_half = []
        return await asyncio.gather(*(work(i, at_half) for i in range(len(SIZES))))

    return asyncio.run(main())


def main():
    kinds = {"asyncio": with_asyncio, "threads": threads}
    digests = kinds[sys.argv[1]](int(sys.argv[2]), sys.argv[3], sys.argv[4])
    for number, digest in enumerate(digests):
        assert digest == hashlib.sha256(content_of(number)).hexdigest(), f"stream {number} differs"
    print(*digests, sep="\n")


main()
