"""Uses of normalisation: in a training by default, in an evaluation, in a saved agent."""

from __future__ import annotations

import numpy as np

from rlregress.catalogue.registry import Detail, Formula, Inputs, make_detail
from rlregress.formulas import normalisation as formulas

_WRAPPERS = "thesis, appendix C.1"
_SETUP = "thesis, section 5.1, Environment setup"
_NOTE = "A Bag of Tricks, the note on replaying trained policies"
_SPREAD = [1.0, -1.0] * 65


def _get_input_as_array(inputs: Inputs, name: str) -> np.ndarray:
    return np.asarray(inputs[name], dtype=np.float64)


def _make_default_wrappers_detail() -> Detail:
    def make_feedback_formula(observation: Formula, reward: Formula) -> Formula:
        return lambda i: np.concatenate([observation(i)[[3, -1]], reward(i)[[3, -1]]])

    def make_raw_formula(feedback_name: str) -> Formula:
        return lambda i: _get_input_as_array(i, feedback_name)

    def make_normalised_formula(clip_limit: float) -> Formula:
        def compute_normalised_observations(inputs: Inputs) -> np.ndarray:
            # the observation of the reset, 0, is part of the statistics
            x = np.append(0.0, _get_input_as_array(inputs, "observations"))
            standardised = formulas.standardise_by_statistics(
                x, formulas.compute_cumulative_statistics(x)
            )
            return np.clip(standardised[1:], -clip_limit, clip_limit)

        return compute_normalised_observations

    def make_scaled_formula(clip_limit: float) -> Formula:
        def compute_scaled_rewards(inputs: Inputs) -> np.ndarray:
            r = _get_input_as_array(inputs, "rewards")
            totals = formulas.compute_rolling_return(r, 0.99)
            return np.clip(
                formulas.divide_by_deviation(r, formulas.compute_cumulative_statistics(totals)),
                -clip_limit,
                clip_limit,
            )

        return compute_scaled_rewards

    return make_detail(
        "normalisation.default",
        "Which wrappers that alter feedback does a training of PPO have by default?",
        """One environment: the reset gives an observation of 0, step t gives observations[t] and
        rewards[t]; no episode ends. It is handed to the framework as a user does who asks for
        nothing else. Observed, [4]: the observations that the agent is given for step 3 and the
        last one (an outlier), then the rewards of the same steps.""",
        (_SETUP, _WRAPPERS),
        {"observations": [*_SPREAD, 1000.0], "rewards": [*_SPREAD, 1000.0]},
        {
            "none": (
                "none",
                make_feedback_formula(
                    make_raw_formula("observations"), make_raw_formula("rewards")
                ),
            ),
            "observations_and_rewards": (
                "observations and rewards normalised and clipped to [-10, 10]",
                make_feedback_formula(make_normalised_formula(10.0), make_scaled_formula(10.0)),
            ),
            "observations": (
                "observations normalised and clipped to [-10, 10]",
                make_feedback_formula(make_normalised_formula(10.0), make_raw_formula("rewards")),
            ),
            "observations_and_rewards_unclipped": (
                "observations and rewards normalised",
                make_feedback_formula(make_normalised_formula(np.inf), make_scaled_formula(np.inf)),
            ),
            "observations_unclipped": (
                "observations normalised",
                make_feedback_formula(make_normalised_formula(np.inf), make_raw_formula("rewards")),
            ),
            "rewards": (
                "rewards scaled and clipped to [-10, 10]",
                make_feedback_formula(make_raw_formula("observations"), make_scaled_formula(10.0)),
            ),
        },
        tolerance=0.02,
        margin=4.0,
        scales=(1.5, 11.4, 1.5, 11.4),
        consequence="""A comparison with default settings compares wrappers, which the thesis shows
        to move returns more than the implementations do.""",
    )


def _make_off_policy_wrappers_detail() -> Detail:
    def compute_normalised_observations(inputs: Inputs) -> np.ndarray:
        x = np.append(0.0, _get_input_as_array(inputs, "observations"))
        return formulas.standardise_by_statistics(x, formulas.compute_cumulative_statistics(x))[1:]

    def make_feedback_formula(observation: Formula, reward: Formula) -> Formula:
        return lambda i: np.concatenate([observation(i)[2:], reward(i)[2:]])

    def make_raw_formula(feedback_name: str) -> Formula:
        return lambda i: _get_input_as_array(i, feedback_name)

    def compute_scaled_rewards(inputs: Inputs) -> np.ndarray:
        r = _get_input_as_array(inputs, "rewards")
        return formulas.divide_by_deviation(
            r, formulas.compute_cumulative_statistics(formulas.compute_rolling_return(r, 0.99))
        )

    return make_detail(
        "normalisation.default.off_policy",
        "Which wrappers that alter feedback does a training of SAC have by default?",
        """One environment: the reset gives an observation of 0, step t gives observations[t] and
        rewards[t]; no episode ends. It is handed to the framework as a user does who asks for
        nothing else. Observed, [4]: the observations that the agent is given for the last two
        steps, then their rewards.""",
        (_SETUP, _WRAPPERS),
        {"observations": [3.0, -20.0, 4.0, 30.0], "rewards": [2.0, 20.0, -1.0, 30.0]},
        {
            "none": (
                "none",
                make_feedback_formula(
                    make_raw_formula("observations"), make_raw_formula("rewards")
                ),
            ),
            "observations": (
                "observations normalised",
                make_feedback_formula(compute_normalised_observations, make_raw_formula("rewards")),
            ),
            "rewards": (
                "rewards scaled",
                make_feedback_formula(make_raw_formula("observations"), compute_scaled_rewards),
            ),
            "observations_and_rewards": (
                "observations normalised and rewards scaled",
                make_feedback_formula(compute_normalised_observations, compute_scaled_rewards),
            ),
        },
        tolerance=2e-3,
        consequence="A comparison with default settings compares wrappers.",
    )


_TRAINING = [2.0, 3.0, -1.0, 4.0, 0.5, 6.0]
_EVALUATION = [9.0, 12.0, 8.0]


def _normalise_evaluation_observations(
    inputs: Inputs, begins_trained: bool, is_updated: bool
) -> np.ndarray:
    training, evaluation = (
        _get_input_as_array(inputs, "training"),
        _get_input_as_array(inputs, "evaluation"),
    )
    if not is_updated:
        moments = formulas.compute_cumulative_statistics(training)
        frozen = formulas.Statistics(*(np.full(len(evaluation), column[-1]) for column in moments))
        return formulas.standardise_by_statistics(evaluation, frozen)
    stream = np.concatenate([training, evaluation]) if begins_trained else evaluation
    values = formulas.standardise_by_statistics(
        stream, formulas.compute_cumulative_statistics(stream), epsilon=0.0, min_variance=1e-6
    )
    return values[len(stream) - len(evaluation) :]


_EVALUATED = """A training with the framework's normalisation has seen the observations
    ``training`` (the first of them at a reset, within one episode). """
_OBSERVED = "Observed, [3]: what the agent is given for ``evaluation``, the first at a reset."
_EVALUATIONS = {
    "training_frozen": (
        "the statistics of the training, which stay as they are",
        lambda i: _normalise_evaluation_observations(i, begins_trained=True, is_updated=False),
    ),
    "training_moving": (
        "the statistics of the training, which evaluation goes on to change",
        lambda i: _normalise_evaluation_observations(i, begins_trained=True, is_updated=True),
    ),
    "fresh_moving": (
        "new statistics, which begin with the evaluation",
        lambda i: _normalise_evaluation_observations(i, begins_trained=False, is_updated=True),
    ),
    "none": ("the observation itself", lambda i: _get_input_as_array(i, "evaluation")),
}


def _make_evaluation_details() -> list[Detail]:
    return [
        make_detail(
            "normalisation.evaluation",
            "With which statistics are observations normalised in an evaluation?",
            _EVALUATED
            + """Then it is evaluated as the framework's documentation, or its own program, says:
            with the evaluator and the switch that they name; where there is none, in the
            environments whose returns are reported. """
            + _OBSERVED,
            (_WRAPPERS, _NOTE),
            {"training": _TRAINING, "evaluation": _EVALUATION},
            _EVALUATIONS,
            tolerance=2e-2,
            scales=(1.0, 1.0, 1.0),
            margin=5.0,
            consequence="""An agent is judged on inputs that it was not trained on, so that a good
            policy looks bad, or evaluating changes the training.""",
        ),
        make_detail(
            "normalisation.evaluation.same_wrapper",
            "And if the environment of the evaluation is wrapped exactly as the training's is?",
            _EVALUATED
            + """Then the framework's evaluator runs in a second environment with a wrapper that
            is made like the training's, with no other argument. """
            + _OBSERVED,
            (_WRAPPERS, _NOTE),
            {"training": _TRAINING, "evaluation": _EVALUATION},
            _EVALUATIONS,
            tolerance=2e-2,
            scales=(1.0, 1.0, 1.0),
            margin=5.0,
            consequence="""Somebody who forgets one argument evaluates with statistics that drift
            towards the observations of the evaluation.""",
        ),
        make_detail(
            "normalisation.saved",
            "Are the statistics in what is saved of an agent?",
            _EVALUATED
            + """The agent is saved and loaded the way the framework's own program or method does,
            with no further file. Observed, [3]: what the loaded agent is given for
            ``evaluation`` by what was loaded.""",
            (_NOTE,),
            {"training": _TRAINING, "evaluation": _EVALUATION},
            {
                "saved": ("they are", _EVALUATIONS["training_frozen"][1]),
                "saved_moving": (
                    "they are, and go on changing",
                    _EVALUATIONS["training_moving"][1],
                ),
                "lost": ("nothing is normalised", _EVALUATIONS["none"][1]),
                "fresh": ("they begin anew", _EVALUATIONS["fresh_moving"][1]),
            },
            tolerance=2e-2,
            scales=(1.0, 1.0, 1.0),
            margin=5.0,
            consequence="A trained policy that is loaded again acts on other inputs than it knew.",
        ),
    ]


DETAILS: tuple[Detail, ...] = (
    _make_default_wrappers_detail(),
    _make_off_policy_wrappers_detail(),
    *_make_evaluation_details(),
)
