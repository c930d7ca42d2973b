#!/bin/bash
# Scores $RESULTS at the pull request's base and here, and comments the change; a comment of an earlier push is replaced.
set -euo pipefail
export LC_ALL=C.UTF-8
source "${BASH_SOURCE[0]%/*}/common.sh"
# Both trees are judged by the same rules.
[[ -z $RULES || $RULES == built-in || $RULES == /* ]] || RULES=$checkout/$RULES
# A path below the checkout names the same place in both trees.
case $RESULTS in
  "$PWD" | "$checkout") RESULTS=. ;;
  "$PWD"/*) RESULTS=${RESULTS#"$PWD"/} ;;
  "$checkout"/*) RESULTS=${RESULTS#"$checkout"/} ;;
esac
options=()
[[ -z $RULESET ]] || options+=("--ruleset=$RULESET")
[[ -z $RULES ]] || options+=("--rules=$RULES")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Folders that cannot be scored have no scores.
score() { # TREE OUTPUT
  (cd "$1" && "$STRATA" score --json "${options[@]}" -- "$RESULTS") >"$2" 2>/dev/null || true
  [[ -s $2 ]] || echo '{"scores": []}' >"$2"
}
score . "$work/after.json"
# The base has the checkout's path below another folder, because rounds are inferred from names of folders.
mkdir -p "$work/base$checkout"
if [[ $RESULTS != /* ]]; then
  top=$(repository_of "$(realpath -m -- "$(dirname -- "$checkout/$RESULTS")")") || top=$checkout
  git_at "$top" cat-file -e "$BASE^{commit}" 2>/dev/null || {
    echo "::error::strata check: $BASE, the pull request's base, is not in the repository $top; check out with 'fetch-depth: 0'"
    exit 2
  }
  mkdir -p "$work/base$top"
  # A path that the base has not got has no scores there.
  git_at "$top" archive "$BASE" -- "$(realpath -m -s --relative-to="$top" -- "$checkout/$RESULTS")" 2>/dev/null |
    tar -x -C "$work/base$top" 2>/dev/null || true
fi
score "$work/base$checkout" "$work/before.json"
python3 -I "$GITHUB_ACTION_PATH/scores.py" "$work/before.json" "$work/after.json" >"$work/comment.md"
cat "$work/comment.md" >>"$GITHUB_STEP_SUMMARY"
comments=repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments
known=$(gh api --paginate "$comments" \
  --jq '.[] | select(.user.type == "Bot" and (.body | startswith("<!-- strata-check -->"))) | .id' | head -n 1)
if [[ -n $known ]]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$known" -F "body=@$work/comment.md"
else
  gh api --silent --method POST "$comments" -F "body=@$work/comment.md"
fi
