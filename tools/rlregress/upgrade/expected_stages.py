"""The stages that an upgrade is expected to go through, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rlregress.catalogue import registry
from rlregress.catalogue.registry import Detail
from rlregress.frameworks.base import Adapter
from rlregress.progress import CommandStage
from rlregress.upgrade.culprits import culprit_search
from rlregress.upgrade.evidence import costs, coverage, direct_calls, return_gate
from rlregress.upgrade.upgrade_options import Options

#: stages with stored seconds; see ``baselines/durations.toml``.
MAKING, LISTING = "making both versions", "listing what differs"
DETAILS = "probing details on both versions"
RECORDING = "recording trainings on both versions"
REPETITION = "recording trainings again, to see whether they repeat themselves"
FILES = "loading old files"
RETURNS = "training, to judge returns"
#: fewer trainings than this were chosen by name: all are expected to run changed code. Of more,
#: half are, if so many functions changed.
_FEW, _RUN_BY_HALF = 5, 4
#: a stage without a known time: which trainings follow depends on the details that differ.
UNKNOWN = "what the details leave open"
#: share of trainings that is expected to diverge where no detail differs: the least, and with how
#: many changed functions it is half. The stages after a divergence take as long as all others: with
#: a small share of them, the estimate is a little too long if nothing diverges, and more than half
#: of the truth if something does.
_DIVERGES, _DIVERGE_IN_HALF = 0.2, 40
#: time of a second recording of a script, as a share of the first, which also notes executed lines.
_AGAIN = 0.7
#: expected recordings of a search for each changed function; a later search takes this share of
#: them, as it begins with the culprits that the first searches found.
_RECORDINGS, _LATER = 1.75, 0.6
#: share of the changed functions that a training executes.
_EXECUTED = 0.12
#: seconds for timing trainings on both versions; for timing a script, as a multiple of its time.
_TIMED, _TURNS_OF_SCRIPT = 10.0, 2.0
#: at most so many trainings are examined, each for all that diverge at the same place as it does.
_STAND_FOR_ALL = 8


def list_stages_of_probing(
    details: Sequence[Sequence[Detail]], options: Options
) -> list[CommandStage]:
    """Return the stage that probes details, those of each framework on both versions."""
    at_once = max(min(2 * len(details), options.processes_at_once), 1)
    count = sum(map(len, details))
    return [
        CommandStage(DETAILS, 2 * count, at_once, starts=2 * len(details) / at_once if count else 0)
    ]


def list_stages_of_trainings(
    frameworks: Iterable[tuple[int, int, bool, bool]], options: Options
) -> list[CommandStage]:
    """Return the stages of the trainings of frameworks.

    Args:
        frameworks: of each, how many trainings are chosen, how many changed functions they may
            run, whether a detail differs, and whether the old version is recorded only for those
            that run some.
    """
    at_once, both = options.processes_at_once, 2 / min(options.processes_at_once, 2)
    stages: list[CommandStage] = []
    for trainings, differing, differs, selected in frameworks:
        share = differing / (differing + (0 if trainings < _FEW else _RUN_BY_HALF) or 1)
        recorded = share * trainings if selected else trainings
        share_diverging = max(_DIVERGES, differing / (differing + _DIVERGE_IN_HALF))
        chance = 1.0 if differs else share_diverging * bool(differing)
        stand = min(recorded * chance, _STAND_FOR_ALL)
        # stages that follow a difference start processes only if there is one
        reverted = estimate_recordings_to_revert(stand, differing)
        # if the new version's traces select trainings, the old version records afterwards
        workers, starts = (min(at_once, trainings), 2.0) if selected else (at_once, both)
        stages += [
            CommandStage(RECORDING, trainings + recorded, workers, starts),
            CommandStage(REPETITION, 2 * stand, at_once, both * chance),
            CommandStage(culprit_search.STAGE, reverted, at_once, starts=chance),
            CommandStage(coverage.STAGE, differing, starts=0),
            # functions that make trainings differ need no further evidence
            make_stage_of_captured_calls(recorded, differing - stand),
            CommandStage(costs.STAGE, bool(recorded), size=_TIMED, seconds=1.0),
        ]
    return stages


def list_stages_of_script(seconds: float, differing: int, options: Options) -> list[CommandStage]:
    """Return the stages after the first recording of a script, which took ``seconds``.

    Args:
        differing: how many changed functions there are.
    """
    at_once, reverted = options.processes_at_once, estimate_recordings_to_revert(1, differing)
    return [
        CommandStage(REPETITION, 2, at_once, seconds=_AGAIN * seconds),
        CommandStage(culprit_search.STAGE, reverted, at_once, seconds=_AGAIN * seconds),
        CommandStage(coverage.STAGE, differing, starts=0),
        make_stage_of_captured_calls(1, differing),
        CommandStage(
            costs.STAGE, bool(differing), size=max(_TIMED, _TURNS_OF_SCRIPT * seconds), seconds=1.0
        ),
        *list_stages_of_probing([registry.list_details()], options),
    ]


def make_stage_of_captured_calls(trainings: float, differing: float) -> CommandStage:
    """Return the stage that repeats captured calls, each training's in a process of its own.

    Args:
        differing: how many changed functions may be called.
    """
    functions = _EXECUTED * max(differing, 0)
    parts = min(trainings, direct_calls.TRAININGS * functions)
    work = functions * direct_calls.limit_first_capture_seconds(max(functions, 1))
    size = work * min(direct_calls.TRAININGS / parts, 1) if parts else 0
    # calls are repeated until their time is over, which says little about the machine's speed
    return CommandStage(direct_calls.STAGE, parts, starts=0, size=size, is_measure=False)


def list_stages_of_old_files(adapters: Iterable[Adapter], options: Options) -> list[CommandStage]:
    """Return the stage of old files: each algorithm of a framework trains, saves and loads."""
    offered = [
        {*adapter.framework.algorithms, *adapter.framework.behavior_only} for adapter in adapters
    ]
    trained = [names.intersection(options.algorithms or names) for names in offered]
    at_once = min(len(offered), options.processes_at_once)
    return [CommandStage(FILES, sum(map(len, trained)), at_once, starts=2)]


def list_stages_of_returns(
    adapters: Sequence[Adapter], algorithms: Sequence[Sequence[str]], options: Options
) -> list[CommandStage]:
    """Return the stage of trainings that judge returns, for some algorithms of each framework."""
    if not options.returns:
        return []
    seconds = [
        return_gate.estimate_training_seconds(adapter, names, options.one_look)
        for adapter, names in zip(adapters, algorithms, strict=True)
    ]
    return [CommandStage(RETURNS, sum(seconds), options.processes_at_once)]


def estimate_recordings_to_revert(trainings: float, differing: float) -> float:
    """Return how many recordings with reverted functions a search is expected to take.

    Args:
        differing: how many functions differ, half of which a training executes.
    """
    first = min(trainings, culprit_search.WAVE)
    functions = differing if differing == 1 else differing / 2
    recordings = min(_RECORDINGS * functions, culprit_search.MOST_OF_ONE)
    return recordings * (first + _LATER * (trainings - first))
