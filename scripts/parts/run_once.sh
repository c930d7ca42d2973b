# Keeps the result of a training as long as it has the same origin. Source this file after common.sh.

# origin_of CONFIG [KEY=VALUE...]: prints a result's origin: the commit and later changes, the configuration file's
# checksum, the overrides.
origin_of() {
  local config=$1 commit=none changes=
  shift
  if commit=$(git -C "$root" rev-parse HEAD 2>/dev/null); then
    changes=$(git -C "$root" diff HEAD -- . ':!*.md' | sha256sum | cut -d ' ' -f 1)
  else
    commit=$(grep -xE '[0-9a-f]+' "$root/cmake/commit.txt" 2>/dev/null) || true  # an archive of the sources names it
  fi
  printf 'commit %s\nchanges since %s\nconfiguration %s\n' "${commit:-none}" "$changes" \
    "$(sha256sum <"$config" | cut -d ' ' -f 1)"
  if [[ $# -gt 0 ]]; then printf 'override %s\n' "$@"; fi
}

# run_once FOLDER ORIGIN COMMAND...: runs the command, which makes FOLDER and prints its result as JSON, unless FOLDER
# holds a result of this origin. Leaves the result in FOLDER/result.json. A result of another origin becomes
# FOLDER.previous (or FOLDER.previous.2, ...); no result is removed. The output of an interrupted run becomes
# FOLDER.unfinished. If a command ends without a result, its output becomes FOLDER.failed, and the script ends.
run_once() {
  local folder=$1 origin=$2 result=$1/result.json code=0 lock reached
  shift 2
  mkdir -p "$(dirname "$folder")"
  exec {lock}>"$folder.lock"
  flock --nonblock "$lock" || give_up "$folder: another run is active there; wait for it"
  if [[ -f $result && -f $folder/made_from.txt && $(<"$folder/made_from.txt") == "$origin" ]]; then
    say "training: done already, in $folder"
    exec {lock}>&-
    return
  fi
  if [[ -f $result ]]; then
    if [[ -f $folder/made_from.txt ]]; then
      say "training again, because the code, the configuration or a setting has changed"
    else
      say "training again, because of --again"
    fi
    archive "$folder" previous
  elif [[ -e $folder || -L $folder ]] && ! rmdir -- "$folder" 2>/dev/null; then
    archive "$folder" unfinished
  fi
  say "training, into $folder"
  mkdir -p "$folder"
  "$@" >"$result.unfinished" || code=$?
  [[ $code -eq 0 ]] && reached=true || reached=false
  if [[ $code -gt 1 ]] || ! grep -q "\"reached_target\": $reached" "$result.unfinished"; then
    archive "$folder" failed
    give_up "training failed (exit code $code); its files are archived, see above"
  fi
  printf '%s\n' "$origin" >"$folder/made_from.txt"
  mv "$result.unfinished" "$result"
  exec {lock}>&-
}
