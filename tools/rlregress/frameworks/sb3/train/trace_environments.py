"""The environments of a traced training, and their wrappers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from rlregress.frameworks.sb3 import gyms, user_code
from rlregress.frameworks.sb3.library import find_in_library
from rlregress.model.extra_packages import explain_installation
from rlregress.probing.capabilities import raise_if_argument_unknown
from rlregress.probing.interface import Unsupported

#: what the environment is called where it is made by name.
_NAME = "RlregressEnds-v0"

#: makes each of several environments side by side.
Makers = Sequence[Callable[[], Any]]


def make_environments_in_processes(makers: Makers) -> Any:
    """Return environments in a ``SubprocVecEnv``, each in a separate process."""
    # forked, as spawned ones would import everything again, which takes seconds each
    return find_in_library("common.vec_env", "SubprocVecEnv")(makers, start_method="fork")


def repeat_one_environment(makers: Makers) -> Any:
    """Return a ``DummyVecEnv`` that holds the same environment several times."""
    environment = makers[0]()
    return DummyVecEnv([lambda: environment] * len(makers))


def make_environments_by_name(makers: Makers) -> Any:
    """Make environments by a registered name, with an argument that the environment takes."""
    # like most environments, it refuses any further argument that the library passes on
    with gyms.register_temporarily(_NAME, lambda first=0: makers[first]()):
        return gyms.find_env_util().make_vec_env(_NAME, len(makers), env_kwargs={"first": 1})


def make_vector_wrapper(name: str, **arguments: Any) -> Callable[[Any], Any]:
    """Return a function that wraps environments side by side in a class of the library's."""

    def wrap_environments(environment: Any) -> Any:
        wrapper = find_in_library("common.vec_env", name)
        raise_if_argument_unknown(wrapper, arguments)
        return wrapper(environment, **arguments)

    return wrap_environments


def make_atari_environment(environment: Any, **options: Any) -> Any:
    """Turn an environment with images into a game, and return it in the wrappers for Atari."""
    wrappers = find_in_library("common.atari_wrappers", "AtariWrapper")
    if getattr(find_in_library("common", "atari_wrappers"), "cv2", True) is None:
        raise Unsupported(f"the Atari wrappers cannot be used: {explain_installation('cv2')}")
    options = {"screen_size": 36, **options}
    raise_if_argument_unknown(wrappers, options)
    return wrappers(
        find_in_library("common.monitor", "Monitor")(user_code.FakeAtari(environment)), **options
    )


@dataclass(frozen=True)
class Environments:
    """Environments side by side, and the wrappers of a training around them.

    Attributes:
        actions, observations: spaces, as ``rlregress.probing.toys.MixedEndsEnv`` takes them.
        copies: how many; their episodes end at different steps.
        own: wraps each of them as a user does.
        together: puts them side by side, such as ``DummyVecEnv``.
        around: wrappers around all of them together, the innermost first.
        normalize: arguments of ``VecNormalize``; None: nothing is normalised.
        stack: frames that are seen at once; 0: one.
        evaluation_copies: how many in an evaluation.
        make_env: makes one of them.
    """

    copies: int = 1
    actions: str = "box"
    observations: str = "box"
    own: Callable[[Any], Any] = lambda environment: environment
    together: Callable[[Makers], Any] = DummyVecEnv
    around: Sequence[Callable[[Any], Any]] = ()
    normalize: Mapping[str, Any] | None = None
    stack: int = 0
    evaluation_copies: int = 1
    make_env: Callable[..., Any] = gyms.convert_environment

    def make_one_environment(self, **options: Any) -> Any:
        """Make one environment, in the user's own wrapper."""
        spaces = {"actions": self.actions, "observations": self.observations}
        return self.own(gyms.convert_environment(self.make_env(**options, **spaces)))

    def make_wrapped_environment(self, training: bool = True, copies: int = 0) -> Any:
        """Return the environment that the agent gets, with fresh statistics of a normaliser.

        Args:
            copies: another number of environments than the training's.
        """
        copies = copies or (self.copies if training else self.evaluation_copies)
        bare = not (self.around or self.stack or self.normalize is not None)
        if max(self.copies, copies) == 1 and bare:
            # the library puts its own around it
            return self.make_one_environment()
        environment = self.together(
            [partial(self.make_one_environment, first=k) for k in range(copies)]
        )
        for wrap in self.around:
            environment = wrap(environment)
        if self.normalize is not None:
            options: dict[str, Any] = {"training": training, **self.normalize}
            options["norm_reward"] = training and options.get("norm_reward", True)
            raise_if_argument_unknown(VecNormalize, options)
            environment = VecNormalize(environment, **options)
        if self.stack:
            environment = find_in_library("common.vec_env", "VecFrameStack")(
                environment, self.stack
            )
        return environment

    def save_and_reload_statistics(self, environment: Any, folder: str) -> Any:
        """Save the statistics of a loaded agent's environment, and return it with these loaded."""
        if self.normalize is None:
            return environment
        path = os.path.join(folder, "statistics.pkl")
        while not isinstance(environment, VecNormalize):
            # the library has put its own around it
            environment = environment.venv
        environment.save(path)
        return VecNormalize.load(path, environment.venv)

    @property
    def policy(self) -> str:
        """The name of the policy that fits the observations."""
        if self.observations.startswith("image"):
            return "CnnPolicy"
        return "MultiInputPolicy" if self.observations.startswith(("dict", "goal")) else "MlpPolicy"
