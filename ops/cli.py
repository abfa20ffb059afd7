"""The `miniserve` command line: the top of the house, which wires the packages together.

Everything heavy is imported inside the commands, so that `miniserve --help` answers at once and
OPENBLAS_NUM_THREADS is set before NumPy is there to read it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pkgutil import resolve_name
from typing import Literal

import click
from click.core import ParameterSource

from ops.options import (
    ALL_SETTINGS,
    LOGGING,
    PROCESS_SETTINGS,
    check_keys,
    check_redis,
    check_spans,
    check_temporary,
    number,
    option,
    with_settings,
)
from ops.variables import unknown_variables
from scheduler.settings import Settings, variable
from worker.model.blas import configure_blas

# The first three warn in their log, and serve; doctor reports it among others.
_TAKES_ANY_VARIABLE = ("api", "worker", "monitor", "doctor")
_TOOLS = ("psutil", "tqdm")  # of the extra `tools`
_VARIABLES = "Every option is a variable, too: {} is {}. What is typed wins."
SECTIONS = {  # of the help; those of plan and up name calibrate and dashboard
    "Run": {
        "up": "Start Redis, workers and API here; Ctrl-C stops them.",
        "api, worker": "One process of that kind, for Compose or another supervisor.",
    },
    "Watch": {
        "top": "Watch a running system in the terminal.",
        "capacity": "Whether it needs another worker, by Little's law.",
        "doctor": "Check settings, model, ports, Redis and clock.",
        "monitor": "Report alerts to the log and a webhook.",
    },
    "Use": {
        "correct": "Correct a sentence, or lines, without a server.",
        "loadtest": "Put a load on a running server and measure it.",
        "key": "Make API keys.",
        "dead-letters": "List, requeue or drop requests that were given up.",
    },
    "Lab": {
        "bench": "Compare the modes by experiments, and draw figures.",
        "plan": "Size a deployment: workers, replicas, Redis.",
        "chaos": "Kill processes under load, count what is lost.",
        "eval": "Score the model on sentences.",
    },
}
_ELSEWHERE = {
    "bench": "bench.command:bench",
    "calibrate": "plan.calibrate:calibrate",
    "capacity": "observe.capacity:capacity",
    "chaos": "drills.command:chaos",
    "dashboard": "observe.dashboard:dashboard",
    "dead-letters": "observe.dead_letters:dead_letters",
    "doctor": "run.doctor:doctor",
    "eval": "evaluation.command:eval_",
    "key": "run.api_keys:key",
    "loadtest": "load.command:loadtest",
    "monitor": "observe.monitor:monitor",
    "plan": "plan.command:plan",
    "top": "observe.top:top",
}


class _Commands(click.Group):
    """Commands of other modules are imported when they run, not when the help lists them. Settings come before."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if cmd_name in _ELSEWHERE:
            configure_blas(os.environ)
            try:
                command = resolve_name(f"ops.{_ELSEWHERE[cmd_name]}")
            except ModuleNotFoundError as error:
                if error.name not in _TOOLS:
                    raise
                problem = f"`{cmd_name}` needs {error.name}, which is not installed: pip install 'miniserve[tools]'"
                raise click.ClickException(problem) from None
        options = [param for param in command.params if param.envvar] if command else []
        if command and options:
            command.epilog = _VARIABLES.format(options[0].opts[0], options[0].envvar)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(name) for rows in SECTIONS.values() for name in rows)
        for section, rows in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in rows.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in ("requeue", "drop"):  # their names before 2.0
            args = ["dead-letters", *args]
        name, command, rest = super().resolve_command(ctx, args)
        if sum(word.partition("=")[0] == "--redis-url" for word in rest) > 1:  # click takes the last one
            raise click.UsageError("--redis-url is given twice: one system has one Redis (docs/proxies.md)", ctx)
        is_judged = name not in _TAKES_ANY_VARIABLE and not {"-h", "--help", "--help-all"} & {*rest}
        if is_judged and (faults := unknown_variables(os.environ)):
            raise click.UsageError("; ".join(faults))
        return name, command, rest


@click.group(
    cls=_Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
        "token_normalize_func": str.lower,
    },
    epilog=_VARIABLES.format("--redis-url", variable("redis_url")) + " COMMAND --help lists its options.",
)
@click.version_option(package_name="miniserve", prog_name="miniserve")
def main() -> None:
    """Corrects the verb forms of English sentences and says why."""


for _name in _ELSEWHERE:
    main.add_command(click.Command(_name))  # so that it is known; get_command has the command itself


@main.command()
@with_settings(*ALL_SETTINGS, defaults={"log_level": "warning"})
@option("--dashboard", is_flag=True, help="Start rq-dashboard, too, on a port of loopback.")
@option("--die-with-parent", is_flag=True, hidden=True,
        help="Stop when the process that started this one has ended; `make up` uses it.")  # fmt: skip
@option("--verbose", is_flag=True, help="Print a line for each request, and not only warnings.")
@option("--prefill-workers", type=number(int, 0, 64), default=0, hidden=True,
        help="In place of --workers: worker processes that only read prompts.")  # fmt: skip
@option("--decode-workers", type=number(int, 0, 64), default=0, hidden=True,
        help="And those that go on from what was read (docs/operations.md).")  # fmt: skip
def up(settings: Settings, dashboard: bool, die_with_parent: bool, verbose: bool, **pools: int) -> None:
    """Start Redis, the workers and one API replica here; Ctrl-C stops them."""
    from ops.run import up as system

    is_level_chosen = click.get_current_context().get_parameter_source("log_level") is not ParameterSource.DEFAULT
    if verbose and not is_level_chosen:
        settings = replace(settings, log_level="info")

    numbers = pools["prefill_workers"], pools["decode_workers"]
    raise SystemExit(system.run(settings, dashboard, die_with_parent, numbers))


@main.command()
@with_settings(*PROCESS_SETTINGS["api"], is_redis_required=True)
def api(settings: Settings) -> None:
    """One API replica: HTTP in front of the queue. Start as many as you like."""
    _prepare("api", settings)
    from api.server.application import serve
    from ops.run.correctors import make_corrector

    serve(settings, make_corrector)


@main.command()
@with_settings(*PROCESS_SETTINGS["worker"], is_redis_required=True)
@option("--role", type=click.Choice(["all", "prefill", "decode"]), default="all", show_default=True,
        help="All of a request, only reading prompts, or only decoding what such a worker has read.")  # fmt: skip
def worker(settings: Settings, role: str) -> None:
    """One worker: the model and its batch, fed from the queue."""
    if not settings.uses_queue:
        raise click.UsageError(f"--mode {settings.mode} has no workers: `miniserve api` runs the model itself")
    if role != "all" and settings.mode != "continuous":
        raise click.UsageError(f"--role {role} is for --mode continuous, not {settings.mode}")
    _prepare("worker", settings)
    from api.grammar import tokenizer_file
    from ops.run.faults import broken, fault_of
    from worker import process

    prepare = fault_of(settings).worker if role == "all" else import_module(f"worker.pools.{role}").prepare
    tokenizer = tokenizer_file.fingerprint(tokenizer_file.SHIPPED.read_bytes())
    process.serve(broken(settings), tokenizer, prepare)


@main.command()
@with_settings("strictness", "kv_budget_tokens", "max_slots", "max_iteration_tokens", *LOGGING)
@option("--level", type=click.Choice(["quiet", "picky"]), default="quiet", show_default=True)
@option("--json", is_flag=True)
@option("--trace", is_flag=True, help="Draw where the time of SENTENCE went; with --json, add it to the answer.")
@click.argument("sentence")
def correct(settings: Settings, level: Literal["quiet", "picky"], sentence: str, json: bool, trace: bool) -> None:
    """Correct SENTENCE without any server.

    With - for SENTENCE, correct each line of standard input and print one line for each: the corrected sentence,
    a tab, the explanation; or a JSON problem object where the line is refused.
    """
    if trace and sentence == "-":
        raise click.UsageError("--trace is for one sentence, and not for the lines of standard input")
    _prepare("correct", settings)
    from ops.run import offline

    raise SystemExit(offline.run(settings, level, sentence, json, trace))


def _prepare(process: str, settings: Settings) -> None:
    if process == "api":
        check_temporary()
        check_spans(settings)
        check_keys(settings)
    configure_blas(os.environ)
    from ops.run import logs

    if process in ("api", "worker"):
        logs.never_wait_for_readers()
    logs.configure(settings, process)
    if process == "worker":
        check_redis(settings)


if __name__ == "__main__":
    main(prog_name="miniserve")
