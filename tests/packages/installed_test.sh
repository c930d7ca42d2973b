#!/usr/bin/env bash
# Installs Strata's packages on this Debian, uses them, and removes them without a trace. It changes the system: for a bare one, such as a
# container or a chroot, and root.
# Usage: installed_test.sh FOLDER        where the .deb lie that scripts/packages.sh made
set -euo pipefail
folder=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export DEBIAN_FRONTEND=noninteractive
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
apt() {
  apt-get -y -q "$@" >"$scratch/apt.log" 2>&1 || {
    cat "$scratch/apt.log"
    fail "apt-get $*"
  }
  grep 'After this operation' "$scratch/apt.log" | sed "s|^|$1 $(basename "${*: -1}"): |" || true
}
# Prints files of Strata that dpkg does not know.
traces() { find /usr /etc /opt /var/lib -xdev -path '*strata*' -not -path '/var/lib/dpkg/*' -not -path "$folder/*" 2>/dev/null; }

apt update
! command -v strata >/dev/null || fail "there is a strata already"
before=$(traces)

apt install --no-install-recommends "$folder"/strata-tools_*.deb
strata --version | grep -q 'tools only' || fail "strata-tools is not the tools: $(strata --version)"
echo ':::MLLOG {"namespace": "", "time_ms": 1, "event_type": "INTERVAL_START", "key": "run_start", "value": null, "metadata": {}}' >"$scratch/log"
status=0
strata check log --ruleset 5.0.0 "$scratch/log" >"$scratch/checked" || status=$?
[[ $status == 1 ]] || fail "check log ended with $status: $(cat "$scratch/checked")"

# One takes the other's place.
apt install --no-install-recommends "$folder"/strata-training_*.deb
[[ $(dpkg-query -W -f '${db:Status-Status}' strata-tools 2>/dev/null) != installed ]] || fail "strata-tools and strata-training are both installed"
strata --version | grep -q 'oneDNN' || fail "strata-training does not train: $(strata --version)"
strata train --describe-config >"$scratch/keys"
grep -q 'run.output' "$scratch/keys" || fail "train --describe-config names no keys"

cp -r /usr/share/strata/scripts "$scratch/scripts"
"$scratch/scripts/mpirun_nodes.sh" --hosts localhost:1 --dry-run "$scratch/scripts/configs/quickstart.yaml" >"$scratch/launched" || fail "$(cat "$scratch/launched")"
grep -q '/usr/bin/strata train --config' "$scratch/launched" || fail "the launcher starts another program: $(cat "$scratch/launched")"

apt install --no-install-recommends "$folder"/libstrata-dev_*.deb
apt install --no-install-recommends cmake make g++ pkg-config
cp -r "$(dirname "${BASH_SOURCE[0]}")/../../examples/mllog" "$scratch/example"
cmake -S "$scratch/example" -B "$scratch/build" >"$scratch/cmake.log" || fail "$(cat "$scratch/cmake.log")"
cmake --build "$scratch/build" >"$scratch/build.log" || fail "$(cat "$scratch/build.log")"
"$scratch/build/toy_training" "$scratch/result_0.txt" >/dev/null
strata check log "$scratch/result_0.txt" || fail "the example's log is refused"
pkg-config --exists 'strata-mllog >= 0.1' || fail "pkg-config does not know strata-mllog"

apt purge strata-training libstrata-dev
after=$(traces)
[[ $before == "$after" ]] || fail "left behind: $(diff <(echo "$before") <(echo "$after"))"
hash -r
! command -v strata >/dev/null || fail "strata is still there"
echo "packages: installed, used and removed"
