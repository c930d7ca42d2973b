#!/usr/bin/env bash
# Scores $RESULTS at the pull request's base and here, and comments the change; a comment of an earlier push is replaced.
set -euo pipefail
export LC_ALL=C.UTF-8
options=()
[[ -z $RULESET ]] || options+=("--ruleset=$RULESET")
[[ -z $RULES ]] || options+=("--rules=$RULES")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What cannot be scored has no scores.
score() { # TREE OUTPUT
  (cd "$1" && "$STRATA" score --json "${options[@]}" -- "$RESULTS") >"$2" 2>/dev/null || true
  [[ -s $2 ]] || echo '{"scores": []}' >"$2"
}
score . "$work/after.json"
mkdir "$work/base"
git archive "$BASE" -- "$RESULTS" 2>/dev/null | tar -x -C "$work/base" 2>/dev/null || true
score "$work/base" "$work/before.json"
python3 "$GITHUB_ACTION_PATH/scores.py" "$work/before.json" "$work/after.json" >"$work/comment.md"
cat "$work/comment.md" >>"$GITHUB_STEP_SUMMARY"
comments=repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments
known=$(gh api --paginate "$comments" \
  --jq '.[] | select(.user.type == "Bot" and (.body | startswith("<!-- strata-check -->"))) | .id' | head -n 1)
if [[ -n $known ]]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$known" -F "body=@$work/comment.md"
else
  gh api --silent --method POST "$comments" -F "body=@$work/comment.md"
fi
