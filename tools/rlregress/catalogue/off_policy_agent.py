"""Details of the agents that soft actor-critic and TD3 share: networks and optimisers."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, make_detail
from rlregress.formulas import loops

#: relu, tanh ... at -0.5 and 0.5
_RELU, _TANH, _LEAKY = [0.0, 0.5], [-np.tanh(0.5), np.tanh(0.5)], [-0.005, 0.5]


def make_networks_detail(id: str, sources: tuple[str, ...]) -> Detail:
    """Build the detail: widths, activation and sharing of the networks."""

    def make_networks_formula(
        policy: tuple[int, ...],
        critic: tuple[int, ...],
        activation: list[float],
        critics: int = 2,
        shared: float = 0.0,
    ) -> Formula:
        ends = [
            float(x)
            for widths in (policy, critic)
            for x in (len(widths), widths[0] if widths else 0, widths[-1] if widths else 0)
        ]
        return lambda i: [*ends, critics, *activation, shared]

    def make_formula_of_same_widths(*widths: int, activation: list[float] = _RELU) -> Formula:
        return make_networks_formula(widths, widths, activation)

    return make_detail(
        id,
        "What do the policy and the Q networks look like?",
        """The agent that the framework builds by default (where hidden sizes and activation have no
        default in the package, with settings that ask for ``first`` and ``second`` units and
        ``activation``), for one observation and one action dimension. Observed, [10]: hidden layers
        of the policy, the width of the first and of the last one; the same three of a Q network;
        number of Q networks;
        the output of the policy's first activation for -0.5 and for 0.5; 1.0 if policy and Q
        networks share a parameter and else 0.0.""",
        sources,
        {"dimensions": 1, "first": 24, "second": 8, "activation": "tanh"},
        {
            "as_set": (
                "sizes and activation are those that the settings file gives",
                make_formula_of_same_widths(24, 8, activation=_TANH),
            ),
            "sizes_as_set_relu": (
                "the sizes are those that the settings file gives, always relu",
                make_formula_of_same_widths(24, 8),
            ),
            "relu_256_256": ("two of 256, relu", make_formula_of_same_widths(256, 256)),
            "relu_256_128": ("256 and 128, relu", make_formula_of_same_widths(256, 128)),
            "relu_400_300": ("400 and 300, relu", make_formula_of_same_widths(400, 300)),
            "relu_64_64": ("two of 64, relu", make_formula_of_same_widths(64, 64)),
            "tanh_64_64": (
                "two of 64, tanh",
                make_formula_of_same_widths(64, 64, activation=_TANH),
            ),
            "tanh_256_256": (
                "two of 256, tanh",
                make_formula_of_same_widths(256, 256, activation=_TANH),
            ),
            "tanh_400_300": (
                "400 and 300, tanh",
                make_formula_of_same_widths(400, 300, activation=_TANH),
            ),
            "leaky_relu_256_256": (
                "two of 256, leaky relu",
                make_formula_of_same_widths(256, 256, activation=_LEAKY),
            ),
            "relu_256": ("one of 256, relu", make_formula_of_same_widths(256)),
            "one_q_network": (
                "two of 256, one Q network",
                make_networks_formula((256,) * 2, (256,) * 2, _RELU, 1),
            ),
            "relu_256_256_shared": (
                "two of 256, relu, shared by policy and Q networks",
                make_networks_formula((256, 256), (256, 256), _RELU, shared=1.0),
            ),
            "relu_400_300_shared": (
                "400 and 300, relu, shared by policy and Q networks",
                make_networks_formula((400, 300), (400, 300), _RELU, shared=1.0),
            ),
            "relu_256_256_critics_400_300": (
                "policy of 256 and 256, Q networks of 400 and 300, relu",
                make_networks_formula((256, 256), (400, 300), _RELU),
            ),
        },
        consequence="""Capacity and activation change what can be learned and how fast a step is: a
        comparison of algorithms becomes one of networks.""",
    )


def make_gradient_clip_detail(id: str, sources: tuple[str, ...]) -> Detail:
    """Build the detail: gradient norms at the optimisers' steps, as clipping leaves them."""

    def make_norms_formula(critics: float, policy: float) -> Formula:
        return lambda i: [critics, policy]

    return make_detail(
        id,
        "Are gradients clipped before the optimisers see them?",
        """Updates of the default agent in the framework's own loop, in which the weights of the Q
        networks' last layer are ``factor``, so that the gradients of Q networks and policy have a
        norm beyond 1e3. Observed, [2]: one over the norm (of all gradients together) that the step
        of the Q networks' optimiser finds, and that the policy's finds; 0.0 for a norm beyond
        1e3.""",
        sources,
        {"factor": 1e6, "batch_size": 5},
        {
            "none": ("no", make_norms_formula(0.0, 0.0)),
            "half_each": ("each to a norm of 0.5", make_norms_formula(2.0, 2.0)),
            "half_critics": ("those of the Q networks to 0.5", make_norms_formula(2.0, 0.0)),
            "half_policy": ("those of the policy to 0.5", make_norms_formula(0.0, 2.0)),
            "one_each": ("each to a norm of 1", make_norms_formula(1.0, 1.0)),
            "one_critics": ("those of the Q networks to 1", make_norms_formula(1.0, 0.0)),
            "ten_each": ("each to a norm of 10", make_norms_formula(0.1, 0.1)),
        },
        tolerance=1e-3,
        consequence="""Clipping bounds the damage of one bad batch and slows learning while errors
        are large; Adam hides the difference only as long as gradients keep their size.""",
    )


def make_adam_epsilon_detail(id: str, roles: str, count: int, sources: tuple[str, ...]) -> Detail:
    """Build the detail: the constant in the denominator of Adam."""

    def make_exponents_formula(*exponents: float) -> Formula:
        return lambda i: exponents[:count]

    return make_detail(
        id,
        "Which epsilon does Adam have?",
        f"""The optimisers that the framework builds by default (where epsilon has no default in the
        package, with the one named in its documented settings: 1e-4). Observed, [{count}]: the
        logarithm to base 10 of Adam's epsilon {roles}; 0.0 where the optimiser of a part does not
        hold all of its parameters, or holds others.""",
        sources,
        {"documented": 1e-4},
        {
            "torch_default": (
                "1e-8, the default of PyTorch",
                make_exponents_formula(-8.0, -8.0, -8.0),
            ),
            "1e-5": ("1e-5, as PPO has it", make_exponents_formula(-5.0, -5.0, -5.0)),
            "1e-7": ("1e-7, the default of Keras", make_exponents_formula(-7.0, -7.0, -7.0)),
            "setting": ("the setting, for all", make_exponents_formula(-4.0, -4.0, -4.0)),
            "setting_without_policy": (
                "the setting, not for the policy",
                make_exponents_formula(-4.0, -8.0, -8.0),
            ),
            "setting_without_critics": (
                "the setting, not for the critics",
                make_exponents_formula(-8.0, -4.0, -8.0),
            ),
            **(
                {
                    "setting_without_temperature": (
                        "the setting for Q networks and policy, 1e-8 for the temperature",
                        make_exponents_formula(-4.0, -4.0, -8.0),
                    )
                }
                if count > 2
                else {}
            ),
        },
        consequence="""A large epsilon damps the steps of parameters with small gradients: learning
        slows down where rewards are small.""",
    )


def make_initialisation_detail() -> Detail:
    """Build the detail: how the weights of the Q networks are initialised."""
    return make_detail(
        "sac.networks.initialisation",
        "How are the weights of the networks initialised?",
        """The Q networks that the framework builds by default (with 256 units where that has to be
        said) for ``observations`` observation dimensions and one action dimension; their first
        layer is [256, 256]. Observed, [3]: the root of the mean square of its weights, times 16;
        its largest absolute bias, times 16; its smallest over its largest singular value.""",
        ("001, general detail 9", "thesis, Table 8"),
        {"observations": 255},
        {
            "torch_default": (
                "U(-1/sqrt(n), 1/sqrt(n)) for weights and biases",
                lambda i: loops.compute_statistics_of_uniform_layer(1.0, 1.0),
            ),
            "xavier_zero_bias": (
                "Xavier uniform, biases 0",
                lambda i: loops.compute_statistics_of_uniform_layer(np.sqrt(3.0), 0.0),
            ),
            "xavier": (
                "Xavier uniform, biases as PyTorch makes them",
                lambda i: loops.compute_statistics_of_uniform_layer(np.sqrt(3.0), 1.0),
            ),
            "kaiming_zero_bias": (
                "Kaiming uniform for relu, biases 0",
                lambda i: loops.compute_statistics_of_uniform_layer(np.sqrt(6.0), 0.0),
            ),
            "orthogonal": (
                "orthogonal, biases 0",
                lambda i: loops.compute_statistics_of_orthogonal_layer(1.0),
            ),
            "orthogonal_relu": (
                "orthogonal with gain sqrt 2, biases 0",
                lambda i: loops.compute_statistics_of_orthogonal_layer(np.sqrt(2.0)),
            ),
            "torch_default_zero_bias": (
                "U(-1/sqrt(n), 1/sqrt(n)), biases 0",
                lambda i: loops.compute_statistics_of_uniform_layer(1.0, 0.0),
            ),
        },
        # the largest of 256 biases is within 3 % of its bound with probability 0.9996
        tolerance=0.03,
        margin=9.0,
        scales=(1.0, 1.0, 1.0),
        consequence="""Larger first weights give larger first Q values and another scale of the
        first policies: learning curves start differently.""",
    )
