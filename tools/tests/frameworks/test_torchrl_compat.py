"""What older versions of TorchRL lack or call otherwise is adapted, or is not asked."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from rlregress.probing.families import is_absent_name
from rlregress.probing.interface import Unprobed, Unsupported

pytest.importorskip("torchrl", reason="the adapter of TorchRL needs it")

from rlregress.frameworks.torchrl import api, compat, known_networks, programs  # noqa: E402
from rlregress.frameworks.torchrl.quiet import make_quiet_probe, silence_and_speed_up_torchrl
from rlregress.frameworks.torchrl.scripted_environments import wrap_environment
from rlregress.probing.scripted import Scripted
from tools.tests.small_files import write_files, write_metadata


class Old:
    """A loss with the keywords of an old version, one of which its base takes."""

    class Base:
        def __init__(self, *, critic_coef=1.0):
            self.critic_coef = critic_coef

    class Loss(Base):
        def __init__(self, actor, *, entropy_coef=0.01, **more):
            super().__init__(**more)
            self.actor, self.entropy_coef = actor, entropy_coef


def test_a_name_that_is_nowhere_is_absent(monkeypatch):
    """A name that the installed version does not have is absent, and says so when it is used."""
    monkeypatch.setitem(api._PLACES, "NoSuchLoss", ("torchrl.objectives",))
    assert is_absent_name(api.NoSuchLoss)
    monkeypatch.delitem(vars(api), "NoSuchLoss")
    with pytest.raises(Unsupported, match="objectives.NoSuchLoss is not available: torchrl .* has"):
        api.NoSuchLoss()


def test_a_name_is_found_where_an_older_version_has_it(monkeypatch):
    """Where a name does not stand, the place of an older version is looked at."""
    monkeypatch.setitem(api._PLACES, "OldBox", ("torchrl.nowhere", "torchrl.data:Bounded"))
    assert api.OldBox is api.Bounded
    monkeypatch.delitem(vars(api), "OldBox")


def test_keywords_are_given_as_the_version_takes_them():
    """A probe that meets something not offered is not asked."""

    def probe(inputs):
        raise Unsupported("there is none")

    with pytest.raises(Unprobed, match="there is none") as caught:
        make_quiet_probe(probe)({})
    assert not caught.value.known
    loss = compat.call_with_newest_keywords(Old.Loss, "actor", entropy_coeff=0.5, critic_coeff=0.25)
    assert (loss.actor, loss.entropy_coef, loss.critic_coef) == ("actor", 0.5, 0.25)
    assert compat.read_renamed(loss, "entropy_coeff") == 0.5
    assert compat.find_parameter(Old.Loss, "critic_coeff").default == 1.0
    with pytest.raises(Unsupported, match="^Loss of torchrl .* has no keyword 'clip_value'$"):
        compat.call_with_newest_keywords(Old.Loss, "actor", clip_value=0.2)
    options = {"auto_log_optim_steps": False, "critic_coeff": 1.0}
    assert compat.rename_options_for_version(Old.Loss, **options) == {"critic_coef": 1.0}


def test_the_actions_of_one_environment_are_found_in_those_of_several(monkeypatch):
    """Where only the spec of all environments exists, that of one is taken from it."""
    with silence_and_speed_up_torchrl():
        several = api.SerialEnv(2, [lambda: wrap_environment(Scripted([-1.0] * 3, [2.0] * 3))] * 2)
        expected = several.action_spec_unbatched
        kind = next(k for k in type(several).__mro__ if "action_spec_unbatched" in vars(k))
        monkeypatch.delattr(kind, "action_spec_unbatched")
        found = compat.find_action_spec(several)
        monkeypatch.undo()
    assert found.shape == expected.shape == (3,)
    assert torch.equal(found.space.high, expected.space.high)


@pytest.mark.parametrize("numbers", [(0, 13), (0, 14)])
def test_q_networks_keep_their_numbers_in_every_version(monkeypatch, numbers):
    """Two Q networks reach the loss as they are, trained and target, with updatable targets."""
    monkeypatch.setattr(compat, "read_major_and_minor_version", lambda package: numbers)
    critics = [
        known_networks.make_q_network(known_networks.Constant(number)) for number in (1.0, 2.0)
    ]
    with silence_and_speed_up_torchrl():
        loss = compat.make_sac_loss(known_networks.make_reporting_policy(0.0), critics)
        for parameters in (loss.qvalue_network_params, loss.target_qvalue_network_params):
            (stacked,) = parameters.values(True, True)
            assert stacked.detach().reshape(-1).tolist() == [1.0, 2.0]
        api.SoftUpdate(loss, tau=0.5).step()


def test_programs_of_another_version_are_not_asked(monkeypatch, tmp_path):
    """A version that installs no programs is not asked those that stand on the path behind it."""
    write_metadata(tmp_path, "torchrl", "0.5.0")
    assert programs.find_folder_of_programs().is_dir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unsupported, match=r"^torchrl 0.5.0 does not install sota-implementations$"):
        programs.find_folder_of_programs()


def test_a_changed_copy_of_the_programs_comes_first(monkeypatch, tmp_path):
    """A copy that stands on the path before the installed package is the one that is asked."""
    copy = tmp_path / "sota-implementations"
    copy.mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert programs.find_folder_of_programs() == copy


def test_what_a_program_imports_in_main_can_be_watched(monkeypatch, tmp_path):
    """A name that ``main`` itself imports stands beside it, and can be replaced."""
    text = "def main(number):\n    from math import sqrt\n    return sqrt(number)\n"
    write_files(tmp_path, {"ppo/old.py": text})
    monkeypatch.setattr(programs, "find_folder_of_programs", lambda: tmp_path)
    loaded = programs.load_program("ppo", "old")
    assert loaded.main(4.0) == 2.0
    loaded.sqrt = lambda number: -number
    assert loaded.main(4.0) == -4.0


def test_programs_get_the_suites_settings_whether_omegaconf_is_installed_or_not(monkeypatch):
    """Omegaconf refuses settings that are plain dictionaries; a program never meets it."""
    installed = ModuleType("omegaconf")
    monkeypatch.setitem(sys.modules, "omegaconf", installed)
    with programs._replace_modules_and_search_folder(Path(__file__).parent):
        met = importlib.import_module("omegaconf")
        settings = programs.Settings(seed=1)
        assert met is not installed
        assert met.OmegaConf.to_container(settings, resolve=True) is settings
    assert sys.modules["omegaconf"] is installed
