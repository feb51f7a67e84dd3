"""The table `[training]`."""

from typing import Literal

from pydantic import Field, model_validator

from seq2seq_cli.config.table import Table

MOST_SHARDS = 64


class TrainingConfig(Table):
    """`[training]`: how long, how fast, and what is kept."""

    seed: int = Field(0, ge=0, lt=2**31)
    """Determines initial weights, order of the data and dropout."""
    device: str = Field("auto", pattern=r"^(auto|cpu|gpu|gpu:\d+)$")
    """`auto`, `cpu`, `gpu` or `gpu:N`; what is asked for is used or refused."""
    compile: Literal["auto", "xla", "graph"] = "auto"
    """`auto` lets XLA compile the parts of a training step that gain by it, such as recurrent
    loops; `xla` the whole step; `graph` nothing, so that the first updates come sooner and all
    others later."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of matrix products in training; all else is float32. `auto` measures which is faster at
    products of this model's widths, and takes bfloat16 if it is faster by a quarter."""
    epochs: int | None = Field(None, ge=1, le=10**9)
    """Stop after this many passes over the data; 4 where no limit is given."""
    steps: int | None = Field(None, ge=1, le=10**12)
    """Stop after this many updates."""
    budget_seconds: float | None = Field(None, gt=0, le=1e9)
    """Stop after this much time in training, validation and interruptions' resumes included."""
    batch_tokens: int = Field(1024, ge=64, le=1_000_000)
    """Size of a batch: about so many tokens of each side, padding included."""
    batch_pairs: int | None = Field(None, ge=1, le=100_000)
    """So many pairs in each batch, whatever their length, in place of `batch_tokens`."""
    shards: int | None = Field(None, ge=1, le=MOST_SHARDS)
    """Parts of a batch that are computed at once; their gradients are added. Where not given, one
    for each core of a CPU, of at least 512 tokens each, or fewer where those are measured to be
    twice as fast; one in all on a GPU and with `xla`. Each part adds to the graph of an update,
    which takes longer to compile. A new run takes at most 4 parts for each core, and at most one
    for each row of its largest batch."""
    max_source_tokens: int = Field(64, ge=4, le=65_534)
    """Longer sources are left out of training."""
    max_target_tokens: int = Field(64, ge=4, le=65_534)
    """Longer targets are left out of training."""
    peak_learning_rate: float = Field(4e-3, gt=0, le=1000)
    """Adam's learning rate after warm-up, from where it falls to 0 along a cosine; another default
    where `model.kind` is not `rnn`."""
    warmup_steps: int = Field(400, ge=0, le=10**9)
    """Updates in which the learning rate rises; at most a tenth of the training."""
    gradient_clip_norm: float = Field(1.0, gt=0, le=1e9)
    """The gradient's global norm is cut to this."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Share of the target probability spread evenly over the vocabulary."""
    validate_every_steps: int | None = Field(None, ge=1, le=10**12)
    """Updates between validations; an epoch where not given."""
    patience: int = Field(8, ge=1, le=10**9)
    """Stop after this many validations without a better dev BLEU."""
    checkpoint_minutes: float = Field(5.0, gt=0, le=1e7)
    """A checkpoint is saved at each validation, and at least this often."""
    keep_checkpoints: int = Field(2, ge=1, le=10**6)
    """How many of the newest checkpoints are kept, beside the best."""

    @model_validator(mode="after")
    def _batch_holds_the_longest_pair(self) -> "TrainingConfig":
        longest = max(self.max_source_tokens, self.max_target_tokens)
        if not self.batch_pairs and self.batch_tokens < longest:
            raise ValueError(
                f"training.batch_tokens ({self.batch_tokens}) cannot hold one pair of the length "
                f"that training.max_source_tokens and max_target_tokens allow ({longest})"
            )
        return self

    @property
    def epoch_limit(self) -> int | None:
        """The limit on epochs in force: some limit always is."""
        if self.epochs is None and self.steps is None and self.budget_seconds is None:
            return 4
        return self.epochs
