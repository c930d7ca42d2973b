#!/usr/bin/env bash
# Installs a build below a temporary folder, builds examples/mllog against it by CMake and by pkg-config, checks the log that it
# writes, and uninstalls.
# Usage: install_test.sh SOURCE_FOLDER BUILD_FOLDER STRATA COMPILER [SANITIZERS]
set -euo pipefail
source=$1 build=$2 strata=$3 compiler=$4 sanitizers=${5:-}
# Always the same folder, so that ccache knows what it compiles.
scratch=$build/Testing/install_test
rm -rf "$scratch"
mkdir -p "$scratch"
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
prefix=$scratch/a\ prefix

# Into a folder that is not the one it was configured for.
# Whoever installs has a umask of their own.
(umask 077 && cmake --install "$build" --component dev --prefix "$prefix" >"$scratch/install.log")
headers=$(cd "$prefix/include/strata" && find . -type f | LC_ALL=C sort | tr '\n' ' ')
[[ $headers == "./mllog/log_clock.h ./mllog/log_keys.h ./mllog/log_reader.h ./mllog/log_value.h ./mllog/log_writer.h " ]] ||
  fail "other headers than the public ones were installed: $headers"
! grep -rnE '#include "(base|mllog)/' "$prefix/include" || fail "a header includes one that is not installed"
! grep -rnF "$source" "$prefix" --include='*.cmake' --include='*.pc' --include='*.h' ||
  fail "an installed file names the source folder"

flags=${sanitizers:+-fsanitize=$sanitizers}
configure=(cmake -S "$source/examples/mllog" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags")
if command -v ccache >/dev/null; then configure+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
"${configure[@]}" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/cmake.log" 2>&1 || {
  cat "$scratch/cmake.log"
  fail "the example cannot be configured"
}
cmake --build "$scratch/build" >"$scratch/build.log" 2>&1 || {
  cat "$scratch/build.log"
  fail "the example cannot be built"
}

log=$scratch/result_0.txt
"$scratch/build/toy_training" "$log" >"$scratch/printed"
[[ $(tail -n 1 "$scratch/printed") =~ ^[0-9]+\ samples:\ accuracy\ 0\.9 ]] || fail "$(cat "$scratch/printed")"
"$strata" check log "$log" || fail "strata check log refuses the example's log"
if [[ -n ${STRATA_ORACLE_PYTHON:-} ]]; then
  "$STRATA_ORACLE_PYTHON" -m mlperf_logging.compliance_checker --werror --usage training --ruleset 5.0.0 \
    --log_output "$scratch/checker.log" "$log" >"$scratch/checker.out" 2>&1 || {
    cat "$scratch/checker.out"
    fail "the official checker refuses the example's log"
  }
fi
status=0
"$scratch/build/toy_training" "$log" >/dev/null 2>"$scratch/error" || status=$?
[[ $status == 2 ]] && grep -q "exists already; move it away or write the log elsewhere" "$scratch/error" ||
  fail "a log that is there was not refused ($status): $(cat "$scratch/error")"

# Another minor version may differ.
sed 's/find_package(strata 0.1/find_package(strata 0.2/' "$source/examples/mllog/CMakeLists.txt" >"$scratch/CMakeLists.txt"
mkdir "$scratch/other"
cp "$source/examples/mllog/toy_training.cc" "$scratch/CMakeLists.txt" "$scratch/other"
if cmake -S "$scratch/other" -B "$scratch/other/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$prefix" \
  >"$scratch/other.log" 2>&1; then
  fail "version 0.2 was asked for and 0.1 taken"
fi
grep -q "considered but not accepted" "$scratch/other.log" || fail "$(cat "$scratch/other.log")"

pc=$(find "$prefix" -name strata-mllog.pc -printf %h)
# pkg-config escapes the space in the prefix.
eval "arguments=($(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs strata-mllog))"
# shellcheck disable=SC2154
$(command -v ccache) "$compiler" -std=c++20 $flags -c "$source/examples/mllog/toy_training.cc" -o "$scratch/toy.o" "${arguments[0]}"
"$compiler" $flags "$scratch/toy.o" "${arguments[@]}" -o "$scratch/toy" || fail "pkg-config's flags do not link"
"$scratch/toy" "$scratch/result_1.txt" >/dev/null

# A job's folder for temporary files may be gone.
TMPDIR=$scratch/none "$strata" --version >/dev/null || fail "the program needs TMPDIR for its version"

# The program, with documents; one that trains, with configurations and launchers that start it.
component=training
"$strata" train --describe-config >/dev/null 2>&1 || component=tools
# Folders of others keep their permissions.
mkdir -p "$prefix/share"
chmod 2775 "$prefix/share"
(umask 077 && cmake --install "$build" --component "$component" --prefix "$prefix" >"$scratch/install.log")
closed=$(find "$prefix" \( -type d ! -perm -0055 -o -type f ! -perm -0044 \) -print)
[[ -z $closed ]] || fail "other users cannot read: $closed"
[[ $(stat -c %a "$prefix/share") == 2775 ]] || fail "the permissions of a folder of others were changed"
[[ ! -e $build/share ]] || fail "the installation left files in the build folder"
for file in README.md CHANGELOG.md LICENSE docs/README.md docs/packages.md docs/schemas/score.json; do
  [[ -s $prefix/share/doc/strata/$file ]] || fail "the document $file is not installed"
done
if [[ $component == training ]]; then
  # Users copy them into folders of their own.
  cp -r "$prefix/share/strata/scripts" "$scratch/scripts"
  for config in "$source"/scripts/configs/*.yaml; do
    [[ -s $scratch/scripts/configs/${config##*/} ]] || fail "the configuration ${config##*/} is not installed"
  done
  mkdir "$scratch/bin"
  ln -s "$prefix/bin/strata" "$scratch/bin/strata"
  ln -s /bin/echo "$scratch/bin/srun"
  export PATH=$scratch/bin:$PATH
  "$scratch/scripts/mpirun_nodes.sh" --hosts localhost:2 --dry-run "$scratch/scripts/configs/quickstart.yaml" >"$scratch/launched" 2>&1 ||
    fail "mpirun_nodes.sh: $(cat "$scratch/launched")"
  grep -qF "$scratch/bin/strata train --config $scratch/scripts/configs/quickstart.yaml" "$scratch/launched" || fail "mpirun_nodes.sh: $(cat "$scratch/launched")"
  (cd "$scratch" && scripts/slurm/train.sbatch scripts/configs/tiny.yaml) >"$scratch/launched" 2>&1 || fail "train.sbatch: $(cat "$scratch/launched")"
  grep -qF "$scratch/bin/strata train --config scripts/configs/tiny.yaml" "$scratch/launched" || fail "train.sbatch: $(cat "$scratch/launched")"
  if command -v mpirun >/dev/null; then
    "$scratch/scripts/mpirun.sh" -n 1 "$scratch/bin/strata" --version | grep -q '^strata ' || fail "mpirun.sh does not start the program"
  fi
fi

# Below DESTDIR, as packagers do, and away again; what others put there stays.
DESTDIR=$scratch/root cmake --install "$build" --component dev >"$scratch/install.log"
installed=$(find "$scratch/root" -type f | wc -l)
other=$(dirname "$(find "$scratch/root" -name log_writer.h)")/other.h
touch "$other"
DESTDIR=$scratch/root cmake "-DMANIFESTS=$build/install_manifest_dev.txt" -P "$build/Uninstall.cmake" >"$scratch/uninstall.log" 2>&1 || fail "$(cat "$scratch/uninstall.log")"
[[ $(find "$scratch/root" -type f) == "$other" ]] || fail "left behind: $(find "$scratch/root" -type f)"
grep -q "Removed $installed files" "$scratch/uninstall.log" || fail "$(cat "$scratch/uninstall.log")"
[[ -z $(find "$scratch/root" -path '*cmake/strata') ]] || fail "an empty folder of Strata's is left"
if DESTDIR=$scratch/root cmake "-DMANIFESTS=$build/install_manifest_dev.txt" -P "$build/Uninstall.cmake" >"$scratch/uninstall.log" 2>&1; then
  fail "there was nothing to remove, and no error"
fi
