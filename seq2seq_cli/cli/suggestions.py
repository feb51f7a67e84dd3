"""What may be meant by an option that does not exist."""

from typing import Any

from typer.core import TyperCommand


class Command(TyperCommand):
    """A command that answers an unknown option with the config's keys of that name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; see TyperCommand."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            option = getattr(error, "option_name", None)
            if option and hasattr(error, "possibilities") and (keys := self._keys_called(option)):
                error.possibilities = [f"--set {key}=VALUE" for key in keys]
            raise

    def _keys_called(self, option: str) -> list[str]:
        """Return the keys that --set of this command takes and that are called like an option."""
        from seq2seq_cli.cli.completion import settings

        parameters = {parameter.name for parameter in self.params}
        if "settings" not in parameters:
            return []
        is_for_a_trained_run = "run" in parameters and "config" not in parameters
        tables = "decoding." if is_for_a_trained_run else ""
        name = option.lstrip("-").replace("-", "_")
        keys = [setting.removesuffix("=") for setting in settings(tables)]
        return [key for key in keys if key.partition(".")[2] == name]
