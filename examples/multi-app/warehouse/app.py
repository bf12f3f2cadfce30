"""The warehouse: tells prices when it is invoked, ships what is ordered. Python's standard library, nothing else."""

import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

SIDECAR = f"http://127.0.0.1:{os.environ['DAPR_HTTP_PORT']}"
PRICES = {"kettle": 39, "teapot": 25}


def publish(topic, data):
    body = json.dumps(data).encode()
    headers = {"content-type": "application/json"}
    urlopen(Request(f"{SIDECAR}/v1.0/publish/pubsub/{topic}", body, headers)).close()


class Warehouse(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/price":
            caller = self.headers["dapr-caller-app-id"]
            print(f"{caller} asks for the price of a {body['item']}", flush=True)
            self.answer(200, {"price": PRICES[body["item"]]})
        elif self.path == "/orders":
            order = body["data"]
            print(f"shipping order {order['id']}", flush=True)
            time.sleep(0.3)
            publish("shipped", {"id": order["id"], "by": "van"})
            self.answer(200)
        else:
            self.answer(404)

    def answer(self, status, content=None):
        body = b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["APP_PORT"])), Warehouse).serve_forever()
