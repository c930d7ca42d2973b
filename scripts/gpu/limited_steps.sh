# Functions for scripts with long steps that may be ended at any time. Source this file; do not run it. Expects bash with
# 'set -euo pipefail'.

running=

# report_at_end FUNCTION: calls it at the end of the script, even after a signal. If it fails, the script fails. Removes
# the folder $work.
report_at_end() {
  at_end=$1
  exec {report_output}>&1 {report_errors}>&2
  trap end_with_report EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 141' PIPE
  trap 'exit 143' TERM
}

end_with_report() {
  local status=$?
  trap - EXIT
  trap '' HUP INT PIPE TERM
  exec >&"$report_output" 2>&"$report_errors"  # a signal may have come while a step's output was redirected
  [[ -z $running ]] || kill "$running" 2>/dev/null || true
  "$at_end" || ((status)) || status=1
  rm -rf "$work"
  exit "$status"
}

# limited SECONDS COMMAND...: ends the command after so long. It runs in the background, because traps wait for foreground jobs.
limited() {
  local status=0
  timeout -k 10 "$@" &
  running=$!
  wait "$running" || status=$?
  running=
  return "$status"
}
