# SPDX-License-Identifier: BSD-3-Clause
"""What the command fastsched leaves to Python: python3 -I DIRECTORY COMMAND ..., see fs_tool_python.c."""
import sys

if sys.version_info < (3, 7):
    sys.exit("fastsched: python3 is Python %d.%d; needed: 3.7 or newer" % sys.version_info[:2])

from fastsched.main import main  # older ones would not even read it

sys.exit(main(sys.argv[1:]))
