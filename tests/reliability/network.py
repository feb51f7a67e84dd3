"""Two workers in two network namespaces, between which the network is taken away.

    sudo python tests/reliability/network.py

It needs Linux, root and `ip` (iproute2). It prints, as JSON, how long the workers took to leave.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from together import config_of, last_step

from seq2seq_cli.runtime.cluster import Cluster

LONGEST = 60.0
"""Seconds in which both must have left."""
_NAMESPACES = ("s2s-0", "s2s-1")
_CLUSTER = ("10.213.0.1:4711", "10.213.0.2:4711")


@contextmanager
def network() -> Iterator[None]:
    """Have two namespaces with a cable between them."""
    try:
        for name in _NAMESPACES:
            ip("netns", "add", name)
        ip("link", "add", "s2s-a", "netns", "s2s-0", "type", "veth", "peer", "s2s-b")
        ip("link", "set", "s2s-b", "netns", "s2s-1")
        for name, cable, address in zip(_NAMESPACES, ("s2s-a", "s2s-b"), _CLUSTER, strict=True):
            ip("-n", name, "address", "add", address.partition(":")[0] + "/24", "dev", cable)
            for device in ("lo", cable):
                ip("-n", name, "link", "set", device, "up")
        yield
    finally:
        for name in _NAMESPACES:
            subprocess.run(["ip", "netns", "delete", name], check=False)


def ip(*arguments: str) -> None:
    """Run `ip`."""
    subprocess.run(["ip", *arguments], check=True)


def start(worker: int, folder: Path, config: Path, run: Path) -> subprocess.Popen:
    """Start a worker in its namespace; its messages go to a file."""
    log = (folder / f"{worker}.log").open("w")
    s2s = [sys.executable, "-m", "seq2seq_cli", "train", "--config", str(config)]
    return subprocess.Popen(
        ["ip", "netns", "exec", _NAMESPACES[worker], *s2s, "--run", str(run)],
        env={**os.environ, "TF_CONFIG": Cluster(_CLUSTER, worker).environment()},
        stdout=log,
        stderr=log,
    )


def main() -> None:
    """Train, take the network away, and see that both workers leave and name each other."""
    with tempfile.TemporaryDirectory() as name, network():
        folder = Path(name)
        config, run = folder / "config.toml", folder / "run"
        config.write_text(config_of(folder, 100_000).to_toml(), encoding="utf-8")
        both = [start(worker, folder, config, run) for worker in range(2)]
        try:
            while (last_step(run) or 0) < 3:
                assert all(each.poll() is None for each in both), messages(folder)
                time.sleep(0.05)
            ip("-n", _NAMESPACES[1], "link", "set", "s2s-b", "down")
            began, seconds = time.monotonic(), []
            for each in both:
                each.wait(LONGEST)
                seconds.append(round(time.monotonic() - began, 1))
        finally:
            for each in both:
                each.kill()
        codes = [each.returncode for each in both]
        assert codes == [8, 8], messages(folder)
        for worker, other in ((0, 1), (1, 0)):
            text = " ".join((folder / f"{worker}.log").read_text("utf-8").split())
            assert f"worker {other} (10.213.0." in text, text
        print(json.dumps({"tried": "the network goes", "seconds": seconds, "at": last_step(run)}))


def messages(folder: Path) -> str:
    """Return what the workers have written."""
    return "\n".join(path.read_text("utf-8") for path in sorted(folder.glob("*.log")))


if __name__ == "__main__":
    main()
