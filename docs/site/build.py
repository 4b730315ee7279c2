"""Build the site: the pages, the notebooks as a gallery, and every public name, with search.

python docs/site/build.py                # into build/site
python docs/site/build.py --out FOLDER
python docs/site/build.py --links        # ask every address on the network, too

The pages stay where they are, in docs and beside README.md; here they are put together with pages
that are written from the code, and Sphinx makes HTML of all. Whatever lies in docs and notebooks is
taken. Nothing is fetched, and a warning is an error.
"""

import argparse
import base64
import inspect
import json
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path

import graphsqueak

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BESIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE", "CITATION.cff")
SHORTEST = 60  # letters of what a card says


def main():
    """Put the sources together and run Sphinx."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--links", action="store_true", help="check addresses on the network")
    options = parser.parse_args()
    from sphinx.cmd.build import main as sphinx

    source = options.out.with_name(options.out.name + "-source")
    shutil.rmtree(source, ignore_errors=True)
    gather(source)
    common = ["-q", "-W", "--keep-going", "-d", str(source.with_name(source.name + "-cache"))]
    failed = sphinx([*common, "-b", "html", str(source), str(options.out)])
    if options.links and not failed:
        failed = sphinx([*common, "-b", "linkcheck", str(source), str(options.out / "_links")])
    sys.exit(failed)


def gather(source):
    """Write all that Sphinx reads to the folder `source`."""
    for name in ("docs", "notebooks", "_static"):
        (source / name).mkdir(parents=True)
    shutil.copy(HERE / "conf.py", source)
    shutil.copy(HERE / "site.css", source / "_static")
    for name in BESIDE:
        shutil.copy(ROOT / name, source)
    for path in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/*.png")]:
        target = source / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for path in ROOT.glob("notebooks/*.ipynb"):
        shutil.copy(path, source / "notebooks")
    add_contents(source)
    add_gallery(source / "notebooks")
    add_names(source / "docs")


def add_contents(source):
    """The front page is README.md; the guide has the pages in the order of docs/index.md."""
    front = (ROOT / "README.md").read_text().replace("](notebooks)", "](notebooks/index.md)")
    chapters = ["Guide <docs/index>", "notebooks/index", "Names <docs/api>", "docs/cli"]
    chapters += ["CHANGELOG", "CONTRIBUTING", "SECURITY"]
    (source / "index.md").write_text(front + contents(chapters))
    guide = source / "docs" / "index.md"
    text = guide.read_text()
    named = re.findall(r"\]\(([\w/]+)\.md\)", text)
    paths = guide.parent.rglob("*.md")
    others = sorted(str(path.relative_to(guide.parent).with_suffix("")) for path in paths)
    apart = {"index", "api", "cli"}
    pages = [name for name in dict.fromkeys([*named, *others]) if name not in apart]
    guide.write_text(text + contents(pages))


def contents(entries, caption=None):
    """A table of contents that is seen in the margins only."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *entries, "```", ""])


def add_gallery(folder):
    """A card for each notebook: its title, its first sentence, its first picture."""
    cards, paths = [], sorted(folder.glob("*.ipynb"))
    for path in paths:
        cells = json.loads(path.read_text())["cells"]
        title, said = summary("".join(cells[0]["source"]))
        body = [f":link: {path.stem}", ":link-type: doc"]
        image = first_image(cells)
        if image is not None:
            (folder / f"{path.stem}.thumbnail.png").write_bytes(image)
            body.append(f":img-top: {path.stem}.thumbnail.png")
        cards.append("```{grid-item-card} " + "\n".join([title, *body, "", said, "```"]))
    text = "# Notebooks\n\nEach runs as it is, on data that are shipped or made on the fly.\n\n"
    text += "\n".join(["````{grid} 1 2 2 3", ":gutter: 3", "", *cards, "````", ""])
    (folder / "index.md").write_text(text + contents([path.stem for path in paths]))


def summary(markdown):
    """The title of a page and the first sentences below it, without links and emphasis.

    >>> summary("# Spam\\n\\nSome *mails* of [many](x.md).")
    ('Spam', 'Some mails of many.')
    """
    title, _, rest = markdown.strip().partition("\n")
    paragraph = " ".join(rest.strip().partition("\n\n")[0].split())
    paragraph = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", paragraph).replace("*", "")
    said = ""
    for sentence in re.split(r"(?<=[.?!]) ", paragraph):
        if len(said) < SHORTEST:
            said = f"{said} {sentence}".strip()
    return title.lstrip("# "), said


def first_image(cells):
    """The first picture that a notebook shows, or None."""
    for cell in cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {}).get("image/png")
            if data is not None:
                return base64.b64decode("".join(data))
    return None


def add_names(docs):
    """docs/api.md with links, and a page for every public name."""
    (docs / "api").mkdir()
    names = graphsqueak.__all__
    modules = [name for name in names if inspect.ismodule(getattr(graphsqueak, name))]
    parts = ["# Names\n\n`import graphsqueak as gs`; each name is imported when first used.\n"]
    for package in ["graphsqueak", *(f"graphsqueak.{name}" for name in modules)]:
        module = import_module(package)
        public = [name for name in module.__all__ if name not in modules]
        rows = ["| name | what it is |", "| --- | --- |"]
        pages = []
        for name in sorted(public, key=str.lower):
            thing, home = getattr(module, name), package
            if getattr(graphsqueak, name, None) is thing:
                home = "graphsqueak"  # a name has one page, even if it has two homes
            page = f"api/{home}.{name}"
            if home == package:
                (docs / f"{page}.rst").write_text(name_page(thing, package, name))
                pages.append(f"{name} <{page}>")
            said = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
            said = re.sub(r"([|<*])", r"\\\1", said)
            rows.append(f"| [`{name}`]({page}.rst) | {said} |")
        parts += [f"\n## {package}\n\n", "\n".join(rows), "\n"]
        parts += [contents(pages, package)] if pages else []
    (docs / "api.md").write_text("".join(parts))


def name_page(thing, module, name):
    """What autodoc shall write about a name: of a class, the members that are ours."""
    kind = "class" if inspect.isclass(thing) else "function" if callable(thing) else "data"
    lines = [
        name,
        "=" * len(name),
        "",
        f".. currentmodule:: {module}",
        "",
        f".. auto{kind}:: {name}",
    ]
    if kind == "class" and (members := own_members(thing)):
        lines.append(f"   :members: {', '.join(members)}")
    return "\n".join([*lines, ""])


def own_members(kind):
    """Public methods and properties, inherited ones too, that are not other libraries'."""
    found = []
    for name, member in inspect.getmembers(kind):
        code = getattr(member, "fget", None) or getattr(member, "__func__", member)
        is_code = inspect.isroutine(code)
        is_ours = (getattr(code, "__module__", None) or "").startswith("graphsqueak")
        if not name.startswith("_") and is_code and is_ours and inspect.getdoc(member):
            found.append(name)
    return found


if __name__ == "__main__":
    main()
