import pytest

from seq2seq_cli.config import Config
from seq2seq_cli.config.files import load_config
from seq2seq_cli.config.messages import allowed
from seq2seq_cli.config.model import MODELS
from seq2seq_cli.config.overrides import Overrides
from seq2seq_cli.errors import UsageError


def error_of(text: str, tmp_path) -> str:
    path = tmp_path / "my.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_config(Overrides.read(path))
    return str(caught.value).replace(str(path), "my.toml")


@pytest.mark.parametrize("kind", MODELS)
def test_every_key_names_the_values_that_it_accepts(kind):
    for key in Config(model=MODELS[kind]()).flat():
        assert allowed(key, kind)


def test_key_of_another_kind_is_named(tmp_path):
    assert error_of('[model]\nkind = "transformer"\nattention = "additive"', tmp_path) == (
        "my.toml: model.attention is for model.kind = 'rnn'; it is 'transformer'"
    )
    assert error_of("[model]\nheads = 4", tmp_path) == (
        "my.toml: model.heads is for model.kind = 'transformer' or 'decoder_only'; it is 'rnn'"
    )
    assert error_of("[data]\nattention = 4", tmp_path) == (
        "my.toml: unknown key 'data.attention'; did you mean 'model.attention'?"
    )


def test_unknown_key_names_file_and_nearest_key(tmp_path):
    assert error_of("[training]\nbatch_token = 1", tmp_path) == (
        "my.toml: unknown key 'training.batch_token'; did you mean 'training.batch_tokens'?"
    )


def test_key_in_the_wrong_table_names_the_right_one(tmp_path):
    assert error_of("[model]\nbatch_tokens = 100", tmp_path) == (
        "my.toml: unknown key 'model.batch_tokens'; did you mean 'training.batch_tokens' or "
        "'decoding.batch_tokens'?"
    )


def test_unknown_table_is_named(tmp_path):
    assert "unknown key 'trainin.seed'; did you mean 'training.seed' or 'decoding.seed'?" in (
        error_of("[trainin]\nseed = 1", tmp_path)
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[training]\nbatch_tokens = "many"',
            "my.toml: training.batch_tokens must be a whole number from 64 to "
            "1000000; it is 'many'",
        ),
        (
            "[training]\nbatch_tokens = 1.5",
            "my.toml: training.batch_tokens must be a whole number from 64 to 1000000; it is 1.5",
        ),
        (
            "[training]\nseed = true",
            "my.toml: training.seed must be a whole number of at least 0 and below 2147483648; "
            "it is True",
        ),
        (
            "[model]\ndropout = 1.0",
            "my.toml: model.dropout must be a number of at least 0 and below 1; it is 1.0",
        ),
        (
            '[model]\nattention = "flash"',
            "my.toml: model.attention must be one of 'additive', 'dot', 'general', 'concat', "
            "'scaled_dot', 'location', 'none'; it is 'flash'",
        ),
        (
            '[model]\nkind = "cnn"\nheads = 4',
            "my.toml: model.kind must be one of 'rnn', 'transformer', 'decoder_only'; it is 'cnn'",
        ),
        (
            '[model]\nkind = "transformer"\nnorm = "none"',
            "my.toml: model.norm must be one of 'pre', 'post'; it is 'none'",
        ),
        (
            '[model]\nkind = "decoder_only"\nunits = 33\nheads = 3',
            "my.toml: model.units must be a whole number from 4 to 16384 and "
            "divisible by 2; it is 33",
        ),
        (
            '[training]\ndevice = "tpu"',
            "my.toml: training.device must be auto, cpu, gpu or gpu:N; it is 'tpu'",
        ),
        (
            "[data]\nskip_bad_lines = 1",
            "my.toml: data.skip_bad_lines must be true or false; it is 1",
        ),
    ],
)
def test_wrong_value_names_the_key_the_allowed_values_and_the_given_one(text, message, tmp_path):
    assert error_of(text, tmp_path) == message


def test_impossible_combinations_are_named(tmp_path):
    assert error_of('[data]\nsource_language = "es"', tmp_path) == (
        "my.toml: data.source_language and data.target_language must differ; both are 'es'"
    )
    assert error_of("[training]\nbatch_tokens = 100\nmax_source_tokens = 200", tmp_path) == (
        "my.toml: training.batch_tokens (100) cannot hold one pair of the length that "
        "training.max_source_tokens and max_target_tokens allow (200)"
    )


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('kind = "words"\nsampling_alpha = 0.1', ["sampling_alpha", "kind"]),
        ('kind = "bytes"\nmodel = "m"', ["model", "kind"]),
        ('kind = "bpe"\nmodel = "m"\ntarget_model = "n"', ["target_model", "vocabularies"]),
        ('vocabularies = "separate"\nmodel = "m"', ["model", "target_model", "vocabularies"]),
        ('vocabularies = "separate"\ntarget_model = "m"', ["target_model", "vocabularies"]),
    ],
)
def test_contradictions_of_the_tokenizer_name_their_keys(text, keys, tmp_path):
    message = error_of(f"[tokenizer]\n{text}", tmp_path)
    assert message.startswith("my.toml: tokenizer.")
    assert all(f"tokenizer.{key}" in message for key in keys)


def test_impossible_transformers_are_named(tmp_path):
    assert error_of('[model]\nkind = "transformer"\nheads = 3', tmp_path) == (
        "my.toml: model.units must be divisible by model.heads; they are 256 and 3. Change one of "
        "them, or set model.head_units"
    )
    learned = '[model]\nkind = "{}"\npositions = "learned"\nmax_positions = 100'
    assert error_of(learned.format("decoder_only"), tmp_path) == (
        "my.toml: model.max_positions (100) is too small for the sentences that "
        "training.max_source_tokens and max_target_tokens allow: 128 are needed"
    )


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_no_number_may_be_infinite_or_nan(value, tmp_path):
    for key, default in Config().flat().items():
        if isinstance(default, float):
            table, _, name = key.partition(".")
            message = error_of(f"[{table}]\n{name} = {value}", tmp_path)
            assert message.startswith(f"my.toml: {key} must be a finite number ")
            assert message.endswith(f"; it is {value}")


def test_a_wrong_combination_names_the_options_and_the_file_it_comes_from():
    written, typed = Overrides(), Overrides()
    written.set("decoding.beam", 5, "my.toml")
    written.set("decoding.n_best", 1, "my.toml")
    typed.flags = {"decoding.beam": "--beam", "decoding.sample": "--sample"}
    typed.set("decoding.sample", True, "--sample")
    with pytest.raises(UsageError) as caught:
        load_config(written, typed)
    assert str(caught.value) == (
        "my.toml: --sample and decoding.beam = 5 exclude each other: sampling does not use "
        "a beam. Leave one of them out"
    )


def test_options_that_a_contradiction_does_not_name_are_left_out():
    values = Overrides()
    values.set("model.kind", "transformer", "--model")
    values.set("tokenizer.model", "m", "--set tokenizer.model")
    values.set("model.heads", 3, "--set model.heads")
    with pytest.raises(UsageError, match="^--set model.heads: model.units must be divisible"):
        load_config(values)


def test_a_table_in_place_of_a_key_does_not_hide_a_contradiction():
    values = Overrides()
    values.set("data", "my.tsv", "--set data")
    values.set("data.source_language", "es", "--source")
    with pytest.raises(UsageError) as caught:
        load_config(values)
    first, second = str(caught.value).splitlines()
    assert first.startswith("--set data: 'data' is a table")
    assert second.startswith("--source: data.source_language and data.target_language must")


def test_all_errors_are_reported_at_once(tmp_path):
    message = error_of("[training]\nseed = -1\nspeed = 2\n[model]\ndropout = 2.0", tmp_path)
    assert message.count("my.toml:") == 3


def test_a_dot_product_of_unequal_widths_names_both(tmp_path):
    text = '[model]\nattention = "dot"\nencoder_units = 100\ndecoder_units = 300'
    assert error_of(text, tmp_path) == (
        "my.toml: model.attention 'dot' multiplies the decoder's states, of width 300 "
        "(model.decoder_units), by the encoder's values, of width 200 (twice model.encoder_units); "
        "the widths must be equal. Leave out model.decoder_units or set it to 200, or use "
        "model.attention 'general', which works with any widths"
    )
    error = error_of(text + "\nbidirectional = false", tmp_path)
    assert "of width 100 (model.encoder_units)" in error


def test_a_decoder_that_would_see_nothing_of_the_source_is_refused(tmp_path):
    text = '[model]\nattention = "none"\nbridge = "zero"'
    assert error_of(text, tmp_path) == (
        "my.toml: model.bridge 'zero' hides the source from the decoder, because model.attention "
        "is 'none' and model.wiring is 'luong'. Set model.bridge to 'projection' or model.wiring "
        "to 'bahdanau'"
    )


def test_a_maxout_of_the_attentional_vector_is_refused(tmp_path):
    text = '[model]\nattention = "general"\nreadout = "maxout"'
    assert "model.readout 'maxout' needs model.wiring 'bahdanau'" in error_of(text, tmp_path)


def test_rotary_positions_need_an_even_number_of_units_in_a_head(tmp_path):
    text = '[model]\nkind = "transformer"\nunits = 12\nheads = 4\npositions = "rotary"'
    assert error_of(text, tmp_path).endswith("model.units / model.heads is 3")


def test_heads_of_keys_divide_those_of_queries(tmp_path):
    text = '[model]\nkind = "transformer"\nunits = 12\nheads = 4\nkey_value_heads = 3'
    assert error_of(text, tmp_path) == (
        "my.toml: model.key_value_heads must divide model.heads; they are 3 and 4"
    )


def test_parallel_blocks_need_the_norm_before(tmp_path):
    text = '[model]\nkind = "decoder_only"\nparallel_blocks = true\nnorm = "post"'
    assert error_of(text, tmp_path).endswith("model.norm must be 'pre'; it is 'post'")


def test_location_attention_needs_positions_for_the_longest_source(tmp_path):
    text = '[model]\nattention = "location"\n[training]\nmax_source_tokens = 200'
    assert error_of(text, tmp_path) == (
        "my.toml: model.attention_positions (128) is too small for the sources that "
        "training.max_source_tokens allows. Set it to 200 or more"
    )


def test_a_window_without_attention_is_refused(tmp_path):
    text = '[model]\nattention = "none"\nattention_span = "local_p"'
    assert "Leave out one of them" in error_of(text, tmp_path)


def test_coverage_without_attention_is_refused(tmp_path):
    text = '[model]\nattention = "none"\n[decoding]\ncoverage_penalty = 0.2'
    assert error_of(text, tmp_path) == (
        "my.toml: decoding.coverage_penalty (0.2) needs attention, but model.attention is 'none'. "
        "Change one of them"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "corpus = 'tatoeba'\nsources = [{corpus = 'a.tsv'}]",
            "{path}: data.corpus and data.sources exclude each other; data.corpus is "
            "'tatoeba', and data.sources has 1 entries",
        ),
        (
            "sources = [{corpus = 'a.tsv'}, {corpus = 'b.tsv', weight = 0.0}]",
            "{path}: data.sources[1].weight must be a number from 0.001 to 1000; it is 0.0",
        ),
        (
            "sources = [{wight = 1.0, corpus = 'a.tsv'}]",
            "{path}: data.sources[0].wight: Extra inputs are not permitted. The keys of an entry "
            "are corpus, weight, columns, tag, train_only, target_language",
        ),
        (
            "sources = 'a.tsv'",
            "{path}: data.sources must be a list of tables, such as [[data.sources]] with corpus = "
            "\"a.tsv\", weight = 2.0; it is 'a.tsv'",
        ),
    ],
)
def test_errors_in_sources_are_named(tmp_path, text, message):
    path = tmp_path / "c.toml"
    path.write_text(f"[data]\n{text}\n")
    with pytest.raises(UsageError) as caught:
        load_config(Overrides.read(path))
    assert str(caught.value) == message.format(path=path)
