"""Make the pictures of a report again: `python docs/picture.py`, with Chromium on the path.

It audits README's wrong mechanism as README does, opens the page in a headless browser, light and
dark, and keeps the upper part in few colours.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

DOCS = Path(__file__).parent
PLACES = {"light": DOCS / "report.png", "dark": DOCS / "report-dark.png"}
WIDTH, HEIGHT = 1060, 1330
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Audit, open, keep."""
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(# release\.py\n.*?)^```", text, re.S | re.M)
    command = re.findall(r"^\$ dpwitness (audit release\.py:wrong_sum .*)$", text, re.M)[0]
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"none of {', '.join(BROWSERS)} is on the path")
    with TemporaryDirectory() as folder:
        (Path(folder) / "release.py").write_text(blocks[0], encoding="utf-8")
        subprocess.run(
            [sys.executable, "-m", "dpwitness", *command.split(), "--html", "page.html", "--quiet"],
            cwd=folder, check=False,
        )  # fmt: skip
        page, shot = Path(folder) / "page.html", Path(folder) / "page.png"
        for scheme, place in PLACES.items():
            dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
            subprocess.run(
                [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                 f"--user-data-dir={folder}/profile-{scheme}", f"--window-size={WIDTH},{HEIGHT}",
                 f"--screenshot={shot}", *dark, page.as_uri()],
                check=True, capture_output=True,
            )  # fmt: skip
            Image.open(shot).convert("RGB").quantize(128).save(place, optimize=True)


if __name__ == "__main__":
    main()
