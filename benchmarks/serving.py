"""Load a running `s2s serve` with many clients, and measure throughput, times and memory.

    s2s serve --run RUN
    python benchmarks/serving.py --input sentences.txt --clients 64 --seconds 30
    python benchmarks/serving.py --input sentences.txt --clients 64 --requests 100000
    python benchmarks/serving.py --input sentences.txt --clients 1 --run RUN

Each client sends a sentence, waits for its translation, and sends the next. The times are those of
the clients. The memory is that of the server's process. With `--run`, the same sentences are then
translated in this process, one by one, to compare. `serving.lua` makes the same load by wrk, which
takes less of the processor.
"""

import argparse
import http.client
import itertools
import json
import re
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

SHARES = 10  # times that the memory is read


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--input", type=Path, required=True, help="a sentence per line")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--requests", type=int, help="so many, instead of seconds")
    parser.add_argument("--warm-up", type=float, default=3.0, help="seconds that do not count")
    parser.add_argument("--run", help="measure the translator's own time for a sentence, too")
    given = parser.parse_args()
    sentences = [line for line in given.input.read_text("utf-8").splitlines() if line.strip()]
    if not sentences:
        parser.error(f"{given.input} has no sentence")
    load = Load(given.host, given.port, sentences)
    if given.warm_up:
        load.run(given.clients, seconds=given.warm_up)
    record = load.run(given.clients, given.seconds, given.requests)
    if given.run:
        own = own_times(given.run, sentences, given.seconds)
        record["own_median_ms"] = statistics.median(own)
        record["more_than_own_ms"] = record["median_ms"] - record["own_median_ms"]
    print(json.dumps(record, indent=2))


class Load:
    """Sends sentences, by clients that each have a connection of their own."""

    def __init__(self, host: str, port: int, sentences: list[str]):
        self._address = host, port
        self._bodies = itertools.cycle(
            json.dumps({"text": sentence}).encode() for sentence in sentences
        )
        self._lock = threading.Lock()
        self._answers: list[tuple[float, int]] = []  # seconds, status

    def run(self, clients: int, seconds: float, requests: int | None = None) -> dict:
        """Return sentences per second, times in milliseconds and memory in MB.

        Args:
            clients: how many send at the same time.
            seconds: how long they send.
            requests: how many they send in all, instead.
        """
        self._answers = []
        began = time.monotonic()
        left = itertools.count(requests, -1) if requests else itertools.repeat(1)
        more = self._more(left, None if requests else began + seconds)
        threads = [threading.Thread(target=self._client, args=[more]) for _ in range(clients)]
        memory = [self._memory()]
        for thread in threads:
            thread.start()
        for share in range(1, SHARES):
            while any(each.is_alive() for each in threads):
                by_time = (time.monotonic() - began) / max(seconds, 0.1)
                if (len(self._answers) / requests if requests else by_time) >= share / SHARES:
                    break
                time.sleep(0.02)
            memory.append(self._memory())
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        times = sorted(1000 * each for each, status in self._answers if status == 200)
        if len(times) < 2:
            raise SystemExit("fewer than two answers; is `s2s serve` running and ready?")
        cuts = statistics.quantiles(times, n=100)
        return {
            "clients": clients,
            "seconds": round(took, 1),
            "answers": len(times),
            "refused": len(self._answers) - len(times),
            "sentences_per_second": len(times) / took,
            "median_ms": statistics.median(times),
            "p99_ms": cuts[98],
            "slowest_ms": times[-1],
            "memory_mb": [*memory, self._memory()],
        }

    def _more(self, left: Iterator[int], end: float | None) -> Callable[[], bool]:
        """Return what tells a client whether to send another request."""
        return lambda: next(left) > 0 and (end is None or time.monotonic() < end)

    def _client(self, more: Callable[[], bool]) -> None:
        connection = http.client.HTTPConnection(*self._address, timeout=60)
        headers = {"content-type": "application/json"}
        while more():
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
            self._answers.append((time.monotonic() - began, status))

    def _memory(self) -> float | None:
        """Return the resident memory of the server, if it tells it."""
        connection = http.client.HTTPConnection(*self._address, timeout=60)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        found = re.search(r"^process_resident_memory_bytes (\S+)", text, re.MULTILINE)
        return round(float(found[1]) / 1e6, 1) if found else None


def own_times(run: str, sentences: list[str], seconds: float) -> list[float]:
    """Return the milliseconds that the translator takes for each sentence, one by one."""
    import seq2seq_cli

    model = seq2seq_cli.load(run)
    for _ in range(2):  # the second time it is compiled
        model.translate(sentences[:64])
    times: list[float] = []
    end = time.monotonic() + seconds
    for sentence in itertools.cycle(sentences):
        began = time.monotonic()
        if began > end:
            return times
        model.translate(sentence)
        times.append(1000 * (time.monotonic() - began))
    return times


if __name__ == "__main__":
    main()
