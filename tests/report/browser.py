"""Pages in headless Chromium: what it complains about, and how wide they are."""

import json
import re
import shutil
import subprocess
from html import escape, unescape

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="needs Chromium (Debian: apt install chromium)"
)
_LOG = '"[PST]: '  # the theme of the site tells which colors it shows; that is no complaint
# The page stays as it is, in a frame; what is measured becomes text of the page around it.
_AROUND = """<!doctype html><body><iframe id="page" width="{width}" height="900" src="{address}">
</iframe><pre id="found"></pre><script>
document.getElementById("page").onload = event => {{
  const page = event.target.contentDocument;
  const beyond = [...page.querySelectorAll("body *")].filter(element => {{
    for (let one = element.parentElement; one; one = one.parentElement)
      if (["auto", "scroll", "hidden"].includes(event.target.contentWindow
          .getComputedStyle(one).overflowX) && one !== page.body) return false;
    return element.getBoundingClientRect().right > page.documentElement.clientWidth + 1;
  }});
  document.getElementById("found").textContent = JSON.stringify({{
    title: page.title, width: page.documentElement.scrollWidth,
    beyond: beyond.slice(0, 5).map(element => element.outerHTML.slice(0, 120)),
    images: [...page.images].map(image => image.complete && image.naturalWidth),
    headings: page.querySelectorAll("h1,h2").length,
  }});
}};
</script></body>"""


def look_at(page, folder, *, width):
    """What a browser finds on a page of a width: a record, and the lines of its console."""
    around = folder / "around.html"
    around.write_text(_AROUND.format(width=width, address=escape(page.resolve().as_uri())))
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files"]
    waiting = ["--disable-web-security", "--virtual-time-budget=8000", "--enable-logging=stderr"]
    done = subprocess.run(
        [BROWSER, *quiet, *offline, *waiting, "--dump-dom", around.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)[1]
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line and _LOG not in line]
    return json.loads(unescape(found)), said


def check_page(page, folder, *, n_images=None):
    """It shows whole, on a desk and on a telephone, without a word of complaint."""
    for width in (1280, 390):
        found, said = look_at(page, folder, width=width)
        assert not said, said
        assert found["headings"], f"{page}: nothing is shown"
        assert found["width"] <= width, (width, found["beyond"])
        assert all(found["images"])
        assert n_images is None or len(found["images"]) == n_images
    return found
