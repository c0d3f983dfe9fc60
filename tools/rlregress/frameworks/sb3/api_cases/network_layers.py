"""Layers, extractors of features and distributions, made by hand and asked."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List

import numpy as np
import torch
from torch import nn

from rlregress.frameworks.base import Unsupported
from rlregress.frameworks.sb3 import compat, gyms, user_code
from rlregress.frameworks.sb3.api_cases import accepted, answer
from rlregress.frameworks.sb3.scenario_request import library
from rlregress.frameworks.sb3.wrappers import Wrappers

_MODULE = "common.torch_layers"


def _kinds(layers: Any) -> List[Any]:
    """Kinds and sizes of layers, in words."""
    sizes = [tuple(getattr(layer, "weight", torch.zeros(0)).shape) for layer in layers]
    kinds = [type(layer).__name__ for layer in layers]
    return [f"{kind} {size}" for kind, size in zip(kinds, sizes)]


def _make_layers(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Perceptrons with and without hidden layers and output, and what they answer."""
    del model, wrappers, folder
    make = library(_MODULE, "create_mlp")
    for hidden in ([], [5], [5, 4]):
        for output in (-1, 0, 1, 2):
            for squash in (False, True):
                layers = make(3, output, hidden, nn.Tanh, squash)
                user_code.Capture().capture(_kinds(layers))
    torch.manual_seed(1)
    user_code.Capture().capture([nn.Sequential(*make(3, 2, [5]))(torch.ones(2, 3)).detach()])


def _make_layers_around(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Perceptrons without bias, and with layers before and after the linear ones."""
    del model, wrappers, folder
    make = library(_MODULE, "create_mlp")
    options = {
        "with_bias": False,
        "pre_linear_modules": [nn.BatchNorm1d],
        "post_linear_modules": [nn.LayerNorm],
    }
    if len(compat.taken(make, **options)) < len(options):
        raise Unsupported("create_mlp takes no layers before and after the linear ones")
    for hidden in ([], [5], [5, 4]):
        for output in (0, 2):
            layers = make(3, output, hidden, **options)
            biased = [float(getattr(layer, "bias", None) is not None) for layer in layers]
            user_code.Capture().capture([*_kinds(layers), *biased])


def _split_sizes(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Sizes of actor and critic, together and apart; what is neither is refused."""
    del model, wrappers, folder
    split = library(_MODULE, "get_actor_critic_arch")
    given = [[4, 3], [], {"pi": [4], "qf": [3, 2]}, {"pi": [4]}, {"qf": [4]}, 4]
    user_code.Capture().capture([answer(split, size) for size in given])
    extractor = library(_MODULE, "MlpExtractor")
    apart = [compat.networks({"pi": [4], "vf": [3, 2]}), compat.networks({"vf": [3]}), []]
    for sizes in ([4, 3], *apart):
        both = extractor(3, sizes, nn.ReLU, "cpu")
        widths = [both.latent_dim_pi, both.latent_dim_vf]
        user_code.Capture().capture(
            [*widths, *(tuple(part.shape) for part in both.state_dict().values())]
        )


def _extract(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Features of flat observations, images and dictionaries; what is no image is refused."""
    del model, wrappers, folder
    torch.manual_seed(1)
    spaces = gyms.spaces
    box = spaces.Box(-1.0, 1.0, (2, 3), np.float32)
    flat = library(_MODULE, "FlattenExtractor")(box)
    user_code.Capture().capture([flat.features_dim, flat(torch.ones(2, 2, 3))])
    convolutions = library(_MODULE, "NatureCNN")
    image = spaces.Box(0, 255, (4, 36, 36), np.uint8)
    made = convolutions(image, features_dim=3)
    user_code.Capture().capture([made.features_dim, made(torch.ones(1, 4, 36, 36)).detach()])
    looks = spaces.Box(0.0, 1.0, (4, 36, 36), np.float32)
    for space in (box, looks, spaces.Box(0, 255, (3,), np.uint8)):
        user_code.Capture().capture([accepted(convolutions, space)])
    both = library(_MODULE, "CombinedExtractor")
    joined = both(spaces.Dict({"box": box, "image": image, "looks": looks}), 3)
    user_code.Capture().capture([joined.features_dim, *_kinds(joined.extractors.values())])


def _distribution(name: str) -> Any:
    return library("common.distributions", name)


def _distributions() -> Dict[str, Callable[[float], Any]]:
    """A distribution of each kind, whose parameters a number moves: three rows of two actions."""
    rows = torch.tensor([[0.3, -0.7], [1.2, 0.1], [-0.4, 0.9]])
    logits = torch.cat([rows, -rows, 0.5 * rows], dim=1)
    log_std = torch.tensor([-0.5, 0.2])

    def gaussian(name: str) -> Callable[[float], Any]:
        kind = _distribution(name)
        return lambda by: kind(2).proba_distribution(rows + by, log_std - by)

    categories = _distribution("CategoricalDistribution")
    several = _distribution("MultiCategoricalDistribution")
    bits = _distribution("BernoulliDistribution")
    return {
        "gaussian": gaussian("DiagGaussianDistribution"),
        "squashed": gaussian("SquashedDiagGaussianDistribution"),
        "choice": lambda by: categories(6).proba_distribution((1.0 + by) * logits),
        "choices": lambda by: several([2, 4]).proba_distribution((1.0 + by) * logits),
        "bits": lambda by: bits(6).proba_distribution((1.0 + by) * logits),
    }


def _ask_distributions(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Samples, modes, probabilities and entropies of every kind of distribution."""
    del model, wrappers, folder
    torch.manual_seed(2)
    for name, made in _distributions().items():
        distribution = made(0.0)
        drawn, best = distribution.get_actions(), distribution.get_actions(deterministic=True)
        probabilities = [distribution.log_prob(actions) for actions in (drawn, best)]
        user_code.Capture().capture([name, drawn, best, *probabilities, distribution.entropy()])


def _ask_with_parameters(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Actions, and their probabilities, straight from parameters."""
    del model, wrappers, folder
    torch.manual_seed(3)
    rows = torch.tensor([[0.3, -0.7], [1.2, 0.1]])
    logits = torch.cat([rows, -rows, 0.5 * rows], dim=1)
    log_std = torch.tensor([-0.5, 0.2])
    cases = [
        ("DiagGaussianDistribution", 2, (rows, log_std)),
        ("SquashedDiagGaussianDistribution", 2, (rows, log_std)),
        ("CategoricalDistribution", 6, (logits,)),
        ("MultiCategoricalDistribution", [2, 4], (logits,)),
        ("BernoulliDistribution", 6, (logits,)),
    ]
    for name, size, parameters in cases:
        made = _distribution(name)(size)
        drawn, chances = made.log_prob_from_params(*parameters)
        best = made.actions_from_params(*parameters, deterministic=True)
        user_code.Capture().capture([name, drawn, chances, best])


def _ask_with_state(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Exploration that depends on the state: one row, several, and its own matrices."""
    del model, wrappers, folder
    kind = _distribution("StateDependentNoiseDistribution")
    for full, expln, squash, learn in (
        (True, False, False, False),
        (False, True, False, True),
        (True, True, True, True),
        (False, False, True, False),
    ):
        torch.manual_seed(4)
        made = kind(2, full, expln, squash, learn)
        _, log_std = made.proba_distribution_net(latent_dim=3, log_std_init=-0.3)
        made.sample_weights(log_std, batch_size=2)
        for count in (1, 2, 4):
            latent = torch.linspace(-1.0, 1.0, 3 * count).reshape(count, 3)
            mean = latent[:, :2].clone()
            drawn, chances = made.log_prob_from_params(mean, log_std, latent)
            best = made.actions_from_params(mean, log_std, latent, deterministic=True)
            deviations = [made.get_std(by) for by in (log_std, log_std + 1.0, 0.0 * log_std)]
            numbers = [drawn, chances, best, *deviations, made.entropy()]
            user_code.Capture().capture(
                [number.detach() if number is not None else number for number in numbers]
            )


def _compare_distributions(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Divergences between two of a kind; two kinds are refused."""
    del model, wrappers, folder
    divergence = _distribution("kl_divergence")
    known = _distributions()
    for name in ("gaussian", "choice", "choices", "bits"):
        user_code.Capture().capture([name, divergence(known[name](0.0), known[name](0.5))])
    user_code.Capture().capture([answer(divergence, known["gaussian"](0.0), known["choice"](0.0))])
    several = _distribution("MultiCategoricalDistribution")
    other = several([4, 2]).proba_distribution(torch.zeros(3, 6))
    user_code.Capture().capture([answer(divergence, known["choices"](0.0), other)])
    one, two = (several([2] * n).proba_distribution(torch.zeros(3, 2 * n)) for n in (1, 2))
    # as many choices each, of more actions
    user_code.Capture().capture([answer(divergence, *pair) for pair in ((one, two), (two, one))])
    user_code.Capture().capture(
        [answer(two.log_prob, torch.zeros(3, columns)) for columns in (1, 2, 3)]
    )


def _choose_distributions(model: Any, wrappers: Wrappers, folder: str) -> None:
    """The distribution that fits a space of actions, and its layer."""
    del model, wrappers, folder
    make = _distribution("make_proba_distribution")
    spaces = gyms.spaces
    box = spaces.Box(-1.0, 1.0, (2, 2), np.float32)
    known = [box, spaces.Discrete(3), spaces.MultiDiscrete([3, 2]), spaces.MultiBinary(3)]
    for space in known:
        made = make(space)
        layers = made.proba_distribution_net(4)
        layer = layers[0] if isinstance(layers, tuple) else layers
        user_code.Capture().capture([type(made).__name__, *_kinds([layer])])
    exploring = make(box, use_sde=True, dist_kwargs={"full_std": False})
    user_code.Capture().capture(
        [type(exploring).__name__, exploring.action_dim, float(exploring.full_std)]
    )
    for space in (spaces.MultiBinary([2, 2]), spaces.Tuple((box,))):
        user_code.Capture().capture([accepted(make, space)])


def _sum_dimensions(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Probabilities of independent numbers, of one action and of several; tanh and back."""
    del model, wrappers, folder
    summed = _distribution("sum_independent_dims")
    user_code.Capture().capture([summed(torch.ones(3)), summed(torch.ones(2, 3))])
    bijector = _distribution("TanhBijector")(1e-6)
    numbers = torch.tensor([-9.0, -0.5, 0.0, 0.7, 9.0])
    there = bijector.forward(numbers)
    user_code.Capture().capture(
        [there, bijector.inverse(there), bijector.log_prob_correction(numbers)]
    )


def _make_networks(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Networks of a policy: none, one and two layers, apart, one critic, features shared."""
    del folder
    kind = type(model)
    known = compat.keywords(type(model.policy))
    apart = {"pi": [4], "vf" if "ortho_init" in known else "qf": [3, 2]}
    cases: List[Dict[str, Any]] = [{"net_arch": sizes} for sizes in ([], [5], [5, 4], apart, None)]
    cases += [{"n_critics": 1}, {"n_critics": 3}, {"share_features_extractor": True}, {}]
    cases += [{"activation_fn": nn.ELU}, {"ortho_init": False}, {"log_std_init": -1.5}]
    cases += [{"optimizer_kwargs": {"eps": 0.01}}, {"normalize_images": False}]
    cases += [{"optimizer_class": torch.optim.SGD}]
    smaller = compat.taken(kind, buffer_size=10)
    observation = gyms.reset(wrappers.made(0))
    for given in cases:
        if not set(given) <= set(known):
            continue
        if isinstance(given.get("net_arch"), dict) and "n_critics" not in known:
            given = {"net_arch": compat.networks(apart)} if "ortho_init" in known else {}
        made = answer(
            *(kind, wrappers.policy, wrappers.made(0)),
            **{"policy_kwargs": given, "device": "cpu", "seed": 6, **smaller},
        )
        if not isinstance(made, kind):
            user_code.Capture().capture([repr(sorted(given)), made])
            continue
        weights = made.policy.state_dict()
        user_code.Capture().capture(
            [repr(sorted(given)), *weights, *(tuple(v.shape) for v in weights.values())]
        )
        user_code.Capture().capture([value.sum() for value in weights.values()])
        user_code.Capture().capture([made.predict(observation, deterministic=True)[0]])
        groups = [made.policy, *made.policy.children()]
        sizes = [part.optimizer.state_dict() for part in groups if hasattr(part, "optimizer")]
        user_code.Capture().capture([repr([group["param_groups"] for group in sizes])])


def _make_alone(model: Any, wrappers: Wrappers, folder: str) -> None:
    """Actors and critics that a user makes alone, with as few arguments as they take."""
    del folder
    torch.manual_seed(9)
    network: Any = type(getattr(model.policy, "q_net", None) or model.policy.critic)
    spaces = model.observation_space, model.action_space
    features = library(_MODULE, "FlattenExtractor")(model.observation_space)
    given = {"features_extractor": features, "features_dim": features.features_dim}
    sizes = {} if compat.keywords(network).get("net_arch", _NEEDED).default is None else _SIZES
    made = network(*spaces, **given, **sizes)
    user_code.Capture().capture(_kinds(made.modules()))
    observation = torch.as_tensor(np.stack([gyms.reset(wrappers.made(k)) for k in range(2)]))
    actions = torch.zeros(2, *(model.action_space.shape or ()))
    for call in (made, getattr(made, "q1_forward", None), getattr(made, "_predict", None)):
        if call is not None:
            arguments = (observation,) if hasattr(made, "_predict") else (observation, actions)
            returned = call(*arguments)
            user_code.Capture().capture(
                [
                    tensor.detach()
                    for tensor in (returned if type(returned) is tuple else (returned,))
                ]
            )


_SIZES = {"net_arch": [5]}
_NEEDED = inspect.Parameter("net_arch", inspect.Parameter.KEYWORD_ONLY)

USED = {
    "layers": _make_layers,
    "networks-made": _make_networks,
    "networks-made-alone": _make_alone,
    "layers-around": _make_layers_around,
    "sizes-of-layers": _split_sizes,
    "features": _extract,
    "distributions": _ask_distributions,
    "distributions-of-parameters": _ask_with_parameters,
    "distributions-of-states": _ask_with_state,
    "divergences": _compare_distributions,
    "distributions-of-spaces": _choose_distributions,
    "independent-numbers": _sum_dimensions,
}
