"""The table `[decoding]`."""

from typing import Literal

from pydantic import Field, model_validator

from seq2seq_cli.config.table import Table


class DecodingConfig(Table):
    """`[decoding]`: how translations are searched for."""

    beam: int = Field(1, ge=1, le=10_000)
    """Hypotheses that are followed for each sentence; 1 is greedy decoding."""
    n_best: int = Field(1, ge=1, le=1000)
    """Translations given of each sentence: at most `beam` of them, or that many samples."""
    length_penalty: float = Field(0.6, ge=0, le=5)
    """A log-probability is divided by this power, alpha, of the length; 0 for no penalty."""
    length_penalty_kind: Literal["gnmt", "simple"] = "gnmt"
    """What has that power: `gnmt` (5 + length) / 6 (Wu et al. 2016), `simple` the length."""
    coverage_penalty: float = Field(0.0, ge=0, le=100)
    """Weight beta of the penalty for source tokens that got little attention (Wu et al. 2016)."""
    sample: bool = False
    """Draw each token by its probability, and do not search for the best."""
    temperature: float = Field(1.0, ge=0.001, le=100)
    """Of sampling: below 1 the probable becomes more probable, above 1 less."""
    top_k: int | None = Field(None, ge=1, le=1_000_000)
    """Of sampling: draw from the so many most probable tokens."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Of sampling: draw from the most probable tokens that together are so probable."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Of sampling: with the sentence's number, it determines all draws."""
    repetition_penalty: float = Field(1.0, ge=1, le=100)
    """Tokens that are in the translation already become less probable (Keskar et al. 2019)."""
    no_repeat_ngram: int = Field(0, ge=0, le=100)
    """No sequence of so many tokens comes twice in a translation; 0 for no such rule."""
    max_length: int | None = Field(None, ge=1, le=100_000)
    """A translation has at most so many tokens, its end included, whatever the source's length."""
    max_length_ratio: float = Field(2.0, gt=0, le=100)
    """A translation has at most this times the source's tokens, plus `max_length_extra`; where it
    begins with a prefix, at least one token more than that."""
    max_length_extra: int = Field(10, ge=0, le=100_000)
    """See `max_length_ratio`."""
    min_length: int = Field(0, ge=0, le=100_000)
    """A translation has at least so many tokens, its end included."""
    min_length_ratio: float = Field(0.0, ge=0, le=100)
    """A translation has at least this times the source's tokens."""
    max_source_tokens: int = Field(512, ge=4, le=1_000_000)
    """A longer source, and target to be scored, is cut, with a warning. A prefix may have as many
    where `max_length` is not given."""
    precision: Literal["auto", "float32", "bfloat16"] = "float32"
    """Of matrix products. bfloat16 is faster on some processors, and changes scores in the third
    digit; `auto` measures which is faster here."""
    batch_sentences: int = Field(256, ge=1, le=10**6)
    """Sentences translated at once."""
    batch_tokens: int = Field(4096, ge=1, le=10**9)
    """Size of a batch: sentences times the length of the longest, padding included; a batch has one
    sentence at least."""

    @model_validator(mode="after")
    def _keys_agree(self) -> "DecodingConfig":
        if self.sample and self.beam > 1:
            raise ValueError(
                f"decoding.sample = true and decoding.beam = {self.beam} exclude each other: "
                "samples are drawn, beams are searched. Leave one of them out"
            )
        if not self.sample and self.n_best > self.beam:
            raise ValueError(
                f"decoding.n_best = {self.n_best} asks for more translations than a beam of "
                f"{self.beam} finds. To search for them, add decoding.beam = {self.n_best}; to "
                "draw them, decoding.sample = true"
            )
        given = [
            f"decoding.{key} = {getattr(self, key)}"
            for key in ("temperature", "top_k", "top_p")
            if getattr(self, key) != type(self).model_fields[key].default
        ]
        if given and not self.sample:
            raise ValueError(
                f"only sampling uses {' and '.join(given)}. Add decoding.sample = true, or leave "
                f"{'it' if len(given) == 1 else 'them'} out"
            )
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(
                f"decoding.min_length = {self.min_length} is more than "
                f"decoding.max_length = {self.max_length}. Change one of them"
            )
        return self

    @property
    def description(self) -> str:
        """How it searches, in a word or two."""
        if self.sample:
            return "sampled"
        return "greedy" if self.beam == 1 else f"beam {self.beam}"
