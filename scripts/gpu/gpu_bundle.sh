#!/usr/bin/env bash
# Collects what scripts/gpu_check.sh needs on a bare machine with a GPU into one folder: the built programs, the shared
# libraries that such a machine lacks (not CUDA's own), the golden files, the commit's name and a run script.
# Usage: scripts/gpu/gpu_bundle.sh [FOLDER]     default: build/gpu_bundle; build the release preset first
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

case ${1:-} in
  -h | --help) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
folder=${1:-$root/build/gpu_bundle}
build=$root/build/release
programs=(cli/strata tests/conformance/test_conformance tests/bert/test_bert tests/comm/test_comm)
for program in "${programs[@]}"; do
  [[ -x $build/$program ]] || give_up "$build/$program is missing: run scripts/test.sh first"
done
grep -q '^STRATA_HAS_CUDA:INTERNAL=ON$' "$build/CMakeCache.txt" ||
  give_up "the release build has no CUDA backend: install the CUDA toolkit; 'cmake --preset release -DSTRATA_CUDA=ON' says what it lacks"

# Rebuilds programs that are older than their sources. If none are, only the commit's name is rebuilt.
ninja -C "$build" "${programs[@]}" >"$build/gpu_bundle.log" 2>&1 ||
  { tail -n 20 "$build/gpu_bundle.log" >&2; give_up "the release build failed"; }
commit=$(git -C "$root" --no-optional-locks describe --always --dirty --abbrev=12 2>/dev/null) || commit=unknown

rm -rf "$folder.unfinished"
mkdir -p "$folder.unfinished"/{bin,lib,tests,scripts/gpu,bench/peers/pytorch}
for program in "${programs[@]}"; do
  install -s "$build/$program" "$folder.unfinished/bin/"
done
# The machine provides its own C library and CUDA's libraries.
not_ours='libc|libm|libdl|libpthread|librt|libresolv|libcuda|libcudart|libcublas|libcublasLt|libnvrtc|libnccl|libcudnn'
ldd "$folder.unfinished"/bin/* | awk '/=> \// { print $1, $3 }' | sort -u | grep -v -E "^($not_ours)\.so" |
  while read -r _ library; do cp -L "$library" "$folder.unfinished/lib/"; done
tar -C "$folder.unfinished" -czf "$folder.unfinished/programs.tar.gz" bin lib
rm -r "$folder.unfinished"/{bin,lib}
cp -r "$root/tests/golden" "$folder.unfinished/tests/"
cp -r "$root"/scripts/{configs,gpu_check.sh,common.sh,surroundings.sh,mpirun.sh} "$folder.unfinished/scripts/"
cp "$root"/scripts/gpu/{gpu_check_report.py,cuda_libraries.sh,limited_steps.sh} "$folder.unfinished/scripts/gpu/"
cp "$root"/bench/peers/gpu_{vs_pytorch,follows_cpu}.sh "$folder.unfinished/bench/peers/"
cp "$root"/bench/peers/pytorch/pytorch_{step,bert,attention,memory}.py "$folder.unfinished/bench/peers/pytorch/"
printf '%s\n' "commit $commit" "$(getconf GNU_LIBC_VERSION)" >"$folder.unfinished/VERSION"
# The training data of bench/peers/gpu_follows_cpu.sh.
if [[ -f $cache/kjv.txt ]]; then
  mkdir -p "$folder.unfinished/data-cache/minilm"
  gzip -9 <"$cache/kjv.txt" >"$folder.unfinished/data-cache/kjv.txt.gz"
  cp "$cache/minilm/config.json" "$cache/minilm/vocab.txt" "$folder.unfinished/data-cache/minilm/"
fi
cat >"$folder.unfinished/run" <<'RUN'
#!/usr/bin/env bash
# Usage: run [OPTION...] of scripts/gpu_check.sh, or: run PROGRAM [ARGUMENT...] of bin/ or bench/
here=$(cd "$(dirname "$0")" && pwd)
{ read -r commit && read -r built_with; } <"$here/VERSION"
here_is=$(getconf GNU_LIBC_VERSION 2>/dev/null || echo another C library)
[[ -f $here/lib/unpacked ]] || { tar -C "$here" -xzf "$here/programs.tar.gz" && touch "$here/lib/unpacked"; }
[[ ! -f $here/data-cache/kjv.txt.gz ]] || gunzip -f "$here/data-cache/kjv.txt.gz"
export STRATA_OUTER_LIBRARY_PATH=${LD_LIBRARY_PATH:-} STRATA_SOURCE_DIR=$here STRATA_BIN=$here/bin
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
source "$here/scripts/gpu/cuda_libraries.sh"
add_cuda_libraries
if ! problem=$("$here/bin/strata" --version 2>&1); then
  printf '%s\n' "bin/strata does not start: it needs $built_with or newer; here is $here_is" \
    "$problem" >&2
  exit 2
fi
echo "$commit" >&2
if [[ -x $here/bin/${1:-} && -n ${1:-} ]]; then program=$1; shift; exec "$here/bin/$program" "$@"; fi
if [[ -x $here/bench/peers/${1:-} && -n ${1:-} ]]; then program=$1; shift; exec "$here/bench/peers/$program" "$@"; fi
exec "$here/scripts/gpu_check.sh" "$@"
RUN
chmod +x "$folder.unfinished/run"
rm -rf "$folder"
mv "$folder.unfinished" "$folder"
megabytes=$(du -sm "$folder" | cut -f1)
say "$folder: $megabytes MB, commit $commit; copy it to the machine with the GPU and start $(basename "$folder")/run"
[[ $megabytes -le 60 ]] || give_up "the bundle has $megabytes MB, but at most 60 MB are allowed"
