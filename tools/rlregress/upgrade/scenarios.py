from __future__ import annotations
import tomllib
from dataclasses import dataclass, field
from rlregress import suite
from rlregress.errors import UserError


@dataclass(frozen=True)
class Scenario:
    name: str
    algorithms: tuple
    table: dict = field(hash=False, default_factory=dict)

    def job(self, algorithm):
        return {
            "name": self.name,
            "algorithm": algorithm,
            "environment": self.table.get("environment", {}),
            "settings": self.table.get("settings", {}),
            "features": self.table.get("features", {}),
        }


def load(adapter):
    found = []
    for p in sorted((suite.baselines() / "scenarios").glob("*.toml")):
        for t in tomllib.loads(p.read_text())["scenario"]:
            found.append(Scenario(t["name"], tuple(t["algorithms"]), t))
    return tuple(found)


def named(every, name):
    for s in every:
        if s.name == name:
            return s
    raise UserError(f"unknown scenario {name}")
