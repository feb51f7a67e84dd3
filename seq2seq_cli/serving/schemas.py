"""The requests and responses of the API."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TranslateRequest(_Request):
    """The text to translate, and the search. The default of a key is in the run's config."""

    text: str | list[str] = Field(description="A sentence or a list of sentences.")
    model: str | None = Field(None, description="Name of a run; see /v1/models.")
    source: str | None = Field(None, description="The language of the text.")
    target: str | None = Field(None, description="The language to translate into.")
    beam: int | None = Field(None, description="Hypotheses that the search keeps; 1 is greedy.")
    n_best: int | None = Field(None, description="Number of translations per sentence.")
    length_penalty: float | None = Field(None, description="See [decoding] in a config.")
    sample: bool | None = Field(None, description="Draw each token by its probability.")
    temperature: float | None = Field(None, description="Sampling: above 1 is more varied.")
    top_k: int | None = Field(None, description="Sampling: draw from this many tokens.")
    top_p: float | None = Field(None, description="Sampling: draw from this share of probability.")
    seed: int | None = Field(None, description="Sampling: the random seed.")
    repetition_penalty: float | None = Field(None, description="Makes repetition less probable.")
    no_repeat_ngram: int | None = Field(None, description="No n-gram of this size occurs twice.")
    max_length: int | None = Field(None, description="Maximum number of tokens of a translation.")
    prefix: str = Field("", description="The beginning of each translation.")
    attention: bool = Field(False, description="Add the attention between words.")
    stream: bool = Field(
        False, description="Send one event per token; for one sentence and greedy decoding."
    )

    def options(self) -> dict[str, Any]:
        """Return the keys of `[decoding]` that are given."""
        others = {"text", "model", "source", "target", "prefix", "attention", "stream"}
        return self.model_dump(exclude_none=True, exclude=others)


class ScoreRequest(_Request):
    """Sentences and their translations."""

    source_text: str | list[str] = Field(description="A sentence or a list of sentences.")
    translation: str | list[str] = Field(description="A translation of each sentence.")
    model: str | None = Field(None, description="Name of a run.")
    source: str | None = Field(None, description="The language of the sentences.")
    target: str | None = Field(None, description="The language of the translations.")


class Alternative(BaseModel):
    """A token that could begin a word, without its space."""

    text: str
    probability: float


class WordAttention(BaseModel):
    """The attention of each target word to the source words; a row of weights sums to 1."""

    source_words: list[str]
    target_words: list[str]
    weights: list[list[float]]
    probabilities: list[float]
    alternatives: list[list[Alternative]]


class Hypothesis(BaseModel):
    """A translation, its score, and its log-probability in nats (null if not finite)."""

    text: str
    score: float | None
    log_probability: float | None


class TranslationAnswer(Hypothesis):
    """The best translation of a sentence, and the next best.

    `cut` is true if the sentence was longer than the model's maximum. `is_complete` is false if the
    translation was stopped at its maximum length.
    """

    is_complete: bool
    cut: bool
    others: list[Hypothesis] = []
    attention: WordAttention | None = None


class TranslateAnswer(BaseModel):
    """The translations, in the order of the sentences."""

    model: str
    source: str
    target: str
    translations: list[TranslationAnswer]


class ScoreValue(BaseModel):
    """A log-probability in nats (null if both texts are blank), and those of the tokens."""

    log_probability: float | None
    tokens: list[str]
    token_log_probabilities: list[float]
    cut: bool


class ScoreAnswer(BaseModel):
    """The scores, in the order of the sentences."""

    model: str
    scores: list[ScoreValue]


class ModelDirection(BaseModel):
    """Source and target language."""

    source: str
    target: str


class ModelAnswer(BaseModel):
    """A served run, and its defaults of `[decoding]`."""

    name: str
    description: str
    checkpoint: str
    directions: list[ModelDirection]
    decoding: dict[str, Any]


class ModelsAnswer(BaseModel):
    """The served runs. The first one is the default."""

    models: list[ModelAnswer]
    limits: dict[str, float]


class StateAnswer(BaseModel):
    """The state of the server."""

    status: str


class ErrorAnswer(BaseModel):
    """The error of a request."""

    error: str
