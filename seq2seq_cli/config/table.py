"""What all tables of the configuration have in common."""

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of the configuration: immutable, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
