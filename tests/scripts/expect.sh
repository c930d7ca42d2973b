# For tests to source: what is expected, and in `failures` how often it was not so.
failures=0
expect() {  # WHAT CONDITION...
  local what=$1
  shift
  if ! "$@"; then
    printf 'FAILED: %s (%s)\n' "$what" "$*" >&2
    failures=$((failures + 1))
  fi
}

not() { ! "$@"; }
