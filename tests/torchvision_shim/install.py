"""Put the shim into this virtual environment, if torchvision does not import without it."""

import subprocess
import sys
import sysconfig
from pathlib import Path

NAMES = ("declare_torchvision_ops.py", "declare_torchvision_ops.pth")


def imports() -> subprocess.CompletedProcess:
    """Try it in a new process."""
    return subprocess.run(
        [sys.executable, "-c", "import torchvision"], capture_output=True, text=True, check=False
    )


def main() -> int:
    """Return 0 if torchvision imports in the end."""
    here, there = Path(__file__).parent, Path(sysconfig.get_path("purelib"))
    for name in NAMES:  # of another time, perhaps for another torch
        (there / name).unlink(missing_ok=True)
    if imports().returncode == 0:
        return 0
    for name in NAMES:
        (there / name).write_bytes((here / name).read_bytes())
    again = imports()
    if again.returncode:
        print(again.stderr, file=sys.stderr)
    return again.returncode


if __name__ == "__main__":
    sys.exit(main())
