"""A script does under a recorder what it does without one, and so does what it saves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rlregress import suite
from rlregress.tracing import recording_processes, trace_reader
from rlregress.tracing.recording_processes import Side

pytestmark = pytest.mark.usefixtures("warm_python")

SEEDS = """
import copy, functools, inspect, io, pickle, random, sys, types
import gymnasium, numpy as np, torch
from torch import nn

random.seed(1); np.random.seed(1); torch.manual_seed(1)

def number(module):
    return sum(p.double().abs().sum().item() for p in module.parameters())

def tried(call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

class Walk(gymnasium.Env):
    metadata = {"render_modes": []}

    def __init__(self, length=9):
        self.length = length
        self.observation_space = gymnasium.spaces.Box(-20.0, 20.0, (2,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.taken = self.np_random.normal(size=2).astype(np.float32), 0
        return self.at, {}

    def step(self, action: np.ndarray):
        self.taken += 1
        self.at = np.clip(self.at + 0.1 * action[0], -20.0, 20.0).astype(np.float32)
        return self.at, float(-abs(self.at[0])), False, self.taken >= self.length, {}

class Doubled(gymnasium.Wrapper):
    def step(self, action):
        at, reward, *rest = self.env.step(action)
        return (at, 2 * reward, *rest)
"""

TORCH = """
import cloudpickle

class Net(nn.Module):
    kind = torch.tanh
    draw = np.random.rand
    uniform = random.uniform
    clamp = staticmethod(torch.clamp)

    def __init__(self, width=4, activation=torch.nn.functional.relu):
        super().__init__()
        self.inner, self.activation = nn.Linear(2, width), activation

    def forward(self, x):
        return {"loss": self.clamp(self.activation(self.inner(x)), 0.0, 2.0).mean()}

class Called(nn.Module):
    def __call__(self, x):
        return {"loss": x.sum()}

class Policy(torch.distributions.Normal):
    def rsample(self, shape=()):
        return torch.clamp(super().rsample(torch.Size(shape)), -1.0, 1.0)

class Own(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)

HANDLED = {torch.clamp: "clamp", torch.Tensor.mul_: "mul_", torch.where: "where", torch.add: "add"}

class Marked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, kinds, given=(), named=None):
        if func in HANDLED:
            print("handled", HANDLED[func], func == torch.clamp)
        return super().__torch_function__(func, kinds, given, named or {})

net = Net()
optimizer = Own(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(5, 2))["loss"].backward()
    optimizer.step()
print(number(net), Policy(torch.zeros(2), torch.ones(2)).rsample((2,)).tolist())
print(tried(Called().__call__, torch.ones(2)), tried(net), tried(net, torch.ones(3)))
print(tried(torch.rand, "x"), tried(np.random.choice, []), tried(torch.ones(1).backward))
print(number(copy.deepcopy(net)), number(pickle.loads(pickle.dumps(net))))
print(number(copy.copy(net)))
torch.save(net, "net.pt"); torch.save(net.state_dict(), "state.pt")
torch.save([optimizer.state_dict(), Policy(torch.zeros(2), torch.ones(2))], "rest.pt")
print(number(torch.load("net.pt", weights_only=False)), sorted(torch.load("state.pt")))
m = torch.ones(3).as_subclass(Marked)
torch.clamp(m, 0, 1); m.mul_(2); torch.where(m > 0, m, m); torch.add(m, 1)
for f in (torch.rand, torch.clamp, np.random.rand, random.random, torch.Tensor.mul_, np.clip,
          random.shuffle, torch.tensor):
    print(f.__name__, copy.deepcopy(f) is f, copy.copy(f) == f, f == f, (f.__doc__ or "")[:20])
    print(tried(cloudpickle.loads(cloudpickle.dumps(f))) == tried(f), tried(inspect.signature, f))
    print(inspect.isfunction(f), inspect.isbuiltin(f), isinstance(f, types.BuiltinFunctionType))
for f in (nn.Module.__init__, Net.forward, Own.step, Net,
          torch.Tensor.backward, torch.manual_seed, nn.utils.clip_grad_norm_, Net.__setstate__):
    print(f.__name__, f.__qualname__, inspect.signature(f), inspect.isfunction(f),
          len(inspect.getsource(f)))
print(Net.draw(2), net.draw(2), net.uniform(2, 3))
print(functools.partial(torch.clamp, min=0)(torch.ones(1)))
print(sorted(vars(Net)), sorted(vars(Own)), sorted(vars(net)), Net.__call__ is nn.Module.__call__)
cloudpickle.dump([net, Net, Own, Policy, lambda x: torch.clamp(x, max=1.0)], open("by.pkl", "wb"))
print(number(cloudpickle.loads(cloudpickle.dumps(net))))
"""

ENVIRONMENTS = """
import cloudpickle

environment = Doubled(Walk())
environment.reset(seed=3); environment.action_space.seed(4)
print([environment.step(environment.action_space.sample())[1] for _ in range(3)])
copied, sent = copy.deepcopy(environment), pickle.loads(pickle.dumps(environment))
for each in (environment, copied, sent):
    print(each.reset()[0], each.step(np.ones(1))[0], sorted(vars(each.unwrapped)), each)
for f in (Walk.step, Walk.reset, Doubled.step, gymnasium.Env.step, gymnasium.spaces.Box.sample):
    print(f.__name__, f.__qualname__, f.__module__, inspect.signature(f), inspect.getsource(f)[:40])
    print(f.__annotations__, isinstance(f, types.FunctionType))
print(inspect.getsource(Walk) == inspect.getsource(type(environment.unwrapped)), sorted(vars(Walk)))
print(Walk().step.__func__ is Walk.step, tried(Walk().step), tried(environment.reset, 1))
print(tried(Walk().reset, 1), tried(Walk().step, 1, 2))

class Later(Walk):
    reset = Walk.reset

print(Later.reset is Walk.reset, Later().reset(seed=1)[0])
vector = gymnasium.vector.SyncVectorEnv([Walk, lambda: Doubled(Walk(3))])
print(vector.reset(seed=5)[0].tolist(), vector.step(np.ones((2, 1)))[1].tolist())
print(isinstance(Walk.step, types.FunctionType), gymnasium.spaces.Box.sample.__name__)
cloudpickle.dump([Walk, Doubled, environment], open("by.pkl", "wb"))
# which gives the classes of this process other functions, without a source
by_value = cloudpickle.loads(cloudpickle.dumps(environment))
print(by_value.reset()[0], by_value.step(np.ones(1))[0], sorted(vars(by_value.unwrapped)))
"""

SB3 = """
import stable_baselines3 as sb3
from stable_baselines3.common import callbacks, policies, torch_layers, vec_env
from stable_baselines3.common.save_util import load_from_pkl

class Features(torch_layers.BaseFeaturesExtractor):
    def __init__(self, space, width=6):
        super().__init__(space, width)
        self.inner = nn.Sequential(nn.Linear(2, width), nn.Tanh())

    def forward(self, x):
        return torch.clamp(self.inner(x), -0.9, 0.9)

class Policy(policies.ActorCriticPolicy):
    def forward(self, *given, **named):
        return super().forward(*given, **named)

class Counted(callbacks.BaseCallback):
    def _on_step(self):
        return True

def schedule(left):
    return 1e-3 * float(np.clip(left, 0.1, 1.0))

made = vec_env.VecNormalize(vec_env.DummyVecEnv([lambda: Doubled(Walk())]))
options = dict(features_extractor_class=Features, features_extractor_kwargs={"width": 5})
model = sb3.PPO(Policy, made, learning_rate=schedule, n_steps=32, batch_size=16, seed=1,
                policy_kwargs=options)
model.learn(64, callback=Counted())
print(number(model.policy), made.obs_rms.mean.tolist())
model.save("ppo"); made.save("norm.pkl")
again = sb3.PPO.load("ppo", env=made)
print(number(again.policy), again.lr_schedule(0.5), type(again.policy).__name__,
      again.policy_kwargs["features_extractor_class"] is Features)
again.learn(32); print(number(again.policy))
print(tried(copy.deepcopy, model.policy), number(copy.deepcopy(model.policy.mlp_extractor)))
plain = vec_env.VecNormalize.load("norm.pkl", vec_env.DummyVecEnv([Walk]))
print(plain.obs_rms.var.tolist(), plain.reset().shape)
off = sb3.SAC("MlpPolicy", Walk(), learning_starts=20, buffer_size=50, seed=2, batch_size=8,
              policy_kwargs=dict(net_arch=[8], features_extractor_class=Features))
off.learn(40); off.save("sac"); off.save_replay_buffer("rows")
off.load_replay_buffer("rows.pkl")
print(number(off.policy), off.replay_buffer.rewards.sum(), off.replay_buffer.size())
torch.save(model.policy, "policy.pt"); torch.save(model.policy.state_dict(), "state.pt")
print(number(torch.load("policy.pt", weights_only=False)))
print(tried(model.predict, np.zeros(7)), tried(sb3.PPO, "None", made))
"""

SPAWNED = """
from stable_baselines3.common.vec_env import SubprocVecEnv

if __name__ == "__main__":
    made = SubprocVecEnv([lambda: Doubled(Walk()), Walk], start_method="spawn")
    made.seed(3)
    print(made.reset().tolist(), made.step(np.ones((2, 1), np.float32))[1].tolist())
    print(made.get_attr("length"), made.env_method("step", np.ones(1), indices=[1])[0][0])
    made.close()
"""

TORCHRL = """
import cloudpickle
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, ProbabilisticTensorDictSequential
from torchrl.objectives import LossModule
from torchrl.data import ReplayBuffer, LazyTensorStorage

class Loss(LossModule):
    def __init__(self, actor):
        super().__init__()
        self.convert_to_functional(actor, "actor")

    def forward(self, td):
        with self.actor_params.to_module(self.actor):
            out = self.actor(td.copy())["out"]
            return TensorDict({"loss_actor": out.clamp(max=1.0).mean()}, [])

class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return torch.where(x > 0, self.layer(x), torch.clamp(x, -1, 1))

td = TensorDict({"x": torch.randn(4, 2)}, [4])
print(torch.where(td["x"][:, 0] > 0, td, td + 1)["x"].tolist(), tried(torch.clamp, td, 0, 1))
module = TensorDictModule(Inner(), in_keys=["x"], out_keys=["out"])
loss = Loss(module)
optimizer = torch.optim.Adam(loss.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad(); loss(td)["loss_actor"].backward(); optimizer.step()
print(number(loss), number(copy.deepcopy(loss)), number(cloudpickle.loads(cloudpickle.dumps(loss))))
torch.save(module, "module.pt"); torch.save(loss.state_dict(), "state.pt")
print(number(torch.load("module.pt", weights_only=False)), tried(loss, 1), tried(module))
import logging; logging.disable(50)
rows = ReplayBuffer(storage=LazyTensorStorage(10), batch_size=3)
rows.extend(td); rows.dumps("rows"); print(rows.sample()["x"].shape)
cloudpickle.dump([Inner, module], open("by.pkl", "wb"))
"""

#: script -> what a process that knows nothing of this suite makes of the files that it has saved.
LOADING = {
    "torch": """
import pickle, torch, sys
net, Net, Own, Policy, clamp = pickle.load(open("by.pkl", "rb"))
torch.manual_seed(1)
print(net(torch.ones(2))["loss"].item(), clamp(torch.ones(1) * 3), Net(3)(torch.ones(2)).keys())
print(torch.load("state.pt").keys(), sorted(vars(Net)))
print([n for n in sys.modules if "rlregress" in n])
""",
    "environments": """
import pickle, numpy, sys, inspect
Walk, Doubled, environment = pickle.load(open("by.pkl", "rb"))
print(environment.reset()[0], environment.step(numpy.ones(1))[1], Walk(3).reset(seed=1)[0])
print([n for n in sys.modules if "rlregress" in n])
""",
    "sb3": """
import stable_baselines3 as sb3, sys, numpy
model = sb3.PPO.load("ppo"); off = sb3.SAC.load("sac")
print(model.predict(numpy.ones(2), deterministic=True)[0], model.lr_schedule(0.5))
print(off.predict(numpy.ones(2), deterministic=True)[0])
print([n for n in sys.modules if "rlregress" in n])
""",
    "torchrl": """
import pickle, torch, sys
Inner, module = pickle.load(open("by.pkl", "rb"))
from tensordict import TensorDict
print(module(TensorDict({"x": torch.ones(2)}, []))["out"].tolist())
print([n for n in sys.modules if "rlregress" in n])
""",
}
SCRIPTS = {
    "torch": TORCH,
    "environments": ENVIRONMENTS,
    "sb3": SB3,
    "spawned": SPAWNED,
    "torchrl": TORCHRL,
}


def plain(script: Path, folder: Path) -> str:
    """What a script prints in a process without this suite."""
    environment = Side("A").environment()
    del environment["PYTHONPATH"]
    ended = subprocess.run(
        [sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert not ended.returncode, ended.stderr
    return ended.stdout


def recorded(script: Path, folder: Path) -> str:
    """What it prints under a recorder."""
    job = {"script": str(script), "packages": ["stable_baselines3", "torchrl"], "lines": True}
    path, output = folder / "job.json", folder / "script.trace"
    path.write_text(json.dumps({**job, "output": str(output)}))
    side = Side("A")
    ended = subprocess.run(
        recording_processes.start("trace_worker", side, path),
        cwd=folder, env=side.environment(), capture_output=True, text=True,
    )  # fmt: skip
    assert not ended.returncode, ended.stderr
    assert str(suite.library()) in side.environment()["PYTHONPATH"]
    made = trace_reader.load(output)
    assert not made.failure, made.failure
    assert made.count("reset") + made.count("optimizer") + made.count("output")
    return ended.stdout


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.nightly if n != "environments" else ()) for n in SCRIPTS],
)
def test_a_script_does_the_same_under_a_recorder(name: str, tmp_path: Path) -> None:
    """It prints the same, and its files are loaded where this suite is not."""
    script = tmp_path / "script.py"
    script.write_text(SEEDS + SCRIPTS[name], encoding="utf-8")
    loading = tmp_path / "loading.py"
    loading.write_text(LOADING.get(name, ""), encoding="utf-8")
    printed = []
    for how in (plain, recorded):
        folder = tmp_path / how.__name__
        folder.mkdir()
        printed.append(f"{how(script, folder)}\n{plain(loading, folder)}")
    assert re.sub("0x[0-9a-f]+", "", printed[1]) == re.sub("0x[0-9a-f]+", "", printed[0])
