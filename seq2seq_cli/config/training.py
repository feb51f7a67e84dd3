"""The table `[training]`."""

from typing import Literal

from pydantic import Field, model_validator

from seq2seq_cli.config.table import Table

MOST_SHARDS = 64


class TrainingConfig(Table):
    """`[training]`: limits, batches, optimizer, validation and checkpoints."""

    seed: int = Field(0, ge=0, lt=2**31)
    """Determines the initial weights, the order of the data and dropout."""
    device: str = Field("auto", pattern=r"^(auto|cpu|gpu|gpu:\d+)$")
    """`auto`, `cpu`, `gpu` or `gpu:N`. A device that cannot be used is an error."""
    compile: Literal["auto", "xla", "graph"] = "auto"
    """`auto` lets XLA compile those parts of an update that become faster, such as recurrent
    loops. `xla` compiles the whole update. `graph` compiles nothing: the first updates come sooner,
    and the others are slower."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Precision of matrix products in training; all else is float32. `auto` measures products of
    this model's widths, and uses bfloat16 if it is faster by a quarter."""
    epochs: int | None = Field(None, ge=1, le=10**9)
    """Stop after this many passes over the data; 4 if no limit is set."""
    steps: int | None = Field(None, ge=1, le=10**12)
    """Stop after this many updates."""
    budget_seconds: float | None = Field(None, gt=0, le=1e9)
    """Stop after this much time in training, validation included. Resumed trainings add up."""
    batch_tokens: int = Field(1024, ge=64, le=1_000_000)
    """Size of a batch: approximate number of tokens on each side, padding included."""
    batch_pairs: int | None = Field(None, ge=1, le=100_000)
    """Number of pairs in each batch, instead of `batch_tokens`."""
    shards: int | None = Field(None, ge=1, le=MOST_SHARDS)
    """Number of parts of a batch that are computed in parallel; their gradients are added. The
    default on a CPU is one per core, of at least 512 tokens each, or fewer if fewer are measured to
    be twice as fast. On a GPU and with `xla` it is one. Each part enlarges the graph of an update,
    which takes longer to compile. A new run accepts at most 4 parts per core, and at most one per
    row of its largest batch."""
    max_source_tokens: int = Field(64, ge=4, le=65_534)
    """Pairs with a longer source are left out of training."""
    max_target_tokens: int = Field(64, ge=4, le=65_534)
    """Pairs with a longer target are left out of training."""
    peak_learning_rate: float = Field(4e-3, gt=0, le=1000)
    """Adam's learning rate after warm-up. It then decays to 0 along a cosine. The default is 0.002
    if `model.kind` is not `rnn`."""
    warmup_steps: int = Field(400, ge=0, le=10**9)
    """Number of updates in which the learning rate rises; at most a tenth of the training."""
    gradient_clip_norm: float = Field(1.0, gt=0, le=1e9)
    """Maximum global norm of the gradient; a larger gradient is scaled down to it."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Share of the target probability that is spread evenly over the vocabulary."""
    validate_every_steps: int | None = Field(None, ge=1, le=10**12)
    """Number of updates between validations; the default is an epoch."""
    patience: int = Field(8, ge=1, le=10**9)
    """Stop after this many validations without a better dev BLEU."""
    checkpoint_minutes: float = Field(5.0, gt=0, le=1e7)
    """Maximum time between checkpoints. Each validation saves one, too."""
    keep_checkpoints: int = Field(2, ge=1, le=10**6)
    """Number of the newest checkpoints to keep, besides the best."""

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
        """The limit on epochs; 4 if there is no limit at all."""
        if self.epochs is None and self.steps is None and self.budget_seconds is None:
            return 4
        return self.epochs
