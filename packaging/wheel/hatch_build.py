"""Names the systems that the program in the wheel runs on."""
import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelTag(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + os.environ["STRATA_WHEEL_PLATFORM"]
