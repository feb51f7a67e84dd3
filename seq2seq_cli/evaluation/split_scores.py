"""The scores and attention of a run's model on its test split, for a report."""

from seq2seq_cli.data.pairs import spread
from seq2seq_cli.decoding.loading import LoadedRun
from seq2seq_cli.evaluation.analysis import score_output
from seq2seq_cli.evaluation.metrics import Bootstrap
from seq2seq_cli.evaluation.run_report import AttentionMap, SplitScores
from seq2seq_cli.evaluation.systems import EvaluationSet
from seq2seq_cli.evaluation.test_split import system_output
from seq2seq_cli.work import ShowWork

MAPS = 3
_SHORT, _LONG = 4, 12  # words of a sentence whose attention is shown


def split_scores(loaded: LoadedRun, test_set: EvaluationSet, show: ShowWork) -> SplitScores:
    """Translate and score a test set, and return the attention of a few sentences, too."""
    output = system_output(loaded, loaded.translator(), test_set, show)
    scored = score_output(test_set, output, Bootstrap())
    return SplitScores(
        test_set=test_set.name,
        checkpoint=loaded.checkpoint,
        search=loaded.decoding.description,
        sentences=len(test_set.sources),
        scores=scored.scores,
        faults=scored.faults,
        maps=attention_maps(loaded, test_set),
    )


def attention_maps(loaded: LoadedRun, test_set: EvaluationSet) -> list[AttentionMap]:
    """Return the attention of MAPS sentences, preferably of medium length.

    It is empty for a model without attention.
    """
    if not loaded.model.has_attention:
        return []
    medium = [text for text in test_set.sources if _SHORT <= len(text.split()) <= _LONG]
    translator = loaded.translator(alignments=True, compiled=False)
    return [
        AttentionMap(found.source_tokens, found.target_tokens, found.weights)
        for each in translator.translate(spread(medium or test_set.sources, MAPS))
        if (found := each.alignment)
    ]
