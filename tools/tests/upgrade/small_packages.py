"""Packages, and a file that runs code as it is loaded, written for a test."""

from __future__ import annotations


def write_package(folder, files, encoding="utf-8"):
    """Write the files of a package below a folder, and return the folder of the package."""
    root = folder / "package"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding=encoding)
    return str(root)


def write_versions(folder, old, new, encoding="utf-8"):
    """Write two versions of a package, and return the folders of each."""
    return (
        [write_package(folder / "old", old, encoding)],
        [write_package(folder / "new", new, encoding)],
    )


def edit_copy(adapter, file, folder, *edits, everywhere=False):
    """Copy a framework below a folder with fragments of one file replaced; return the folder.

    Args:
        everywhere: a fragment may be in the file more than once, and is replaced each time.
    """
    folder.mkdir()
    adapter.code.copy_package_to_change(file, folder)
    path = folder / file
    text = path.read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1 or (everywhere and old in text), old
        text = text.replace(old, new)
    # it may be a link to the installed file
    path.unlink()
    path.write_text(text, encoding="utf-8")
    return str(folder)


class Hostile:
    """Writes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")
