"""The table `[training]`."""

from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from seq2seq_cli.config.table import Table

MOST_SHARDS = 64
DEVICE_PATTERN = r"^(auto|cpu|gpu|gpu:\d+)$"

Part = Literal["embeddings", "encoder", "decoder", "output"]
Tracker = Literal["mlflow", "wandb"]

_OPTIMIZERS_WITH = {
    "beta_1": ("adam", "adamw", "muon", "lion"),
    "beta_2": ("adam", "adamw", "muon", "lion"),
    "epsilon": ("adam", "adamw", "muon"),
    "momentum": ("muon",),
}


def _default_parts(training: dict[str, Any]) -> int:
    """Return a number of parts that mixes lengths without making any part small."""
    pairs, tokens = training.get("batch_pairs"), training.get("batch_tokens") or 0
    return max(1, min(4, pairs // 64 if pairs else tokens // 512))


class TrainingConfig(Table):
    """`[training]`: limits, batches, optimizer, validation and checkpoints."""

    seed: int = Field(0, ge=0, lt=2**31)
    """Determines the initial weights, the order of the data and dropout."""
    device: str = Field("auto", pattern=DEVICE_PATTERN)
    """`auto`, `cpu`, `gpu` or `gpu:N`. A device that cannot be used is an error."""
    strategy: Literal["auto", "one", "mirrored", "workers"] = "auto"
    """`one` computes on one device. `mirrored` shares each batch between the GPUs of this machine,
    and `workers` between the processes that the environment variable `TF_CONFIG` names. The results
    are the same except for rounding. With `mirrored`, XLA compiles nothing. `auto` is `workers` if
    `TF_CONFIG` names several processes, otherwise `one`."""
    wait_seconds: float = Field(60.0, gt=0, le=1e6)
    """With `workers`, the maximum time that a worker waits for the others to start."""
    compile: Literal["auto", "xla", "graph"] = "auto"
    """`auto` lets XLA compile those parts of an update that it makes faster, such as recurrent
    loops. `xla` compiles the whole update. `graph` compiles nothing: the first updates come sooner,
    but later ones are slower."""
    recompute: bool = False
    """Compute the blocks of a Transformer again for their gradients (Chen et al. 2016). Training
    then needs less memory for a batch, and takes about 50 % longer."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Precision of products with weights in training. Products inside attention and recurrent
    loops, and everything else, are float32. `auto` measures products of this model's widths, and
    uses bfloat16 if it is faster by a quarter. On a CPU with `xla`, it is float32."""
    epochs: int | None = Field(None, ge=1, le=10**9)
    """Stop after this many passes over the data; 4 if no limit is set."""
    steps: int | None = Field(None, ge=1, le=10**12)
    """Stop after this many updates."""
    budget_seconds: float | None = Field(None, gt=0, le=1e9)
    """Stop after this much time in training, validation included. Time before a resume counts,
    too."""
    batch_tokens: int = Field(1024, ge=64, le=1_000_000)
    """Size of a batch, which gives one update: approximate number of tokens on each side, padding
    included."""
    batch_pairs: int | None = Field(None, ge=1, le=100_000)
    """Number of pairs in each batch, instead of `batch_tokens`; rounded down to a multiple of
    `parts`."""
    parts: int = Field(default_factory=_default_parts, ge=1, le=1000)
    """Number of parts of a batch. The pairs of a part have similar lengths; the lengths differ
    between parts. The gradients of the parts are added. With one part, all targets of an update end
    at about the same position, and a Transformer learns much more slowly. More parts are slower,
    but need less memory. The default is one for each 512 tokens or 64 pairs of a batch, and at most
    4; it is 1 if `model.kind` is `rnn`."""
    shards: int | None = Field(None, ge=1, le=MOST_SHARDS)
    """Number of shards of a batch that are computed in parallel: its parts, or shares of them.
    Their gradients are added. The default on a CPU is one per core, of at least 512 tokens each.
    On a GPU and with `xla` it is one. If workers or devices share the shards, the default is one
    per 512 tokens, from 4 to 8. Each shard enlarges the graph of an update, which takes longer to
    compile. A new run accepts at most 4 shards per core, and at most one per row of its largest
    batch."""
    max_source_tokens: int = Field(64, ge=4, le=65_534)
    """Pairs with a longer source are left out of training."""
    max_target_tokens: int = Field(64, ge=4, le=65_534)
    """Pairs with a longer target are left out of training."""
    optimizer: Literal["adam", "adamw", "muon", "lion", "adafactor"] = "adam"
    """`adamw` is Adam with weight decay. `muon` makes the updates of matrices inside layers
    orthogonal, and uses Adam for all other weights. `lion` needs a learning rate of about a tenth
    of Adam's; the others need about the same."""
    optimizer_states: Literal["float32", "bfloat16"] = "float32"
    """Precision in which the optimizer's state is stored. With `bfloat16` it takes half the memory.
    It is computed in float32, and rounded stochastically."""
    weight_decay: float | None = Field(None, ge=0, le=100)
    """Each update shrinks each matrix by this share times the learning rate. Biases,
    normalisations, embeddings and learned positions do not decay. The default is 0.01 with `adamw`,
    0.3 with `muon`, and 0 with the others. `adam` does not accept it."""
    beta_1: float = Field(0.9, gt=0, lt=1)
    """Decay of the mean of gradients in Adam; share of that mean in an update of Lion."""
    beta_2: float = Field(0.98, ge=0, lt=1)
    """Decay of the mean of squared gradients in Adam; of the mean of gradients in Lion."""
    epsilon: float = Field(1e-9, gt=0, le=1)
    """Adam adds this to the root of the mean of squared gradients."""
    momentum: float = Field(0.95, ge=0, lt=1)
    """Decay of the sum of gradients in Muon."""
    peak_learning_rate: float = Field(4e-3, gt=0, le=1000)
    """Learning rate at the end of the warm-up, before the decay of `cosine` and `linear`. The
    default is 0.002 if `model.kind` is not `rnn`."""
    schedule: Literal["cosine", "inverse_sqrt", "linear", "constant", "warmup_stable_decay"] = (
        "cosine"
    )
    """How the learning rate changes during training. `cosine`, `linear` and `warmup_stable_decay`
    reach 0 at the end of training; `inverse_sqrt` falls with the inverse square root of the number
    of updates; `constant` stays at the peak."""
    warmup_steps: int = Field(400, ge=0, le=10**9)
    """Number of updates in which the learning rate rises; at most `warmup_share` of training."""
    warmup_share: float = Field(0.1, gt=0, le=1)
    """Maximum share of training in which the learning rate rises."""
    decay_share: float = Field(0.2, gt=0, le=1)
    """Share of training, at its end, in which `warmup_stable_decay` falls to 0."""
    ema: float = Field(0.0, ge=0, lt=1)
    """Decay of an exponential moving average of the weights, such as 0.999; 0 for none. With it,
    validation and translation use the averages."""
    initial_run: str | None = Field(None, min_length=1)
    """A run whose weights and vocabulary training starts from: a name in runs/, or a path. Its best
    checkpoint is used. The model, apart from regularisation, and the vocabulary must be the
    same."""
    freeze: list[Part] = Field([])
    """Parts of the model that keep the weights of `initial_run`."""
    gradient_clip_norm: float = Field(1.0, gt=0, le=1e9)
    """Maximum global norm of the gradient; a larger gradient is scaled down to it."""
    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Share of the target probability that is distributed evenly over the vocabulary."""
    r_drop: float = Field(0.0, ge=0, le=100)
    """Weight of R-Drop (Liang et al. 2021): each pair is computed twice, with different dropout,
    and the divergence of the two predictions is part of the loss. It is the paper's alpha (5
    there); 0 turns it off."""
    source_word_dropout: float = Field(0.0, ge=0, lt=1)
    """Share of the source tokens that are replaced by the unknown token. It is rounded to a
    multiple of 1/256."""
    target_word_dropout: float = Field(0.0, ge=0, lt=1)
    """Share of the target tokens that are replaced by the unknown token where the decoder reads
    them. The tokens to be predicted stay. The share is rounded to a multiple of 1/256."""
    validate_every_steps: int | None = Field(None, ge=1, le=10**12)
    """Number of updates between validations; the default is an epoch."""
    patience: int = Field(8, ge=1, le=10**9)
    """Stop after this many validations without a better dev BLEU."""
    checkpoint_minutes: float = Field(5.0, gt=0, le=1e7)
    """Maximum time between checkpoints. Each validation also saves one."""
    keep_checkpoints: int = Field(2, ge=1, le=10**6)
    """Number of the newest checkpoints to keep, besides the best."""
    keep_best_checkpoints: int = Field(1, ge=1, le=10**6)
    """Number of the checkpoints with the highest dev BLEU to keep."""
    trackers: list[Tracker] = Field([])
    """Programs that receive the metrics in addition to TensorBoard: `mlflow` and `wandb` (Weights &
    Biases). Each needs the extra of the same name. They do not change results."""
    keep_attention_history: int = Field(3, ge=0, le=32)
    """Number of dev sentences whose attention is stored at each validation, for `s2s attention
    --evolution RUN`, `s2s report` and TensorBoard. It takes some kilobytes per validation."""

    @property
    def is_shared(self) -> bool:
        """Whether several workers or devices share each batch."""
        return self.strategy in ("mirrored", "workers")

    @property
    def part_tokens(self) -> int:
        """Approximate number of tokens on each side of a part, padding included."""
        return self.batch_tokens // self.parts

    def parts_at_once(self, shards: int) -> int:
        """Return the number of parts of a batch that are computed at once by a number of shards."""
        # XLA would compile for each combination of shapes.
        return 1 if self.compile == "xla" else min(self.parts, shards)

    @property
    def part_pairs(self) -> int | None:
        """Number of pairs of a part; None if `batch_tokens` determines it."""
        return self.batch_pairs and self.batch_pairs // self.parts

    @model_validator(mode="after")
    def _batch_holds_the_longest_pair(self) -> "TrainingConfig":
        longest = max(self.max_source_tokens, self.max_target_tokens)
        if not self.batch_pairs and self.part_tokens < longest:
            share = f" in {self.parts} parts" if self.parts > 1 else ""
            raise ValueError(
                f"training.batch_tokens ({self.batch_tokens}){share} cannot hold one pair of the "
                f"length that training.max_source_tokens and max_target_tokens allow ({longest})"
            )
        if self.batch_pairs and self.batch_pairs < self.parts:
            raise ValueError(
                f"training.parts ({self.parts}) is more than training.batch_pairs "
                f"({self.batch_pairs})"
            )
        return self

    @model_validator(mode="after")
    def _a_kernel_is_for_one_device(self) -> "TrainingConfig":
        if self.strategy == "mirrored" and self.compile == "xla":
            raise ValueError(
                "training.compile 'xla' is for one device, and training.strategy is 'mirrored'. "
                "Leave out one of them"
            )
        return self

    @model_validator(mode="after")
    def _settings_of_the_optimizer(self) -> "TrainingConfig":
        if self.optimizer == "adam" and self.weight_decay:
            raise ValueError(
                f"training.weight_decay ({self.weight_decay}) has no effect with "
                'training.optimizer = "adam". Use "adamw", which is Adam with weight decay'
            )
        for key, optimizers in _OPTIMIZERS_WITH.items():
            default = type(self).model_fields[key].default
            if getattr(self, key) != default and self.optimizer not in optimizers:
                raise ValueError(
                    f"training.{key} ({getattr(self, key)}) has no effect with "
                    f'training.optimizer = "{self.optimizer}". Leave it out; it is for '
                    f"{', '.join(optimizers)}"
                )
        return self

    @model_validator(mode="after")
    def _settings_of_the_schedule(self) -> "TrainingConfig":
        default = type(self).model_fields["decay_share"].default
        if self.decay_share != default and self.schedule != "warmup_stable_decay":
            raise ValueError(
                f"training.decay_share ({self.decay_share}) has no effect with "
                f'training.schedule = "{self.schedule}". Leave it out; it is for '
                "warmup_stable_decay"
            )
        return self

    @model_validator(mode="after")
    def _something_is_trained(self) -> "TrainingConfig":
        if self.freeze and not self.initial_run:
            raise ValueError(
                f"training.freeze ({self.freeze}) would keep random weights. Set "
                "training.initial_run, whose weights these parts keep"
            )
        if set(self.freeze) == set(get_args(Part)):
            raise ValueError(
                f"training.freeze ({self.freeze}) leaves nothing to train. Leave out a part"
            )
        return self

    @property
    def decay(self) -> float:
        """The weight decay in effect."""
        if self.weight_decay is None:
            return {"adamw": 0.01, "muon": 0.3}.get(self.optimizer, 0.0)
        return self.weight_decay

    @property
    def epoch_limit(self) -> int | None:
        """The limit on epochs; 4 if there is no limit at all."""
        if self.epochs is None and self.steps is None and self.budget_seconds is None:
            return 4
        return self.epochs
