"""Which public functions use a package that is no longer installed."""

from __future__ import annotations

import pytest

from rlregress.upgrade.differences.package_users import list_functions_using

GUARDED = "try:\n  import pandas as pd\nexcept ImportError:\n  raise ImportError('pip') from None\n"


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("import pandas\ndef load(): return pandas.read_csv('x')\ndef other(): ...", ["load"]),
        ("def load():\n  try:\n    import pandas\n  except ImportError:\n    raise", ["load"]),
        (f"{GUARDED}def plot(x): return [pd.Series(y) for y in x]", ["plot"]),
        ("from pandas import Series as S\nclass A:\n  def f(self): S()\n  def _g(self): S()",
         ["A.f"]),
        ("import pandas\ndef load(): pandas.read_csv('x')\ndef both(): load()\ndef no(x): x.load()",
         ["load", "both"]),
        # what runs, and a type checker does not read, or not alone
        ("import typing\nif not typing.TYPE_CHECKING:\n  import pandas\n"
         "def f(): x = pandas", ["f"]),
        ("TYPE_CHECKING = True\nif TYPE_CHECKING:\n  import pandas\ndef f(): x = pandas", ["f"]),
        # in annotations, of something else of that name, or private
        ("import pandas\ndef load() -> pandas.DataFrame: ...\ndef f(x: pandas.Series): ...", []),
        ("from .pandas import f\ndef g(): f()", []),
        ("def broken(: import pandas", []),
    ],
)  # fmt: skip
def test_a_function_that_uses_a_package_is_named(tmp_path, text, users):
    """It imports the package itself, or reads a name that its module has from there."""
    (tmp_path / "a.py").write_text(text)
    assert list_functions_using({"pandas", "matplotlib"}, tmp_path) == users
