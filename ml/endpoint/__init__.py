"""One OpenAI-compatible multimodal chat endpoint, as the installation's configuration names it.

config.py   address, key, model, prices and limits from the environment, and the errors; light
client.py   the client: retries, rate limit, counters, replies checked against a schema; loads httpx
"""

from __future__ import annotations

from ml.endpoint.config import BrokenReply, Config, EndpointError, NotConfigured

__all__ = ["BrokenReply", "Config", "EndpointError", "NotConfigured"]
