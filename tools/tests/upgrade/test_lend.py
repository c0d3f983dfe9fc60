"""The gate does not lend a version packages that it does not install, unless --lend names them."""

from __future__ import annotations

import json

import pytest

SCRIPT = """
import tempfile

from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

folder = tempfile.mkdtemp()
env = make_vec_env("CartPole-v1", n_envs=1, seed=0, monitor_dir=folder)
PPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu").learn(256)
from stable_baselines3.common.monitor import load_results
load_results(folder)
"""


def test_only_an_upgrade_lends(command):
    """Without a second version there is nobody to lend anything to."""
    code, _, error = command("check", "--lend", "pandas")
    assert code == 2
    assert "rlregress check takes no --lend; 'rlregress upgrade' does" in error


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("lend", "ends", "verdict"), [([], 1, "diverged"), (["--lend", "pandas"], 3, "equal")]
)
def test_a_script_fails_as_in_a_fresh_environment(
    command, tmp_path, monkeypatch, lend, ends, verdict
):
    """Stable-Baselines3 2.9.2 no longer installs pandas: what reads results fails, unless lent.

    With pandas the script does the same; public names that are gone make it ``changed`` all the
    same.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    versions = ["stable-baselines3==2.8.0", "stable-baselines3==2.9.2"]
    code, text, error = command("upgrade", *versions, "--script", "train.py", *lend)
    assert code == ends, error
    report = json.loads((tmp_path / "report" / "upgrade.json").read_text(encoding="utf-8"))
    assert report["script"]["train.py"]["verdict"] == verdict
    hidden = "matplotlib" if lend else "matplotlib, pandas"
    assert f"  without {hidden} (and " in text
    assert ("ImportError: pandas is required for loading results" in text) is not bool(lend)
