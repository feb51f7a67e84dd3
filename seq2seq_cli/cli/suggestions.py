"""The options in a command's help, and the texts of its usage errors."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

# What an option accepts, instead of the Python names of types.
_TAKEN = {
    "<bool>": "",
    "<float range>": "X",
    "<float>": "X",
    "<int range>": "N",
    "<int>": "N",
    "<list[Path]>": "PATH",
    "<list[path]>": "PATH",
    "<list[str]>": "TEXT",
    "<path>": "PATH",
    "<str>": "TEXT",
}


def _name_what_is_taken(parameters: list[Any], ctx: Any) -> list[Any]:
    for parameter in parameters:
        if parameter.param_type_name == "option" and parameter.metavar is None:
            parameter.metavar = _TAKEN.get(str(parameter.display_type(ctx)))
    return parameters


class CommandGroup(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments; see TyperGroup."""
        return _name_what_is_taken(super().get_params(ctx), ctx)


class Command(TyperCommand):
    """A command whose usage errors suggest config keys and leave out pydantic's words."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments; see TyperCommand."""
        return _name_what_is_taken(super().get_params(ctx), ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; see TyperCommand."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            option = getattr(error, "option_name", None)
            if option and hasattr(error, "possibilities") and (keys := self._keys_called(option)):
                error.possibilities = [f"--set {key}=VALUE" for key in keys]
            if hasattr(error, "message"):  # pydantic writes two words before Typer's
                error.message = error.message.removeprefix("Value error, ")
            raise

    def _keys_called(self, option: str) -> list[str]:
        """Return the keys that this command's --set accepts and that have the name of an option."""
        from seq2seq_cli.cli.completion import settings

        parameters = {parameter.name for parameter in self.params}
        if "settings" not in parameters:
            return []
        is_for_a_trained_run = "run" in parameters and "config" not in parameters
        tables = "decoding." if is_for_a_trained_run else ""
        name = option.lstrip("-").replace("-", "_")
        if name == "model" and not is_for_a_trained_run:
            return ["model.kind"]
        keys = [setting.removesuffix("=") for setting in settings(tables)]
        return [key for key in keys if key.partition(".")[2] == name]
