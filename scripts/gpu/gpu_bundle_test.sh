#!/usr/bin/env bash
# Checks that the bundle of scripts/gpu/gpu_bundle.sh starts where there is nothing but glibc and Python: unpacks it in a bare
# Debian made by debootstrap, and runs --version, `check log`, CPU training steps, and the check, which must say that
# there is no driver. Needs root, debootstrap and, the first time, the network.
# Usage: scripts/gpu/gpu_bundle_test.sh [BUNDLE [SUITE]]    default: build/gpu_bundle, trixie (Debian 13)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

case ${1:-} in
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
bundle=${1:-$root/build/gpu_bundle}
suite=${2:-trixie}
[[ -x $bundle/run ]] || give_up "$bundle is not a bundle: scripts/gpu/gpu_bundle.sh makes one"
[[ $(id -u) -eq 0 ]] || give_up "chroot needs root"
command -v debootstrap >/dev/null || give_up "there is no debootstrap"
base=$root/build/bare_$suite.tar
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
if [[ ! -f $base ]]; then
  say "bare $suite"
  debootstrap --variant=minbase --include=python3 "$suite" "$work/root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$work/log" 2>&1 || {
    tail -n 20 "$work/log" >&2
    give_up "debootstrap could not make a root"
  }
  tar -C "$work/root" -cf "$base.unfinished" .
  mv "$base.unfinished" "$base"
  rm -rf --one-file-system "$work/root"
fi
mkdir "$work/root"
tar -C "$work/root" -xpf "$base"
cp -r "$bundle" "$work/root/bundle"
echo ':::MLLOG {"namespace": "", "time_ms": 1, "event_type": "POINT_IN_TIME", "key": "submission_benchmark", "value": "bert", "metadata": {"file": "a", "lineno": 1}}' >"$work/root/log.txt"
# These are made by hand, because a chroot has no /dev of its own.
mkdir -p "$work/root/dev/shm"
[[ -c $work/root/dev/null ]] || mknod -m 666 "$work/root/dev/null" c 1 3
[[ -c $work/root/dev/urandom ]] || mknod -m 666 "$work/root/dev/urandom" c 1 9
mkdir -p "$work/root/proc"
mount -t proc proc "$work/root/proc"
trap 'umount "$work/root/proc"; rm -rf --one-file-system "$work"' EXIT
bare() { env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$work/root" "$@"; }

say "--version"
bare /bundle/run strata --version
say "check log, of a log that lacks nearly everything"
status=0
bare /bundle/run strata check log /log.txt >"$work/said" || status=$?
[[ $status -eq 1 ]] || give_up "check log ended with exit status $status"
say "training steps on the processor"
bare /bundle/run strata bench step --config /bundle/scripts/configs/tiny.yaml --set data.train=/tmp --set data.eval=/tmp --steps 2
say "the check"
status=0
bare /bundle/run --quick 2>&1 | tee "$work/said" || status=${PIPESTATUS[0]}
grep -q 'there is no nvidia-smi' "$work/said" || give_up "the check did not say that there is no driver"
bare /bundle/run --list >/dev/null
say "the bundle runs on a bare $suite"
