"""The command `miniserve bench`."""

from __future__ import annotations

import json
import signal
import traceback
from dataclasses import asdict, replace
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import click

from ops.bench import concurrency, engine, modes, occupancy, peers, static_sweep
from ops.bench.experiment import Plan, read_rows, write_rows
from ops.options import number, option
from ops.provenance import provenance

EXPERIMENTS: dict[str, ModuleType] = {
    "static-sweep": static_sweep, "modes": modes, "concurrency": concurrency, "occupancy": occupancy,
    "peers": peers, "engine": engine,
}  # fmt: skip
ALL = ("static-sweep", "modes", "concurrency", "occupancy")  # the others do not compare modes
_QUICK = 0.1


@click.command()
@click.argument("names", nargs=-1, required=True, type=click.Choice([*EXPERIMENTS, "all"]), metavar="NAME...")
@option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("experiments"), show_default=True,
        help="Folder for the folders of results.")  # fmt: skip
@option("--runs", type=number(int, 1, 100), default=3, show_default=True, help="Rounds; figures show medians.")
@option("--seed", type=number(int, 0, 2**31), default=0, show_default=True)
@option("--quick", is_flag=True)
@option("--redraw", type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Measure nothing: draw the figures of this folder of results again.")  # fmt: skip
def bench(names: tuple[str, ...], out: Path, redraw: Path | None, quick: bool, **asked: int) -> None:
    """Run the experiments NAME... and draw their figures.

    \b
    static-sweep   batch size and waiting time of static batching, compared with no batching
    modes          sync, threaded, static, continuous on one load
    concurrency    median latency against the number of clients, with and without batching
    occupancy      what every slot of the batch does in every iteration; needs no server
    all            these four, one after the other
    peers          compares with Mosec around the same corrector
    engine         throughput of the engine alone, without HTTP and queue; needs no server

    \b
    modes takes the best setting of the newest static-sweep in OUT, and (16, 20 ms) where there is none.

    Each starts servers of its own and writes OUT/DATE-NAME/ with a CSV, a manifest and the figures. Run nothing else
    meanwhile.
    """
    if find_spec("matplotlib") is None:
        raise click.ClickException("the figures need matplotlib: pip install '.[plots]'")
    chosen = list(ALL) if "all" in names else list(dict.fromkeys(names))
    if redraw is not None:
        _redraw(chosen, redraw)
        return
    for each in (signal.SIGTERM, signal.SIGINT):  # a shell's background jobs are born deaf to the second
        signal.signal(each, signal.default_int_handler)  # else the servers would outlive us
    plan = Plan(1, asked["seed"], _QUICK) if quick else Plan(asked["runs"], asked["seed"])
    failed = []
    for name in chosen:
        try:
            _run(name, plan, out)
        except Exception:  # one experiment must not end those after it
            if len(chosen) == 1:
                raise
            failed.append(name)
            click.echo(f"{name}:\n{traceback.format_exc()}", err=True)
    if failed:
        raise click.ClickException(f"{', '.join(failed)} failed; the reason is above")


def _run(name: str, plan: Plan, out: Path) -> None:
    if name == "modes":
        plan = replace(plan, static=static_sweep.newest_best_setting(out) or plan.static)
    folder = out / f"{date.today().isoformat()}-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    # Before the measurement: the commit may be another one by its end.
    document = {"experiment": name, **provenance(), **asdict(plan)}
    (folder / "manifest.json").write_text(json.dumps(document, indent=2, default=str) + "\n", encoding="utf-8")
    write_rows(folder / EXPERIMENTS[name].CSV, EXPERIMENTS[name].measure(plan))
    _draw(name, folder)


def _draw(name: str, folder: Path) -> None:
    """Draw from the file alone, so that what is drawn is what was kept."""
    rows = read_rows(folder / EXPERIMENTS[name].CSV)
    click.echo("\n".join([f"{name}:", *EXPERIMENTS[name].summary(rows)]))
    for path in EXPERIMENTS[name].draw(rows, folder):
        click.echo(f"  {path}")


def _redraw(names: list[str], folder: Path) -> None:
    found = [name for name in names if (folder / EXPERIMENTS[name].CSV).exists()]
    if not found:
        wanted = " or ".join(EXPERIMENTS[name].CSV for name in names)
        raise click.BadParameter(f"{folder} holds no {wanted}", param_hint="--redraw")
    for name in found:
        _draw(name, folder)
