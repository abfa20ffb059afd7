"""The `miniserve` command line: the top of the house, which wires the packages together.

Everything heavy is imported inside the commands, so that `miniserve --help` answers at once and
OPENBLAS_NUM_THREADS is set before NumPy is there to read it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module

import click
from click.core import ParameterSource

from ops.options import (
    ALL_SETTINGS,
    API_SETTINGS,
    LOGGING,
    check_keys,
    check_redis,
    check_spans,
    check_temporary,
    option,
    with_settings,
)
from ops.variables import unknown_variables
from scheduler.settings import Settings
from worker.model.blas import configure_blas

# The first three warn in their log, and serve; doctor reports it among others.
_TAKES_ANY_VARIABLE = ("api", "worker", "monitor", "doctor")
_TOOLS = ("psutil", "tqdm")  # of the extra `tools`
# Name: module in ops, attribute, what the list of commands says.
COMMANDS_ELSEWHERE = {
    "monitor": ("observe.monitor", "monitor", "Watch the system and report alerts to the log and a webhook."),
    "key": ("run.api_keys", "key", "Make API keys."),
    "capacity": ("observe.capacity", "capacity", "Little's law of the running system, and whether it needs a worker."),
    "calibrate": ("plan.calibrate", "calibrate", "Measure what requests cost on this machine, for `plan`."),
    "plan": ("plan.command", "plan", "Size a deployment by calculation: workers, replicas, Redis."),
    "doctor": ("run.doctor", "doctor", "Check settings, model, ports, Redis and clock, with the remedy of each fault."),
    "dead-letters": ("observe.dead_letters", "dead_letters", "List requests that were given up."),
    "requeue": ("observe.dead_letters", "requeue", "Put requests that were given up back into the queue."),
    "drop": ("observe.dead_letters", "drop", "Forget requests that were given up."),
    "top": ("observe.top", "top", "Watch a running system in the terminal."),
    "loadtest": ("load.command", "loadtest", "Put a load on a running server and measure its answers."),
    "bench": ("bench.command", "bench", "Run the experiments that compare the modes, and draw their figures."),
    "dashboard": ("observe.dashboard", "dashboard", "Run rq-dashboard with a log-in; it reads only JSON."),
    "chaos": ("drills.command", "chaos", "Run fault drills: kill processes under load, count what is lost."),
    "eval": ("evaluation.command", "eval_", "Score the model: exact match, F0.5, false positives."),
}


class _Commands(click.Group):
    """Commands of other modules are imported when they run, not when the help lists them. Settings come before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *COMMANDS_ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS_ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        configure_blas(os.environ)
        module, attribute, _ = COMMANDS_ELSEWHERE[cmd_name]
        try:
            return getattr(import_module(f"ops.{module}"), attribute)
        except ModuleNotFoundError as error:
            if error.name not in _TOOLS:
                raise
            problem = f"`{cmd_name}` needs {error.name}, which is not installed: pip install 'miniserve[tools]'"
            raise click.ClickException(problem) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, command.get_short_help_str(80)) for name, command in self.commands.items()]
        rows += [(name, summary) for name, (_, _, summary) in COMMANDS_ELSEWHERE.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError:
            if near := get_close_matches(args[0].lower(), self.list_commands(ctx), 1):
                # Without click's own guess, which knows fewer names.
                problem = f"No such command {args[0]!r}. Did you mean `{near[0]}`?"
                raise click.UsageError(problem, ctx) from None
            raise
        if sum(word.partition("=")[0] == "--redis-url" for word in rest) > 1:  # click takes the last one
            raise click.UsageError("--redis-url is given twice: one system has one Redis (docs/proxies.md)", ctx)
        is_judged = name not in _TAKES_ANY_VARIABLE and not {"-h", "--help"} & {*rest}
        if is_judged and (faults := unknown_variables(os.environ)):
            raise click.UsageError("; ".join(faults))
        return name, command, rest


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="miniserve", prog_name="miniserve")
def main() -> None:
    """Corrects the verb forms of English sentences and says why."""


@main.command()
@with_settings(*ALL_SETTINGS, defaults={"log_level": "warning"})
@option("--dashboard", is_flag=True, help="Start rq-dashboard, too.")
@option("--die-with-parent", is_flag=True,
        help="Stop when the process that started this one has ended; `make up` uses it.")  # fmt: skip
@option("--verbose", is_flag=True, help="Print a line for each request, and not only warnings.")
@option("--prefill-workers", type=click.IntRange(0, 64), default=0,
        help="In place of --workers: worker processes that only read prompts.")  # fmt: skip
@option("--decode-workers", type=click.IntRange(0, 64), default=0,
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
@with_settings(*API_SETTINGS, is_redis_required=True)
def api(settings: Settings) -> None:
    """One API replica: HTTP in front of the queue. Start as many as you like."""
    _prepare("api", settings)
    from api.server.application import serve
    from ops.run.correctors import make_corrector

    serve(settings, make_corrector)


@main.command()
@with_settings(
    "redis_url", "mode", "max_batch", "max_wait_ms", "fixed_tokens", "strictness", "grace_s", "kv_budget_tokens",
    "max_slots", "max_iteration_tokens", "max_stall_ms", "result_ttl_s", *LOGGING, is_redis_required=True,
)  # fmt: skip
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
@option("--json", is_flag=True)
@option("--trace", is_flag=True, help="Draw where the time of SENTENCE went; with --json, add it to the answer.")
@click.argument("sentence")
def correct(settings: Settings, sentence: str, json: bool, trace: bool) -> None:
    """Correct SENTENCE without any server.

    With - for SENTENCE, correct each line of standard input and print one line for each: the corrected sentence,
    a tab, the explanation; or a JSON problem object where the line is refused.
    """
    if trace and sentence == "-":
        raise click.UsageError("--trace is for one sentence, and not for the lines of standard input")
    _prepare("correct", settings)
    from ops.run import offline

    raise SystemExit(offline.run(settings, sentence, json, trace))


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
