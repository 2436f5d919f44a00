"""pyrate-limiter: a bucket in memory for each key, with its default algorithm."""

import json_lines
from pyrate_limiter import InMemoryBucket, Limiter, Rate, RateItem
from pyrate_limiter.limiter import SingleBucketFactory

keys = {}
rates = []


def start(window_ms, quota):
    keys.clear()
    rates[:] = [Rate(quota, window_ms)]


def admit(key, weight):
    if key not in keys:
        bucket = InMemoryBucket(list(rates))
        keys[key] = bucket, Limiter(SingleBucketFactory(bucket, schedule_leak=False))
    bucket, limiter = keys[key]
    if limiter.try_acquire(key, weight, blocking=False):
        return None
    return {"wait_ms": bucket.waiting(RateItem(key, bucket.now(), weight))}


json_lines.answer({"name": "pyrate-limiter", "has": ["quota", "weights"]}, start, admit)
