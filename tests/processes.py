"""Which processes a test has left running.

Databases, brokers, browsers and servers of other tests are children of the same process and come and go as they like,
so a test asks for its own by a word of their command line.
"""

import psutil


def children_with(word: str) -> list[psutil.Process]:
    """The living descendants of this process that have `word` as an argument."""
    return [p for p in psutil.Process().children(recursive=True) if _has(p, word)]


def _has(process: psutil.Process, word: str) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and word in process.cmdline()
    except psutil.NoSuchProcess:
        return False
