# Not built yet (2026-11-28). Written from Spack's packages of July 2026.
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Protozero(CMakePackage):
    """A header-only reader and writer of protocol buffers, which Spack's own packages lack."""

    homepage = "https://github.com/mapbox/protozero"
    git = "https://github.com/mapbox/protozero.git"

    license("BSD-2-Clause AND Apache-2.0")

    version("1.8.2", tag="v1.8.2", commit="af2f6e274e0a873a00e34d8c9ab99fca76898047")
    version("1.7.1", tag="v1.7.1", commit="f379578a3f7c8162aac0ac31c2696de09a5b5f93")

    depends_on("cxx", type="build")
    depends_on("cmake@3.5:", type="build")

    def cmake_args(self):
        return [self.define("BUILD_TESTING", False)]
