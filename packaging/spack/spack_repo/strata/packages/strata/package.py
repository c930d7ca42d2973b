# Not built yet (2026-11-28). Written from Spack's packages of July 2026.
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Strata(CMakePackage):
    """An MLPerf-style benchmark: BERT pretraining timed to a target, and tools that check, score
    and compare such runs."""

    # The repository that holds this recipe.
    git = os.path.realpath(os.path.join(os.path.dirname(__file__), *[".."] * 6))

    license("Apache-2.0")

    version("main", branch="main")

    variant("training", default=True, description="Build the benchmark, not only the tools")
    variant("cuda", default=False, when="+training", description="Build the CUDA backend")
    variant("server", default=True, description="Build the server of 'strata report --watch'")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("fmt@9:")
    depends_on("cli11@2.1:", type="build")
    depends_on("yaml-cpp@0.7:")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("boost@1.74:", type="build")
    depends_on("libmicrohttpd@0.9.75:", when="+server")
    with when("+training"):
        depends_on("mpi")
        depends_on("hdf5@1.10:1.14")
        depends_on("onednn@2.6:3")
        depends_on("leveldb")
        depends_on("libmd")
        depends_on("protozero@1.7:", type="build")
        depends_on("utf8proc@2.7:")
    depends_on("cuda@12:", when="+cuda")
    depends_on("nccl", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define_from_variant("STRATA_TRAINING", "training"),
            self.define_from_variant("STRATA_REPORT_SERVER", "server"),
            self.define("STRATA_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("STRATA_TESTS", False),
            # Spack has no libxlsxwriter.
            self.define("STRATA_XLSX", "OFF"),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        strata = Executable(self.prefix.bin.strata)
        strata("--version")
        strata("check", "log", "--help", output=os.devnull)
