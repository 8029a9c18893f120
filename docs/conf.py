# SPDX-License-Identifier: BSD-3-Clause
"""The site. docs/build puts the pages and what it has made from the sources in one directory, and calls Sphinx."""

import os

project = "fastsched"
author = "the fastsched authors"
copyright = "2026, " + author
release = version = os.environ["FASTSCHED_VERSION"]

extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = f"fastsched {release}"
html_show_sourcelink = False
html_copy_source = False
