"""A SavedModel: a folder for TensorFlow Serving or any program that uses TensorFlow."""

from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf
from tensorflow.types.experimental import ConcreteFunction

from seq2seq_cli.decoding.loading import LoadedRun
from seq2seq_cli.export.format import BEAM_CONSTRAINTS, CONSTRAINTS, Format, write_texts
from seq2seq_cli.export.program import Program
from seq2seq_cli.export.saved_functions import save_functions
from seq2seq_cli.export.text_functions import TextFunctions
from seq2seq_cli.runs.run import Run

VERSION = "1"
"""The name of the folder with the model: TensorFlow Serving loads the highest number."""

_BATCH = 64  # sentences per batch of the comparison

_USAGE = """In TensorFlow Serving, under the name `{name}`:

```sh
docker run -p 8501:8501 -v "$PWD/{name}:/models/{name}" -e MODEL_NAME={name} tensorflow/serving
curl http://localhost:8501/v1/models/{name}:predict -d '{{"instances": ["A sentence."]}}'
```

In Python with `pip install tensorflow tensorflow-text`, beside this folder:

```python
import tensorflow as tf
import tensorflow_text  # registers the operations of the tokenizer
model = tf.saved_model.load("{name}/{version}")
found = model.signatures["translate"](text=tf.constant(["A sentence."]))
print([text.decode() for text in found["translation"].numpy()])
```

The functions `translate` (greedy, also called `serving_default`), `translate_beam` and `score`
take batches of any size. The weights are {quantization}."""


class SavedModel(Format):
    """A SavedModel that includes the tokenizers."""

    name = "saved-model"
    kept = CONSTRAINTS + BEAM_CONSTRAINTS

    def usage(self, loaded: LoadedRun, name: str, quantization: str) -> str:
        """See Format.usage."""
        usage = _USAGE.format(name=name, version=VERSION, quantization=quantization)
        further = [f"`translate_to_{language}`" for language in _further_languages(loaded)]
        return f"{usage} For other languages: {', '.join(further)}." if further else usage

    def write(
        self, loaded: LoadedRun, run: Run, texts: dict[str, str], quantization: str, path: Path
    ) -> None:
        """See Format.write."""
        source, target = loaded.tokenizers.source, loaded.tokenizers.target
        resources = [*source.resources, *target.resources]
        path.mkdir()
        save_functions(self.functions(loaded), loaded.model, resources, path / VERSION)
        write_texts(path, texts)

    def functions(self, loaded: LoadedRun) -> dict[str, ConcreteFunction]:
        """Return the functions by name, including those for further target languages."""
        config = self.search(loaded.decoding, beam=1)
        functions = TextFunctions(loaded.model, loaded.tokenizers, config).functions()
        functions["serving_default"] = functions["translate"]
        for language in _further_languages(loaded):
            towards = TextFunctions(loaded.model, loaded.tokenizers.towards(language), config)
            functions |= {f"{n}_to_{language}": each for n, each in towards.functions().items()}
        return functions

    def program(self, path: Path, loaded: LoadedRun) -> Program:
        """See Format.program."""
        functions = tf.saved_model.load(str(path / VERSION)).signatures

        def translate_batch(text: tf.Tensor, beam: int) -> tf.Tensor:
            if beam == 1:
                return functions["translate"](text=text)["translation"]
            numbers = {"beam": beam, "n_best": 1, "length_penalty": 0.0}
            arguments = {name: tf.constant(number) for name, number in numbers.items()}
            return functions["translate_beam"](text=text, **arguments)["translations"][:, 0]

        def translate(sentences: Sequence[str], beam: int) -> list[str]:
            found: list[str] = []
            for first in range(0, len(sentences), _BATCH):
                text = tf.constant(sentences[first : first + _BATCH])
                found += [each.decode() for each in translate_batch(text, beam).numpy()]
            return found

        return translate


def _further_languages(loaded: LoadedRun) -> list[str]:
    """Return the target languages that have tags, except the run's default."""
    _, usual = loaded.languages
    return [language for language in loaded.tokenizers.source.languages if language != usual]
