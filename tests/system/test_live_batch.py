"""What `/ops` makes of a worker's iterations, beside the policies of the scheduler that made them."""

from __future__ import annotations

import json
import random
import subprocess
from typing import Any

import pytest

from api.pages.files import STATIC
from ops.bench.occupancy import policies
from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.messages import EOS_ID, MAX_OUTPUT_TOKENS, CorrectionRequest, Delivery
from tests import system_tools
from worker.live import LiveLog

SLOTS, WORD = 6, EOS_ID + 1
LIMITS = BatchLimits(10_000, SLOTS, 10_000)
FEW_TOKENS = BatchLimits(400, 64, 10_000)  # a request reserves 33 to 92
COLUMNS = """(() => {
  const batch = new Batch(), columns = given.flatMap((one) => batch.columnsOf(one));
  const cells = columns.flatMap((column) => [...column.cells.values()]);
  const done = columns.flatMap((column) => column.done);
  return {
    wanted: columns.reduce((sum, { numWanted }) => sum + numWanted, 0),
    joined: cells.filter(({ isJoined }) => isJoined).length,
    lengths: done.sort((one, other) => one.number - other.number).map(({ numTokens }) => numTokens),
  };
})()"""


def run(expression: str, given: Any) -> Any:
    code = (STATIC / "batch.js").read_text(encoding="utf-8") + "\nconst given = JSON.parse(process.argv[1]);"
    code += f"console.log(JSON.stringify({expression}));"
    command = [system_tools.find("node"), "--input-type=module", "-e", code, "--", json.dumps(given)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout)


def submit(policy: ContinuousBatching, number: int) -> None:
    num_tokens = 1 + 7 * number % 60
    request = CorrectionRequest(str(number), (WORD,) * num_tokens, (0,) * num_tokens, MAX_OUTPUT_TOKENS, "")
    policy.submit(Delivery(request, attempt=1, waited_s=0.0), 0.0)


def iterate(policy: ContinuousBatching, lengths: list[int], log: LiveLog) -> StepPlan:
    plan = policy.plan(0.0)
    tokens = [EOS_ID if len(one.output_ids) + 1 >= lengths[int(one.request_id)] else WORD for one in plan]
    policy.commit(plan, tokens, 0.0)
    log.note(plan, policy)
    return plan


@pytest.mark.parametrize("policy", ["continuous", "static", "fixed length"])
def test_a_replay_takes_as_many_iterations_as_the_scheduler(policy: str) -> None:
    chance = random.Random(39)
    lengths = [chance.randint(1, 12) for _ in range(60)]
    scheduler, log = policies(LIMITS)[policy], LiveLog()
    for number in range(len(lengths)):
        submit(scheduler, number)
    while scheduler.has_work:
        iterate(scheduler, lengths, log)
    iterations = json.loads(log.take("w", SLOTS))["iterations"]

    requests = [{"number": number, "numTokens": length} for number, length in enumerate(lengths)][::-1]
    replayed = run(
        f"replay(given, {json.dumps(policy.split()[0])}, {SLOTS}).map((cells) => [...cells.keys()].sort())", requests
    )

    assert replayed == [sorted(began + decoded) for _, began, decoded, _ in iterations]


@pytest.mark.parametrize("limits", [LIMITS, FEW_TOKENS], ids=["few slots", "few tokens"])
def test_who_waited_and_who_joined_at_once_are_counted_as_they_were(limits: BatchLimits) -> None:
    """Requests come while others run, and in pauses; some are cancelled. The engine sorts prompts by their length."""
    chance, policy, log = random.Random(39), ContinuousBatching(limits), LiveLog()
    lengths: list[int] = []
    waited, answered = set[str](), dict[int, int]()
    num_wanted = num_joined = wanted = 0
    for _ in range(400):
        for _ in range(chance.choice([0, 0, 0, 1, 9])):
            submit(policy, len(lengths))
            lengths.append(chance.randint(1, 12))
        if policy.running and not policy.waiting and chance.random() < 0.1:
            policy.cancel(next(iter(policy.running)))
        if policy.has_work:
            plan = iterate(policy, lengths, log)
            num_wanted += wanted
            num_joined += min(wanted, sum(one.request_id in waited for one in plan.prefills))
            ended = [one for one in plan if one.request_id not in policy.running]
            answered |= {int(one.request_id): len(one.output_ids) for one in ended}
            waited, wanted = set(policy.waiting), min(len(policy.waiting), len(ended))

    iterations = json.loads(log.take("w", SLOTS))["iterations"]
    counted = run(COLUMNS, [[waiting, began[::-1], *others] for waiting, began, *others in iterations])

    lengths_in_order = [answered[number] for number in sorted(answered)]
    assert counted == {"wanted": num_wanted, "joined": num_joined, "lengths": lengths_in_order}
    assert (num_joined == num_wanted) == (limits is LIMITS), "a slot alone does not suffice where tokens are scarce"


def test_a_request_that_found_its_slot_empty_waited_for_none() -> None:
    """It came after a pause, or while others ran."""
    pause = [[0, [0], [], [0]], [0, [0], [], [0]]]
    came_meanwhile = [[0, [0, 1], [], [1]], [0, [1], [0], []]]

    assert [run(COLUMNS, each)["joined"] for each in (pause, came_meanwhile)] == [0, 0]
    assert run("given.flatMap(((batch) => (one) => batch.columnsOf(one))(new Batch())).length", pause) == 3
