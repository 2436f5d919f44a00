"""Receives webhooks on http://127.0.0.1:8099, checks the signature of every delivery, and prints its events.

It has one secret, that of the first handshake: a receiver of your own keeps one for each webhook.
"""
import hashlib
import hmac
import http.server
import sys

secret = None
delivered = set()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global secret
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        offered = self.headers.get("X-Hook-Secret")
        if offered and secret is None:
            # The handshake: the secret goes back as it came.
            secret = offered
            self.answer(200, offered)
            print("handshake", flush=True)
            return
        claimed = self.headers.get("X-Hook-Signature", "")
        right = hmac.new((secret or "").encode(), body, hashlib.sha256).hexdigest()
        if secret is None or not hmac.compare_digest(claimed, right):
            self.answer(401)
            return
        self.answer(200)
        delivery = self.headers["X-Workgraph-Delivery"]
        if delivery in delivered:
            # It was sent again because the answer to it was lost.
            return
        delivered.add(delivery)
        print("delivery", body.decode(), flush=True)

    def answer(self, status, echo=None):
        self.send_response(status)
        if echo:
            self.send_header("X-Hook-Secret", echo)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


port = int(sys.argv[1]) if len(sys.argv) > 1 else 8099
http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver).serve_forever()
