import pytest

from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError


@pytest.mark.parametrize("content", [b"[training\n", b"\xff\xfe"])
def test_file_that_is_not_toml_is_named(tmp_path, content):
    (tmp_path / "c.toml").write_bytes(content)
    with pytest.raises(UsageError, match=r"c\.toml: not valid TOML"):
        load_config(Overrides.read(tmp_path / "c.toml"))


def test_later_layers_win():
    first, second = Overrides(), Overrides()
    first.set("training.seed", 1, "file")
    first.set("training.epochs", 3, "file")
    second.set_assignment("training.seed=2")
    config = load_config(first, second)
    assert (config.training.seed, config.training.epochs) == (2, 3)


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("training.seed=7", 7),
        ("training.device = cpu", "cpu"),
        ('training.device="cpu"', "cpu"),
        ("data.skip_bad_lines=true", True),
    ],
)
def test_assignment_is_toml_or_a_plain_string(assignment, value):
    overrides = Overrides()
    overrides.set_assignment(assignment)
    assert load_config(overrides).flat()[assignment.partition("=")[0].strip()] == value


def test_assignment_without_a_value_is_an_error():
    with pytest.raises(UsageError, match="expected KEY=VALUE"):
        Overrides().set_assignment("training.seed")


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400)])
def test_durations(text, seconds):
    overrides = Overrides()
    overrides.set_duration("training.budget_seconds", text, "--budget")
    assert load_config(overrides).training.budget_seconds == seconds


@pytest.mark.parametrize("text", ["10", "m", "-5m", "10 minutes", "1:30"])
def test_other_durations_are_errors(text):
    with pytest.raises(UsageError, match="expected a time such as 90s, 10m or 1.5h"):
        Overrides().set_duration("training.budget_seconds", text, "--budget")


@pytest.mark.parametrize(
    ("name", "score", "wiring"),
    [
        ("additive", "additive", "bahdanau"),
        ("bahdanau", "additive", "bahdanau"),
        ("dot", "dot", "luong"),
        ("general", "general", "luong"),
        ("luong", "general", "luong"),
        ("concat", "concat", "luong"),
        ("scaled-dot", "scaled_dot", "luong"),
        ("none", "none", "luong"),
        ("location", "location", "luong"),
        ("local-m", "general", "luong"),
    ],
)
def test_names_of_papers_set_score_and_wiring(name, score, wiring, tmp_path):
    overrides = Overrides()
    overrides.set_attention(name)
    config = load_config(overrides)
    assert (config.model.attention, config.model.wiring) == (score, wiring)
    (tmp_path / "c.toml").write_text(config.to_toml(), encoding="utf-8")
    assert load_config(Overrides.read(tmp_path / "c.toml"), overrides) == config


@pytest.mark.parametrize("name", ["local-m", "local-p"])
def test_local_attention_has_names_and_labels_of_its_own(name):
    overrides = Overrides()
    overrides.set_attention(name)
    model = load_config(overrides).model
    assert model.attention_span == name.replace("-", "_")
    assert model.label == f"rnn-general-{model.attention_span}"
    assert model.description == f"rnn, {name} general attention, luong wiring"


@pytest.mark.parametrize(
    ("values", "beam"), [({"sample": True}, 1), ({"sample": False}, 5), ({"length_penalty": 1}, 5)]
)
def test_a_run_with_a_beam_can_draw_samples(values, beam):
    run, options = Overrides(), Overrides()
    run.set("decoding.beam", 5, "config.toml")
    for key, value in values.items():
        options.set(f"decoding.{key}", value, f"--{key}")
    options.sample_instead_of_beam()
    assert load_config(run, options).decoding.beam == beam


def test_a_given_beam_and_samples_exclude_each_other():
    options = Overrides()
    options.set("decoding.sample", True, "--sample")
    options.set("decoding.beam", 5, "--beam")
    options.sample_instead_of_beam()
    with pytest.raises(UsageError, match="exclude each other"):
        load_config(options)


def test_a_given_wiring_works_with_any_score():
    overrides = Overrides()
    overrides.set("model.wiring", "bahdanau", "test")
    overrides.set_attention("dot")
    assert load_config(overrides).model.wiring == "bahdanau"
