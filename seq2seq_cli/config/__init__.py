"""The tables of the configuration, with all defaults."""

from typing import Any

import tomli_w
from pydantic import Field, ModelWrapValidatorHandler, model_validator

from seq2seq_cli.config.data import DataConfig, TokenizerConfig
from seq2seq_cli.config.decoding import DecodingConfig
from seq2seq_cli.config.model import (
    DEFAULT_KIND,
    MODELS,
    AttentionStackConfig,
    DecoderOnlyConfig,
    ModelConfig,
    RNNConfig,
)
from seq2seq_cli.config.table import Table
from seq2seq_cli.config.training import TrainingConfig

NO_DROPOUT = (
    "training.r_drop ({}) compares two predictions with different dropout, and there is none. "
    "Set model.dropout"
)


class Config(Table):
    """Everything that determines a run. The run stores it in `config.toml`."""

    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = Field(RNNConfig(), discriminator="kind")
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()

    @model_validator(mode="wrap")
    @classmethod
    def _use_training_defaults_of_the_kind(
        cls, tables: dict[str, Any], validate: ModelWrapValidatorHandler["Config"]
    ) -> "Config":
        """Use the defaults of the kind of model for keys that `[training]` does not set.

        These keys stay unset, so that another kind can replace them with its own defaults.
        """
        model, training = tables.get("model", {}), tables.get("training", {})
        kind = model.get("kind") if isinstance(model, dict) else model.kind
        if isinstance(training, TrainingConfig):
            return validate(tables)
        defaults = MODELS[kind or DEFAULT_KIND].training_defaults
        config = validate({**tables, "training": {**defaults, **training}})
        config.training.model_fields_set.difference_update(defaults.keys() - training.keys())
        return config

    @model_validator(mode="after")
    def _positions_for_the_longest_pair(self) -> "Config":
        model, training = self.model, self.training
        if isinstance(model, RNNConfig):
            self._check_locations(model)
            return self
        if not isinstance(model, AttentionStackConfig) or model.positions != "learned":
            return self
        source, target = training.max_source_tokens, training.max_target_tokens
        # The decoder reads BOS and the target without its EOS: as many tokens as the target has.
        longest = source + target if isinstance(model, DecoderOnlyConfig) else max(source, target)
        if model.max_positions < longest:
            raise ValueError(
                f"model.max_positions ({model.max_positions}) is too small for the sentences that "
                f"training.max_source_tokens and max_target_tokens allow: {longest} are needed"
            )
        return self

    def _check_locations(self, model: RNNConfig) -> None:
        longest = self.training.max_source_tokens
        if model.attention == "location" and model.attention_positions < longest:
            raise ValueError(
                f"model.attention_positions ({model.attention_positions}) is too small for the "
                f"sources that training.max_source_tokens allows. Set it to {longest} or more"
            )

    @model_validator(mode="after")
    def _recompute_needs_blocks(self) -> "Config":
        if self.training.recompute and isinstance(self.model, RNNConfig):
            raise ValueError(
                "training.recompute computes the blocks of a Transformer again, and an RNN has "
                "none. Leave it out, or lower training.batch_tokens to save memory"
            )
        return self

    @model_validator(mode="after")
    def _coverage_needs_attention(self) -> "Config":
        if self.decoding.coverage_penalty and not self.model.has_attention:
            raise ValueError(
                f"decoding.coverage_penalty ({self.decoding.coverage_penalty}) needs attention, "
                "but model.attention is 'none'. Change one of them"
            )
        return self

    @model_validator(mode="after")
    def _both_directions_need_one_vocabulary(self) -> "Config":
        if self.data.both_directions and self.tokenizer.vocabularies == "separate":
            raise ValueError(
                "data.both_directions needs one vocabulary, since each side has both "
                "languages. Set tokenizer.vocabularies = 'joint'"
            )
        return self

    @model_validator(mode="after")
    def _r_drop_needs_dropout(self) -> "Config":
        # Older runs may have layer drop only; see `check_r_drop` of training.
        layers = self.model.model_dump().get("encoder_layer_drop")
        if self.training.r_drop and not self.has_dropout and not layers:
            raise ValueError(NO_DROPOUT.format(self.training.r_drop))
        return self

    @property
    def has_dropout(self) -> bool:
        """Whether two predictions differ by dropout. LayerDrop leaves out the same layers."""
        model, training = self.model.model_dump(), self.training
        rates = ("dropout", "attention_dropout", "inner_dropout")
        words = training.source_word_dropout or training.target_word_dropout
        return bool(words) or any(model.get(rate) for rate in rates)

    def to_toml(self) -> str:
        """Return every value that is set as TOML, by table."""
        return tomli_w.dumps(self.model_dump(exclude_none=True))

    def to_complete_toml(self) -> str:
        """Return every value that is set as TOML, and the names of all other keys in comments."""
        tables = []
        for table, values in self.model_dump(exclude_none=True).items():
            unset = [key for key in type(getattr(self, table)).model_fields if key not in values]
            comment = f"# Not set in [{table}]: {', '.join(unset)}\n" if unset else ""
            tables.append(comment + tomli_w.dumps({table: values}))
        return "\n".join(tables)

    def flat(self, exclude_unset: bool = False) -> dict[str, Any]:
        """Return the values by dotted key; with `exclude_unset` only those that were set."""
        return {
            f"{table}.{key}": value
            for table, values in self.model_dump(exclude_unset=exclude_unset).items()
            for key, value in values.items()
        }
