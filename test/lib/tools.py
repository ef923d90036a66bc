"""Modules of tools/, through which tests read the tables of the project (*.def)."""
import sys

from lib.server import TOP

sys.path.append(str(TOP / "tools"))
import function_pages, gen_docs  # noqa: E402,F401
