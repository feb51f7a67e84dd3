"""The attention of dev sentences in the run folder."""

import pytest

from seq2seq_cli.errors import DiskError
from seq2seq_cli.runs.attention_history import AttentionHistory, SentenceAttention, Side, Snapshot


def snapshot(step: int, word: str = "uno") -> Snapshot:
    sides = Side(["▁o", "ne", "</s>"], ["one", "</s>"], [0, 0, 1]), Side([word], [word], [0])
    return Snapshot(step, step / 10, [SentenceAttention("one", word, *sides, [[0.25, 0.5, 0.25]])])


@pytest.fixture
def history(tmp_path) -> AttentionHistory:
    found = AttentionHistory(tmp_path / "attention")
    for step in (900, 90, 100_000_000):
        found.write(snapshot(step))
    return found


def test_snapshots_are_read_in_the_order_of_updates(history):
    assert history.read() == [snapshot(90), snapshot(900), snapshot(100_000_000)]


def test_a_resumed_training_removes_later_and_truncated_snapshots(history, tmp_path):
    history.write(snapshot(901))
    (tmp_path / "attention/.step-00000050.json.partial").write_text("{")
    history.forget_after(900)
    assert history.read() == [snapshot(90), snapshot(900)]
    names = ["step-00000090.json", "step-00000900.json"]
    assert sorted(path.name for path in (tmp_path / "attention").iterdir()) == names


def test_damaged_or_foreign_snapshots_are_left_out_with_a_warning(history, tmp_path):
    history.write(snapshot(91, "dos"))
    (tmp_path / "attention/step-00000900.json").write_text('{"step": 900}')
    warnings = []
    assert history.read(warnings.append) == [snapshot(90), snapshot(100_000_000)]
    assert [text.partition(": ")[2] for text in warnings] == [
        "cannot be read, and is left out",
        "has other sentences than the newest one, and is left out",
    ]


def test_without_snapshots_nothing_is_read(tmp_path):
    history = AttentionHistory(tmp_path / "attention")
    history.forget_after(0)
    assert history.read() == []


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "attention").write_text("")
    with pytest.raises(DiskError, match="cannot be written"):
        AttentionHistory(tmp_path / "attention").write(snapshot(1))
