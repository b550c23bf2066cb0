"""Servers of the kinds that Python programs are made of: python_servers.py KIND PORT

  asyncio       one loop; streams are echoed
  forking       socketserver: a process for each connection, forked after accept
  prefork       multiprocessing: four processes that share one listening socket
  passing       the parent accepts and hands each connection to a worker with SCM_RIGHTS

All echo what they receive, until the client shuts its side down.
"""

import asyncio
import multiprocessing
import os
import signal
import socket
import socketserver
import sys

BLOCK_BYTES = 64 * 1024
WORKERS = 4
ADDRESS = "127.0.0.1"


def echo(connection):
    with connection:
        while block := connection.recv(BLOCK_BYTES):
            connection.sendall(block)


def asyncio_server(port):
    async def serve(reader, writer):
        while block := await reader.read(BLOCK_BYTES):
            writer.write(block)
            await writer.drain()
        writer.close()

    async def main():
        server = await asyncio.start_server(serve, ADDRESS, port)
        await server.serve_forever()

    asyncio.run(main())


class EchoHandler(socketserver.BaseRequestHandler):
    def handle(self):
        echo(self.request)


def forking_server(port):
    socketserver.ForkingTCPServer.allow_reuse_address = True
    with socketserver.ForkingTCPServer((ADDRESS, port), EchoHandler) as server:
        server.serve_forever()


def accept_for_ever(listener):
    while True:
        echo(listener.accept()[0])


def listen_at(port):
    return socket.create_server((ADDRESS, port), backlog=64)


def end_with(processes):
    """Workers end with their parent, which ends by SIGTERM."""
    def end(*_):
        for process in processes:
            process.terminate()
            process.join()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)


def prefork_server(port):
    context = multiprocessing.get_context("fork")
    listener = listen_at(port)
    workers = [context.Process(target=accept_for_ever, args=(listener,)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    end_with(workers)
    while True:
        signal.pause()


def serve_passed(channel):
    while True:
        _, fds, _, _ = socket.recv_fds(channel, 1, 1)
        if not fds:
            return
        echo(socket.socket(fileno=fds[0]))


def passing_server(port):
    context = multiprocessing.get_context("fork")
    channels, workers = [], []
    for _ in range(WORKERS):
        ours, theirs = socket.socketpair()
        worker = context.Process(target=serve_passed, args=(theirs,))
        worker.start()
        theirs.close()
        channels.append(ours)
        workers.append(worker)
    listener = listen_at(port)
    end_with(workers)
    turn = 0
    while True:
        connection, _ = listener.accept()
        with connection:
            socket.send_fds(channels[turn % WORKERS], [b"c"], [connection.fileno()])
        turn += 1


def main():
    servers = {
        "asyncio": asyncio_server,
        "forking": forking_server,
        "prefork": prefork_server,
        "passing": passing_server,
    }
    servers[sys.argv[1]](int(sys.argv[2]))


main()
