"""The engine and the command with a trained run."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, closing
from importlib import import_module
from unittest import mock

import pytest
from conftest import s2s, toy_pairs
from scripted_server import running, wait_until

import seq2seq_cli
from seq2seq_cli.decoding.loading import load_run
from seq2seq_cli.errors import CheckpointError, UsageError
from seq2seq_cli.runs.run import Run
from seq2seq_cli.serving.engine import RunEngine
from seq2seq_cli.serving.limits import Limits
from seq2seq_cli.serving.work import Work

SENTENCES = [source for source, _ in toy_pairs()[::25]]


@pytest.fixture(scope="module")
def shared(trained):
    engine = RunEngine([(load_run(Run(trained), print), "an RNN")], beams=[3], batch=8)
    with running(engine) as server:
        wait_until(lambda: server.get("/ready")[0] == 200)
        yield server


@pytest.fixture(scope="module")
def model(trained):
    return seq2seq_cli.load(trained)


@pytest.mark.usefixtures("uncompiled")  # for Python; the server's searches are made before
@pytest.mark.parametrize(
    "options",
    [{}, {"beam": 3}, {"beam": 4, "n_best": 2}, {"prefix": "ellos"}, {"beam": 3, "prefix": "yo"}],
)
def test_translations_equal_those_of_the_python_interface(shared, model, options):
    _, answer = shared.post("/v1/translate", {"text": SENTENCES, **options})
    found = [each["text"] for each in answer["translations"]]
    expected = model.translate(SENTENCES, **options)
    assert found == [each[0] if options.get("n_best") else each for each in expected]


@pytest.mark.usefixtures("uncompiled")
def test_samples_depend_only_on_the_seed(shared, model):
    options = {"sample": True, "temperature": 3.0, "seed": 1}
    assert len(SENTENCES) > 8  # those of a batch
    _, answer = shared.post("/v1/translate", {"text": SENTENCES, **options})
    found = [each["text"] for each in answer["translations"]]
    assert found == model.translate(SENTENCES, **options)


def test_scores_and_attention_equal_those_of_the_python_interface(shared, model):
    sentence, translation = SENTENCES[0], model.translate(SENTENCES[0])
    asked = {"source_text": sentence, "translation": translation}
    (found,) = shared.post("/v1/score", asked)[1]["scores"]
    expected = model.score(sentence, translation)
    assert found["log_probability"] == pytest.approx(expected, abs=1e-3)
    _, answer = shared.post("/v1/translate", {"text": sentence, "attention": True})
    read, own = answer["translations"][0]["attention"], model.attention(sentence)
    assert read["target_words"] == own.target_words
    assert read["weights"][0] == pytest.approx(own.word_weights[0].tolist(), abs=1e-3)
    assert any(len(each) > 1 for each in read["alternatives"])


def test_requests_before_it_is_warm_leave_the_search_compiled(trained):
    engine = RunEngine([(load_run(Run(trained), print), "an RNN")])
    run = engine.runs[0]
    work = Work("translate", run.name, run.directions[0].target, run.decoding)
    engine.check(work)
    engine.warm_up()
    assert engine._of(work)._search is engine._searches[work]
    assert engine._searches[work]._run.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    ("options", "error"),
    [({"rerank": "none"}, CheckpointError), ({"beam": 5000}, UsageError)],
)
def test_a_search_that_a_run_does_not_support_is_found_at_the_start(trained, options, error):
    run = load_run(Run(trained), print)
    wrong = run._replace(decoding=run.decoding.model_copy(update=options))
    with pytest.raises(error):
        RunEngine([(wrong, "an RNN")])


def test_a_stream_grows_to_the_translation(shared, model):
    body = json.dumps({"text": SENTENCES[0], "stream": True}).encode()
    _, _, answer = shared.raw("POST", "/v1/translate", body, content_type="application/json")
    last = answer.decode().strip().split("\n\n")[-1]
    assert json.loads(last.partition("data: ")[2])["text"] == model.translate(SENTENCES[0])


def test_a_long_prefix_is_refused(shared):
    status, answer = shared.post(
        "/v1/translate", {"text": "a", "prefix": "yo " * 50, "max_length": 5}
    )
    assert status == 422
    assert "prefix has" in answer["error"]
    long = {"text": "a", "prefix": "yo " * 600, "stream": True}
    status, answer = shared.post("/v1/translate", long)
    assert (status, "prefix has" in answer["error"]) == (422, True)


def test_the_command_serves_until_sigterm_and_finishes_accepted_requests(home, trained):
    command = [sys.executable, "-m", "seq2seq_cli", "serve", "--run", trained.name, "--port", "0"]
    (home / "keys").write_text("key\n")
    command += ["--batch", "4", "--access-log", "--api-keys", str(home / "keys")]
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
        ExitStack() as end,
    ):
        end.callback(process.kill)  # also if an assertion fails
        lines = iter(process.stderr.readline, "")
        port = next(int(x.rsplit(":", 1)[1].split()[0]) for x in lines if "running on" in x)

        def asked(texts, key="key"):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            headers = {"content-type": "application/json", "x-api-key": key}
            connection.request("POST", "/v1/translate", json.dumps({"text": texts}), headers)
            return connection

        with closing(asked(["a"], key="other")) as refused:
            assert refused.getresponse().status == 401

        with closing(asked([SENTENCES[0]])) as first:
            answer = first.getresponse()
            assert (answer.status, bool(answer.read())) == (200, True)
        with closing(asked(SENTENCES * 5)) as many:
            wait_until(lambda: waiting(port) > 0)
            process.send_signal(signal.SIGTERM)
            answer = many.getresponse()
            assert answer.status == 200
            assert len(json.load(answer)["translations"]) == len(SENTENCES * 5)
        assert process.wait(60) == 0


@pytest.mark.parametrize(("given", "used"), [({}, "0"), ({"TF_ENABLE_ONEDNN_OPTS": "1"}, "1")])
def test_the_command_leaves_out_onednn_unless_told(home, trained, monkeypatch, given, used):
    seen = []

    def stopped(device):
        seen.append(os.environ["TF_ENABLE_ONEDNN_OPTS"])
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("seq2seq_cli.cli.serve"), "start_tensorflow", stopped)
    with mock.patch.dict(os.environ):
        os.environ.pop("TF_ENABLE_ONEDNN_OPTS", None)
        os.environ.update(given)
        s2s("serve", "--run", trained.name, "--port", "0")
    assert seen == [used]


def waiting(port):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/metrics", headers={"x-api-key": "key"})
        text = connection.getresponse().read().decode()
    return float(re.search(r"^s2s_waiting_sentences (\S+)", text, re.MULTILINE)[1])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--run", "none"], 4, "no such run"),
        (["--host", "999.1.1.1"], 2, "--host 999.1.1.1"),
        (["--compile-beam", "99"], 2, "--compile-beam 99"),
        (["--max-waiting", "9", "--max-sentences", "10"], 2, "--max-waiting 9 is less than"),
        (["--api-keys", os.devnull], 3, "contains no key"),
    ],
)
def test_wrong_options_end_the_command(home, arguments, code, message):
    ended, _, errors = s2s("serve", *arguments)
    assert ended == code
    assert message in errors


def test_the_command_passes_its_limits_on(home, trained, monkeypatch):
    made = {}

    def service(engine, limits, batch, delay, keys):
        made.update(limits=limits, batch=batch, delay=delay, keys=keys)
        raise UsageError("enough")

    monkeypatch.setattr("seq2seq_cli.serving.service.Service", service)
    (home / "keys").write_text("one\ntwo\n")
    numbers = {"bytes": 1001, "sentences": 102, "characters": 1003, "waiting": 104, "hypotheses": 5}
    options = [f"--max-{name}={number}" for name, number in numbers.items()]
    options += ["--max-seconds=6", "--upload-seconds=7", "--batch=8", "--delay=9", "--port=0"]
    code, _, _ = s2s("serve", "--run", trained.name, "--api-keys", str(home / "keys"), *options)
    assert code == 2
    assert made["limits"] == Limits(
        **{name.replace("bytes", "body_bytes"): number for name, number in numbers.items()},
        seconds=6,
        upload_seconds=7,
    )
    assert (made["batch"], made["delay"], made["keys"]) == (8, 0.009, ["one", "two"])
