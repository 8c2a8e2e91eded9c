"""A process that is killed where it says that it stands, and one that looks meanwhile at what it leaves to be seen."""

from __future__ import annotations

import subprocess
import sys
import time
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

STAGES: dict[str, tuple[str, str]] = {
    "lease": ("inferry.index.leases", "_take"),
    "partial": ("inferry.index.partial", "_write"),
    "whole": ("inferry.index.store", "replace"),
    "record of a blob": ("inferry.index.store", "write_whole"),
    "record of a model": ("inferry.index.client.pulled", "write_whole"),
    "collection": ("inferry.index.leases", "hold"),
    "removal": ("inferry.index.store", "remove"),
    "document": ("inferry.index.client.indexed", "write_whole"),
    "blob of an index": ("inferry.index.signing.place", "replace"),
    "file of an index": ("inferry.index.signing.place", "write_whole"),
    "folder of an index": ("inferry.index.signing.place", "sync_folder"),
    "serial of an index": ("inferry.index.signing.keys", "replace"),
}
"""The functions at which a process stops, by what they do."""
_HERE = """
import importlib, itertools, os, signal, sys
module, name, nth, when = {module!r}, {name!r}, {nth}, {when!r}
home = importlib.import_module(module)
real, calls = getattr(home, name), itertools.count(1)
def stop(*given, **named):
    mine = next(calls)  # several threads come here
    if mine == nth and when == "before":
        os.write(1, b"here")
        os.read(0, 1)
    answer = real(*given, **named)
    if mine == nth and when == "after":
        os.write(1, b"here")
        os.read(0, 1)
    return answer
setattr(home, name, stop)
"""


def stopped_at(stage: str, nth: int, when: str, code: str) -> subprocess.Popen[bytes] | None:
    """Run ``code`` until before or after the ``nth`` call of a stage, where it waits for its input to end.

    ``None`` if it ended before.
    """
    module, name = STAGES[stage]
    # Whoever starts the tests may have Ctrl-C ignored, as shells do for what runs in the background.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    text = heed + _HERE.format(module=module, name=name, nth=nth, when=when) + code
    process = subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    if process.stdout.read(4) == b"here":
        return process
    _, told = process.communicate()
    assert process.returncode == 0, told.decode()
    return None


def killed_at(stage: str, nth: int, when: str, code: str) -> bool:
    """Run ``code`` and kill it before or after the ``nth`` call of a stage; return whether it came so far."""
    process = stopped_at(stage, nth, when, code)
    if process:
        with process:
            process.kill()
    return process is not None


def killed_after(seconds: float, code: str) -> bool:
    """Run ``code`` and kill it after so many seconds; return whether it was still at work."""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return True
    return False


def length(code: str) -> float:
    """Return how long ``code`` takes, in seconds."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return time.perf_counter() - begun


WATCH = """
import json, os, sys
from inferry.tests.kills import broken
from pathlib import Path
os.write(1, b"looking\\n")
rounds, found = 0, []
while not os.path.exists(sys.argv[2]):
    found += broken(Path(sys.argv[1]))
    rounds += 1
print(json.dumps([rounds, found]))
"""


def broken(home: Path) -> list[str]:
    """Return what can be seen in a home and is not whole: blobs that are not what they are called, records that lie."""
    from inferry.catalog.errors import Error
    from inferry.index.client.pulled import Pulled

    found: list[str] = []
    for blob in (home / "data/store/blobs/sha256").glob("??/*"):
        if not blob.name.startswith(".") and blob.suffix != ".json":
            try:
                data = blob.read_bytes()
            except FileNotFoundError:  # it was collected meanwhile
                continue
            if sha256(data).hexdigest() != blob.parent.name + blob.name:
                found.append(f"{blob} is not what it is called")
    try:
        Pulled(home / "data").records()
    except Error as error:
        found.append(error.message)
    return found
