"""The base of all tables of the configuration."""

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of the configuration: immutable, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
