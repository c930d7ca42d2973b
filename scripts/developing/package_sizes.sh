#!/usr/bin/env bash
# Prints what packages take on disk, without the libraries that they need, and packed.
# Usage: scripts/developing/package_sizes.sh PACKAGE...     PACKAGE: strata-tools, strata-training, libstrata-dev or strata-static
# Environment: STRATA_PACKAGES, the folder that they are in (build/packages, where scripts/packages.sh makes them)
# Exit code 77: a package has not been made.
set -euo pipefail
export LC_ALL=C.UTF-8
folder=${STRATA_PACKAGES:-$(cd -P "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/packages}
[[ $# -gt 0 ]] || { sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

megabytes() { awk -v bytes="$1" 'BEGIN {printf "%.1f", bytes / 1e6}'; }
printf '%-16s %10s %10s\n' package MB 'MB packed'
for package in "$@"; do
  if [[ $package == strata-static ]]; then
    file=$folder/strata-static packed=$folder/strata-static.tar.gz
  else
    files=("$folder/${package}"_*.deb)
    file=${files[0]} packed=$file
  fi
  [[ -f $file && -f $packed ]] || { echo "$package is not in $folder: make it with scripts/packages.sh" >&2; exit 77; }
  if [[ $file == *.deb ]]; then
    bytes=$((1024 * $(dpkg-deb --field "$file" Installed-Size)))
  else
    bytes=$(stat -c %s "$file")
  fi
  printf '%-16s %10s %10s\n' "$package" "$(megabytes "$bytes")" "$(megabytes "$(stat -c %s "$packed")")"
done
