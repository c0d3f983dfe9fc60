"""Exploration: noise on actions, random actions, noisy layers."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Dict

import torch

from rlregress.frameworks.capabilities import check_arguments
from rlregress.frameworks.torchrl.compat import library
from rlregress.frameworks.torchrl.network_factories import (
    ACTIONS,
    OBSERVATIONS,
    answers,
    bounds,
    deterministic,
    dictionary,
    entries,
    steps,
)


def exploring(name: str, call: Callable[[], Any]) -> Any:
    """What a call returns under a type of exploration."""
    exploration = library("torchrl.envs.utils", "set_exploration_type")
    types = library("torchrl.envs.utils", "ExplorationType")
    names = {"deterministic": ("DETERMINISTIC", "MODE"), "random": ("RANDOM",), "mean": ("MEAN",)}
    kind = next(
        getattr(types, known_name) for known_name in names[name] if hasattr(types, known_name)
    )
    with exploration(kind), torch.no_grad():
        return call()


def _noisy_layers(make_env: Any, seed: int) -> Dict[str, Any]:
    """Noisy layers in training and in evaluation, under both types of exploration."""
    kind = library("torchrl.modules", "NoisyLinear")
    lazy = library("torchrl.modules", "NoisyLazyLinear")
    given = torch.ones(2, OBSERVATIONS)

    def output(training: bool, exploration: str) -> Any:
        layer = kind(OBSERVATIONS, ACTIONS)
        layer.train(training)
        return exploring(exploration, lambda: layer(given))

    def deviation(layer: Any) -> Any:
        layer(given)
        return {name: item.detach() for name, item in layer.named_parameters()}

    return answers(
        seed,
        parameters=lambda: deviation(kind(OBSERVATIONS, ACTIONS)),
        lazy=lambda: deviation(lazy(ACTIONS)),
        training_deterministic=lambda: output(True, "deterministic"),
        training_random=lambda: output(True, "random"),
        evaluation_random=lambda: output(False, "random"),
    )


def _ornstein_uhlenbeck(make_env: Any, seed: int) -> Dict[str, Any]:
    """Noise with a state, of which some environments start anew."""
    kind = library("torchrl.modules", "OrnsteinUhlenbeckProcessModule")

    def act() -> Any:
        noise = kind(spec=bounds(), sigma=0.8, dt=0.1)
        first = torch.zeros(3, 1, dtype=torch.bool)
        given = {"action": torch.zeros(3, ACTIONS), "is_init": first}
        acted = exploring("random", lambda: noise(dictionary(given, [3])))
        state = {key: acted[key].clone() for key in ("_ou_prev_noise", "_ou_steps")}
        start = {"is_init": torch.tensor([[True], [False], [True]])}
        later = dictionary({"action": torch.zeros(3, ACTIONS), **start, **state}, [3])
        tensors = entries(exploring("random", lambda: noise(later)))
        return {**tensors, **{f"before.{key}": item for key, item in state.items()}}

    return answers(seed, act=act)


def _noise_at_evaluation(make_env: Any, seed: int) -> Dict[str, Any]:
    """Actions that leave the bounds, with noise and without."""
    kind = library("torchrl.modules", "AdditiveGaussianModule")

    def act(exploration: str) -> Any:
        noise = kind(spec=bounds(), sigma_init=1.0)
        batch = dictionary({"action": torch.tensor([[1.7, -0.2], [0.1, -3.0]])}, [2])
        return exploring(exploration, lambda: noise(batch)["action"])

    return answers(
        seed, deterministic=lambda: act("deterministic"), random=lambda: act("random")
    )  # fmt: skip


def _wrappers_of_noise(make_env: Any, seed: int) -> Dict[str, Any]:
    """Noise that is wrapped around a policy."""
    gaussian = library("torchrl.modules", "AdditiveGaussianWrapper")
    process = library("torchrl.modules", "OrnsteinUhlenbeckProcessWrapper")

    def act(kind: Any) -> Any:
        policy = kind(deterministic(), spec=bounds())
        batch = steps(4, is_init=torch.zeros(4, 1, dtype=torch.bool))
        return exploring("random", lambda: policy(batch)["action"])

    return answers(seed, gaussian=lambda: act(gaussian), process=lambda: act(process))


def _greedy_wrapper(make_env: Any, seed: int) -> Dict[str, Any]:
    """Random actions that are wrapped around a policy."""
    kind = library("torchrl.modules", "EGreedyWrapper")

    def act() -> Any:
        policy = kind(deterministic(), spec=bounds())
        return exploring("random", lambda: policy(steps(4))["action"])

    return answers(seed, greedy=act)


def _greedy(make_env: Any, seed: int) -> Dict[str, Any]:
    """Random choices in place of booleans and of values that are not finite."""
    kind = library("torchrl.modules", "EGreedyModule")
    one_hot = library("torchrl.data", "OneHot", "OneHotDiscreteTensorSpec")

    def act(spec: Any, action: torch.Tensor) -> Any:
        chance = kind(spec=spec, eps_init=0.5, eps_end=0.1)
        batch = dictionary({"action": action}, [len(action)])
        return exploring("random", lambda: chance(batch)["action"])

    greedy = torch.eye(4)[[0, 1, 2, 3, 0, 1]]
    infinite = torch.full((6, ACTIONS), float("nan"))
    return answers(
        seed,
        booleans=lambda: act(one_hot(4, dtype=torch.bool), greedy.bool()),
        integers=lambda: act(one_hot(4), greedy.long()),
        infinite=lambda: act(bounds(), infinite),
    )


def _rates(make_env: Any, seed: int) -> Dict[str, Any]:
    """Rates that fall, given as floats and as integers, and what is saved of them."""
    greedy = library("torchrl.modules", "EGreedyModule")
    one_hot = library("torchrl.data", "OneHot", "OneHotDiscreteTensorSpec")

    def saved(chance: Any) -> Any:
        for _ in range(3):
            chance.step(5)
        return {key: item.clone() for key, item in chance.state_dict().items()}

    def made(rate: Any) -> Any:
        return greedy(spec=one_hot(4), eps_init=rate, eps_end=0, annealing_num_steps=40)

    return answers(
        seed,
        floats=lambda: saved(
            greedy(spec=one_hot(4), eps_init=0.9, eps_end=0.1, annealing_num_steps=40)
        ),
        integers=lambda: saved(made(1)),
    )


def _rates_of_noise(make_env: Any, seed: int) -> Dict[str, Any]:
    """Rates of noise on actions that fall, and what is saved of them."""
    gaussian = library("torchrl.modules", "AdditiveGaussianModule", "AdditiveGaussianWrapper")
    process = library(
        "torchrl.modules", "OrnsteinUhlenbeckProcessModule", "OrnsteinUhlenbeckProcessWrapper"
    )

    def saved(kind: Any, **options: Any) -> Any:
        policy = [] if kind.__name__.endswith("Module") else [deterministic()]
        noise = kind(*policy, spec=bounds(), annealing_num_steps=40, **options)
        for _ in range(3):
            noise.step(5)
        return {key: item.clone() for key, item in noise.state_dict().items()}

    return answers(
        seed,
        gaussian=lambda: saved(gaussian, sigma_init=1.0, sigma_end=0.1),
        gaussian_integers=lambda: saved(gaussian, sigma_init=1, sigma_end=0),
        process=lambda: saved(process, eps_init=1.0, eps_end=0.1),
        process_integers=lambda: saved(process, eps_init=1, eps_end=0),
    )


def _state_dependent(make_env: Any, seed: int) -> Dict[str, Any]:
    """State-dependent exploration under every type of exploration."""
    kind = library("torchrl.modules.models.exploration", "gSDEModule")

    def act(exploration: str) -> Any:
        module = kind(ACTIONS, OBSERVATIONS)
        means, observations = torch.ones(4, ACTIONS), torch.randn(4, OBSERVATIONS)
        return list(exploring(exploration, lambda: module(means, observations, None)))

    return answers(
        seed,
        deterministic=lambda: act("deterministic"),
        mean=lambda: act("mean"),
        random=lambda: act("random"),
    )


def _options(make_env: Any, seed: int) -> Dict[str, Any]:
    """Noise with a mean, a floor and a start of its own; choices by chance among those allowed."""
    gaussian = library("torchrl.modules", "AdditiveGaussianModule")
    process = library("torchrl.modules", "OrnsteinUhlenbeckProcessModule")
    greedy = library("torchrl.modules", "EGreedyModule")
    one_hot = library("torchrl.data", "OneHot", "OneHotDiscreteTensorSpec")

    def acted(kind: Any, batch: Any, rounds: int = 3, **options: Any) -> Any:
        check_arguments(kind, options)
        noise = kind(**options)
        recorded = []
        for _ in range(rounds):
            # what a process has left in the batch is its state
            exploring("random", partial(noise, batch))
            recorded.append(batch["action"].clone())
            noise.step(3)
        return recorded

    def moves() -> Any:
        given = {"action": torch.zeros(4, ACTIONS), "is_init": torch.zeros(4, 1, dtype=torch.bool)}
        return dictionary(given, [4])

    def choices() -> Any:
        mask = torch.tensor([[True, False, True, False]]).expand(6, 4).clone()
        return dictionary({"action": torch.eye(4)[[0, 2] * 3].long(), "mask": mask}, [6])

    shared = {"spec": bounds(), "annealing_num_steps": 8}
    return answers(
        seed,
        gaussian=lambda: acted(gaussian, moves(), **shared, mean=0.3, std=0.4, sigma_init=0.9),
        safe=lambda: acted(gaussian, moves(), **shared, std=3.0, safe=True),
        process=lambda: acted(
            process, moves(), **shared, theta=0.4, mu=0.2, sigma=0.8, dt=0.1, x0=0.5
        ),
        floor=lambda: acted(
            process, moves(), **shared, sigma=0.8, sigma_min=0.2, n_steps_annealing=2, dt=0.1
        ),
        allowed=lambda: acted(
            greedy, choices(), spec=one_hot(4), eps_init=0.9, eps_end=0.6, annealing_num_steps=4,
            action_mask_key="mask",
        ),
    )  # fmt: skip


def _options_of_noisy_layers(make_env: Any, seed: int) -> Dict[str, Any]:
    """Noisy layers without bias and with small noise; state-dependent noise of other scales."""
    kind = library("torchrl.modules", "NoisyLinear")
    gsde = library("torchrl.modules.models.exploration", "gSDEModule")
    given = torch.linspace(-1.0, 1.0, 2 * OBSERVATIONS).reshape(2, OBSERVATIONS)

    def layer(**options: Any) -> Any:
        made = kind(OBSERVATIONS, ACTIONS, **options)
        first = made(given).detach()
        made.reset_noise()
        return [first, made(given).detach()]

    def dependent(**options: Any) -> Any:
        check_arguments(gsde, options)
        made = gsde(ACTIONS, OBSERVATIONS, **options)
        means = torch.full((2, ACTIONS), 0.3)
        return list(exploring("random", lambda: made(means, given, None)))

    return answers(
        seed,
        without_bias=lambda: layer(bias=False),
        small=lambda: layer(std_init=0.1),
        fixed=lambda: dependent(learn_sigma=False, sigma_init=0.4),
        bounded=lambda: dependent(scale_min=0.5, scale_max=2.0, sigma_init=4.0),
    )


API_CASES = {
    "noisy-layers": _noisy_layers,
    "ornstein-uhlenbeck": _ornstein_uhlenbeck,
    "noise-at-evaluation": _noise_at_evaluation,
    "wrappers-of-noise": _wrappers_of_noise,
    "greedy-wrapper": _greedy_wrapper,
    "greedy-selection": _greedy,
    "rates-of-choices": _rates,
    "rates-of-noise": _rates_of_noise,
    "state-dependent-exploration": _state_dependent,
    "options-of-noise": _options,
    "options-of-noisy-layers": _options_of_noisy_layers,
}
