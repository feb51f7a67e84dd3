"""This machine on Linux, on macOS, and where neither's ways exist."""

import os
import platform
import re
import resource
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from seq2seq_cli.runtime import machine, memory
from seq2seq_cli.runtime.xla_cache import xla_cache_folder

PACKAGE = Path(machine.__file__).parents[1]
LINUX = re.compile(r"/proc/|/sys/|sched_getaffinity|ru_maxrss|os\.sysconf|libc\.so")
SYSCTL = """#!/bin/sh
case "$2" in
    machdep.cpu.brand_string) echo "Apple M2" ;;
    hw.memsize) echo 17179869184 ;;
    *) exit 1 ;;
esac
"""


@pytest.fixture
def bare(tmp_path, monkeypatch) -> Path:
    """A system with none of Linux's files and calls, and no sysctl; the folder of its programs."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "sysconf", _unknown)
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(machine, "SYSCTL", str(tmp_path / "sysctl"))
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "statm")
    monkeypatch.setattr(machine, "OWN_GROUPS", tmp_path / "cgroup")
    return tmp_path


@pytest.fixture
def macos(bare, monkeypatch) -> None:
    """The same with macOS's sysctl, and its unit of memory."""
    (bare / "sysctl").write_text(SYSCTL)
    (bare / "sysctl").chmod(0o755)
    monkeypatch.setattr(memory, "sys", SimpleNamespace(platform="darwin", maxsize=sys.maxsize))


def _unknown(name: str) -> int:
    raise ValueError("unrecognized configuration name")


def test_only_the_runtime_package_uses_linux_interfaces():
    allowed = {PACKAGE / "runtime" / f"{name}.py" for name in ("health", "machine", "memory")}
    for path in {*PACKAGE.rglob("*.py")} - allowed:
        assert not LINUX.search(path.read_text("utf-8")), path
    for path in allowed:
        assert LINUX.search(path.read_text("utf-8"))


def test_only_the_cores_that_the_process_may_use_count(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "OWN_GROUPS", tmp_path / "none")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {2, 5, 7}, raising=False)
    assert machine.cores() == 3


@pytest.mark.parametrize(
    ("own", "files", "cores", "memory_limit"),
    [
        ("0::/a/b\n", {"a/cpu.max": "150000 100000", "a/b/memory.max": "max"}, 2, None),
        ("0::/a/b\n", {"cpu.max": "max 100000", "a/memory.max": "5000000"}, 8, 5_000_000),
        ("0::/../x\n", {"cpu.max": "50000 100000", "memory.max": "7000000"}, 1, 7_000_000),
        (
            "3:cpu,cpuacct:/a\n2:memory:/elsewhere\n",
            {
                "cpu/a/cpu.cfs_quota_us": "300000",
                "cpu/a/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": "9000000",
            },
            3,
            9_000_000,
        ),
        ("2:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "9"}, 8, None),
        ("", {}, 8, None),
    ],
)
def test_control_groups_limit_cores_and_memory(
    own, files, cores, memory_limit, monkeypatch, tmp_path
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(machine, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(machine, "OWN_GROUPS", tmp_path / "own")
    whole = memory.most_memory()
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    assert machine.cores() == cores
    assert memory.most_memory() == (memory_limit or whole)


@pytest.mark.usefixtures("bare")
def test_without_linux_the_cores_are_those_of_the_machine(monkeypatch):
    for number, cores in ((8, 8), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda number=number: number)
        assert machine.cores() == cores


def test_linux_names_the_gpus_in_files(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "NVIDIA", tmp_path)
    assert machine.graphics_processors() == []
    for address, model in (("0000:81:00.0", "NVIDIA B"), ("0000:01:00.0", "NVIDIA A")):
        (tmp_path / address).mkdir()
        (tmp_path / address / "information").write_text(f"Model: \t\t {model}\nIRQ: 1\n")
    assert machine.graphics_processors() == ["NVIDIA A", "NVIDIA B"]


def test_linux_names_the_processor_in_a_file(bare):
    core = "processor\t: {}\nmodel name\t: Some CPU @ 2:1\nflags\t\t: avx {}\n"
    machine.CPU_INFO.write_text("\n".join(core.format(n, n) for n in range(2)))
    assert machine.processor_name() == "Some CPU @ 2:1"
    assert machine.processor_features() == ["model name\t: Some CPU @ 2:1", "flags\t\t: avx 0"]


@pytest.mark.usefixtures("macos")
def test_macos_names_the_processor_by_a_program():
    assert machine.processor_name() == "Apple M2"
    assert machine.processor_features() == [platform.platform(), "Apple M2"]
    assert machine.physical_memory() == 16 * 2**30
    assert memory.most_memory() <= 16 * 2**30


@pytest.mark.usefixtures("bare")
def test_elsewhere_the_processor_is_its_architecture_and_memory_is_unknown():
    assert machine.processor_name() == platform.machine()
    assert machine.physical_memory() is None
    assert memory.most_memory() > 10**12
    assert xla_cache_folder().parent.name == "xla"


def test_the_cache_depends_on_the_processor(macos, bare):
    before = xla_cache_folder()
    (bare / "sysctl").write_text(SYSCTL.replace("M2", "M3"))
    assert xla_cache_folder() != before


def test_memory_is_about_the_same_without_the_files_of_linux(monkeypatch, tmp_path):
    with_files = memory.resident_memory()
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "statm")
    assert memory.resident_memory() == pytest.approx(with_files, rel=0.2)
    monkeypatch.setenv("PATH", str(tmp_path))  # without ps
    assert memory.resident_memory() == memory.peak_memory() >= 0.8 * with_files


def test_the_unit_of_the_peak_memory_depends_on_the_system(monkeypatch):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    monkeypatch.setattr(memory, "sys", SimpleNamespace(platform="darwin", maxsize=sys.maxsize))
    assert peak <= memory.peak_memory() <= 1.5 * peak
    monkeypatch.setattr(memory, "sys", SimpleNamespace(platform="linux"))
    assert memory.peak_memory() >= peak * 1024
