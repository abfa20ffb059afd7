"""A run from corpus to weights file, small: needs `pip install .[train]`."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from api.grammar.tokenizer import Tokenizer
from api.grammar.verbs import VerbTable
from ops.training.mining import Mined, write_mined
from ops.training.model import loop
from ops.training.model.averaging import WeightAverage
from ops.training.model.export import write_weights
from ops.training.model.loop import train
from ops.training.model.trainer import Trainer
from ops.training.model.twin import Twin, TwinConfig
from ops.training.options import TrainOptions
from ops.training.text.corpus import TaggedSentence, read_corpus
from ops.training.text.maker import ExampleMaker, Mix
from worker.model.weights import load_weights


def options(corpus: Path, out: Path, **others: object) -> TrainOptions:
    return TrainOptions((corpus,), out, num_examples=200, device="cpu", tokens_per_batch=400, **others)


def trained(path: Path) -> dict[str, object]:
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["trained"])


def test_a_run_ends_in_weights_the_worker_loads_and_goes_on_where_it_stopped(corpus, tmp_path, quick):
    path = train(options(corpus, tmp_path / "run"))

    weights = load_weights(path)
    assert weights.config.vocab_size == 3072
    with (tmp_path / "run" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert int(rows[-1]["examples"]) >= 200
    assert rows[-1]["exact"] != ""

    first = torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)["progress"]
    train(options(corpus, tmp_path / "run", resume=True))
    second = torch.load(tmp_path / "run" / "checkpoint.pt", weights_only=True)["progress"]
    assert second == first, "a finished run is exported anew and learns nothing more"


def test_the_weights_tell_how_to_make_them_again(corpus, tmp_path, quick):
    path = train(options(corpus, tmp_path / "run", seed=4, top_rate=0.5))

    told = trained(path)
    assert told["examples"] >= 200 and told["tokens"] > 0 and told["elapsed_s"] > 0
    assert (told["seed"], told["processes"], told["top_rate"]) == (4, 1, 0.5)
    assert told["corpora"].keys() == {corpus.name}
    assert told["torch"] == torch.__version__
    assert told["hardware"] and told["commits"] and told["date"]
    assert told["start_from"] is None
    best = {"plain": "twin", "average": "average"}[told["weights"]]
    assert told["held_out_loss"][best] == min(told["held_out_loss"].values())


def weights_file(path: Path, tokenizer_fingerprint: str, twin: Twin) -> Path:
    write_weights(twin, path, tokenizer_fingerprint, 1.5, json.dumps({"examples": 7}))
    return path


def test_a_run_may_start_from_weights_and_tells_so(tmp_path):
    tokenizer = Tokenizer.load()
    config = TwinConfig(vocab_size=tokenizer.vocab_size)
    given = Twin(config)
    path = weights_file(tmp_path / "given.safetensors", tokenizer.fingerprint, given)
    trainer = Trainer(TrainOptions((), device="cpu", seed=5), config)

    trainer.start_from(path, tokenizer)

    for each in (trainer.twin.state_dict(), trainer.average.state_dict()):
        assert all(torch.equal(each[name], param) for name, param in given.named_parameters())
    assert trainer.origin["trained"] == {"examples": 7}
    trainer.save(tmp_path / "checkpoint.pt")
    other = Trainer(TrainOptions((), device="cpu"), config)
    other.load(tmp_path / "checkpoint.pt")
    assert other.origin == trainer.origin


def test_weights_for_another_tokenizer_or_of_another_shape_are_refused(tmp_path):
    tokenizer = Tokenizer.load()
    config = TwinConfig(vocab_size=tokenizer.vocab_size)
    trainer = Trainer(TrainOptions((), device="cpu"), config)
    foreign = weights_file(tmp_path / "foreign.safetensors", "0" * 16, Twin(config))
    small = weights_file(tmp_path / "small.safetensors", tokenizer.fingerprint, Twin(replace(config, width=64)))

    with pytest.raises(ValueError, match="was trained with tokenizer 0{16}"):
        trainer.start_from(foreign, tokenizer)
    with pytest.raises(ValueError, match="shape"):
        trainer.start_from(small, tokenizer)


def test_a_file_that_holds_no_weights_is_no_start(tmp_path):
    path = tmp_path / "notes.safetensors"
    path.write_text("no weights")
    trainer = Trainer(TrainOptions((), device="cpu"), TwinConfig(vocab_size=Tokenizer.load().vocab_size))

    with pytest.raises(ValueError, match="no weights file"):
        trainer.start_from(path, Tokenizer.load())


def test_the_average_follows_the_weights_and_forgets_the_random_start():
    model = torch.nn.Linear(3, 2)
    average = WeightAverage(model, decay=0.9)
    with torch.no_grad():
        model.weight.fill_(1.0)

    for step in range(4, 404, 4):
        average.update(step)

    assert torch.allclose(average.state_dict()["weight"], torch.ones(2, 3), atol=1e-3)


def test_a_run_is_never_overwritten_by_mistake(corpus, tmp_path):
    checkpoint = tmp_path / "run" / "checkpoint.pt"
    checkpoint.parent.mkdir()
    checkpoint.write_bytes(b"hours of work")

    with pytest.raises(FileExistsError, match="--resume"):
        train(options(corpus, tmp_path / "run"))

    assert checkpoint.read_bytes() == b"hours of work"


def test_a_sentence_that_one_mined_file_calls_flawed_leaves_the_text(corpus, tmp_path, monkeypatch):
    met = {}

    def keep(_: object, sentences: list[TaggedSentence], *, mix: Mix) -> ExampleMaker:
        met.update(sentences={one.text for one in sentences}, mined=mix.mined)
        return ExampleMaker(VerbTable.load(), sentences, mix=mix)

    right, flawed = [one.text for one in read_corpus([corpus]) if not one.is_held_out][:2]
    sure, unsure = (Mined("wikipedia", flawed, "x", "base_after_modal", confidence) for confidence in (0.99, 0.7))
    write_mined([sure, Mined("wikipedia", right, "x", "base_after_modal", 0.7)], tmp_path / "one.tsv")
    write_mined([unsure], tmp_path / "two.tsv")
    monkeypatch.setattr(loop, "ExampleMaker", keep)

    loop.batch_streams(options(corpus, tmp_path, mined=(tmp_path / "one.tsv", tmp_path / "two.tsv")), seed=1)

    assert right in met["sentences"]
    assert flawed not in met["sentences"]
    assert met["mined"] == {right}
