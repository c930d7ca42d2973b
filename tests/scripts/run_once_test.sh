#!/usr/bin/env bash
# Tests what scripts/parts/run_once.sh keeps, trains anew and refuses, with commands that stand in for training.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
source "$root/scripts/parts/run_once.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$work/runs/some
source "$root/tests/scripts/expect.sh"
# train REACHED CODE: as 'strata train --json' with this result.
train() {
  echo "log" >"$folder/result_0.txt"
  echo trained >>"$work/trainings"
  printf '[{\n  "reached_target": %s\n}]\n' "$1"
  return "$2"
}
silent() {  # CODE: as an mpirun that cannot start, or is ended
  echo trained >>"$work/trainings"
  return "$1"
}
trainings() { cat "$work/trainings" 2>/dev/null | wc -l; }
once() { (run_once "$folder" "$@") >"$work/said" 2>&1; }

once first train true 0
expect "the first run trains" test "$(trainings)" -eq 1
expect "its result is there" grep -q true "$folder/result.json"
once first train true 0
expect "the same origin is kept" test "$(trainings)" -eq 1
once second train false 1
expect "another origin trains anew" test "$(trainings)" -eq 2
expect "a target that was not reached is a result" grep -q false "$folder/result.json"
expect "the result before is kept" grep -q true "$folder.previous/result.json"
once third train true 0
expect "a third origin keeps the first result, too" grep -q true "$folder.previous/result.json"
expect "and the second one" grep -q false "$folder.previous.2/result.json"
expect "and says where it is" grep -q "$folder.previous.2" "$work/said"
expect "and why it trains" grep -q "training again, because the code" "$work/said"
rm "$folder/made_from.txt"
once third train true 0
expect "--again trains anew and is named" grep -q "training again, because of --again" "$work/said"
rm -rf "$folder".previous* && once second train false 1

for command in "silent 1" "silent 0" "silent 2" "silent 137" "train true 1" "train false 0" "train true 2"; do
  once third $command
  expect "'$command' is an error" test $? -eq 2
  expect "'$command' leaves no result" test ! -e "$folder"
  expect "'$command' leaves what it wrote" test -d "$folder.failed"
  expect "'$command' leaves nothing named result.json" test ! -e "$folder.failed/result.json"
done
once second train true 0
expect "after a failure training starts anew" grep -q true "$folder/result.json"

mkdir -p "$work/cut"
once_cut() { (folder=$work/cut; run_once "$folder" first train true 0) >"$work/said" 2>&1; }
echo '{"experiments": [{"reached_target": true}]}' >"$work/cut/result.json.unfinished"
echo left >"$work/cut/left"
once_cut
expect "a run that was cut off is trained anew" test ! -e "$work/cut/left" -a -f "$work/cut/result.json"
expect "and what it wrote is kept" test -e "$work/cut.unfinished/left"

before=$(trainings)
exec {held}>"$folder.lock"
flock "$held"
once fourth train true 0
expect "a second run at the same time is refused" test $? -eq 2
expect "and does not train" test "$(trainings)" -eq "$before"
exec {held}>&-

# The origin depends on the commit and on the settings.
command -v git >/dev/null || exit $((failures > 0))
git init -q "$work/tree" && git -C "$work/tree" -c user.name=a -c user.email=b commit -q --allow-empty -m one
echo 'a: 1' >"$work/config.yaml"
origin() { root=$work/tree origin_of "$work/config.yaml" "$@"; }
first=$(origin x=1)
expect "the same origin twice" test "$(origin x=1)" = "$first"
expect "another override" test "$(origin x=2)" != "$first"
expect "no override" test "$(origin)" != "$first"
echo 'a: 2' >"$work/config.yaml"
expect "another configuration" test "$(origin x=1)" != "$first"
echo 'a: 1' >"$work/config.yaml"
expect "the configuration as it was" test "$(origin x=1)" = "$first"
echo code >"$work/tree/code.cc"
git -C "$work/tree" add code.cc
changed=$(origin x=1)
expect "a changed tree" test "$changed" != "$first"
git -C "$work/tree" -c user.name=a -c user.email=b commit -q -m two
expect "another commit" test "$(origin x=1)" != "$first" -a "$(origin x=1)" != "$changed"

[[ $failures -eq 0 ]]
