#!/bin/bash
# Checks $RESULTS as $KIND, annotates what is wrong, and leaves SARIF and JUnit files for other steps.
set -euo pipefail
export LC_ALL=C.UTF-8
source "${BASH_SOURCE[0]%/*}/common.sh"
case $KIND in log | package | round) ;; *)
  echo '::error::strata check: kind is log, package or round'
  exit 2
  ;;
esac
options=()
[[ -z $RULESET ]] || options+=("--ruleset=$RULESET")
[[ -z $RULES ]] || options+=("--rules=$RULES")
sarif=${RUNNER_TEMP:?}/strata-check.sarif junit=$RUNNER_TEMP/strata-check.xml
{
  echo "sarif=$sarif"
  echo "junit=$junit"
} >>"$GITHUB_OUTPUT"
status=0
"$STRATA" check "$KIND" --github --require-verdict --sarif "$sarif" --junit "$junit" "${options[@]}" -- "$RESULTS" || status=$?
exit "$status"
