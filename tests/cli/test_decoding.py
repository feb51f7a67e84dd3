import io
import json
import os
import re
import threading
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from conftest import invoke, s2s, toy_pairs

from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.data.tokenizers.words import Words
from seq2seq_cli.decoding import translator
from seq2seq_cli.decoding.alignment import align, copy_unknown
from seq2seq_cli.decoding.encoding import token_ids
from seq2seq_cli.decoding.scoring import Scorer, score_lines
from seq2seq_cli.decoding.translator import load_run, translate_lines
from seq2seq_cli.errors import DiskError, UsageError
from seq2seq_cli.runs.run import Run
from seq2seq_cli.special_tokens import EOS, UNK

SENTENCE = "I see one cats."


def fail(message: str) -> None:
    raise AssertionError(message)


def test_n_best_gives_so_many_lines_with_falling_scores(home):
    lines = invoke("translate", SENTENCE, "", "--beam", "4", "--n-best", "3", "--scores")
    assert len(lines) == 6
    scores = [float(line.split("\t")[0]) for line in lines[:3]]
    assert scores == sorted(scores, reverse=True)
    assert len(set(lines[:3])) == 3


def test_a_beam_finds_at_least_what_greedy_finds(home):
    greedy, beam = (
        json.loads(invoke("translate", SENTENCE, "--json", "--beam", k)[0]) for k in ("1", "5")
    )
    assert beam["log_probability"] >= greedy["log_probability"] - 1e-4


def test_a_seed_holds_for_samples_and_their_order_does_not_matter(home):
    sentences = [source for source, _ in toy_pairs()[::50]]
    sample = ["--sample", "--temperature", "3", "--json"]

    def drawn(*options: str) -> list[str]:
        lines = invoke("translate", *sentences, *sample, *options)
        return [json.loads(line)["translation"] for line in lines]

    assert drawn("--seed", "1") == drawn("--seed", "1", "--batch-tokens", "1")
    assert drawn("--seed", "1") != drawn("--seed", "2")
    cold = invoke("translate", *sentences, "--sample", "--top-k", "1")
    assert cold == invoke("translate", *sentences)


def test_a_prefix_begins_every_translation(home):
    found = invoke("translate", SENTENCE, "we eat two books.", "", "--prefix", "ellos")
    assert [line.startswith("ellos") for line in found] == [True, True, False]


def test_the_maximum_length_is_in_tokens(home):
    record = json.loads(
        invoke("translate", SENTENCE, "--max-length", "2", "--alignments", "--json")[0]
    )
    assert len(record["attention"]["target_tokens"]) == 2


def test_a_prefix_may_repeat_itself_though_nothing_else_may(home):
    options = ["--set", "decoding.no_repeat_ngram=1"]
    for beam in ("1", "3"):
        (found,) = invoke("translate", SENTENCE, "--prefix", "yo yo", "--beam", beam, *options)
        assert found.startswith("yo yo")


def test_alignments_are_of_words_and_soft_ones_of_tokens(home):
    line = invoke("translate", SENTENCE, "--alignments")[0]
    text, alignment = line.split("\t")
    pairs = re.findall(r"(\d+)-(\d+)", alignment)
    assert [int(j) for _, j in pairs] == list(range(len(text.split())))
    assert all(int(i) < len(SENTENCE.split()) for i, _ in pairs)
    record = json.loads(invoke("translate", SENTENCE, "--alignments", "--json")[0])
    assert record["alignment"] == alignment
    soft = record["attention"]
    assert np.shape(soft["weights"]) == (len(soft["target_tokens"]), len(soft["source_tokens"]))
    np.testing.assert_allclose(np.sum(soft["weights"], axis=1), 1, atol=1e-3)


def test_tokens_of_spaces_are_aligned_to_no_word(trained):
    tokenizers = load_run(Run(trained), fail).tokenizers
    space = tokenizers.target.pieces(range(tokenizers.target.vocabulary_size)).index("▁")
    source = token_ids(tokenizers.source, [SENTENCE])[0]
    assert align(tokenizers, source, [space, space, EOS], np.ones([3, len(source)])).words == []


def test_a_run_twice_is_an_ensemble_that_equals_it(home, trained):
    alone = invoke("translate", SENTENCE, "--scores", "--run", trained.name)
    assert (
        invoke("translate", SENTENCE, "--scores", "--run", trained.name, "--run", trained.name)
        == alone
    )


def test_the_score_of_a_translation_is_that_of_its_search(home):
    record = json.loads(invoke("translate", SENTENCE, "--json")[0])
    found = json.loads(invoke("score", SENTENCE, record["translation"], "--json")[0])
    assert found["log_probability"] == pytest.approx(record["log_probability"], abs=1e-3)
    by_token = [token["log_probability"] for token in found["tokens"]]
    assert sum(by_token) == pytest.approx(found["log_probability"], abs=1e-5)
    plain = invoke("score", SENTENCE, record["translation"], "--tokens")[0].split("\t")
    assert float(plain[0]) == pytest.approx(found["log_probability"], abs=1e-4)
    assert len(plain[1].split()) == len(by_token)
    assert float(invoke("score", SENTENCE, "gatos gatos")[0]) < found["log_probability"]


def test_scoring_in_batches_changes_no_score(trained):
    loaded = load_run(Run(trained), fail)
    pairs = [*toy_pairs()[::40], ("", "a"), ("a", "")]
    scorer = Scorer(loaded.model, loaded.tokenizers, loaded.decoding)
    together = [found.log_probability for found in scorer.score(pairs)]
    alone = [scorer.score([pair])[0].log_probability for pair in pairs]
    np.testing.assert_allclose(together, alone, atol=1e-3)
    assert scorer.score([]) == []


def test_a_line_without_a_translation_is_named_after_those_before_it(trained):
    loaded = load_run(Run(trained), fail)
    scorer = Scorer(loaded.model, loaded.tokenizers, loaded.decoding)
    lines = score_lines(scorer, io.BytesIO(b"a\tb\nc\n"), "x")
    assert next(lines)[1] == ("a", "b")
    with pytest.raises(UsageError, match=r"x:2: 1 column where 2 are expected .* have been scored"):
        next(lines)


def test_no_input_is_overwritten(home, tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("one cat\n")
    for command in ("translate", "score"):
        code, _, error = s2s(command, "--input", str(path), "--output", f"{tmp_path}/./in.txt")
        assert code == 2
        assert "is the --input, and would overwrite it" in error
    assert path.read_text() == "one cat\n"


def test_a_pipe_is_an_input(home, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=[b"I see one cats.\n\n"]).start()
    assert len(invoke("translate", "--input", str(pipe))) == 2


def test_output_goes_to_a_file(home, tmp_path):
    out = tmp_path / "out.txt"
    assert invoke("translate", SENTENCE, "--output", str(out)) == []
    assert out.read_text(encoding="utf-8").count("\n") == 1
    with pytest.raises(DiskError, match="--output .*: cannot be written"):
        invoke("translate", SENTENCE, "--output", str(tmp_path / "none" / "x"))


def test_a_cut_line_is_named_and_gives_one_line(home):
    code, out, err = s2s("translate", stdin=b"I see one cats.\n" + b"cats " * 600 + b"\n\n")
    assert code == 0
    assert out.count("\n") == 3
    assert err == "warning: line 2: cut the source to 512 tokens (decoding.max_source_tokens)\n"


def test_a_warning_names_the_sides_that_were_cut(home):
    long = b"cats " * 600
    lines = [b"a\t" + long, long + b"\tb", long + b"\t" + long]
    code, out, err = s2s("score", stdin=b"\n".join(lines))
    assert (code, out.count("\n")) == (0, 3)
    sides = ["translation", "source", "source and the translation"]
    assert err.splitlines() == [
        f"warning: line {n}: cut the {side} to 512 tokens (decoding.max_source_tokens)"
        for n, side in enumerate(sides, start=1)
    ]


def test_score_gives_a_line_for_each_line_an_empty_one_for_an_empty_one(home):
    text = b"I see one cats.\tyo\n\n \t\r\nI see one cats.\tyo\n"
    for options in ([], ["--tokens"]):
        code, out, _ = s2s("score", *options, stdin=text)
        assert code == 0
        assert [bool(line) for line in out.split("\n")] == [True, False, False, True, False]
    records = [json.loads(line) for line in s2s("score", "--json", stdin=text)[1].splitlines()]
    assert [record["log_probability"] is None for record in records] == [False, True, True, False]
    assert records[1] == {"source": "", "translation": "", "log_probability": None, "tokens": []}


def test_an_endless_line_takes_no_endless_memory(trained):
    class Endless(io.RawIOBase):
        blocks = 40

        def read(self, size=-1):
            self.blocks -= 1
            return "ñ".encode() * (size // 2) if self.blocks else b""

    loaded = load_run(Run(trained), fail).translator()
    ((number, line, translation),) = translate_lines(loaded, Endless(), "x")
    assert number == 1
    assert len(line.encode()) == 1 << 20
    assert translation.cut


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--beam", "5000"],
            r"decoding.beam \(--beam\) is 5000, and the target vocabulary has",
        ),
        (
            ["--beam", "0"],
            "--beam: decoding.beam must be a whole number at least 1 and at most 10000; it is 0",
        ),
        (["--sample", "--beam", "3"], "^--sample and --beam 3 exclude each other"),
        (
            ["--n-best", "3"],
            "^--n-best 3 asks for more translations than a beam of 1 finds. To search for them, "
            "add --beam 3; to draw them, --sample$",
        ),
        (
            ["--set", "decoding.n_best=3"],
            "^--set decoding.n_best: decoding.n_best = 3 asks .* add --beam 3",
        ),
        (["--n-best", "1001", "--sample"], "--n-best: .* at least 1 and at most 1000; it is 1001"),
        (["--top-k", "1"], "^only sampling uses --top-k 1. Add --sample, or leave it out$"),
        (
            ["--temperature", "0.5", "--top-p", "0.5"],
            "^only sampling uses --temperature 0.5 and --top-p 0.5. Add --sample, or leave them o",
        ),
        (
            ["--sample", "--temperature", "0"],
            "--temperature: .* must be a number at least 0.001 and at most 100; it is 0",
        ),
        (
            ["--sample", "--temperature", "1e308"],
            "--temperature: .* must be a number at least 0.001 and at most 100; it is 1e[+]308",
        ),
        (
            ["--sample", "--temperature", "1e-300"],
            "--temperature: .* must be a number at least 0.001 and at most 100; it is 1e-300",
        ),
        (
            ["--set", "decoding.max_length_ratio=1e308"],
            "max_length_ratio must be a number above 0 and at most 100; it is 1e[+]308",
        ),
        (
            ["--max-length", "1", "--prefix", "Me"],
            r"^--prefix has \d+ tokens, and the end of a translation is one more; "
            r"decoding.max_length \(--max-length\) is 1. Raise it to at least \d+, or shorten",
        ),
        (
            ["--prefix", "yo " * 600],
            r"^--prefix has [\d,]+ tokens; decoding.max_source_tokens allows 512. Shorten",
        ),
        (
            ["--max-length", "0"],
            "--max-length: decoding.max_length must be a whole number at least",
        ),
        (["--seed", "-1", "--sample"], "--seed: decoding.seed must be a whole number at least 0"),
        (["--sample", "--top-p", "1.5"], "--top-p: .* must be a number above 0 and at most 1"),
        (["--seed", "3"], "--seed is for --sample"),
        (
            ["--set", "decoding.min_length=9", "--max-length", "4"],
            "--set decoding.min_length: decoding.min_length = 9 is more than --max-length 4",
        ),
        (["--set", "training.seed=9"], "--set training.seed: a trained run takes keys of decoding"),
        (["--replace-unknown"], "copies whole words, and this run's tokenizer.kind is 'unigram'"),
        (["--input", "x"], "sentences and --input exclude each other"),
    ],
)
def test_bad_options_are_named(home, options, message):
    with pytest.raises(UsageError, match=message):
        invoke("translate", SENTENCE, *options)


@pytest.mark.parametrize("temperature", ["0.001", "100"])
def test_the_extreme_temperatures_draw_text(home, temperature):
    (found,) = invoke("translate", SENTENCE, "--sample", "--temperature", temperature)
    assert found


def test_top_k_may_be_more_than_the_vocabulary(home):
    options = ["--sample", "--seed", "3"]
    everything = invoke("translate", SENTENCE, *options, "--top-k", "100000")
    assert everything == invoke("translate", SENTENCE, *options, "--top-k", "10000")


@pytest.mark.parametrize(
    "error", [MemoryError(), tf.errors.ResourceExhaustedError(None, None, "OOM")]
)
def test_a_batch_that_does_not_fit_in_memory_says_what_to_lower(trained, monkeypatch, error):
    def fill_memory(*arguments: object) -> None:
        raise error

    loaded = load_run(Run(trained), fail)
    config = loaded.decoding.model_copy(update={"beam": 3, "batch_tokens": 10**9})
    message = (
        r"^a batch of 2 × \d+ tokens does not fit in memory. Lower one of decoding.batch_tokens "
        r"\(1000000000\), decoding.batch_sentences \(256\), decoding.max_source_tokens \(512\), "
        r"decoding.beam \(3\)$"
    )
    translator = loaded.translator(config)
    monkeypatch.setattr(translator, "_search", fill_memory)
    with pytest.raises(UsageError, match=message):
        translator.translate([SENTENCE, SENTENCE])
    scorer = Scorer(loaded.model, loaded.tokenizers, config)
    monkeypatch.setattr(scorer, "_run", fill_memory)
    with pytest.raises(UsageError, match=message):
        scorer.score([(SENTENCE, "yo")] * 2)


def with_tokenizers(monkeypatch, run: Run, **changed) -> None:
    """Let `load_run` give other tokenizers for a run."""

    def load(other, report):
        loaded = load_run(other, report)
        if other is not run:
            return loaded
        return loaded._replace(tokenizers=replace(loaded.tokenizers, **changed))

    monkeypatch.setattr(translator, "load_run", load)


def test_runs_of_other_target_vocabularies_make_no_ensemble(trained, monkeypatch):
    second = Run(trained)
    with_tokenizers(monkeypatch, second, target=Words(["▁a"]))
    with pytest.raises(UsageError, match="only runs with the same target vocabulary make an ens"):
        translator.load_ensemble([Run(trained), second], fail)


def test_eval_searches_and_averages_as_it_is_told(home, trained):
    runs = ["--run", trained.name, "--run", trained.name]
    record = json.loads(invoke("eval", "--json", "--beam", "3", *runs)[0])
    assert record["search"] == "beam 3"
    assert record["run"].count(trained.name) == 2
    assert record["bleu"] == json.loads(invoke("eval", "--json", "--beam", "3")[0])["bleu"]


def test_members_of_an_ensemble_read_the_source_each_in_its_own_tokens(trained, monkeypatch):
    single = load_run(Run(trained), fail)
    pieces = single.tokenizers.source

    class Doubled(type(pieces)):
        """Reads every sentence twice."""

        fingerprint = "other"

        def tokenize(self, sentences):
            return super().tokenize(tf.strings.join([sentences, sentences], " "))

    second = Run(trained)
    with_tokenizers(monkeypatch, second, source=Doubled(pieces.serialise()))
    loaded = translator.load_ensemble([Run(trained), second], fail)
    (found,) = loaded.translator().translate([SENTENCE])
    assert found.tokens > 0
    scorer = Scorer(loaded.model, loaded.tokenizers, loaded.decoding, sources=loaded.sources)
    (score,) = scorer.score([(SENTENCE, found.text)])
    assert score.log_probability == pytest.approx(found.log_probability, abs=1e-3)
    one = Scorer(single.model, single.tokenizers, single.decoding)
    by_member = [
        one.score([(source, found.text)])[0].token_log_probabilities
        for source in (SENTENCE, f"{SENTENCE} {SENTENCE}")
    ]
    np.testing.assert_allclose(
        np.exp(score.token_log_probabilities), np.exp(by_member).mean(axis=0), atol=1e-4
    )
    with pytest.raises(UsageError, match="source vocabularies differ"):
        loaded.translator(alignments=True)


def test_unknown_words_are_copied_by_attention():
    words = Words(["▁a", "▁b", "▁c", "▁¿"])
    tokenizers = Tokenizers(words, words)
    ids = [words.vocabulary_size - 4, UNK, UNK, EOS]
    text = words.detokenize([ids])[0]
    weights = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 0.4, 0, 0.6], [0, 0, 0, 1]])
    assert copy_unknown(tokenizers, "a Tom's Boston", text, ids, weights) == "a Boston Tom's"


def test_defaults_stand_in_the_config(trained):
    options = Overrides()
    options.set("decoding.beam", 4, "--beam")
    assert Run(trained).config(options).decoding.beam == 4
