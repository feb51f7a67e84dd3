"""A worker other than the chief. It makes the updates that the chief announces."""

import base64
import tempfile
from contextlib import nullcontext
from pathlib import Path

from seq2seq_cli.config import Config
from seq2seq_cli.data.corpus import Corpus, read_corpus
from seq2seq_cli.data.pipeline import TrainingData
from seq2seq_cli.data.tokenizers.pair import Tokenizers
from seq2seq_cli.errors import DataError, WorkerError
from seq2seq_cli.runs.state import Position
from seq2seq_cli.runtime.channel import Message
from seq2seq_cli.runtime.cluster import Cluster
from seq2seq_cli.runtime.computation import Computation
from seq2seq_cli.runtime.peers import Peers
from seq2seq_cli.training.events import Notice, OnEvent, Phase, showing_phases
from seq2seq_cli.training.exchange import Exchange, Given, Share, digest
from seq2seq_cli.training.interruption import stop_requested
from seq2seq_cli.training.loop import batches_from
from seq2seq_cli.training.requirements import memory_errors
from seq2seq_cli.training.setup import Setup, build_trainable, compile_ahead
from seq2seq_cli.training.step import Updater
from seq2seq_cli.training.team import digest_of
from seq2seq_cli.training.validation import Validator


def follow(config: Config, cluster: Cluster, peers: Peers, on_event: OnEvent) -> None:
    """Compute a share of each update until the chief ends the training. It writes no files.

    Args:
        config: the chief's config.
        cluster: the workers.
        peers: the connection to the chief.
        on_event: receives Phases and Notices.

    Raises:
        WorkerError: if another worker is lost, or the chief ends with an error.
        DataError: if the corpus cannot be used, or differs from the chief's.
        UsageError: if the training does not fit in memory.
    """
    exchange = Exchange(cluster, peers)
    show = showing_phases(on_event)
    with memory_errors(config):
        corpus = read_corpus(config.data, show)
        (job,) = peers.receive()
        if "end" in job:
            return
        setup = _set_up(config, cluster, corpus, job, on_event)
        share = Share(cluster.index, cluster.size, exchange)
        updater = setup.updater(Computation(job["precision"], job["shards"]), share)
        compile_ahead(setup, updater, on_event)
        on_event(Phase("Following the chief"))
        peers.tell(ready=True)
        if "end" in peers.receive()[0]:
            return
        exchange.give(_saved(setup, updater), gives=False)
        validator = Validator(
            config, setup.model, setup.tokenizers, corpus.dev, lambda text: on_event(Notice(text))
        )
        with stop_requested(lambda text: on_event(Notice(text))) as request:
            peers.signal_of_this = lambda: request.signal_number
            _obey(setup, updater, validator, Position(**job["position"]), share, peers)


def _set_up(
    config: Config, cluster: Cluster, corpus: Corpus, job: Message, on_event: OnEvent
) -> Setup:
    """Return the same setup as the chief's, from this worker's corpus and the chief's tokenizers.

    Raises:
        DataError: if the corpus differs from the chief's.
        WorkerError: if the chief names a file outside the tokenizer's folder.
    """
    if corpus.fingerprint != job["fingerprint"]:
        raise DataError(
            f"{corpus.description}: sentences or their order differ from the chief's corpus. Give "
            f"{cluster.name(cluster.index)} the same files"
        )
    with tempfile.TemporaryDirectory() as folder:
        for name, text in job["tokenizer"].items():
            if Path(name).name != name:
                raise WorkerError(f"the chief has sent a tokenizer file with a path: {name!r}")
            (Path(folder) / name).write_bytes(base64.b64decode(text))
        tokenizers = Tokenizers.load(Path(folder))
    show, cost = showing_phases(on_event), job["shape_cost"]
    data = TrainingData.from_config(corpus, tokenizers, config, show, cost)
    on_event(Phase("Building the model"))
    return Setup(config, corpus, tokenizers, data, build_trainable(config, tokenizers))


def _obey(
    setup: Setup,
    updater: Updater,
    validator: Validator,
    position: Position,
    share: Share,
    peers: Peers,
) -> None:
    """Follow the chief's messages until it ends the training."""
    saved = _saved(setup, updater)
    updates = batches_from(setup.data, position, setup.config.training.parts)
    while "end" not in (message := peers.receive()[0]):
        if "compare" in message:
            peers.tell(state=digest(variable.numpy() for variable in saved))
        elif "take" in message:
            if message["take"]:
                share.exchange.give(saved, gives=False)
        elif "compute" in message:
            compute_share = validator.shares[message["compute"]]
            with updater.averaged() if message["averaged"] else nullcontext():
                peers.tell(items=compute_share(share.worker, share.workers))
        else:
            batches = next(updates)
            if digest_of(batches) != message["batches"]:
                batch = position.batch // setup.config.training.parts + 1
                raise DataError(
                    f"batch {batch} of epoch {position.epoch + 1} differs from the "
                    "chief's, with the same corpus. Start all workers with the same kind of device"
                )
            updater.update(batches, message["update"], message["learning_rate"])
            position.batch += len(batches)


def _saved(setup: Setup, updater: Updater) -> list[Given]:
    """Return the state of the training, in the same order as the chief."""
    return [*setup.model.trainable_variables, *updater.variables, *updater.averages]
