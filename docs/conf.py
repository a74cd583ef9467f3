"""How the documentation is built: `make docs`, strictly, without a network."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# Airflow makes its home when it is imported: it must not be the user's.
if "AIRFLOW_HOME" not in os.environ:
    os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="microagg-docs-")
    atexit.register(shutil.rmtree, os.environ["AIRFLOW_HOME"], ignore_errors=True)
os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
# What they tell while they are imported is of no use to a reader of warnings.
for name in ("airflow", "great_expectations"):
    logging.getLogger(name).setLevel(logging.WARNING)

from microagg_ops import __version__  # noqa: E402 - Airflow's home comes first

project = "microagg_ops"
author = "the maintainers of microagg_ops"
copyright = "the maintainers of microagg_ops, Apache License 2.0"  # noqa: A001 - Sphinx's name
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "generated"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
exclude_patterns = ["_build", "generated.py"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
default_role = "py:obj"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
python_display_short_literal_types = True

html_theme = "furo"
html_title = f"microagg_ops {version}"
html_show_sphinx = False
html_copy_source = False
