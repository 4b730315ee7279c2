"""Print the tests of the files that differ from main, for `make check`.

Tests mirror the package. For graphsqueak/ssl/stable.py, the module itself (its doctests) and
tests/ssl/test_stable.py are printed, or the folder tests/ssl if that file does not exist. On main,
uncommitted changes count, or the last commit if there are none.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = Path("tests/test_house.py")


def main():
    """Print the paths of the tests, without paths inside other printed folders."""
    found = {ALWAYS, *(test for path in changed_files() for test in tests_of(path))}
    print(*sorted(path for path in found if found.isdisjoint(path.parents)))


def changed_files():
    """Return the files that differ from the merge base with main, including new files."""
    base = git("merge-base", "HEAD", "main") or git("rev-parse", "HEAD")
    changed = git("diff", "--name-only", *base) + git("ls-files", "--others", "--exclude-standard")
    return map(Path, changed or git("diff", "--name-only", "HEAD~1"))


def tests_of(path):
    """Return the existing tests of a file."""
    top, *inner = path.parts
    if top == "tests":
        is_shared_helper = len(inner) > 1 and not inner[-1].startswith("test_")
        candidates = [path.parent if is_shared_helper else path]
    elif top == "graphsqueak" and path.suffix == ".py" and path.stem != "__init__":
        mirror = Path("tests", *inner)
        own_test = mirror.with_name(f"test_{path.stem}.py")
        enclosing_folders = mirror.parents[:-2]
        nearest = next(filter(exists, [own_test, *enclosing_folders]), own_test)
        candidates = [path, nearest]
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
