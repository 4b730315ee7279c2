"""Build the documentation site with Sphinx.

python docs/site/build.py                # writes build/site
python docs/site/build.py --out FOLDER
python docs/site/build.py --links        # also checks external links, which needs the network

The site consists of the pages in docs, the Markdown files of the project (such as CHANGELOG.md),
the notebooks, and pages that are generated here: an index of each section, a gallery of the
notebooks, and a page for each public name. The address of a page is its path below docs. Warnings
are errors. Neither the build nor the finished site needs the network.
"""

import argparse
import base64
import importlib.util
import inspect
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import graphsqueak

HERE = Path(__file__).parent
DOCS = HERE.parent
ROOT = DOCS.parent
IMAGES = (".svg", ".png")

# A card shows sentences of its page until the text has this many characters. Half: many cards end
# after a first short sentence. Double: cards have paragraphs.
MIN_CHARACTERS_ON_CARD = 60

MARKDOWN_LINK = re.compile(r"\[([^\]]*)\]\(([^()\s#]+)(#[^()\s]*)?\)")


@dataclass(frozen=True)
class Section:
    """A section of the navigation.

    Attributes
    ----------
    title : str
    about : str
        What the section is for, at the top of its index.
    first : tuple of str
        Pages in reading order, relative to the folder of the section. Other pages of the folder
        follow in alphabetical order.
    """

    title: str
    about: str
    first: tuple[str, ...] = ()


# By folder, in the order of the navigation.
SECTIONS = {
    "start": Section(
        "Start",
        "Install graphsqueak and get a first result.",
        first=("install", "shell", "python", "choose"),
    ),
    "tutorials": Section(
        "Tutorials",
        "Complete examples, from the data to a decision.",
        first=("snap_graph", "node_labels", "fraud_ring", "spam", "../notebooks/index"),
    ),
    "howto": Section(
        "How-to",
        "One task per page.",
        first=(
            "choose_budget",
            "load_data",
            "larger_than_memory",
            "time_windows",
            "dask",
            "resume",
            "read_certificate",
            "rare_classes",
            "prediction_sets",
            "features_and_graph",
            "gnn",
            "analyze",
            "points",
            "shared_attributes",
        ),
    ),
    "explanation": Section(
        "Explanation",
        "How it works, what is guaranteed, and how it compares.",
        first=(
            "concepts",
            "algorithm",
            "certificates",
            "labels",
            "limits",
            "comparison",
            "benchmarks",
        ),
    ),
    "reference": Section(
        "Reference",
        "Commands, public names, file formats and messages.",
        first=("../cli", "../api", "files", "glossary", "troubleshooting", "faq", "references"),
    ),
    "kernels": Section(
        "Kernels and online learning",
        "The same sampling for kernel matrices, and learners that update after every example.",
        first=("dictionaries", "online"),
    ),
    "research": Section(
        "Research notes",
        "Results of the papers reproduced, their errata, and experiments.",
        first=("reproduction", "errata", "spam", "experiments"),
    ),
    "project": Section(
        "Project",
        "Changes, contributing and security.",
        first=("CHANGELOG", "CONTRIBUTING"),
    ),
}


def main():
    """Write the sources of the site and run Sphinx on them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", metavar="FOLDER")
    parser.add_argument("--links", action="store_true", help="also check external links")
    options = parser.parse_args()
    from sphinx.cmd.build import main as run_sphinx

    out = options.out
    source = out.with_name(f"{out.name}-source")
    cache = out.with_name(f"{out.name}-cache")
    shutil.rmtree(source, ignore_errors=True)
    write_sources(source)

    arguments = ["-q", "-W", "--keep-going", "-d", str(cache)]
    exit_code = run_sphinx([*arguments, "-b", "html", str(source), str(out)])
    if options.links and exit_code == 0:
        exit_code = run_sphinx([*arguments, "-b", "linkcheck", str(source), str(out / "_links")])
    sys.exit(exit_code)


def write_sources(source):
    """Write all files that Sphinx reads to the folder `source`."""
    static = source / "_static"
    static.mkdir(parents=True)
    shutil.copy(HERE / "conf.py", source)
    shutil.copy(HERE / "site.css", static)

    paths = [*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("notebooks/*.ipynb")]
    for path in paths:
        name = site_path(path)
        if path.name == "README.md":
            continue
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(with_site_links(path.read_text(), path))
    for path in DOCS.rglob("*"):
        if path.suffix in IMAGES:
            shutil.copy(path, source / site_path(path))

    add_api_pages(source)
    add_gallery(source / "notebooks")
    for folder in SECTIONS:
        add_section_index(source, folder)
    append_contents(source / "index.md", [f"{folder}/index" for folder in SECTIONS])


# Links


def site_path(path):
    """Return where a file of the repository is in the site, or None if the site does not have it.

    >>> print(site_path(ROOT / "docs" / "start" / "shell.md"))
    start/shell.md
    >>> print(site_path(ROOT / "CHANGELOG.md"), site_path(ROOT / "Makefile"))
    project/CHANGELOG.md None
    """
    if path == ROOT / "README.md":
        return Path("index.md")
    if path == ROOT / "notebooks":
        return Path("notebooks", "index.md")
    if path.suffix == ".ipynb":
        return path.relative_to(ROOT)
    if path.suffix in (".md", *IMAGES) and path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    if path.suffix == ".md" and path.parent == ROOT:
        return Path("project", path.name)
    return None


def with_site_links(text, path):
    """Replace the links between files of the repository by links between files of the site.

    Links to files that the site does not have, such as scripts, become plain text.

    >>> page = ROOT / "docs" / "start" / "shell.md"
    >>> with_site_links("[changes](../../CHANGELOG.md#a), [a script](../../conftest.py)", page)
    '[changes](../project/CHANGELOG.md#a), a script'
    """

    def site_link(match):
        words, address, anchor = match.groups()
        target = Path(os.path.normpath(path.parent / address))
        if not target.exists():
            # An external link. A broken one is an error of Sphinx.
            return match[0]
        name = site_path(target)
        if name is None:
            return words
        relative = os.path.relpath(name, site_path(path).parent)
        return f"[{words}]({relative}{anchor or ''})"

    return MARKDOWN_LINK.sub(site_link, text)


# Navigation


def add_section_index(source, folder):
    """Add the contents of a section to its index page, which is written if it does not exist."""
    section = SECTIONS[folder]
    pages = section_pages(source / folder, section.first)
    index = source / folder / "index.md"
    if not index.exists():
        cards = []
        for page in pages:
            title, sentences = title_and_summary(first_markdown(source / folder, page))
            cards.append(card(title, page, sentences))
        index.write_text(f"# {section.title}\n\n{section.about}\n\n{grid(cards, columns=2)}")
    append_contents(index, pages)


def section_pages(folder, first):
    """Return the pages of a section: those of `first` that exist, then the others by name."""
    exists = [page for page in first if (folder / f"{page}.md").exists()]
    others = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.md")}
    return [*exists, *sorted(others - {*first, "index"})]


def append_contents(page, entries):
    """Append a table of contents that is shown in the navigation only."""
    lines = ["", "```{toctree}", ":hidden:", "", *entries, "```", ""]
    page.write_text(page.read_text() + "\n".join(lines))


def card(title, page, text, image=None):
    """Return a card that links to a page."""
    lines = [f"```{{grid-item-card}} {title}", f":link: {page}", ":link-type: doc"]
    if image is not None:
        lines.append(f":img-top: {image}")
    return "\n".join([*lines, "", text, "```"])


def grid(cards, columns):
    """Return cards in a grid with fewer columns on small screens."""
    head = [
        f"````{{grid}} 1 {min(columns, 2)} {min(columns, 2)} {columns}",
        ":gutter: 3",
        ":padding: 0",
        "",
    ]
    return "\n".join([*head, *cards, "````", ""])


def first_markdown(folder, page):
    """Return the Markdown of a page, without comments."""
    return re.sub(r"<!--.*?-->", "", (folder / f"{page}.md").read_text(), flags=re.DOTALL)


def title_and_summary(markdown):
    """Return the title of a page and its first sentences, without links and emphasis.

    >>> title_and_summary("# Spam\\n\\nSome *mails* of [many](x.md).")
    ('Spam', 'Some mails of many.')
    """
    title, _, body = markdown.strip().partition("\n")
    first_paragraph = " ".join(body.strip().partition("\n\n")[0].split())
    plain = MARKDOWN_LINK.sub(r"\1", first_paragraph).replace("*", "")
    summary = ""
    for sentence in re.split(r"(?<=[.?!]) ", plain):
        if len(summary) >= MIN_CHARACTERS_ON_CARD:
            break
        summary = f"{summary} {sentence}".strip()
    return title.lstrip("# "), summary


# Notebooks


def add_gallery(folder):
    """Write the index of the notebooks: a card with the first figure of each."""
    cards = []
    pages = []
    for path in sorted(folder.glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        title, summary = title_and_summary("".join(cells[0]["source"]))
        image = first_figure(cells)
        image_name = None
        if image is not None:
            image_name = f"{path.stem}.thumbnail.png"
            (folder / image_name).write_bytes(image)
        cards.append(card(title, path.stem, summary, image=image_name))
        pages.append(path.stem)
    about = "Longer examples with figures. Each runs as it is, on data that it makes or downloads."
    index = folder / "index.md"
    index.write_text(f"# Notebooks\n\n{about}\n\n{grid(cards, columns=3)}")
    append_contents(index, pages)


def first_figure(cells):
    """Return the first PNG figure of a notebook, or None."""
    for cell in cells:
        for output in cell.get("outputs", ()):
            image = output.get("data", {}).get("image/png")
            if image is not None:
                return base64.b64decode("".join(image))
    return None


# Public names


def add_api_pages(source):
    """Write a page for each public name, and api.md with links to them."""
    generator = load_generator()
    names = sorted(generator.public_names(), key=str.lower)
    folder = source / "api"
    folder.mkdir()
    for name in names:
        (folder / f"graphsqueak.{name}.rst").write_text(name_page(name))
    index = source / "api.md"
    index.write_text(generator.api_page(link=lambda name: f"api/graphsqueak.{name}.rst"))
    append_contents(index, [f"{name} <api/graphsqueak.{name}>" for name in names])


def load_generator():
    """Return docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def name_page(name):
    """Return the page of a public name, such as "sparsify" or "kernel.SQUEAK", for autodoc."""
    value = attrgetter(name)(graphsqueak)
    module, _, own_name = f"graphsqueak.{name}".rpartition(".")
    kind = "data"
    if inspect.isclass(value):
        kind = "class"
    elif callable(value):
        kind = "function"
    title = own_name
    lines = [title, "=" * len(title), "", f".. currentmodule:: {module}", ""]
    lines.append(f".. auto{kind}:: {own_name}")
    if kind == "class":
        members = documented_members(value)
        if members:
            lines.append(f"   :members: {', '.join(members)}")
    return "\n".join([*lines, ""])


def documented_members(cls):
    """Return public methods and properties of a class, without those of other libraries."""
    names = []
    for name, member in inspect.getmembers(cls):
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        is_ours = (getattr(function, "__module__", None) or "").startswith("graphsqueak")
        is_method = inspect.isroutine(function)
        if not name.startswith("_") and is_method and is_ours and inspect.getdoc(member):
            names.append(name)
    return names


if __name__ == "__main__":
    main()
