"""limits: each of its strategies, in memory. The argument names the strategy."""

import sys
import time

import json_lines  # sets the time before it is imported by others
from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import STRATEGIES

strategy = sys.argv[1]
limiter = item = None


def start(window_ms, quota):
    global limiter, item
    limiter = STRATEGIES[strategy](MemoryStorage())
    item = RateLimitItemPerSecond(quota, window_ms // 1000)


def admit(key, weight):
    if limiter.hit(item, key, cost=weight):
        return None
    reset = limiter.get_window_stats(item, key).reset_time
    return {"wait_ms": round(1000 * (reset - time.time()), 3)}


json_lines.answer({"name": f"limits, {strategy}", "has": ["quota", "weights"]}, start, admit)
