# SPDX-License-Identifier: BSD-3-Clause
"""Where a drawing goes."""
import sys

from .failure import failed


def write(path, parts):
    """Write texts into a file; "-" is standard output."""
    if path == "-":
        sys.stdout.writelines(parts)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(parts)
    except OSError as error:
        raise failed(f"{path}: {error.strerror}") from None


def escaped(text):
    """As text or as an attribute of XML."""
    for plain, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(plain, entity)
    return text
