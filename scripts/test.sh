#!/usr/bin/env bash
# Installs what the tests need, builds everything and runs all tests.
# Usage: scripts/test.sh [PRESET...]     default: release tools-only; others: asan+ubsan, tsan, debug
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

presets=("$@")
[[ ${#presets[@]} -gt 0 ]] || presets=(release tools-only)
for preset in "${presets[@]}"; do
  case $preset in
    release | tools-only | asan+ubsan | tsan | debug) ;;
    -h | --help) sed -n '2,3s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) give_up "there is no preset $preset; see --help" ;;
  esac
done

needs_writable_checkout
install_packages "${build_packages[@]}" "${training_packages[@]}" "${data_packages[@]}" libgmock-dev \
  libbenchmark-dev librsvg2-bin python3-venv procps dpkg-dev file
# With it, the output of --json is checked against docs/schemas/; without it those tests are skipped.
(install_packages python3-jsonschema) || say "python3-jsonschema cannot be installed: schemas are not tested"

fetch_cudnn_frontend

# The official MLPerf checker checks the logs that Strata writes.
if [[ ! -x $root/.venv/bin/python || ! -f $root/.venv/complete ]]; then
  say "oracle: the official checker (mlperf-logging) from PyPI"
  rm -rf "$root/.venv"
  if python3 -I -m venv "$root/.venv" &&
    pip_of "$root/.venv/bin/python" install oracle; then
    touch "$root/.venv/complete"
  else
    say "oracle: could not be fetched from PyPI; tests against the official checker are skipped, so this script fails"
    rm -rf "$root/.venv"
  fi
fi
[[ -x $root/.venv/bin/python ]] && export STRATA_ORACLE_PYTHON=$root/.venv/bin/python

# Ranks and test programs share the cores; more threads would slow them down. nproc would print OMP_NUM_THREADS.
processors=$(nproc)
export OMP_NUM_THREADS=1
status=0
for preset in "${presets[@]}"; do
  build "$preset" all || { note_failed_build "$preset"; status=1; continue; }
  if [[ $preset == release ]]; then
    "$root/scripts/data/prepare_quickstart_data.sh" "$root/build/release/cli/strata" ||
      say "quickstart data could not be made; tests that read it are skipped"
  fi
  run_tests "$preset" || status=1
  if ! skipped=$("$root/scripts/developing/check_skipped.sh" "$root/build/$preset/results.xml" 2>&1); then
    failed_tests+=("$preset: $skipped")
    status=1
  fi
done
say_failed_tests
exit $status
