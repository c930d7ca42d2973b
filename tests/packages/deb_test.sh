#!/usr/bin/env bash
# Packs a build of the tools as .deb, and looks at what became of it without installing it.
# Usage: deb_test.sh BUILD_FOLDER
set -euo pipefail
build=$1
for program in dpkg-deb dpkg-shlibdeps file; do
  command -v $program >/dev/null || {
    echo "skipped: packing needs $program (packages dpkg-dev, file)"
    exit 77
  }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

(cd "$build" && cpack -G DEB -B "$scratch" >"$scratch/cpack.log" 2>&1) || fail "$(cat "$scratch/cpack.log")"
architecture=$(dpkg --print-architecture)
tools=$(echo "$scratch"/strata-tools_*_"$architecture".deb)
dev=$(echo "$scratch"/libstrata-dev_*_"$architecture".deb)

depends=$(dpkg-deb --field "$tools" Depends)
# Names of packages contain versions of libraries, which differ between releases of Debian.
libraries=(libc6 'libstdc\+\+6' 'libfmt[0-9]+' 'libyaml-cpp[0-9.]+' 'libmicrohttpd[0-9]+(t64)?')
! grep -q '^STRATA_XLSX:[^=]*=ON' "$build/CMakeCache.txt" || libraries+=('libxlsxwriter[0-9]+')
for library in "${libraries[@]}"; do
  [[ $depends =~ (^|[ ,])$library([ ,]|$) ]] || fail "strata-tools does not depend on $library: $depends"
done
for library in libopenmpi libmpich libhdf5 libdnnl; do
  [[ $depends != *$library* ]] || fail "strata-tools depends on a library of training: $depends"
done
[[ $(dpkg-deb --field "$tools" Conflicts) == strata-training ]] || fail "strata-tools is no alternative to strata-training"
[[ $(dpkg-deb --field "$dev" Depends) == *libfmt-dev* ]] || fail "libstrata-dev does not depend on what its users link"

dpkg-deb --extract "$tools" "$scratch/tools"
[[ $(cd "$scratch/tools" && find . -type f -path '*bin*') == ./usr/bin/strata ]] || fail "$(find "$scratch/tools")"
[[ -s $scratch/tools/usr/share/doc/strata-tools/copyright ]] || fail "the package has no licence"
gzip -t "$scratch/tools/usr/share/doc/strata-tools/changelog.gz"
for file in man/man1/strata.1.gz man/man1/strata-check-log.1.gz bash-completion/completions/strata fish/vendor_completions.d/strata.fish; do
  [[ -s $scratch/tools/usr/share/$file ]] || fail "strata-tools has no $file"
done
for file in README.md docs/packages.md docs/compliance.md docs/schemas/score.json; do
  [[ -s $scratch/tools/usr/share/doc/strata/$file ]] || fail "strata-tools has no document $file"
done
[[ $(dpkg-deb --field "$tools" Description) == *train*strata-training* ]] || fail "strata-tools does not say where train is"
status=0
"$scratch/tools/usr/bin/strata" train >"$scratch/train" 2>&1 || status=$?
[[ $status == 2 ]] && grep -q "install the package strata-training" "$scratch/train" || fail "'strata train' ended with $status: $(cat "$scratch/train")"
"$scratch/tools/usr/bin/strata" --help | grep -q "train, eval.* strata-training" || fail "strata --help does not say where train is"
"$scratch/tools/usr/bin/strata" --version | grep -qF "$(dpkg-deb --field "$tools" Version)" ||
  fail "the package's version is not the program's"
"$scratch/tools/usr/bin/strata" check log --help >/dev/null

dpkg-deb --extract "$dev" "$scratch/dev"
for file in include/strata/mllog/log_writer.h lib/*/pkgconfig/strata-mllog.pc lib/*/cmake/strata/strata-config.cmake; do
  compgen -G "$scratch/dev/usr/$file" >/dev/null || compgen -G "$scratch/dev/usr/${file/\*\//}" >/dev/null ||
    fail "libstrata-dev has no $file"
done
! find "$scratch/dev" -path '*bin*' | grep . || fail "libstrata-dev holds a program"
# Sizes in docs/packages.md are those of packages.
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
STRATA_PACKAGES=$scratch "$source_folder/tests/docs/printed_blocks.py" "$source_folder" "$scratch/tools/usr/bin/strata" "$source_folder/docs/packages.md" ||
  fail "docs/packages.md names other sizes"
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "$tools" "$dev" || fail "lintian finds errors"
fi
