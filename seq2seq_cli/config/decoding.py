"""The table `[decoding]`."""

from typing import Literal

from pydantic import Field, model_validator

from seq2seq_cli.config.table import Table


class DecodingConfig(Table):
    """`[decoding]`: the search for translations."""

    beam: int = Field(1, ge=1, le=10_000)
    """Number of hypotheses that the search keeps for each sentence; 1 is greedy decoding."""
    n_best: int = Field(1, ge=1, le=1000)
    """Number of translations per sentence: at most `beam`, or any number of samples."""
    mbr: int = Field(0, ge=0, le=1000)
    """Minimum Bayes risk decoding (Kumar and Byrne 2004): from this many hypotheses of a sentence,
    beam or samples, return the one with the highest expected similarity to all of them; 0 turns it
    off."""
    mbr_utility: Literal["chrf", "bleu"] = "chrf"
    """Similarity of two hypotheses in minimum Bayes risk decoding."""
    rerank: str = ""
    """A run of the opposite direction (a name in runs/, or a path) that re-ranks the hypotheses by
    the probability of the source given each one (Li et al. 2016, Yee et al. 2019); empty for
    none."""
    rerank_weight: float = Field(0.5, ge=0, le=100)
    """Weight of the reverse run's log-probability, which is added to the score of the search."""
    rerank_hypotheses: int = Field(0, ge=0, le=1000)
    """Number of hypotheses to re-rank: samples, or at most `beam`; 0 for the whole beam."""
    length_penalty: float = Field(1.4, ge=0, le=5)
    """Power alpha of the length by which a log-probability is divided; 0 for no penalty."""
    length_penalty_kind: Literal["gnmt", "simple"] = "gnmt"
    """Definition of that length: `gnmt` is (5 + length) / 6 (Wu et al. 2016), `simple` the
    length."""
    coverage_penalty: float = Field(0.0, ge=0, le=100)
    """Weight beta of the penalty for source tokens that get little attention (Wu et al. 2016)."""
    sample: bool = False
    """Draw each token by its probability, instead of searching for the best translation."""
    temperature: float = Field(1.0, ge=0.001, le=100)
    """Sampling: divides the logits. Below 1, probable tokens become more probable."""
    top_k: int | None = Field(None, ge=1, le=1_000_000)
    """Sampling: draw only from this many most probable tokens."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Sampling: draw only from the most probable tokens whose probabilities sum to this."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Sampling: determines all draws, together with the sentence's number."""
    repetition_penalty: float = Field(1.0, ge=1, le=100)
    """Makes tokens that the translation already contains less probable (Keskar et al. 2019)."""
    no_repeat_ngram: int = Field(0, ge=0, le=100)
    """No sequence of this many tokens occurs twice in a translation; 0 turns the rule off."""
    max_length: int | None = Field(None, ge=1, le=100_000)
    """Maximum number of tokens of a translation, EOS included. It also limits the minimum lengths.
    `max_length_ratio` may allow fewer."""
    max_length_ratio: float = Field(2.0, gt=0, le=100)
    """Maximum number of tokens of a translation: this times the source's tokens, plus
    `max_length_extra`. It is at least the minimum number, and the length of a prefix plus
    one."""
    max_length_extra: int = Field(10, ge=0, le=100_000)
    """See `max_length_ratio`."""
    min_length: int = Field(0, ge=0, le=100_000)
    """Minimum number of tokens of a translation, EOS included."""
    min_length_ratio: float = Field(0.0, ge=0, le=100)
    """Minimum number of tokens of a translation, as a multiple of the source's tokens."""
    max_source_tokens: int = Field(512, ge=4, le=1_000_000)
    """Maximum number of tokens of a source, and of a target to be scored. Longer ones are cut, with
    a warning. It also limits a prefix if `max_length` is not set."""
    precision: Literal["auto", "float32", "bfloat16"] = "float32"
    """Precision of matrix products. bfloat16 is faster on some processors, and changes scores in
    the third digit. `auto` measures which is faster on this machine."""
    batch_sentences: int = Field(256, ge=1, le=10**6)
    """Maximum number of sentences in a batch."""
    batch_tokens: int = Field(4096, ge=1, le=10**9)
    """Maximum size of a batch: number of sentences times the tokens of the longest. A batch has at
    least one sentence."""

    @model_validator(mode="after")
    def _keys_agree(self) -> "DecodingConfig":
        if self.sample and self.beam > 1:
            raise ValueError(
                f"decoding.sample = true and decoding.beam = {self.beam} exclude each other: "
                "sampling does not use a beam. Leave one of them out"
            )
        if not self.sample and self.n_best > self.beam:
            raise ValueError(
                f"decoding.n_best = {self.n_best} asks for more translations than a beam of "
                f"{self.beam} finds. To search for them, add decoding.beam = {self.n_best}; to "
                "draw them, decoding.sample = true"
            )
        if self.mbr > self.beam and not self.sample:
            raise ValueError(
                f"decoding.mbr = {self.mbr} compares more hypotheses than a beam of {self.beam} "
                f"finds. To search for them, add decoding.beam = {self.mbr}; to draw them, "
                "decoding.sample = true"
            )
        if self.mbr and self.n_best > self.mbr:
            raise ValueError(
                f"decoding.n_best = {self.n_best} asks for more translations than the hypotheses "
                f"that decoding.mbr = {self.mbr} compares. Lower the first or raise the second"
            )
        if self.mbr_utility != "chrf" and not self.mbr:
            raise ValueError(
                f'decoding.mbr_utility = "{self.mbr_utility}" is for minimum Bayes risk decoding. '
                "Add decoding.mbr = 16, or leave it out"
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

    @model_validator(mode="after")
    def _reranking_has_hypotheses(self) -> "DecodingConfig":
        given = [
            f"decoding.{key} = {getattr(self, key)}"
            for key in ("rerank_weight", "rerank_hypotheses")
            if getattr(self, key) != type(self).model_fields[key].default
        ]
        if given and not self.rerank:
            raise ValueError(
                f"only re-ranking uses {' and '.join(given)}. Add decoding.rerank with a run of "
                f"the opposite direction, or leave {'it' if len(given) == 1 else 'them'} out"
            )
        if not self.rerank:
            return self
        if self.mbr:
            raise ValueError(
                f"decoding.mbr = {self.mbr} and decoding.rerank = {self.rerank} exclude each "
                "other: both choose among the hypotheses. Leave one of them out"
            )
        if self.sample and not self.rerank_hypotheses:
            raise ValueError(
                f"decoding.rerank = {self.rerank} with decoding.sample = true needs a number of "
                "samples. Add decoding.rerank_hypotheses = 16"
            )
        if self.found_hypotheses == 1:
            raise ValueError(
                f"decoding.rerank = {self.rerank} has nothing to choose from: there is one "
                "hypothesis. To search for more, add decoding.beam = 5; to draw them, "
                "decoding.sample = true and decoding.rerank_hypotheses = 16"
            )
        if self.rerank_hypotheses > self.beam and not self.sample:
            raise ValueError(
                f"decoding.rerank_hypotheses = {self.rerank_hypotheses} ranks more hypotheses than "
                f"a beam of {self.beam} finds. Add decoding.beam = {self.rerank_hypotheses}, or "
                "decoding.sample = true"
            )
        if self.n_best > self.found_hypotheses:
            raise ValueError(
                f"decoding.n_best = {self.n_best} asks for more translations than the hypotheses "
                f"that decoding.rerank_hypotheses = {self.rerank_hypotheses} ranks. Lower the "
                "first or raise the second"
            )
        return self

    @property
    def found_hypotheses(self) -> int:
        """Number of hypotheses per sentence that the search returns; `n_best` of them are kept."""
        if self.rerank:
            return self.rerank_hypotheses or self.beam
        return self.mbr or self.n_best

    @property
    def description(self) -> str:
        """The search in a word or two."""
        search = "greedy" if self.beam == 1 else f"beam {self.beam}"
        search = "sampled" if self.sample else search
        if self.rerank:
            return f"{search}, {self.found_hypotheses} re-ranked"
        return f"{search}, minimum risk of {self.mbr}" if self.mbr else search
