# Tried on 2026-11-25 with ReFrame 4.10.4 on one machine without modules or a batch system.
"""ReFrame tests of an installed strata.

    reframe -C SITE_SETTINGS.py -c packaging/reframe/strata_checks.py -r

-S strata_command=PATH names another program than the strata on the PATH; sites that have a module of it add
-S modules=strata. --tag tools takes the tests that need no training.
"""

import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_before, sanity_function, variable

HERE = os.path.dirname(os.path.abspath(__file__))


class StrataCheck(rfm.RunOnlyRegressionTest):
    strata_command = variable(str, value="strata")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None

    @run_before("run")
    def set_executable(self):
        self.executable = self.strata_command


@rfm.simple_test
class StrataVersion(StrataCheck):
    descr = "strata starts, and says its version"
    executable_opts = ["--version"]
    tags = {"tools", "training"}

    @sanity_function
    def prints_a_version(self):
        return sn.assert_found(r"\d+\.\d+\.\d+", self.stdout)


@rfm.simple_test
class StrataChecksALog(StrataCheck):
    descr = "a log that stops in the middle of its run is refused, with the rule that it breaks"
    tags = {"tools"}
    executable_opts = ["check", "log", "unfinished.txt"]
    prerun_cmds = [
        r"""echo ':::MLLOG {"namespace": "", "time_ms": 1700000000000, "event_type": "INTERVAL_START", "key": "run_start", """
        r""""value": null, "metadata": {"file": "train.cc", "lineno": 1}}' >unfinished.txt"""
    ]
    postrun_cmds = ["echo exit code $?"]

    @sanity_function
    def is_refused(self):
        return sn.all([sn.assert_found(r"run_stop", self.stdout), sn.assert_found(r"^exit code 1$", self.stdout)])


@rfm.simple_test
class StrataStep(StrataCheck):
    descr = "training steps on this machine: tokens/s, share of the matrix peak"
    tags = {"training"}
    config = variable(str, value=os.path.join(HERE, "..", "..", "scripts", "configs", "tiny.yaml"))
    reference = {"*": {"tokens": (0, None, None, "tokens/s")}}

    @run_before("run")
    def set_options(self):
        self.executable_opts = ["bench", "step", "--config", self.config, "--json"]

    @sanity_function
    def prints_a_measurement(self):
        return sn.assert_found(r'"tokens_per_second"', self.stdout)

    @performance_function("tokens/s")
    def tokens(self):
        return sn.extractsingle(r'"tokens_per_second":\s*([0-9.e+]+)', self.stdout, 1, float)
