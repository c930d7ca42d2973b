#!/usr/bin/env bash
# Tries Strata's build on simulated systems: other versions of libraries, other MPI, CUDA and CMake, other folders and users.
# Most cases only configure. Needs the packages of scripts/test.sh, but neither root nor the network.
# Usage: scripts/developing/build_cases.sh [--list] [CASE...]     default: all cases
# Environment: STRATA_CMAKES="CMAKE..." names further cmake programs that the case cmake_versions tries
# Exit code 1: a case failed. The last lines name the failed cases.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../surroundings.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# A case is a function case_NAME with a line about it in `cases`. It runs in a folder of its own and fails with a command.
cases=(
  "yaml_cpp_target           yaml-cpp 0.9 has only the target yaml-cpp::yaml-cpp"
  "yaml_cpp_old_target       yaml-cpp 0.7 has only the target yaml-cpp"
  "yaml_cpp_archive          a static program takes yaml-cpp's archive under either name of the target"
  "libraries_in_prefix       each source that includes a library in a prefix is given its folder"
  "library_without_pc        a library in a prefix is found without its .pc file"
  "hdf5_root                 HDF5_ROOT names an HDF5 without hdf5.pc"
  "hdf5_parallel             a parallel HDF5, whose headers include MPI's, is linked with MPI"
  "hdf5_missing              a missing HDF5 is named"
  "cuda_choice               the CUDA compiler is the user's choice before the default folder's"
  "cuda_refused              an nvcc that cannot compile is an error only with STRATA_CUDA=ON"
  "cuda_architectures        CMAKE_CUDA_ARCHITECTURES and the host's compiler are the user's choice"
  "openmp_missing            a compiler without OpenMP is told which package is missing"
  "clang_too_old             a Clang that cannot compile the training part is refused"
  "clang_warnings            Clang knows all options of the compilation"
  "installed_rpath           an installed program finds the libraries of a prefix"
  "cross_compiled            an installation runs no program of another machine, but by an emulator"
  "multi_config              with several configurations the program knows the one that it was built in"
  "archive_commit            an archive of the sources knows its commit"
  "cmake_minimum             all files name the same oldest CMake"
  "cmake_versions            other versions of CMake configure all presets"
  "other_folder              sources and build in folders with spaces and accents"
  "untouched_sources         a configuration writes nothing into the sources"
  "ccache_unusable           a ccache that cannot write its cache is left out"
  "bare_environment          without HOME, in another locale and with umask 077"
)

# -- For cases ---------------------------------------------------------------------------------------------------------------

give_up() { printf '%s\n' "$*"; exit 1; }
skip() { printf '%s\n' "$*" >skipped; exit 77; }

# configure FOLDER PRESET OPTION...: leaves CMake's output in FOLDER.log. Fails if CMake does.
configure() {
  local folder=$1 preset=$2
  shift 2
  (cd "$root" && "${CMAKE:-cmake}" --preset "$preset" -B "$OLDPWD/$folder" "$@") >"$folder.log" 2>&1 ||
    { cat "$folder.log"; return 1; }
}
without_tests=(-DSTRATA_TESTS=OFF -DSTRATA_REPORT_SERVER=OFF -DSTRATA_XLSX=OFF)
# refuses FOLDER PRESET OPTION...: fails if CMake does not refuse the build.
refuses() { ! configure "$@" >/dev/null || give_up "the build was configured, but must be refused"; }
# said TEXT FILE: fails if the file does not have the text. CMake breaks its messages into lines.
said() { tr -s ' \n' '  ' <"$2" | grep -qF -- "$1" || { cat "$2"; give_up "$2 does not say: $1"; }; }
not_said() { ! tr -s ' \n' '  ' <"$2" | grep -F -- "$1" || { cat "$2"; give_up "$2 must not say: $1"; }; }
# program PATH: makes a program of standard input.
program() {
  mkdir -p "$(dirname "$1")"
  { printf '#!/usr/bin/env bash\n'; cat; } >"$1"
  chmod +x "$1"
}
# Whether the libraries of training are installed.
has_training() { command -v mpicxx >/dev/null && pkg-config --exists libmd libutf8proc hdf5 2>/dev/null; }
needs_training() { has_training || skip "needs the libraries of training: MPI, HDF5, libmd and utf8proc"; }
# config_file PREFIX NAME: writes PREFIX/lib/cmake/NAME/NAMEConfig.cmake from standard input.
config_file() {
  mkdir -p "$1/lib/cmake/$2"
  cat >"$1/lib/cmake/$2/$2Config.cmake"
}

# -- Cases -------------------------------------------------------------------------------------------------------------------

case_yaml_cpp_target() {
  config_file prefix yaml-cpp <<<'add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)'
  configure build tools-only -Dyaml-cpp_DIR="$PWD/prefix/lib/cmake/yaml-cpp"
}

case_yaml_cpp_old_target() {
  config_file prefix yaml-cpp <<<'add_library(yaml-cpp INTERFACE IMPORTED)'
  configure build tools-only -Dyaml-cpp_DIR="$PWD/prefix/lib/cmake/yaml-cpp"
  config_file prefix yaml-cpp <<<'set(YAML_CPP_LIBRARIES yaml-cpp)'
  refuses build tools-only -Dyaml-cpp_DIR="$PWD/prefix/lib/cmake/yaml-cpp"
  said 'has neither the target yaml-cpp::yaml-cpp nor yaml-cpp' build.log
}

case_yaml_cpp_archive() {
  local target
  mkdir -p prefix/lib
  touch prefix/lib/libyaml-cpp.{so,a}
  for target in yaml-cpp yaml-cpp::yaml-cpp; do
    config_file prefix yaml-cpp <<CMAKE
add_library($target SHARED IMPORTED)
set_target_properties($target PROPERTIES IMPORTED_LOCATION $PWD/prefix/lib/libyaml-cpp.so)
CMAKE
    rm -rf build
    configure build tools-static -Dyaml-cpp_DIR="$PWD/prefix/lib/cmake/yaml-cpp"
    grep -q "$PWD/prefix/lib/libyaml-cpp.a" build/build.ninja || give_up "$target: the archive is not linked"
    ! grep -q "$PWD/prefix/lib/libyaml-cpp.so" build/build.ninja || give_up "$target: the shared library is linked, too"
  done
}

case_libraries_in_prefix() {
  local library target folders=()
  while read -r library target; do
    mkdir -p "prefix/$library"
    config_file prefix "$library" <<CMAKE
if(TARGET $target)
  return()
endif()
add_library($target INTERFACE IMPORTED)
set_target_properties($target PROPERTIES INTERFACE_INCLUDE_DIRECTORIES $PWD/prefix/$library)
CMAKE
    folders+=("-D${library}_DIR=$PWD/prefix/lib/cmake/$library")
  done <<<'fmt fmt::fmt
yaml-cpp yaml-cpp::yaml-cpp
nlohmann_json nlohmann_json::nlohmann_json
CLI11 CLI11::CLI11
Boost Boost::headers'
  local preset=tools-only
  if has_training; then preset=release; fi
  configure build "$preset" -DSTRATA_CUDA=OFF -DSTRATA_UNITE=OFF "${folders[@]}"
  python3 -I - "$PWD/prefix" build/compile_commands.json <<'PYTHON'
import json, re, sys

prefix, commands = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
folders = {"fmt": "fmt", "yaml-cpp": "yaml-cpp", "nlohmann": "nlohmann_json", "CLI": "CLI11", "boost": "Boost"}
bad = 0
for command in commands:
    try:
        text = open(command["file"], encoding="utf-8").read()
    except FileNotFoundError:  # it is made by the build
        continue
    for library in set(re.findall(r"#include <([^/>]+)/", text)) & folders.keys():
        if f"{prefix}/{folders[library]} " not in command["command"]:
            print(f"{command['file']}: its target does not link {folders[library]}")
            bad += 1
sys.exit(bad > 0 or len(commands) < 100)
PYTHON
}

case_library_without_pc() {
  local header
  header=$(find /usr/include /usr/local/include -name microhttpd.h -print -quit)
  [[ -n $header ]] || skip "needs libmicrohttpd"
  mkdir -p prefix/lib prefix/include
  cp "$header" prefix/include/
  touch prefix/lib/libmicrohttpd.so
  PKG_CONFIG_LIBDIR=$PWD configure build tools-only -DCMAKE_PREFIX_PATH="$PWD/prefix"
  said "microhttpd: $PWD/prefix/lib/libmicrohttpd.so" build.log
}

# hdf5_prefix: makes a prefix of the system's HDF5, without hdf5.pc.
hdf5_prefix() {
  local folder library
  folder=$(pkg-config --variable=includedir hdf5 2>/dev/null || true)
  [[ -n $folder ]] || folder=$(dirname "$(find /usr/include -name hdf5.h -print -quit)")
  library=$(find /usr/lib /usr/lib64 -path "*${folder##*/}/libhdf5.so" -print -quit 2>/dev/null)
  [[ -n $library ]] || library=$(find /usr/lib /usr/lib64 -name libhdf5.so -print -quit 2>/dev/null)
  mkdir -p prefix/lib prefix/include
  ln -s "$folder"/* prefix/include/
  ln -s "$(realpath "$library")" prefix/lib/libhdf5.so
}

case_hdf5_root() {
  needs_training
  hdf5_prefix
  configure build release -DSTRATA_TESTS=OFF -DSTRATA_CUDA=OFF -DHDF5_ROOT="$PWD/prefix"
  grep -qE "^-- HDF5 .*$PWD/prefix/lib/libhdf5.so" build.log || { cat build.log; give_up "HDF5_ROOT was not taken"; }
  HDF5_ROOT=$PWD/prefix configure other release -DSTRATA_TESTS=OFF -DSTRATA_CUDA=OFF
  grep -qE "^-- HDF5 .*$PWD/prefix/lib/libhdf5.so" other.log || { cat other.log; give_up "the variable HDF5_ROOT was not taken"; }
}

case_hdf5_parallel() {
  needs_training
  hdf5_prefix
  local header
  header=$(realpath prefix/include/hdf5.h)
  rm prefix/include/hdf5.h
  printf '#include <mpi.h>\n#include "%s"\n' "$header" >prefix/include/hdf5.h
  configure build release "${without_tests[@]}" -DSTRATA_CUDA=OFF -DHDF5_ROOT="$PWD/prefix"
  said 'HDF5 is parallel: it is linked with MPI' build.log
}

case_hdf5_missing() {
  needs_training
  refuses build release -DSTRATA_TESTS=OFF -DSTRATA_CUDA=OFF -DCMAKE_DISABLE_FIND_PACKAGE_HDF5=ON -DHDF5_ROOT="$PWD/none"
  said 'HDF5 is missing: install it (Debian: libhdf5-dev), or name its folder by -DHDF5_ROOT=DIR' build.log
}

# old_nvcc FOLDER: an nvcc that does not know sm_90a.
old_nvcc() {
  program "$1/nvcc" <<<"echo \"nvcc fatal   : Value 'sm_90a' is not defined for option 'gpu-code'\" >&2; exit 1"
}
# left_out NVCC: fails unless the last configuration tried NVCC and left CUDA out.
left_out() { said "The CUDA backend is left out: $1 cannot compile" build.log; }
case_cuda_choice() {
  needs_training
  local name
  for name in path home cudacxx variable; do old_nvcc "$PWD/$name/bin"; done
  PATH=$PWD/path/bin:$PATH configure build release "${without_tests[@]}"
  left_out "$PWD/path/bin/nvcc"
  CUDA_HOME=$PWD/home PATH=$PWD/path/bin:$PATH configure other release "${without_tests[@]}"
  mv other.log build.log
  left_out "$PWD/home/bin/nvcc"
  # Another choice replaces what an earlier configuration has found.
  CUDACXX=$PWD/cudacxx/bin/nvcc configure build release "${without_tests[@]}"
  left_out "$PWD/cudacxx/bin/nvcc"
  CUDACXX=$PWD/cudacxx/bin/nvcc configure build release "${without_tests[@]}" -DCMAKE_CUDA_COMPILER="$PWD/variable/bin/nvcc"
  left_out "$PWD/variable/bin/nvcc"
  CUDACXX=$PWD/none configure third release "${without_tests[@]}"
  said "The CUDA backend is left out: CUDACXX=$PWD/none names no program" third.log
}

case_cuda_refused() {
  needs_training
  old_nvcc "$PWD/bin"
  CUDACXX=$PWD/bin/nvcc configure build release "${without_tests[@]}"
  left_out "$PWD/bin/nvcc"
  said "Value 'sm_90a' is not defined" build.log
  said "STRATA_CUDA=OFF" build.log
  CUDACXX=$PWD/bin/nvcc refuses build release "${without_tests[@]}" -DSTRATA_CUDA=ON
  said "STRATA_CUDA=ON, but the CUDA backend cannot be built: $PWD/bin/nvcc cannot compile" build.log
  said "Value 'sm_90a' is not defined" build.log
  CUDACXX=$PWD/none refuses other release "${without_tests[@]}" -DSTRATA_CUDA=on
  said "STRATA_CUDA=ON, but the CUDA backend cannot be built: CUDACXX=$PWD/none names no program" other.log
}

case_cuda_architectures() {
  needs_training
  local nvcc
  nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || skip "needs a CUDA toolkit"
  configure build release "${without_tests[@]}" -DSTRATA_CUDA=ON -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES=80
  said "$nvcc for 80" build.log
  grep -q 'compute_80' build/build.ninja || give_up "nothing is compiled for compute capability 8.0"
  ! grep -q 'sm_90a' build/build.ninja || give_up "something is compiled for compute capability 9.0, too"
  grep -q 'DSTRATA_WITHOUT_WGMMA' build/build.ninja || give_up "wgmma is not left out"
  configure build release "${without_tests[@]}" -DSTRATA_CUDA=AUTO -DCMAKE_CUDA_ARCHITECTURES=60
  said "cannot compile for CMAKE_CUDA_ARCHITECTURES=60" build.log
  configure other release "${without_tests[@]}" -DCMAKE_CUDA_HOST_COMPILER="$PWD/none"
  said "The CUDA backend is left out" other.log
  said "CMAKE_CUDA_HOST_COMPILER=g++" other.log
}

case_openmp_missing() {
  needs_training
  local compiler
  compiler=$(command -v c++) || skip "there is no c++"
  program c++ <<BASH
for argument in "\$@"; do
  [[ \$argument != *fopenmp* ]] || { echo "error: unsupported option '\$argument'" >&2; exit 1; }
done
exec $compiler "\$@"
BASH
  refuses build release -DSTRATA_TESTS=OFF -DSTRATA_CUDA=OFF -DCMAKE_CXX_COMPILER="$PWD/c++"
  said 'has no OpenMP' build.log
  said 'libomp-dev' build.log
}

case_clang_too_old() {
  needs_training
  local version
  version=$(clang++ -dumpversion 2>/dev/null) || skip "there is no clang++"
  [[ ${version%%.*} -lt 16 ]] || skip "clang++ is version $version"
  refuses build release "${without_tests[@]}" -DSTRATA_CUDA=OFF -DCMAKE_CXX_COMPILER=clang++
  said "use Clang 16 or later" build.log
}

case_clang_warnings() {
  needs_training
  command -v clang++ >/dev/null || skip "there is no clang++"
  local version option options=()
  version=$(clang++ -dumpversion)
  # A name that any version may have: the options are of interest, not the code.
  options=(-DCMAKE_CXX_COMPILER=clang++)
  [[ ${version%%.*} -ge 16 ]] || options+=(-DSTRATA_FUZZ=ON)
  configure build release "${without_tests[@]}" -DSTRATA_CUDA=OFF "${options[@]}" ||
    { if grep -q 'has no OpenMP' build.log; then skip "clang++ has no OpenMP"; fi; return 1; }
  echo 'int main() {}' >empty.cc
  while IFS= read -r option; do
    clang++ -Werror -c empty.cc -o empty.o "$option" || give_up "clang++ does not know $option"
  done < <(grep -ohE -- '-(W|f|m)[a-z][^ "]*' build/compile_commands.json | grep -vE '^-f(openmp|uzz)' | sort -u)
}

case_installed_rpath() {
  case_library_without_pc
  said "RPATH \"$PWD/prefix/lib\"" build/cli/cmake_install.cmake
  # A package of the distribution names no folders.
  PKG_CONFIG_LIBDIR=$PWD configure package tools-only -DCMAKE_PREFIX_PATH="$PWD/prefix" -DCMAKE_INSTALL_PREFIX=/usr
  not_said "RPATH \"$PWD/prefix/lib\"" package/cli/cmake_install.cmake
}

case_cross_compiled() {
  echo 'set(CMAKE_SYSTEM_NAME Linux)' >toolchain.cmake
  configure build tools-only "${without_tests[@]}" -DCMAKE_TOOLCHAIN_FILE="$PWD/toolchain.cmake"
  said 'No manual and no completions' build/cmake_install.cmake
  not_said 'Manual.cmake' build/cmake_install.cmake
  program emulator <<<'echo "$*" >>"${0%/*}/calls"; [[ $2 != man ]] || mkdir -p "$4"'
  configure build tools-only "${without_tests[@]}" -DCMAKE_TOOLCHAIN_FILE="$PWD/toolchain.cmake" \
    -DCMAKE_CROSSCOMPILING_EMULATOR="$PWD/emulator"
  said "-DEMULATOR=$PWD/emulator" build/cmake_install.cmake
  cmake -DSTRATA=/other/strata -DEMULATOR="$PWD/emulator" -DOUTPUT="$PWD/share" -DZSH=site-functions -P "$root/cmake/Manual.cmake"
  grep -qxF "/other/strata man --all $PWD/share/man/man1" calls || give_up "the emulator was not called for the manual"
  grep -qxF "/other/strata completion zsh" calls || give_up "the emulator was not called for completions"
}

case_multi_config() {
  configure build tools-only "${without_tests[@]}" -G 'Ninja Multi-Config'
  local config
  for config in Debug Release; do
    grep -qF "STRATA_BUILD_TYPE=\\\"$config\\\"" "build/CMakeFiles/impl-$config.ninja" || give_up "STRATA_BUILD_TYPE is not $config in the build of $config"
  done
}

case_archive_commit() {
  local commit
  commit=$(git -C "$root" rev-parse HEAD 2>/dev/null) || skip "needs a git checkout"
  mkdir sources
  git -C "$root" archive "$commit" cmake | tar -x -C sources
  GIT_CEILING_DIRECTORIES=$PWD cmake -DSOURCE="$PWD/sources" -DOUTPUT="$PWD/commit.cc" -P "$root/cmake/WriteCommit.cmake"
  grep -qF "\"${commit:0:12}\"" commit.cc || { cat commit.cc; give_up "commit.cc does not name the commit $commit"; }
  # Sources that are neither an archive nor a checkout have none.
  cp "$root/cmake/commit.txt" sources/cmake/
  GIT_CEILING_DIRECTORIES=$PWD cmake -DSOURCE="$PWD/sources" -DOUTPUT="$PWD/commit.cc" -P "$root/cmake/WriteCommit.cmake"
  grep -qF '"unknown"' commit.cc || { cat commit.cc; give_up "commit.cc does not say that the commit is unknown"; }
}

case_cmake_minimum() {
  local version
  version=$(sed -nE 's/^cmake_minimum_required\(VERSION ([0-9.]+)\)$/\1/p' "$root/CMakeLists.txt")
  grep -A 3 cmakeMinimumRequired "$root/CMakePresets.json" | tr -d ' \n,' | grep -qF "\"major\":${version%.*}\"minor\":${version#*.}" ||
    give_up "CMakePresets.json does not name CMake $version"
  grep -qF "cmake@$version:" "$root/packaging/spack/spack_repo/strata/packages/strata/package.py" || give_up "the Spack recipe does not name CMake $version"
}

case_cmake_versions() {
  [[ -n ${STRATA_CMAKES:-} ]] || skip "STRATA_CMAKES names no other CMake"
  local cmake preset presets=(tools-only tools-static)
  if has_training; then presets+=(release); fi
  for cmake in $STRATA_CMAKES; do
    for preset in "${presets[@]}"; do
      rm -rf build
      CMAKE=$cmake configure build "$preset" || give_up "$cmake cannot configure the preset $preset"
      not_said 'CMake Warning' build.log
      not_said 'CMake Deprecation' build.log
    done
  done
}

# copy_sources FOLDER: copies the sources, without builds and data.
copy_sources() {
  mkdir -p "$1"
  tar -C "$root" --exclude=./build* --exclude=./data-cache --exclude=./runs --exclude=./.git --exclude=./.venv --exclude=./tests/golden \
    -cf - . | tar -C "$1" -xf -
}

case_other_folder() {
  local folder='ein Ordner für Größen'
  copy_sources "$folder/strata 1"
  (cd "$folder/strata 1" && cmake --preset tools-only -DSTRATA_TESTS=OFF -DSTRATA_UNITE=OFF) >log 2>&1 || { cat log; return 1; }
  cmake --build "$folder/strata 1/build/tools-only" --parallel 1 --target strata_base strata_commit
  "$folder/strata 1/scripts/mpirun_nodes.sh" --help >/dev/null
  "$folder/strata 1/scripts/test.sh" --help >/dev/null
}

case_untouched_sources() {
  copy_sources sources
  find sources -exec touch -d '2001-01-01' {} +
  chmod -R a-w sources
  local preset=tools-only status=0 touched
  if has_training; then preset=release; fi
  (cd sources && cmake --preset "$preset" -B ../build -DSTRATA_CUDA=OFF) >log 2>&1 || status=$?
  touched=$(find sources -newermt '2001-01-02')
  chmod -R u+w sources
  [[ $status -eq 0 ]] || { cat log; return 1; }
  [[ -z $touched ]] || give_up "the configuration wrote into the sources: $touched"
}

case_ccache_unusable() {
  program bin/ccache <<<'echo "ccache: error: Failed to create directory /nonexistent" >&2; exit 1'
  PATH=$PWD/bin:$PATH configure build tools-only "${without_tests[@]}"
  said 'ccache is left out, because it does not work: ccache: error: Failed to create directory /nonexistent' build.log
  ! grep -q "$PWD/bin/ccache" build/build.ninja || give_up "the build calls a ccache that does not work"
}

case_bare_environment() {
  local locale=C
  # A locale whose numbers have decimal commas, made here if the system has its sources.
  if localedef -i de_DE -f UTF-8 "$PWD/de_DE.UTF-8" >/dev/null 2>&1; then locale=de_DE.UTF-8; fi
  copy_sources sources
  umask 077
  (cd sources && env -i PATH="$PATH" LOCPATH="$PWD/.." LC_ALL="$locale" cmake --preset tools-only -DSTRATA_TESTS=OFF) >log 2>&1 ||
    { cat log; return 1; }
  env -i PATH="$PATH" LOCPATH="$PWD" LC_ALL="$locale" cmake --build sources/build/tools-only --parallel 1 --target strata_base strata_commit
}

# -- Runs the cases ----------------------------------------------------------------------------------------------------------

names=()
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    --list) printf '%s\n' "${cases[@]}"; exit 0 ;;
    *)
      printf '%s\n' "${cases[@]%% *}" | grep -qxF -- "$argument" ||
        { printf 'build_cases.sh: there is no case %s; see --list\n' "$argument" >&2; exit 2; }
      names+=("$argument") ;;
  esac
done
[[ ${#names[@]} -gt 0 ]] || names=("${cases[@]%% *}")

# Choices of the user that cases make themselves.
unset CUDA_HOME CUDA_PATH CUDACXX CUDAARCHS CUDAHOSTCXX CUDAToolkit_ROOT STRATA_MPIRUN

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=() skipped=0
for name in "${names[@]}"; do
  mkdir "$work/$name"
  status=0
  (trap - ERR; cd "$work/$name" && "case_$name") >"$work/$name.out" 2>&1 &
  wait $! || status=$?
  case $status in
    0) printf 'passed   %s\n' "$name" ;;
    77)
      skipped=$((skipped + 1))
      printf 'skipped  %s: %s\n' "$name" "$(cat "$work/$name/skipped")" ;;
    *)
      failed+=("$name")
      printf 'FAILED   %s\n' "$name"
      tail -n 40 "$work/$name.out" | sed 's/^/    /' ;;
  esac
  rm -rf "${work:?}/$name"
done
printf '%d cases: %d passed, %d skipped, %d failed\n' "${#names[@]}" $((${#names[@]} - skipped - ${#failed[@]})) \
  "$skipped" "${#failed[@]}"
[[ ${#failed[@]} -eq 0 ]] || { printf '  failed: %s\n' "${failed[@]}"; exit 1; }
