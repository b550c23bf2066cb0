"""An HTTP server for tests: http_server.py PORT FOLDER [CERTIFICATE KEY]

Serves the files of FOLDER, also in ranges, and stores what is PUT there. /gated/NAME sends half of
the file and holds the rest back until the file FOLDER/gate exists, so that a test has the time it
needs to look at the connection. With a certificate it speaks TLS.
"""

import http.server
import os
import re
import ssl
import sys
import time

BLOCK_BYTES = 64 * 1024
GATE_POLL_SECONDS = 0.02


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def local_path(self):
        return os.path.join(sys.argv[2], os.path.basename(self.path))

    def do_GET(self):
        try:
            with open(self.local_path(), "rb") as file:
                content = file.read()
        except OSError:
            self.send_error(404)
            return
        start = 0
        span = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if span:
            start = int(span[1])
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if self.path.startswith("/gated/"):
            middle = len(content) // 2
            self.wfile.write(content[start:middle])
            self.wait_for_gate()
            start = middle
        self.wfile.write(content[start:])

    @staticmethod
    def wait_for_gate():
        while not os.path.exists(os.path.join(sys.argv[2], "gate")):
            time.sleep(GATE_POLL_SECONDS)

    def do_PUT(self):
        if self.headers.get("Expect"):
            self.send_response_only(100)
            self.end_headers()
        left = int(self.headers["Content-Length"])
        with open(self.local_path(), "wb") as file:
            while left > 0:
                block = self.rfile.read(min(left, BLOCK_BYTES))
                if not block:
                    return
                file.write(block)
                left -= len(block)
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def handle_expect_100(self):
        return True  # do_PUT answers it

    def log_message(self, *arguments):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


main()
