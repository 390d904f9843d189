"""Work for the engine's tests; in a module of its own, so that worker processes can import it."""

import os
import signal
import time
from pathlib import Path

from mteb_nano.errors import UserError


def shout(payload: str) -> bytes:
    """A result that depends on the payload alone."""
    return payload.upper().encode() * 100


def note(payload: tuple[str, str]) -> bytes:
    """Leaves a line in a file for each time that it runs."""
    log, text = payload
    with Path(log).open("a") as file:
        file.write(f"{text}\n")
    return shout(text)


def die_once(payload: tuple[str, str]) -> bytes:
    """Kills its own process the first time that it sees a payload ending in `!`."""
    folder, text = payload
    mark = Path(folder) / f"died-{text}"
    if text.endswith("!") and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return shout(text)


def die_always(payload: str) -> bytes:
    """No process survives this."""
    os.kill(os.getpid(), signal.SIGKILL)
    return payload.encode()


def complain(payload: str) -> bytes:
    """Finds something that a person can mend."""
    raise UserError(f"cannot do {payload}")


def nap(payload: tuple[str, float]) -> bytes:
    """Takes a while; leaves its process's number."""
    folder, seconds = payload
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(seconds)
    return b"slept"
