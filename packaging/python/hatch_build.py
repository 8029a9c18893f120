# SPDX-License-Identifier: BSD-3-Clause
"""The wheel's tag: any Python 3, and the machine that the script build compiled for."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + os.environ["FASTSCHED_PLATFORM"]
