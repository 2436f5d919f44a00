"""slowapi: an application with its default strategy, asked in process; the wait is in `Retry-After`."""

import asyncio

import json_lines
from slowapi import Limiter, _rate_limit_exceeded_handler
from slowapi.errors import RateLimitExceeded
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

app = None
loop = asyncio.new_event_loop()


def start(window_ms, quota):
    global app
    limiter = Limiter(key_func=lambda request: request.headers["x-key"], headers_enabled=True)

    @limiter.limit(f"{quota}/{window_ms // 1000} second")
    async def limited(request):
        return PlainTextResponse("here you are")

    app = Starlette(routes=[Route("/", limited)])
    app.state.limiter = limiter
    app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)


def admit(key, weight):
    head = {}

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        head.update(message if message["type"] == "http.response.start" else {})

    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "path": "/", "raw_path": b"/", "query_string": b"",
        "headers": [(b"x-key", key.encode())], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "scheme": "http",
    }
    loop.run_until_complete(app(scope, receive, send))
    if head["status"] == 200:
        return None
    return {"retry_after": int(dict(head["headers"])[b"retry-after"])}


json_lines.answer({"name": "slowapi", "has": ["quota"], "wait": "s"}, start, admit)
