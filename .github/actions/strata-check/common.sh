# shellcheck shell=bash
# Sourced by the action's scripts. Programs come from the machine, never from the pull request that is checked.

checkout=$(pwd -P)

# The folder above $1 (absolute, without links), or $1 itself, that is the top of a repository. Git's own search would also
# stop at a folder of the pull request that looks like a bare repository, and follow the configuration in it.
repository_of() {
  local folder=$1
  until [[ -e $folder/.git ]]; do
    [[ -n $folder ]] || return 1
    folder=${folder%/*}
  done
  printf '%s\n' "$folder"
}

# git_at TOP ARGUMENT...
git_at() { git -C "$1" --git-dir="$1/.git" --work-tree="$1" --literal-pathspecs -c core.fsmonitor=false "${@:2}"; }

# Whether $1 (absolute, without links) may come from the pull request: it lies in the checkout, and git tracks it or cannot say.
may_be_committed() {
  [[ $1/ == "$checkout"/* ]] || return 1
  local top tracked
  top=$(repository_of "$1") && tracked=$(git_at "$top" ls-files -- "$1" 2>/dev/null) || return 0
  [[ -n $tracked ]]
}

# Leaves the folders of PATH in which no program of the pull request can be.
clean_path() {
  local entry real given=() kept=() inside=()
  mapfile -d : -t given < <(printf '%s' "$PATH")
  for entry in "${given[@]}"; do
    if [[ $entry != /* ]] || ! real=$(cd -P -- "$entry" 2>/dev/null && pwd -P); then continue; fi
    if [[ $real/ == "$checkout"/* ]]; then inside+=("$real"); else kept+=("$entry"); fi
  done
  # An empty PATH would mean the current folder.
  [[ ${#kept[@]} -gt 0 ]] || kept=(/usr/bin /bin)
  set_path "${kept[@]}"
  for entry in "${inside[@]}"; do
    may_be_committed "$entry" || kept+=("$entry")
  done
  set_path "${kept[@]}"
}
set_path() {
  local IFS=:
  export PATH="$*"
}
clean_path
