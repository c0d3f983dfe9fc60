"""Files, the metadata of distributions, and packages, written for a test."""

from __future__ import annotations


def write_files(folder, files):
    """Write texts into files below a folder, which need not be there, and return the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def describe_distribution(name, version, *requirements):
    """Return the metadata of a distribution, as text."""
    rows = [f"Requires-Dist: {row}" for row in requirements]
    return "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *rows, ""])


def write_metadata(folder, name, version, *requirements, record=None):
    """Write the metadata of an installed distribution below a folder, and return their folder.

    Args:
        record: the files that its ``RECORD`` lists; None: it has none.
    """
    files = {"METADATA": describe_distribution(name, version, *requirements)}
    if record is not None:
        files["RECORD"] = "".join(f"{file},,\n" for file in record)
    return write_files(folder / f"{name.replace('-', '_')}-{version}.dist-info", files)


def write_versions(folder, old, new):
    """Write two versions of a package, and return the folders of each."""
    return [
        [str(write_files(folder / label / "package", files))]
        for label, files in (("old", old), ("new", new))
    ]


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
