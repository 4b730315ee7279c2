"""Print the tests of what was changed since main, for `make check`.

A module has its own doctests, and tests/ mirrors the package: of graphsqueak/ssl/stable.py the file
tests/ssl/test_stable.py is printed, or the folder tests/ssl where there is no such file. On main
itself what is not committed counts, or the last commit if all is.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = Path("tests/test_house.py")


def main():
    """Print paths, blanks between them; none lies inside another."""
    found = {ALWAYS, *(test for path in changed_files() for test in tests_of(path))}
    print(*sorted(path for path in found if found.isdisjoint(path.parents)))


def changed_files():
    """Files that differ from where the branch left main, new ones among them."""
    base = git("merge-base", "HEAD", "main") or git("rev-parse", "HEAD")
    changed = git("diff", "--name-only", *base) + git("ls-files", "--others", "--exclude-standard")
    return map(Path, changed or git("diff", "--name-only", "HEAD~1"))


def tests_of(path):
    """The existing tests of one file."""
    top, *inner = path.parts
    if top == "tests" and (inner[-1].startswith("test_") or len(inner) == 1):
        candidates = [path]
    elif top == "tests":
        candidates = [path.parent]  # what the tests of a folder share
    elif top == "graphsqueak" and path.suffix == ".py" and path.stem != "__init__":
        mirror = Path("tests", *inner)
        own, folders = mirror.with_name(f"test_{path.stem}.py"), mirror.parents[:-2]
        candidates = [path, next(filter(exists, [own, *folders]), own)]
    else:
        candidates = [Path("tests/test_docs.py"), Path("tests/test_package.py")]
    return filter(exists, candidates)


def exists(path):
    return (ROOT / path).exists()


def git(*command):
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else []


if __name__ == "__main__":
    main()
