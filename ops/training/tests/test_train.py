"""A run from corpus to calibrated weights, small; and the processes that make its batches."""

from __future__ import annotations

import csv
import itertools
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from safetensors import safe_open

from api.grammar.tokenizer import Tokenizer
from miniserve_training import command
from miniserve_training.model import loop, streams
from miniserve_training.model.batches import Batch, Encoded, collate
from miniserve_training.model.export import read_twin, write_weights
from miniserve_training.model.streams import background_batches
from miniserve_training.model.twin import Twin, TwinConfig
from miniserve_training.options import TrainOptions
from miniserve_training.text.maker import Mix
from miniserve_training.text.written import lines as written
from worker.model.weights import load_weights

ROW = Encoded((70, 5, 9, 2) * 5, (1, 2, 3, 0) * 5, (60, 70, 1), (0, 1, 0, 0) * 5)
SENTENCES = [
    "He went to NAME.\tHe/PRP/0 went/VBD/1 to/TO/2 NAME/NNP/3 ././4",
    "She took NAME.\tShe/PRP/0 took/VBD/1 NAME/NNP/2 ././3",
    "They are with NAME.\tThey/PRP/0 are/VBP/1 with/IN/2 NAME/NNP/3 ././4",
]
TOKENIZER = Tokenizer.load()


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(loop, "_METRICS_EVERY_STEPS", 2)
    some = written.load()[:5]
    monkeypatch.setattr(written, "load", lambda: some)
    path, names = tmp_path / "corpus.tsv", map("".join, itertools.product("ABCDEFGHIJ", "aeiou", "lmnr"))
    path.write_text("".join(f"wikitext\t{line.replace('NAME', name)}\n" for name in names for line in SENTENCES))
    return path


def run(corpus: Path, tmp_path: Path, *options: str, more: str = "") -> Result:
    (tmp_path / "recipe.toml").write_text(f"examples = 40\ntokens_per_batch = 400\nseed = 4\n{more}\n")
    arguments = ["train", str(corpus), "--recipe", str(tmp_path / "recipe.toml"), "--out", str(tmp_path / "out")]
    return CliRunner().invoke(command.main, [*arguments, "--device", "cpu", *options])


def weights_file(path: Path, fingerprint: str = TOKENIZER.fingerprint) -> Path:
    twin = Twin(TwinConfig(vocab_size=TOKENIZER.vocab_size, num_layers=1, width=64))
    write_weights(twin, path, fingerprint, json.dumps({"examples": 7}))
    return path


def test_one_command_ends_in_calibrated_weights_that_tell_how_to_make_them_again(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_development_sets", lambda: [])
    weights_file(tmp_path / "given.safetensors")
    (tmp_path / "read.txt").write_text("He {goes|singular_agreement:go} home.\n")
    outcome = run(corpus, tmp_path, "--lines", str(tmp_path / "read.txt"), more='start_from = "given.safetensors"')

    assert outcome.exit_code == 0, outcome.output
    path = tmp_path / "out" / "mini-gpt.safetensors"
    weights = load_weights(path)
    assert (weights.config.num_layers, weights.config.width) == (1, 64)
    assert weights.config.calibration
    with safe_open(path, framework="numpy") as file:
        told = json.loads(file.metadata()["trained"])
    assert told["examples"] >= 40 and told["tokens"] > 0 and told["elapsed_s"] > 0
    assert (told["seed"], told["top_rate"], told["corpora"].keys()) == (4, 1.0, {corpus.name})
    assert told["start_from"]["trained"] == {"examples": 7} and told["lines"].keys() == {"read.txt"}
    assert told["hardware"] and told["commits"] and told["date"] and told["torch"]
    with (tmp_path / "out" / "metrics.csv").open() as file:
        assert int([*csv.DictReader(file)][-1]["examples"]) == told["examples"]

    monkeypatch.setattr(loop, "train", lambda _: pytest.fail("a step whose file is there was done again"))
    assert run(corpus, tmp_path).exit_code == 0


def test_lines_of_a_file_are_learnt_from_next_to_those_of_the_package(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, line, taken = tmp_path / "read.txt", "He {goes|singular_agreement:go} home.", []
    monkeypatch.setattr(loop, "Mix", lambda lines, *more: taken.extend(lines) or Mix(lines, *more))
    path.write_text(f"# read by a judge\n{line}\n")
    loop.batch_streams(TrainOptions((corpus,), tmp_path, examples=1, lines=(path,)), TOKENIZER, seed=1)
    path.write_text("He {goes} home.\n")
    refused = run(corpus, tmp_path, "--lines", str(path))

    assert taken == [*written.load(), written.parse(line)]
    assert refused.exit_code == 1 and "read.txt, line 1: {goes} has no wrong version" in refused.output


def test_a_run_goes_on_from_its_checkpoint(corpus: Path, tmp_path: Path) -> None:
    options = TrainOptions((corpus,), tmp_path, examples=40, device="cpu", tokens_per_batch=400)
    loop.train(options)
    first = torch.load(tmp_path / "checkpoint.pt", weights_only=True)

    loop.train(TrainOptions((corpus,), tmp_path, examples=80, device="cpu", tokens_per_batch=400))

    second = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert 40 <= first["progress"]["examples"] < 80 <= second["progress"]["examples"]
    assert second["commits"] == first["commits"]


def test_what_is_exported_holds_its_share_of_what_the_run_began_with(corpus: Path, tmp_path: Path) -> None:
    given = weights_file(tmp_path / "given.safetensors")
    shares: dict[float, torch.Tensor] = {}
    for share in (0.0, 0.25, 1.0):
        how = {"device": "cpu", "tokens_per_batch": 200, "start_from": given, "start_share": share}
        shares[share] = read_twin(
            loop.train(TrainOptions((corpus,), tmp_path / "out", examples=80, **how)), TOKENIZER
        ).tok_emb

    assert torch.equal(shares[1.0], read_twin(given, TOKENIZER).tok_emb)
    assert torch.allclose(shares[0.25], 0.75 * shares[0.0] + 0.25 * shares[1.0], atol=1e-6)
    assert not torch.equal(shares[0.0], shares[1.0])


def test_a_recipe_with_a_misspelt_key_and_a_clone_without_development_sets_are_refused(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert {"everyday.jsonl", "blind-1.jsonl"} <= {path.name for path in command._development_sets()}
    (tmp_path / "other.toml").write_text("exampels = 40\n")
    assert "exampels" in run(corpus, tmp_path, "--recipe", str(tmp_path / "other.toml")).output

    assert "none are named: --start-from" in run(corpus, tmp_path, more="start_share = 0.5").output

    monkeypatch.setattr(command, "_DEVELOPMENT", tmp_path)
    assert "no development sets" in run(corpus, tmp_path).output


def test_weights_for_another_tokenizer_and_what_is_no_weights_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.safetensors").write_text("no weights")

    with pytest.raises(ValueError, match="was trained with tokenizer 0{16}"):
        read_twin(weights_file(tmp_path / "foreign.safetensors", "0" * 16), TOKENIZER)
    with pytest.raises(ValueError, match="no weights file"):
        read_twin(tmp_path / "notes.safetensors", TOKENIZER)


def of_its_number(number: int) -> Iterator[Batch]:
    while True:
        yield collate([ROW] * (1 + number))


def one_batch_and_a_failure(_: int) -> Iterator[Batch]:
    yield collate([ROW])
    raise ValueError("line 7 has no brace")


def one_batch_and_a_death(_: int) -> Iterator[Batch]:
    yield collate([ROW])
    os.kill(os.getpid(), signal.SIGKILL)


def four_batches_and_a_wait(_: int) -> Iterator[Batch]:
    yield from (collate([ROW] * rows) for rows in (1, 2, 3, 4))
    time.sleep(30)


def test_batches_come_from_every_stream() -> None:
    with closing(background_batches(of_its_number, 3)) as batches:
        lengths = set[int]()
        while lengths != {1, 2, 3}:
            lengths.add(len(next(batches)))


@pytest.mark.parametrize("num_streams", [1, 2])
@pytest.mark.parametrize(
    ("stream", "wanted"), [(one_batch_and_a_failure, "line 7 has no brace"), (one_batch_and_a_death, "exited|killed")]
)
def test_the_end_of_a_process_is_reported_and_not_waited_for(stream: object, wanted: str, num_streams: int) -> None:
    with closing(background_batches(stream, num_streams)) as batches, pytest.raises(Exception, match=wanted):
        for _ in range(20):
            next(batches)


def test_old_batches_come_again_while_no_new_one_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_LEAST_OLD", 8)  # all that the two streams make at once
    with closing(background_batches(four_batches_and_a_wait, 2)) as batches:
        lengths = [len(batch) for batch in itertools.islice(batches, 60)]

    assert len(lengths) == 60 and {*lengths} == {1, 2, 3, 4}
