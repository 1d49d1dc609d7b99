"""Conan 2: conan create packaging/conan (from the repository's root); the sources are the repository's own."""
import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Infini(ConanFile):
    name = "infini"
    description = "Strided copies and matrix products on CPUs and accelerators"
    license = "MIT"
    topics = ("tensor", "transpose", "gemm")
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "nvidia": [True, False]}
    default_options = {"shared": True, "nvidia": False}
    package_type = "library"

    def set_version(self):
        header = pathlib.Path(self.recipe_folder, "../../include/infinicore.h").read_text()
        self.version = ".".join(re.findall(r"define INFINI_VERSION_[A-Z]+ (\d+)", header))

    def export_sources(self):
        top = str(pathlib.Path(self.recipe_folder, "../..").resolve())
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "src/*", "include/*", "harness/*", "tools/*", "bench/*",
                        "python/*", "emulators/*"):
            copy(self, pattern, top, self.export_sources_folder, excludes=("*/__pycache__/*", "*/.pytest_cache/*"))

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in ("BUILD_TESTS", "BUILD_EXAMPLES", "EMULATORS", "PYTHON"):
            toolchain.cache_variables[f"INFINI_{name}"] = "OFF"
        toolchain.cache_variables["INFINI_NVIDIA"] = "ON" if self.options.nvidia else "OFF"
        toolchain.cache_variables["INFINI_STATIC"] = "OFF" if self.options.shared else "ON"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, str(pathlib.Path(self.package_folder, "licenses")))

    def package_info(self):
        self.cpp_info.libs = ["infini"]
        self.cpp_info.set_property("cmake_target_name", "infini::infini")
        self.cpp_info.set_property("pkg_config_name", "infini")
        if not self.options.shared:
            self.cpp_info.system_libs = ["stdc++", "m", "pthread", "dl"]
