#!/usr/bin/env bash
# install_packages of scripts/common.sh on systems with other package managers, or without rights.
# Usage: tests/scripts/install_packages_test.sh
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source "$root/tests/scripts/expect.sh"
said() { grep -qF -- "$1" "$work/out"; }

# system NAME=TEXT...: makes a system whose programs are these scripts and a few common ones.
system() {
  local program
  rm -rf "$work/bin"
  mkdir "$work/bin"
  for program in bash sh awk basename cat dirname env grep id printf sed; do
    ln -s "$(command -v "$program")" "$work/bin/$program"
  done
  for program in "$@"; do
    printf '#!/bin/sh\n%s\n' "${program#*=}" >"$work/bin/${program%%=*}"
    chmod +x "$work/bin/${program%%=*}"
  done
}
# install VARIABLE=VALUE... PACKAGE...: calls install_packages there; nothing else of the environment is passed on.
install() {
  env -i PATH="$work/bin" "$@" >"$work/out" 2>&1
}
packages() { printf '%s\n' bash -c 'set -euo pipefail; source "$0/scripts/common.sh"; install_packages "$@"; echo went on' "$root" "$@"; }
mapfile -t some < <(packages g++ libfmt-dev libmd-dev bible-kjv)
user='if [ "$1" = -u ]; then echo 1000; fi'

# A user other than root is simulated by another `id`.
as_user() { rm "$work/bin/id"; printf '#!/bin/sh\n%s\n' "$user" >"$work/bin/id"; chmod +x "$work/bin/id"; }

system dnf='exit 1' rpm='[ "$3" = gcc-c++ ]'
expect "dnf: goes on" install "${some[@]}"
expect "dnf: names" said 'sudo dnf install fmt-devel libmd-devel bible-kjv'
expect "dnf: the script goes on" said 'went on'
system dnf='exit 1' rpm='exit 0'
mapfile -t few < <(packages g++ libfmt-dev)
expect "dnf with all: goes on" install "${few[@]}"
expect "dnf with all" said 'packages: all installed'
system zypper='exit 1' rpm='exit 1'
expect "zypper: goes on" install "${some[@]}"
expect "zypper: names" said 'sudo zypper install gcc-c++ fmt-devel libmd-devel'
system pacman='exit 1'
expect "pacman: goes on" install "${some[@]}"
expect "pacman: names" said 'sudo pacman -S --needed gcc fmt libmd'
system
mkdir -p "$work/conda/conda-meta"
touch "$work/conda/conda-meta/fmt-11.0.2-h07f6e7f_0.json"
expect "conda: goes on" install CONDA_PREFIX="$work/conda" "${some[@]}"
expect "conda: names" said 'conda install -c conda-forge cxx-compiler libmd-dev bible-kjv'
expect "Spack: goes on" install SPACK_ENV="$work" "${some[@]}"
expect "Spack: names" said 'spack install gcc fmt libmd bible-kjv'
expect "no manager: goes on" install "${some[@]}"
expect "no manager: names" said "  g++ libfmt-dev libmd-dev bible-kjv"

# Debian and Ubuntu.
system apt-get='echo "apt-get $*"' dpkg-query='case $4 in g++) echo install ok installed ;; esac'
if [[ $(id -u) -eq 0 ]]; then
  expect "apt-get: installs" install "${some[@]}"
  expect "apt-get: what is missing" said 'packages: installing libfmt-dev libmd-dev bible-kjv'
fi
as_user
expect "a user without sudo is told" not install "${some[@]}"
expect "a user without sudo: what to run" said 'apt-get install libfmt-dev libmd-dev bible-kjv'
expect "a user without sudo: where else libraries may be" said 'CMAKE_PREFIX_PATH'
expect "a user with libraries of their own: goes on" install CMAKE_PREFIX_PATH=/opt "${some[@]}"
expect "a user with an environment: goes on" install CONDA_PREFIX="$work/conda" "${some[@]}"
expect "a user with an environment: its names" said 'conda install'

# Another MPI than Debian's default.
mapfile -t mpi < <(packages libopenmpi-dev openmpi-bin)
system mpicxx= mpirun= dpkg-query= apt-get='exit 1'
expect "another MPI serves" install "${mpi[@]}"
expect "another MPI: nothing is installed" said 'packages: all installed'

# Every package that a script installs is in the table.
system
mapfile -t wanted < <(bash -c 'source "$0/scripts/common.sh"
  printf "%s\n" "${build_packages[@]}" "${training_packages[@]}" "${data_packages[@]}"' "$root")
expect "packages are found" test "${#wanted[@]}" -gt 20
for package in "${wanted[@]}"; do
  expect "$package is in scripts/parts/package_names.txt" grep -q "^$package " "$root/scripts/parts/package_names.txt"
done
expect "the table has six columns" test -z "$(grep -v '^#' "$root/scripts/parts/package_names.txt" | awk 'NF != 6')"
exit $((failures > 0))
