"""Directives of pages that are executed: what the site shows was run when it was built.

``{file} NAME`` writes a file and shows it; ``{run}`` runs shell commands and shows what they print. Both work in one
temporary folder per page. ``:readme: TEXT`` takes the first code block of the README after that text; ``:code: 2`` is
the exit code to expect, 0 if not given; ``:show: figures/*.svg page.html`` embeds pictures and links pages. Any other
exit code, or nothing to show, is an error of the page, which fails the build (``sphinx-build -W``).
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

README = Path(__file__).parents[1] / "README.md"
_WAITING = re.compile(
    r"^(compiling \(.*|[\w ]+: \d+ s|\d+ of \d+ paths .*)\n", re.MULTILINE
)  # said only by slow commands
_folders: dict[str, tempfile.TemporaryDirectory] = {}


class _Executed(SphinxDirective):
    has_content = True

    @property
    def folder(self) -> Path:
        if self.env.docname not in _folders:
            _folders[self.env.docname] = tempfile.TemporaryDirectory()
        return Path(_folders[self.env.docname].name)

    def block(self, text: str, language: str, kind: str) -> nodes.Node:
        return nodes.literal_block(text, text, language=language, classes=[kind])


class File(_Executed):
    required_arguments = 1
    option_spec = {"readme": directives.unchanged_required}  # noqa: RUF012

    def run(self):
        name, text = self.arguments[0], "\n".join(self.content)
        if start := self.options.get("readme"):
            self.env.note_dependency(str(README))
            text = re.search(r"```\w+\n(.*?)\n```", README.read_text("utf-8").partition(start)[2], re.DOTALL)[1]
        (self.folder / name).write_text(text + "\n", "utf-8")
        language = {".py": "python", ".yaml": "yaml"}.get(Path(name).suffix, "none")
        return [nodes.paragraph("", "", nodes.literal(name, name), classes=["filename"]),
                self.block(text, language, "file")]  # fmt: skip


class Run(_Executed):
    option_spec = {"code": directives.nonnegative_int, "show": directives.unchanged_required}  # noqa: RUF012

    def run(self):
        command, expected = "\n".join(self.content), self.options.get("code", 0)
        place = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "95",
        }
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.folder, env=place, timeout=900,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        output = _WAITING.sub("", done.stdout.decode("utf-8")).rstrip()
        if done.returncode != expected:
            raise self.error(f"exit code {done.returncode}, not {expected}: {command}\n{output}")
        if expected:
            output += f"\n(exit code {expected})"
        shown = [self.block(command, "none", "command")] + ([self.block(output, "none", "output")] if output else [])
        return shown + [
            self.show(file) for pattern in self.options.get("show", "").split() for file in self.found(pattern)
        ]

    def found(self, pattern: str) -> list[Path]:
        if files := sorted(self.folder.glob(pattern)):
            return files
        raise self.error(f"no file {pattern}")

    def show(self, file: Path) -> nodes.Node:
        kept = Path(self.env.doctreedir) / "shown" / self.env.docname.replace("/", "-") / file.name
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, kept)
        place = os.path.relpath(kept, Path(self.env.doc2path(self.env.docname)).parent)
        if file.suffix != ".html":
            return nodes.image(uri=place, alt=file.stem.replace("-", " "))
        link = addnodes.download_reference("", file.name, reftarget=place, refdoc=self.env.docname)
        return nodes.paragraph("", "", nodes.Text("The page that it wrote: "), link)


def _forget(app, docname, source):
    if docname in _folders:
        _folders.pop(docname).cleanup()


def setup(app):
    app.add_directive("file", File)
    app.add_directive("run", Run)
    app.connect("source-read", _forget)
    app.connect("build-finished", lambda app, error: [folder.cleanup() for folder in _folders.values()])
    return {"parallel_read_safe": False}
