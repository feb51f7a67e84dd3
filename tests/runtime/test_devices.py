import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import tensorflow as tf

from seq2seq_cli.config.training import TrainingConfig
from seq2seq_cli.errors import UsageError
from seq2seq_cli.runtime import devices, parallel, xla_cache
from seq2seq_cli.runtime import tensorflow as tensorflow_import


def test_importing_prints_nothing():
    code = "from seq2seq_cli.runtime.tensorflow import import_tensorflow as f; f(); "
    code += "import tensorflow as tf; "
    code += "tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stderr == b""
    assert run.stdout == b""


def test_a_failing_block_shows_the_suppressed_output(capfd):
    with pytest.raises(ValueError, match="x"), tensorflow_import._silent_stderr():
        os.write(2, b"the reason")
        raise ValueError("x")
    assert capfd.readouterr().err == "the reason"
    with tensorflow_import._silent_stderr():
        os.write(2, b"noise")
    assert capfd.readouterr().err == ""


def test_an_interrupted_block_shows_nothing(capfd):
    with pytest.raises(KeyboardInterrupt), tensorflow_import._silent_stderr():
        os.write(2, b"noise")
        raise KeyboardInterrupt
    assert capfd.readouterr().err == ""


class TestCache:
    """Where XLA keeps what it compiled."""

    @pytest.fixture
    def warnings(self, monkeypatch):
        monkeypatch.setenv("TF_XLA_FLAGS", "")

        def imported() -> list[str]:
            warnings = []
            tensorflow_import.import_tensorflow(warnings.append)
            return warnings

        return imported

    def test_a_writable_folder_is_created_and_used(self, warnings, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        assert warnings() == []
        folder = os.environ["TF_XLA_FLAGS"].partition("directory=")[2]
        assert folder.startswith(str(tmp_path / "cache/s2s/xla/"))
        assert os.listdir(folder) == []

    def test_a_folder_with_a_space_is_quoted(self, warnings, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my cache"))
        assert warnings() == []
        folder = os.environ["TF_XLA_FLAGS"].partition("directory=")[2]
        assert folder.startswith(f"'{tmp_path}/my cache/s2s/xla/")
        assert folder.endswith("'")

    def test_an_unwritable_folder_is_a_warning(self, warnings, tmp_path, monkeypatch):
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        (warning,) = warnings()
        assert warning.startswith(str(tmp_path / "file/s2s/xla/"))
        assert "cannot be written (Not a directory). XLA therefore compiles again at" in warning
        assert "cache" not in os.environ["TF_XLA_FLAGS"]

    def test_a_full_disk_is_a_warning(self, warnings, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        full = SimpleNamespace(free=3_000_000)
        monkeypatch.setattr(xla_cache.shutil, "disk_usage", lambda folder: full)
        (warning,) = warnings()
        assert "has only 3 MB of free space" in warning
        assert "cache" not in os.environ["TF_XLA_FLAGS"]


def test_the_oldest_files_of_a_large_folder_are_deleted(tmp_path):
    for age in range(4):
        path = tmp_path / f"folder {age % 2}" / f"{age}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"12345")
        os.utime(path, (1e9 - age, 1e9 - age))
    for most, kept in ((20, "0123"), (19, "012"), (12, "01"), (10, "01"), (0, "")):
        xla_cache.shrink(tmp_path, most)
        assert sorted(p.name for p in tmp_path.rglob("?")) == list(kept)
    xla_cache.shrink(tmp_path / "none", 0)


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: [])


@pytest.mark.usefixtures("no_gpu")
class TestWithoutGPU:
    @pytest.mark.parametrize("name", ["cpu", "auto"])
    def test_the_cpu_is_used_and_described(self, name):
        assert devices.use_device(name).startswith("CPU (")

    def build(self, monkeypatch, loads=(), **info):
        monkeypatch.setattr(tf.sysconfig, "get_build_info", lambda: info)
        monkeypatch.setattr(devices, "_loads", lambda library: library in loads)

    def error(self, name="gpu") -> str:
        with pytest.raises(UsageError) as caught:
            devices.use_device(name)
        return str(caught.value)

    def test_a_build_without_cuda_is_named(self, monkeypatch):
        self.build(monkeypatch, is_cuda_build=False)
        assert "--device gpu: this build of TensorFlow has no GPU support" in self.error()

    def test_a_missing_driver_is_named(self, monkeypatch):
        self.build(monkeypatch, is_cuda_build=True)
        assert "--device gpu:1: no NVIDIA driver is installed" in self.error("gpu:1")

    def test_missing_libraries_are_named(self, monkeypatch):
        self.build(monkeypatch, ("libcuda.so.1",), is_cuda_build=True, cuda_version="12.5.1")
        monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: None)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        message = self.error()
        assert "libcudart.so.12, libcublas.so.12, libcudnn.so.9 do not load" in message
        assert "pip install 's2s[gpu]'" in message

    def test_hidden_gpus_are_named(self, monkeypatch):
        self.build(monkeypatch, ("libcuda.so.1",), is_cuda_build=True)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
        assert "CUDA_VISIBLE_DEVICES='-1' hides every GPU" in self.error()

    def test_the_error_offers_the_cpu(self, monkeypatch):
        self.build(monkeypatch, is_cuda_build=False)
        assert self.error().endswith("Or use --device cpu")


@pytest.fixture
def two_gpus(monkeypatch):
    """Two GPUs that nothing computes on; the list of what was made visible."""
    visible = []
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: ["g0", "g1"])
    monkeypatch.setattr(tf.config, "set_visible_devices", lambda d, kind: visible.append(d))
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", lambda gpu, on: None)
    monkeypatch.setattr(
        tf.config.experimental, "get_device_details", lambda gpu: {"device_name": f"model {gpu}"}
    )
    return visible


@pytest.mark.parametrize(
    ("name", "chosen", "description"),
    [
        ("auto", ["g0"], "GPU 0 (model g0)"),
        ("gpu", ["g0"], "GPU 0 (model g0)"),
        ("gpu:1", ["g1"], "GPU 1 (model g1)"),
    ],
)
def test_only_the_requested_gpu_is_visible(two_gpus, name, chosen, description):
    assert devices.use_device(name) == description
    assert two_gpus == [chosen]


def test_all_gpus_and_one_device_exclude_each_other(two_gpus):
    assert devices.use_all_gpus("gpu") == "2 GPUs"
    assert two_gpus == [["g0", "g1"]]
    with pytest.raises(UsageError, match="--device gpu:1 is one device"):
        devices.use_all_gpus("gpu:1")


def test_the_cpu_hides_the_gpus(two_gpus):
    assert devices.use_device("cpu").startswith("CPU")
    assert two_gpus == [[]]


@pytest.mark.parametrize("name", ["cpu", "gpu:1"])
def test_a_device_cannot_be_chosen_after_the_first_operation(two_gpus, name, monkeypatch):
    def refuse(devices: list, kind: str) -> None:
        raise RuntimeError("cannot be modified after being initialized")

    monkeypatch.setattr(tf.config, "set_visible_devices", refuse)
    with pytest.raises(UsageError, match=f"--device {name}: chosen too late in this process"):
        devices.use_device(name)


def test_launched_processes_take_different_gpus(two_gpus, monkeypatch):
    for index, name in ((0, "auto"), (1, "gpu"), (2, "auto"), (3, "gpu:0")):
        monkeypatch.setenv(devices.LAUNCH_INDEX, str(index))
        devices.use_device(name)
    assert two_gpus == [["g0"], ["g1"], ["g0"], ["g0"]]


def test_a_gpu_that_is_in_use_already_keeps_its_memory(two_gpus, monkeypatch):
    def refuse(gpu: str, enabled: bool) -> None:
        raise RuntimeError("cannot be modified after being initialized")

    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", refuse)
    devices.use_device("gpu:1")
    assert two_gpus == [["g1"]]


def test_a_missing_gpu_is_refused(two_gpus):
    with pytest.raises(UsageError, match="--device gpu:2: there are 2 GPUs. The last is gpu:1"):
        devices.use_device("gpu:2")
    assert two_gpus == []


class TestThreads:
    @pytest.fixture(autouse=True)
    def four_cores(self, monkeypatch):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(4), raising=False)
        monkeypatch.setattr("seq2seq_cli.runtime.machine.OWN_GROUPS", Path("/none"))

    @pytest.mark.parametrize(
        ("settings", "shards"),
        [
            ({}, 2),
            ({"batch_tokens": 4096}, 4),
            ({"batch_tokens": 64}, 1),
            ({"batch_pairs": 100}, 3),
            ({"compile": "xla"}, 1),
            ({"batch_tokens": 64, "shards": 5}, 5),
        ],
    )
    def test_a_batch_is_split_for_the_cores_of_a_cpu(self, settings, shards):
        config = TrainingConfig(**{"compile": "graph", **settings})
        assert parallel.number_of_shards(config) == shards

    def test_a_gpu_computes_one_part_at_a_time(self, monkeypatch):
        monkeypatch.setattr(tf.config, "get_visible_devices", lambda _: ["g0"])
        assert parallel.number_of_shards(TrainingConfig(compile="graph", batch_tokens=4096)) == 1
        assert parallel.parts_at_once() == 1

    def test_a_batch_shape_costs_more_if_more_is_compiled_for_it(self, monkeypatch):
        def cost(kind: str, how: str) -> int:
            return parallel.cost_of_a_shape(kind, TrainingConfig(compile=how))

        assert cost("rnn", "xla") > cost("rnn", "auto") > cost("rnn", "graph")
        assert cost("transformer", "xla") > cost("transformer", "auto")
        monkeypatch.setattr(tf.config, "get_visible_devices", lambda _: ["g0"])
        assert cost("rnn", "auto") == cost("rnn", "xla")

    @pytest.mark.parametrize(("parts", "threads"), [(1, 4), (2, 2), (3, 1), (4, 1), (9, 1)])
    def test_parts_share_the_threads(self, monkeypatch, parts, threads):
        asked = []
        monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", asked.append)
        parallel.share_threads(parts)
        assert asked == [threads]

    def test_items_are_computed_in_parallel_and_returned_in_order(self):
        all_begun = threading.Barrier(4)

        def wait(item: int) -> int:
            all_begun.wait(timeout=10)
            return item

        assert list(parallel.in_parallel(wait, range(8))) == list(range(8))

    def test_after_an_error_no_further_item_is_computed(self):
        begun = []

        def fail_once(item: int) -> None:
            begun.append(item)
            if item == 0:
                raise ValueError(item)
            time.sleep(0.01)

        with pytest.raises(ValueError, match="0"):
            list(parallel.in_parallel(fail_once, range(10_000)))
        assert len(begun) < 5_000


@pytest.mark.parametrize("name", ["gpu:x", "gpu:-1", "tpu", "CPU", "cuda", ""])
def test_a_name_that_is_no_device_is_refused(name):
    with pytest.raises(UsageError, match="must be auto, cpu, gpu or gpu:N"):
        devices.use_device(name)
