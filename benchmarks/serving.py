"""Load a running `s2s serve` with many clients, and measure throughput and times.

    s2s serve --run RUN --batch 64
    python benchmarks/serving.py --input sentences.txt --clients 64 --seconds 30

Each client sends a sentence, waits for its translation, and sends the next. The times are those of
the clients. `--clients 1` measures what a lone client waits.
"""

import argparse
import http.client
import itertools
import json
import statistics
import threading
import time
from pathlib import Path


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--input", type=Path, required=True, help="a sentence per line")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--warm-up", type=float, default=3.0, help="seconds that do not count")
    given = parser.parse_args()
    sentences = [line for line in given.input.read_text("utf-8").splitlines() if line.strip()]
    if not sentences:
        parser.error(f"{given.input} has no sentence")
    load = Load(given.host, given.port, sentences)
    record = load.run(given.clients, given.warm_up, given.seconds)
    print(json.dumps(record, indent=2))


class Load:
    """Sends sentences, by clients that each have a connection of their own."""

    def __init__(self, host: str, port: int, sentences: list[str]):
        self._address = host, port
        self._bodies = itertools.cycle(
            json.dumps({"text": sentence}).encode() for sentence in sentences
        )
        self._lock = threading.Lock()
        self._answers: list[tuple[float, float, int]] = []  # end, seconds, status
        self._end = 0.0

    def run(self, clients: int, warm_up: float, seconds: float) -> dict[str, float]:
        """Return throughput in sentences per second, and times in milliseconds."""
        counted_from = time.monotonic() + warm_up
        self._end = counted_from + seconds
        threads = [threading.Thread(target=self._client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counted = [each for each in self._answers if counted_from <= each[0] <= self._end]
        times = sorted(1000 * each[1] for each in counted if each[2] == 200)
        if len(times) < 2:
            raise SystemExit("fewer than two answers; is `s2s serve` running and ready?")
        cuts = statistics.quantiles(times, n=100)
        return {
            "clients": clients,
            "seconds": seconds,
            "answers": len(times),
            "refused": len(counted) - len(times),
            "sentences_per_second": len(times) / seconds,
            "median_ms": statistics.median(times),
            "p99_ms": cuts[98],
            "slowest_ms": times[-1],
        }

    def _client(self) -> None:
        connection = http.client.HTTPConnection(*self._address, timeout=60)
        headers = {"content-type": "application/json"}
        while time.monotonic() < self._end:
            with self._lock:
                body = next(self._bodies)
            began = time.monotonic()
            try:
                connection.request("POST", "/v1/translate", body, headers)
                answer = connection.getresponse()
                answer.read()
                status = answer.status
            except (OSError, http.client.HTTPException):
                connection.close()
                status = 0
                time.sleep(0.1)
            now = time.monotonic()
            with self._lock:
                self._answers.append((now, now - began, status))


if __name__ == "__main__":
    main()
