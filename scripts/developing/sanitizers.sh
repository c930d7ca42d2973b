#!/usr/bin/env bash
# Builds the tests under the address and undefined-behaviour sanitizers, then the thread sanitizer, and runs the suites that these can find errors in.
# Usage: scripts/developing/sanitizers.sh [asan+ubsan | tsan]     default: both. Run scripts/test.sh first: it installs the packages.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

case ${1:-both} in
  both) presets=(asan+ubsan tsan) ;;
  asan+ubsan | tsan) presets=("$1") ;;
  -h | --help) sed -n '2,3s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  *) give_up "there is no sanitizer $1; see --help" ;;
esac
needs_writable_checkout

[[ -x $root/.venv/bin/python ]] && export STRATA_ORACLE_PYTHON=$root/.venv/bin/python
processors=$(nproc)
export OMP_NUM_THREADS=1
status=0
for preset in "${presets[@]}"; do
  # Kernels repeat the same code and are slow here, and their arithmetic has its own suites, so they are left out. So are
  # all characters of Unicode and all published logs, and suites without threads under the thread sanitizer.
  # Every command runs once, because two libraries' different definitions of a type meet only in the program.
  suites=(base mllog config data loadbalance compliance scoring compare plan report harness bert optim training comm cli_commands)
  [[ $preset == asan+ubsan ]] || suites=(base data report harness comm training)
  targets=()
  for suite in "${suites[@]}"; do targets+=("test_$suite"); done
  build "$preset" "${targets[0]}" -DSTRATA_CUDA=OFF &&
    say "building ${targets[*]:1} (preset $preset)" &&
    (cd "$root" && cmake --build --preset "$preset" --target "${targets[@]:1}") ||
    { note_failed_build "$preset"; status=1; continue; }
  names=$(IFS='|' && echo "${suites[*]}")
  run_tests "$preset" --tests-regex "^($names)/" --exclude-regex '/(mpi_ranks_|UnicodeVersion|Published)' || status=1
done
say_failed_tests
exit $status
