"""Scenarios: files that are read, files that are refused, and what they enter."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from rlregress import datafiles, frameworks
from rlregress.errors import UserError
from rlregress.frameworks.base import Adapter
from rlregress.tracing import run, trace
from rlregress.tracing.compare import compare
from rlregress.upgrade import scenarios

SB3 = frameworks.get("sb3")
GOOD = """
[[scenario]]
name = "fast"
algorithms = ["ppo", "a2c"]
why = "a rate that is too high"
[scenario.environment]
copies = 2
[scenario.settings]
learning_rate = 1
[scenario.features]
evaluate = ["callback"]
"""


class Third(Adapter):
    """An adapter that brings scenarios along."""

    name = "third"

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def scenarios(self) -> Path | None:
        """Where they are."""
        return self._path

    def trace_trainings(self):
        """One plain training."""
        return {"ppo": lambda make_env, seed: None}


def written(folder: Path, text: str, name: str = "own.toml") -> Path:
    """A file with a text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_read_into_scenarios(tmp_path):
    """Each entry keeps its place, and each of its algorithms is one training with a title."""
    (found,) = scenarios.load(written(tmp_path, GOOD))
    assert found.where.endswith("own.toml, [[scenario]] at line 2")
    assert found.algorithms == ("ppo", "a2c")
    assert found.title("a2c") == "a2c fast"
    assert found.job("ppo") == {
        "algorithm": "ppo",
        "scenario": {
            "algorithm": "ppo",
            "environment": {"copies": 2},
            "settings": {"learning_rate": 1},
            "features": {"evaluate": ["callback"]},
        },
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "learning_rate",
            "learning_rat",
            "table 'settings': unknown key 'learning_rat'; did you mean 'learning_rate'",
        ),
        ("learning_rate = 1", 'learning_rate = "1"', "is '1', expected a number"),
        ("copies = 2", "copies = 2.5", "is 2.5, expected a whole number"),
        ("copies = 2", "copies = true", "is true, expected a whole number"),
        (
            "callback",
            "calback",
            "key 'features.evaluate' holds 'calback'; did you mean 'callback'?",
        ),
        ('["callback"]', '"callback"', "key 'features.evaluate' is 'callback', expected a list"),
        ('"fast"', '"Fast one"', "key 'name' is 'Fast one', expected small letters"),
        ('["ppo", "a2c"]', "[]", "key 'algorithms' is [], expected at least 1 entry"),
        ('why = "a rate that is too high"', "", "key 'why' is missing"),
        ("why", "wy", "unknown key 'wy'; did you mean 'why'"),
        ("[[scenario]]", "[[scenarios]]", "unknown key 'scenarios'; did you mean 'scenario'"),
        ("[[scenario]]", "[[scenario]", "is not valid TOML"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path, old, new, said):
    """One sentence with file, entry, key, what was expected, and the nearest name."""
    path = written(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(UserError) as refused:
        scenarios.load(path)
    assert str(path) in str(refused.value)
    assert said in str(refused.value)


def test_two_of_one_name_are_refused(tmp_path):
    """Titles tell trainings apart; another algorithm may have a scenario of the same name."""
    path = written(tmp_path, GOOD + GOOD.replace('"ppo", "a2c"', '"sac", "a2c"'))
    with pytest.raises(UserError, match="'a2c fast' is there already: .* at line 2"):
        scenarios.load(path)
    other = written(tmp_path, GOOD + GOOD.replace('"ppo", "a2c"', '"sac"'), "other.toml")
    assert len(scenarios.load(other)) == 2


def test_a_third_party_brings_its_own(tmp_path):
    """Beside the suite's, with names of its own where it explains them."""
    written(tmp_path, GOOD.replace("evaluate", "spectral_norm").replace('["callback"]', "true"))
    adapter = Third(tmp_path)
    with pytest.raises(UserError, match="table 'features': unknown key 'spectral_norm'"):
        scenarios.jobs(adapter)
    written(
        tmp_path,
        '[features]\nspectral_norm = { kind = "switch", means = "of all layers" }\n',
        "names.toml",
    )
    builtin, found = scenarios.jobs(Third(None)), scenarios.jobs(adapter)
    assert set(found) - set(builtin) == {"ppo fast", "a2c fast"}
    assert set(builtin) - set(scenarios.jobs(Third(None))) == set()
    assert found["ppo"] == {"algorithm": "ppo"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[features]\nx = { kind = "flag", means = "m" }',
            "key 'features.x.kind' is 'flag'; known: integer",
        ),
        ('[features]\nx = { kind = "word", means = "m" }', "key 'features.x': it has no words"),
        ('[features]\nx = { kind = "switch" }', "table 'features.x': key 'means' is missing"),
        ('[feature]\nx = { kind = "switch" }', "unknown key 'feature'; did you mean 'features'"),
    ],
)
def test_a_wrong_name_is_named(tmp_path, text, said):
    """A table of names that cannot be used is refused before any scenario is."""
    written(tmp_path, text, "names.toml")
    with pytest.raises(UserError, match=said):
        scenarios.load(written(tmp_path, GOOD))


def test_an_empty_folder_is_refused(tmp_path):
    """A folder without scenarios is a mistake of the adapter that names it."""
    with pytest.raises(UserError, match="holds no scenarios"):
        scenarios.load(tmp_path)


def recorded(framework: str, folder: Path, *titles: str) -> dict[str, trace.Trace]:
    """Traces of trainings by title, recorded in forks of one process."""
    script = Path(__file__).with_name("traced_scenarios.py")
    subprocess.run(
        [sys.executable, "-W", "ignore", str(script), framework, str(folder), *titles],
        env=run.current("A").environment(),
        check=True,
    )
    return {path.name: trace.load(path) for path in folder.iterdir()}


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """Every training of Stable-Baselines3, traced once."""
    return recorded("sb3", tmp_path_factory.mktemp("sb3"))


@pytest.mark.nightly
def test_each_is_traced_or_not_offered(traced):
    """No training fails in any other way than that the framework lacks what it asks for."""
    assert [found.failure for found in traced.values() if found.failure] == []
    offered = [title for title, found in traced.items() if not found.header["not_offered"]]
    assert len(offered) > 50
    assert all(traced[title].count("optimizer") for title in offered)


#: training -> what it is there for: lines that it reaches, as file and fragment.
ENTERED = {
    "ppo kl-stop": ("ppo/ppo.py", "continue_training = False"),
    "ppo gsde": ("common/distributions.py", "above_threshold = ("),
    "a2c gsde-simple": ("common/distributions.py", "return th.ones(self.latent_sde_dim"),
    "ppo dictionary": ("common/vec_env/vec_check_nan.py", "self._observations = observations"),
    "a2c rmsprop": ("common/sb2_compat/rmsprop_tf_like.py", 'if group["momentum"] > 0'),
    "ppo integers": ("common/callbacks.py", "continue_training = self.n_episodes"),
    "ppo normalised": ("common/vec_env/vec_normalize.py", "vec_normalize.set_venv(venv)"),
    "ppo images": ("common/torch_layers.py", "self.linear = nn.Sequential"),
    "ppo stacked-dictionary": (
        "common/vec_env/stacked_observations.py",
        "stacked_obs[key], stacked_infos[key]",
    ),
    "sac episodes": ("common/noise.py", "self.noise_prev = noise"),
    "td3 vectorised-noise": ("common/noise.py", "self.noise_prev = noise"),
    "sac gsde": ("common/off_policy_algorithm.py", "self.actor.reset_noise(env.num_envs)"),
    "sac n-step": ("common/buffers.py", "truncated_seq = "),
    "sac fixed-temperature": ("sac/sac.py", "self.ent_coef_tensor = "),
    "sac goals": ("her/her_replay_buffer.py", "current_indices_in_episode = "),
    "dqn goals": (
        "her/her_replay_buffer.py",
        "transition_indices_in_episode = batch_ep_length - 1",
    ),
    "sac goals-of-episodes": ("her/her_replay_buffer.py", "np.random.randint(0, batch_ep_length)"),
    "sac memory": ("common/buffers.py", "self.observations[(self.pos + 1)"),
    "dqn memory": ("common/vec_env/vec_extract_dict_obs.py", "return obs[self.key]"),
    "ppo gsde-saved": ("common/base_class.py", "model.policy.reset_noise()"),
    "sac gsde-saved": ("common/base_class.py", "model.policy.reset_noise()"),
    "ppo matrix-bits": ("common/preprocessing.py", "(observation_space, spaces.MultiBinary)"),
    "a2c informed": ("common/vec_env/vec_monitor.py", "episode_info[key] = info[key]"),
    "dqn chances": ("dqn/dqn.py", "np.array(self.action_space.sample())"),
    "dqn chances-of-choices": ("dqn/dqn.py", "np.array(self.action_space.sample())"),
    "dqn chances-of-images": ("dqn/dqn.py", "np.array(self.action_space.sample())"),
    "ppo saved": ("common/policies.py", "saved_variables = th.load("),
    "sac saved": ("common/save_util.py", "th_object = th.load("),
    "dqn saved": ("common/save_util.py", "th_object = th.load("),
    "ppo saved-without-sizes": ("common/base_class.py", "saved_net_arch = data"),
    "ppo loaded-for-more": ("common/base_class.py", 'data["n_envs"] = env.num_envs'),
    "ppo another-environment": ("common/base_class.py", "if force_reset:"),
    "ppo made-by-name": ("common/env_util.py", 'kwargs = {"render_mode": "rgb_array"}'),
    "ppo in-processes": ("common/vec_env/subproc_vec_env.py", "process.join()"),
    "ppo same-instance": (
        "common/vec_env/dummy_vec_env.py",
        '"You tried to create multiple environments',
    ),
    "ppo normalised-images": ("common/torch_layers.py", '"You should use NatureCNN "'),
    "sac memory-and-timeouts": (
        "common/buffers.py",
        '"ReplayBuffer does not support optimize_memory_usage',
    ),
    "ppo transposed": ("common/vec_env/vec_check_nan.py", "self._observations = observations"),
    "ppo atari": ("common/atari_wrappers.py", "self.was_real_done = terminated or truncated"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("title", ENTERED)
def test_it_enters_what_it_is_for(traced, title):
    """The line that only this option runs is reached, and by no plain training."""
    file, fragment = ENTERED[title]
    numbered = SB3.locate(f"stable_baselines3/{file}").read_text(encoding="utf-8").splitlines()
    lines = {n for n, line in enumerate(numbered, start=1) if fragment in line}
    assert lines, "the fragment is not in this version"

    def reached(one: str) -> bool:
        # the line of a definition is none of its own: what follows it is
        near = lines | {n + 1 for n in lines}
        found = traced[one].header["lines"].get(f"stable_baselines3/{file}", ([],))
        return bool(near & set(found[0]))

    assert reached(title)
    plain = [each for each in traced if " " not in each]
    assert not any(reached(each) for each in plain)


#: training -> a fault of a line that it alone is there for: file, and the text before and after.
FAULTS = {
    "ppo clip-active": ("ppo/ppo.py", "1 - clip_range, 1 + clip_range)", "1 - clip_range, 1e9)"),
    "ppo kl-stop": ("ppo/ppo.py", "> 1.5 * self.target_kl", "> 1.4 * self.target_kl"),
    "a2c rmsprop": (
        "common/sb2_compat/rmsprop_tf_like.py",
        'grad.add(p, alpha=group["weight_decay"])',
        "grad",
    ),
    "td3 vectorised-noise": ("common/noise.py", "self.noises[index].reset()", "pass"),
    "sac n-step": ("common/buffers.py", "truncated_seq = self", "truncated_seq = 0 * self"),
    "sac gsde": (
        "common/distributions.py",
        "th.exp(log_std) * (log_std <= 0)",
        "1.1 * th.exp(log_std) * (log_std <= 0)",
    ),
    "ppo gsde": ("common/distributions.py", "(safe_log_std) + 1.0)", "(safe_log_std) + 1.1)"),
    "dqn target-interval": (
        "dqn/dqn.py",
        "self.target_update_interval // self.n_envs",
        "self.target_update_interval",
    ),
    "dqn batch-norm": ("dqn/dqn.py", "_stats_target, 1.0)", "_stats_target, 0.5)"),
    "sac memory": (
        "common/buffers.py",
        "batch_inds = (np.random.randint(1, self.buffer_size",
        "batch_inds = (np.random.randint(0, self.buffer_size",
    ),
    "ppo batch-norm": ("common/policies.py", "dict(pi=[64, 64], vf", "dict(pi=[32, 64], vf"),
    "sac own-features": ("sac/policies.py", "net_arch = [256, 256]", "net_arch = [128, 256]"),
    "dqn own-features": ("dqn/policies.py", "net_arch = [64, 64]", "net_arch = [32, 64]"),
    "ppo squash-alone": (
        "common/policies.py",
        "not (squash_output and",
        "True or (squash_output and",
    ),
    "ppo unbounded": ("common/base_class.py", "np.isfinite(np.array(", "np.isreal(np.array("),
    "ppo matrix-dictionary": (
        "common/buffers.py",
        "action = action.reshape((self.n_envs, self.action_dim))",
        "action = action",
    ),
    "sac matrix-actions": (
        "common/policies.py",
        "actions.cpu().numpy().reshape((-1, *self.action_space.shape))",
        "actions.cpu().numpy()",
    ),
    "ppo one-left": ("ppo/ppo.py", "len(advantages) > 1", "len(advantages) > 0"),
    "ppo actor-layers": ("common/torch_layers.py", 'net_arch.get("vf", [])', 'net_arch["vf"]'),
    "ppo apart": ("common/policies.py", "if self.ortho_init:", "if True:"),
    "ppo without-bias": ("common/policies.py", "if module.bias is not None:", "if True:"),
    "ppo stacked-channels-first": (
        "common/vec_env/stacked_observations.py",
        "repeat_axis = 0 if channels_first else -1",
        "repeat_axis = -1",
    ),
    "ppo double-rewards": (
        "common/vec_env/vec_normalize.py",
        "return reward.astype(np.float32)",
        "return reward",
    ),
    "sac unscaled-images": (
        "common/policies.py",
        "normalize_images=self.normalize_images,",
        "normalize_images=True,",
    ),
    "sac lopsided-goals": (
        "her/her_replay_buffer.py",
        'next_obs["achieved_goal"],\n',
        'obs["desired_goal"],\n',
    ),
    "dqn again": ("dqn/dqn.py", "self._n_calls % max(", "self.num_timesteps % max("),
    "sac loaded-for-other-steps": (
        "common/off_policy_algorithm.py",
        "        self._convert_train_freq()\n",
        "",
    ),
    "ppo saved-compiled": ("common/base_class.py", 'getattr(attr, "_orig_mod", attr)', "attr"),
    "ppo saved-numbers": ("common/save_util.py", "weights_only=True", "weights_only=False"),
    "ppo saved-rate": (
        "common/utils.py",
        "return float(self.value_schedule(progress_remaining))",
        "return self.value_schedule(progress_remaining)",
    ),
    "ppo silent-callback": (
        "common/on_policy_algorithm.py",
        "if not callback.on_step():",
        "if callback.on_step() is False:",
    ),
    "sac by-hand": (
        "common/off_policy_algorithm.py",
        "if self.gradient_steps >= 0 else",
        "if self.gradient_steps > 0 else",
    ),
    "ppo counted": ("common/base_class.py", "extend([maybe_ep_info])", "extend([])"),
    "ppo evaluated-together": (
        "common/evaluation.py",
        "(n_eval_episodes + i) // n_envs",
        "(n_eval_episodes + 1 - i) // n_envs",
    ),
    "ppo own-space": (
        "common/utils.py",
        "if isinstance(observation_space, space_type):",
        "if type(observation_space) is space_type:",
    ),
    "ppo float-images": (
        "common/torch_layers.py",
        "is_image_space(subspace, normalized_image=normalized_image)",
        "is_image_space(subspace)",
    ),
    "ppo normalised-images-saved": (
        "common/vec_env/vec_normalize.py",
        "utils.check_shape_equal(self.observation_space, venv.observation_space)",
        "assert self.observation_space == venv.observation_space",
    ),
    "ppo normalised-integers": (
        "common/buffers.py",
        "*self.obs_shape), dtype=self.observation_space.dtype",
        "*self.obs_shape), dtype=np.float32",
    ),
    "ppo normalised-rewards": (
        "common/vec_env/__init__.py",
        'if hasattr(env_tmp, "obs_rms"):',
        "if True:",
    ),
    "ppo normalised-rewards-of-dictionaries": (
        "common/vec_env/vec_normalize.py",
        "        if self.norm_obs:\n",
        "        if True:\n",
    ),
    "ppo normalised-rewards-of-choices": (
        "common/vec_env/vec_normalize.py",
        "        if self.norm_obs:\n",
        "        if True:\n",
    ),
    "ppo gsde-of-choices": (
        "common/base_class.py",
        "if self.use_sde and not isinstance(self.action_space,",
        "if self.use_sde and not isinstance(self.observation_space,",
    ),
    "ppo atari-bare": ("common/atari_wrappers.py", "if noop_max > 0:", "if noop_max >= 0:"),
    "sac dropout": ("sac/policies.py", "self.critic_target.set_training_mode(False)", "pass"),
    "ppo stopped": (
        "common/callbacks.py",
        "self.num_timesteps = self.model.num_timesteps",
        "self.num_timesteps = self.model.num_timesteps + 1",
    ),
    "ppo missing-device": (
        "common/utils.py",
        'device.type == th.device("cuda").type',
        'device == th.device("cuda")',
    ),
    "sac rows-from-elsewhere": (
        "common/off_policy_algorithm.py",
        "self.replay_buffer.device = self.device",
        "pass",
    ),
    "ppo starts": ("common/base_class.py", "starts = np.ones((self", "starts = np.zeros((self"),
    "ppo normalised-images-own-features": (
        "common/vec_env/vec_normalize.py",
        "if is_image_space(self.observation_space):",
        "if False:",
    ),
    "sac integers": ("common/buffers.py", "dtype=observation_space.dtype)", "dtype=np.float32)"),
    "sac double-actions": ("common/buffers.py", "if dtype == np.float64:", "if False:"),
}
#: several of one scenario: helpers that users call by themselves.
HELPERS = [
    ("ppo helpers", ("common/monitor.py", "self.total_steps = 0", "self.total_steps = 1")),
    ("ppo helpers", ("common/policies.py", "th.nn.utils.vector_to_parameters(", "list((")),
    ("ppo helpers", ("common/utils.py", "(1 - progress_remaining) * (end", "(2) * (end")),
    ("ppo helpers", ("common/vec_env/dummy_vec_env.py", "self._reset_seeds()", "pass")),
    (
        "ppo helpers",
        (
            "common/on_policy_algorithm.py",
            "callback.on_training_start(locals(), globals())",
            "callback.on_training_start(globals(), locals())",
        ),
    ),
    (
        "ppo helpers",
        ("common/buffers.py", "log_prob = log_prob.reshape(-1, 1)", "log_prob = -log_prob"),
    ),
    (
        "ppo helpers",
        (
            "common/base_class.py",
            "if force_reset and data is not None:",
            "if force_reset or data is not None:",
        ),
    ),
    (
        "ppo gsde-every-step",
        (
            "common/on_policy_algorithm.py",
            "self.sde_sample_freq > 0 and",
            "self.sde_sample_freq > 1 and",
        ),
    ),
    (
        "ppo images-apart",
        (
            "common/policies.py",
            "module_gains[self.vf_features_extractor] = np.sqrt(2)",
            "module_gains[self.vf_features_extractor] = np.sqrt(3)",
        ),
    ),
    ("ppo helpers", ("common/noise.py", "        self.reset()\n", "")),
    ("sac helpers-of-critics", ("sac/policies.py", "self.net_arch = net_arch", "pass")),
    ("sac gsde-unclipped", ("sac/policies.py", "if clip_mean > 0.0:", "if clip_mean >= 0.0:")),
    (
        "ppo single-categories",
        (
            "common/utils.py",
            "    if observation.shape == (len(observation_space.nvec),):\n        return False",
            "    if observation.shape == (len(observation_space.nvec),):\n        return True",
        ),
    ),
]
#: what is given and asked otherwise than by most: classes, own buffers, parts called by hand.
BY_HAND = [
    (
        "ppo numbers-by-hand",
        ("common/noise.py", "        for noise in noises:\n            noise.reset()\n", ""),
    ),
    (
        "ppo distributions-by-hand",
        ("common/distributions.py", "(log_std > 0) + self.epsilon", "(log_std > 0) - self.epsilon"),
    ),
    ("ppo policy-class", ("common/base_class.py", "self.policy_class = policy\n", "pass\n")),
    ("sac policy-class", ("common/base_class.py", "self.policy_class = policy\n", "pass\n")),
    (
        "ppo monitored",
        ("common/base_class.py", "is_wrapped(env, Monitor)", "is_wrapped(Monitor, env)"),
    ),
    (
        "ppo rows-by-hand",
        (
            "common/buffers.py",
            "self.pos = 0\n        self.full = False\n\n    def sample",
            "self.pos = 0\n        self.full = True\n\n    def sample",
        ),
    ),
    (
        "ppo monitors-by-hand",
        (
            "common/monitor.py",
            "if terminated or truncated:\n            self.needs_reset = True",
            "if terminated or truncated:\n            self.needs_reset = False",
        ),
    ),
    (
        "sac n-step-of-two",
        ("common/off_policy_algorithm.py", "elif self.n_steps > 1:", "elif self.n_steps > 2:"),
    ),
    (
        "dqn n-step-of-two",
        ("common/off_policy_algorithm.py", "elif self.n_steps > 1:", "elif self.n_steps > 2:"),
    ),
    (
        "sac without-updates",
        ("common/off_policy_algorithm.py", "if gradient_steps > 0:", "if gradient_steps >= 0:"),
    ),
    (
        "dqn without-updates",
        ("common/off_policy_algorithm.py", "if gradient_steps > 0:", "if gradient_steps >= 0:"),
    ),
    (
        "sac rollouts-by-hand",
        (
            "common/off_policy_algorithm.py",
            "num_collected_steps * env.num_envs, num_collected_episodes, continue_training=False",
            "num_collected_steps / env.num_envs, num_collected_episodes, continue_training=False",
        ),
    ),
    (
        "ppo own-rows",
        (
            "common/on_policy_algorithm.py",
            "actions = actions.reshape(-1, 1)",
            "actions = actions.reshape(1, -1)",
        ),
    ),
    (
        "ppo layers-by-hand",
        (
            "common/torch_layers.py",
            "    if output_dim > 0:\n        last_layer_dim",
            "    if output_dim >= 0:\n        last_layer_dim",
        ),
    ),
    (
        "ppo spaces-by-hand",
        (
            "common/utils.py",
            "and observation.shape[1:] == observation_space.shape:\n        return True",
            "and observation.shape[1:] == observation_space.shape:\n        return False",
        ),
    ),
    (
        "ppo spaces-by-hand",
        (
            "common/utils.py",
            "    if all_non_vectorized:\n        return False",
            "    if all_non_vectorized:\n        return True",
        ),
    ),
    (
        "ppo spaces-by-hand",
        (
            "common/utils.py",
            "            all_vectorized = False\n            break",
            "            all_vectorized = True\n            break",
        ),
    ),
    ("ppo spaces-by-hand", ("common/preprocessing.py", "in [1, 3, 4]", "in [1, 3, 5]")),
    (
        "ppo numbers-like-images",
        (
            "common/policies.py",
            "if not normalize_images and issubclass(",
            "if not normalize_images or issubclass(",
        ),
    ),
    ("ppo files-by-hand", ("common/base_class.py", "exclude.add(var_name)", "pass")),
    ("sac files-by-hand", ("common/base_class.py", "exclude.add(var_name)", "pass")),
    (
        "ppo normalisers-by-hand",
        (
            "common/vec_env/vec_normalize.py",
            "        self.old_reward = np.array([])\n",
            "        pass\n",
        ),
    ),
    (
        "ppo sizes-in-a-list",
        ("common/base_class.py", 'data["policy_kwargs"]["net_arch"] = saved_net_arch[0]', "pass"),
    ),
    (
        "ppo sizes-in-a-list",
        ("common/policies.py", "net_arch = net_arch[0]", "net_arch = net_arch[1]"),
    ),
    (
        "ppo numbers-by-hand",
        (
            "common/base_class.py",
            "using_cuda=self.device.type == th",
            "using_cuda=self.device.type != th",
        ),
    ),
    (
        "ppo numbers-by-hand",
        ("common/utils.py", "cudnn.deterministic = True", "cudnn.deterministic = False"),
    ),
    (
        "ppo rows-by-hand",
        (
            "common/buffers.py",
            "        self.reset()\n\n    def reset(self) -> None:\n        self.observations = {}",
            "\n    def reset(self) -> None:\n        self.observations = {}",
        ),
    ),
    (
        "ppo rows-by-hand",
        (
            "common/buffers.py",
            "        self.returns = np.zeros((self.buffer_size, self.n_envs), dtype=np.float32)\n",
            "        pass\n",
        ),
    ),
    (
        "ppo agents-refused",
        (
            "common/policies.py",
            "self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1)",
            "self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(2)",
        ),
    ),
    ("td3 networks-by-hand", ("td3/policies.py", "lr=lr_schedule(1)", "lr=lr_schedule(2)")),
    (
        "sac counted",
        ("common/off_policy_algorithm.py", "self._update_info_buffer(infos, dones)", "pass"),
    ),
    ("ppo monitors-by-hand", ("common/monitor.py", "self.episode_times.append(", "list((")),
    (
        "ppo rates-by-hand",
        ("common/utils.py", "float(1 - np.var(y_true", "float(2 - np.var(y_true"),
    ),
    (
        "ppo files-of-older-versions",
        ("common/base_class.py", "(params, exact_match=True,", "(params, exact_match=False,"),
    ),
    (
        "sac states-by-hand",
        (
            "common/off_policy_algorithm.py",
            "self.policy.set_training_mode(False)",
            "self.policy.set_training_mode(True)",
        ),
    ),
    ("sac states-by-hand", ("common/off_policy_algorithm.py", "self._episode_num += 1", "pass")),
    ("sac states-by-hand", ("sac/policies.py", "self.critic.set_training_mode(mode)", "pass")),
    ("td3 states-by-hand", ("td3/policies.py", "self.critic.set_training_mode(mode)", "pass")),
    (
        "sac ends-by-hand",
        (
            "common/off_policy_algorithm.py",
            "num_collected_episodes += 1",
            "num_collected_episodes += 2",
        ),
    ),
    (
        "ppo ends-by-hand",
        (
            "common/on_policy_algorithm.py",
            'get("TimeLimit.truncated", False)',
            'get("TimeLimit.truncated", True)',
        ),
    ),
    (
        "ppo spaces-by-hand",
        (
            "common/preprocessing.py",
            "if not (observation.shape == observation_space.shape or ",
            "if not (observation.shape == observation_space.shape and ",
        ),
    ),
    (
        "sac networks-made-by-hand",
        ("sac/sac.py", "self.target_entropy = float(self.target_entropy)", "pass"),
    ),
    (
        "ppo networks-made-by-hand",
        ("common/on_policy_algorithm.py", "self.policy = self.policy.to(self.device)", "pass"),
    ),
    ("dqn networks-made-by-hand", ("dqn/policies.py", "= [64, 64]", "= [65, 64]")),
    (
        "ppo answers-of-dictionaries",
        (
            "common/policies.py",
            "vectorized_env or is_vectorized",
            "vectorized_env and is_vectorized",
        ),
    ),
    (
        "ppo bases-by-hand",
        ("common/base_class.py", "np.array([False] * len(infos))", "np.array([True] * len(infos))"),
    ),
    ("sac odd-files-by-hand", ("common/base_class.py", "        continue\n", "        pass\n")),
    (
        "sac rows-of-goals-loaded",
        (
            "common/off_policy_algorithm.py",
            "if truncate_last_traj:\n                self",
            "if not truncate_last_traj:\n                self",
        ),
    ),
    (
        "td3 files-by-hand",
        ("td3/td3.py", '+ ["actor", "critic", "actor_target", "critic_target"]', "+ []"),
    ),
    (
        "sac target-between-updates",
        ("sac/sac.py", "gradient_step % self.target", "gradient_step * self.target"),
    ),
    (
        "dqn target-at-every-step",
        ("dqn/dqn.py", "interval // self.n_envs, 1) == 0", "interval // self.n_envs, 2) == 0"),
    ),
    (
        "ppo distributions-by-hand",
        (
            "common/distributions.py",
            "in zip(dist_true.distribution, dist_pred.distribution, strict=True)",
            "in zip(dist_true.distribution, dist_pred.distribution, strict=False)",
        ),
    ),
    (
        "ppo distributions-by-hand",
        (
            "common/distributions.py",
            "th.unbind(actions, dim=1), strict=True)",
            "th.unbind(actions, dim=1), strict=False)",
        ),
    ),
    ("ppo distributions-by-hand", ("common/distributions.py", "(log_std <= 0)", "(log_std < 0)")),
    (
        "ppo rows-by-hand",
        ("common/buffers.py", "max(buffer_size // n_envs, 1)", "max(buffer_size // n_envs, 2)"),
    ),
    (
        "ppo spaces-by-hand",
        ("common/utils.py", "+ 1 and observation.shape[1:]", "+ 1 or observation.shape[1:]"),
    ),
    (
        "ppo numbers-by-hand",
        ("common/utils.py", "zip(*iterables, strict=True)", "zip(*iterables, strict=False)"),
    ),
    ("sac agents-refused", ("sac/sac.py", "lr=self.lr_schedule(1)", "lr=self.lr_schedule(2)")),
    (
        "sac networks-made-by-hand",
        ("sac/sac.py", "        self.log_ent_coef = None  # type: th.Tensor | None\n", ""),
    ),
    ("ppo evaluations-by-hand", ("common/evaluation.py", "episode_starts[i] = done", "pass")),
    ("ppo evaluations-by-hand", ("common/evaluation.py", "env.render()", "pass")),
    ("ppo monitors-by-hand", ("common/monitor.py", "super().close()", "pass")),
    ("ppo monitors-by-hand", ("common/vec_env/dummy_vec_env.py", "env.close()", "pass")),
    (
        "ppo bases-by-hand",
        ("common/vec_env/dummy_vec_env.py", "self.metadata = env.metadata", "pass"),
    ),
    (
        "ppo normalisers-by-hand",
        (
            "common/vec_env/vec_normalize.py",
            "self.old_obs = obs\n        self.returns = np.zeros(self.num_envs)",
            "self.old_obs = obs\n        pass",
        ),
    ),
    (
        "ppo normalisers-by-hand",
        ("common/vec_env/vec_normalize.py", "self.render_mode = venv.render_mode", "pass"),
    ),
    (
        "ppo normalisers-by-hand",
        (
            "common/vec_env/vec_normalize.py",
            "            if is_image_space(self.observation_space):\n",
            "            if not is_image_space(self.observation_space):\n",
        ),
    ),
    (
        "sac updates-by-hand",
        (
            "common/off_policy_algorithm.py",
            "replay_buffer.full or replay_buffer.pos > 0",
            "replay_buffer.full or replay_buffer.pos >= 0",
        ),
    ),
    (
        "dqn updates-by-hand",
        (
            "common/off_policy_algorithm.py",
            "replay_buffer.full or replay_buffer.pos > 0",
            "replay_buffer.full or replay_buffer.pos > 1",
        ),
    ),
    (
        "td3 updates-by-hand",
        (
            "common/off_policy_algorithm.py",
            "and self.env.num_envs > 1",
            "and self.env.num_envs >= 1",
        ),
    ),
    ("td3 updates-by-hand", ("common/base_class.py", "self.action_noise.reset()", "pass")),
    (
        "sac updates-by-hand",
        (
            "common/off_policy_algorithm.py",
            "if self.num_timesteps > 0 and",
            "if self.num_timesteps > 1 and",
        ),
    ),
    (
        "sac updates-by-hand",
        (
            "common/off_policy_algorithm.py",
            "self.sde_sample_freq > 0",
            "self.sde_sample_freq >= 0",
        ),
    ),
    (
        "a2c updates-by-hand",
        ("common/on_policy_algorithm.py", "self.sde_sample_freq > 0", "self.sde_sample_freq > 1"),
    ),
    ("ddpg updates-by-hand", ("ddpg/ddpg.py", "policy_noise=0.1", "policy_noise=0.2")),
    ("ppo updates-by-hand", ("ppo/ppo.py", "approx_kl_div > 1.5", "approx_kl_div >= 1.5")),
    ("ppo updates-by-hand", ("ppo/ppo.py", "len(advantages) > 1", "len(advantages) > 2")),
    ("ppo updates-by-hand", ("ppo/ppo.py", "advantages.std() + 1e-8", "advantages.std() + 2e-8")),
    ("a2c updates-by-hand", ("a2c/a2c.py", "advantages.std() + 1e-8", "advantages.std() + 2e-8")),
    (
        "sac odd-files-by-hand",
        (
            "common/off_policy_algorithm.py",
            "            self.replay_buffer.handle_timeout_termination = False\n",
            "",
        ),
    ),
]
LOWER = ("ppo/ppo.py", "1 - clip_range, 1 + clip_range)", "-1e9, 1 + clip_range)")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("title", "fault"), [*FAULTS.items(), *HELPERS, *BY_HAND, ("ppo clip-active", LOWER)], ids=str
)
def test_a_fault_of_the_option_is_seen(traced, tmp_path, title, fault):
    """A fault in code that only an option runs makes the trace of its scenario diverge."""
    file, before, after = fault
    file = f"stable_baselines3/{file}"
    folder = tmp_path / "changed"
    variables = SB3.copy_to_change(file, folder)
    text = SB3.locate(file).read_text(encoding="utf-8")
    assert text.count(before) >= 1
    (folder / file).unlink()
    (folder / file).write_text(text.replace(before, after), encoding="utf-8")
    job = {**scenarios.jobs(SB3)[title], "framework": "sb3", "seed": 0}
    found = run.record(job, tmp_path / "trace", run.Side("B", paths=[variables["PYTHONPATH"]]))
    if found.failure:
        # what the fault makes of the framework's own code ends the training
        assert str(folder) in found.failure
    else:
        assert compare(traced[title], found).verdict != "equal"


@pytest.mark.nightly
def test_traces_of_scenarios_repeat_themselves(traced, tmp_path):
    """To the bit: saved and loaded, with hindsight, and with noise that has a state."""
    titles = ("ppo normalised", "sac goals-of-episodes", "sac vectorised-noise", "dqn images")
    titles += ("ppo distributions-by-hand", "ppo monitors-by-hand", "sac files-with-environments")
    again = recorded("sb3", tmp_path, *titles)
    verdicts = {title: compare(traced[title], again[title]).verdict for title in titles}
    assert verdicts == dict.fromkeys(titles, "equal")


def test_every_feature_is_used():
    """A feature of the table that no scenario switches on promises what is not there."""
    path = Path(__file__).resolve().parents[3] / "baselines" / "scenarios" / "names.toml"
    used = {name for each in scenarios.load() for name in each.features}
    assert set(datafiles.read(path, scenarios._Names).features) == used


def test_every_helper_is_asked():
    """What users call by themselves is asked by a scenario, and every word has its code."""
    asked = {word for each in scenarios.load() for word in each.features.get("helpers", ())}
    known = importlib.import_module("rlregress.frameworks.sb3.helpers").USED
    assert asked == set(known)
