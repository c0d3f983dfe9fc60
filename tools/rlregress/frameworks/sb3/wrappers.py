"""The environments of a scenario, and what it puts around them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.sb3 import gyms, user_code
from rlregress.frameworks.sb3.scenario_request import ScenarioOptions, library
from rlregress.model.extra_packages import not_installed

#: what the environment is called where it is made by name.
_NAME = "RlregressEnds-v0"
#: edge of the images of the Atari wrappers; word of ``atari`` -> what they are asked for.
_ATARI: dict[str, dict[str, Any]] = {
    "default": {"screen_size": 36},
    "bare": {
        "screen_size": 36,
        "noop_max": 0,
        "frame_skip": 3,
        "terminal_on_life_loss": False,
        "clip_reward": False,
    },
}


class Wrappers:
    """The environments of a scenario, and what it puts around them."""

    def __init__(self, options: ScenarioOptions, make_env: Callable[..., Any]) -> None:
        self._make_env = make_env
        self._options = options.environment
        self._copies = int(self._options.pop("copies", 1))
        self._wrappers = list(options.take("wrappers", []))
        self._stack = int(options.take("frame_stack", 0))
        self._normalize = options.take("normalize")
        self._own, self._atari = options.take("own_wrapper"), options.take("atari")
        self._in_processes = options.take("in_processes", False)
        self._same_instance = options.take("same_instance", False)
        self._by_name = options.take("made_by_name", False)
        self._evaluation_copies = int(options.take("evaluation_copies", 1))
        self.normalizes = bool(self._normalize)
        self._clips = {
            "clip_obs": options.take("observation_clip", 10.0),
            "clip_reward": options.take("reward_clip", 10.0),
            "gamma": options.settings.get("discount", 0.99),
        }
        self.observations = str(self._options.get("observations", "box"))
        self.extracts = "extract-state" in self._wrappers
        self.spaces = self._dressed(gyms.native(make_env(**self._options)))

    def made(self, first: int) -> Any:
        return self._dressed(gyms.native(self._make_env(**{"first": first, **self._options})))

    def like(self, observations: str = "box", **options: Any) -> Any:
        """One environment with other spaces, in the words of scenarios, and nothing around it."""
        requested = {**self._options, "observations": observations, **options}
        return gyms.native(self._make_env(**requested))

    def _dressed(self, environment: Any) -> Any:
        if self._own:
            environment = user_code.WRAPPERS[self._own](environment)
        if self._atari:
            environment = _atari(environment, _ATARI[self._atari])
        return environment

    def wrapped_environment(self, training: bool = True, copies: int = 0) -> Any:
        """The environment that the agent gets, with fresh statistics of a normaliser.

        Args:
            copies: another number of environments than the scenario's.
        """
        copies = copies or (self._copies if training else self._evaluation_copies)
        bare = not (self._wrappers or self._stack or self._normalize)
        if max(self._copies, copies) == 1 and bare and not self._by_name:
            # the library puts its own around it
            return self.made(0)
        environment = self._side_by_side(copies)
        for name in self._wrappers:
            environment = _wrapped(environment, name)
        if self._normalize:
            environment = self.normalized(environment, training)
        if self._stack:
            stack = library("common.vec_env", "VecFrameStack")
            environment = stack(environment, self._stack)
        return environment

    def _side_by_side(self, copies: int) -> Any:
        if self._by_name:
            with gyms.registered(_NAME, self._named):
                return gyms.env_util().make_vec_env(_NAME, copies, env_kwargs={"first": 1})
        if self._same_instance:
            one = self.made(0)
            return DummyVecEnv([lambda: one] * copies)
        makers = [partial(self.made, k) for k in range(copies)]
        if self._in_processes:
            # as copies of this one: others import everything again, for seconds each
            return library("common.vec_env", "SubprocVecEnv")(makers, start_method="fork")
        return DummyVecEnv(makers)

    def _named(self, first: int = 0) -> Any:
        # nothing else: what else the library passes on is refused, as by most environments
        return self.made(first)

    def normalized(self, environment: Any, training: bool = True) -> Any:
        options = dict(self._clips)
        observations = self._normalize in ("both", "observations")
        if observations and self.observations.startswith("dict"):
            options["norm_obs_keys"] = ["state"]
            check_arguments(VecNormalize, options)
        return VecNormalize(
            environment,
            training=training,
            norm_obs=observations,
            norm_reward=training and self._normalize in ("both", "rewards"),
            **options,
        )

    def again(self, environment: Any, folder: str) -> Any:
        """The environment of an agent that is loaded: with the statistics that were saved."""
        if not self._normalize:
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
        kind = self.observations
        if kind.startswith("image"):
            return "CnnPolicy"
        joined = kind.startswith(("dict", "goal")) and not self.extracts
        return "MultiInputPolicy" if joined else "MlpPolicy"


def _atari(environment: Any, options: dict[str, Any]) -> Any:
    wrappers = library("common.atari_wrappers", "AtariWrapper")
    if getattr(library("common", "atari_wrappers"), "cv2", True) is None:
        raise Unsupported(f"the Atari wrappers need more: {not_installed('cv2')}")
    check_arguments(wrappers, options)
    return wrappers(library("common.monitor", "Monitor")(user_code.Game(environment)), **options)


def _wrapped(environment: Any, name: str) -> Any:
    if name == "monitor":
        return library("common.vec_env", "VecMonitor")(environment)
    if name == "monitor-place":
        monitor = library("common.vec_env", "VecMonitor")
        check_arguments(monitor, {"info_keywords": ()})
        return monitor(environment, info_keywords=("place",))
    if name == "check-nan":
        return library("common.vec_env", "VecCheckNan")(environment, raise_exception=True)
    if name == "extract-state":
        return library("common.vec_env", "VecExtractDictObs")(environment, "state")
    if name == "transpose":
        return library("common.vec_env", "VecTransposeImage")(environment)
    if name == "double-rewards":
        return user_code.DoubleRewards(environment)
    raise Unsupported(f"no environment is wrapped in {name}")
