#!/bin/sh
# Writes the King James Bible (public domain, Debian package bible-kjv) in MLPerf's raw-text form: a verse
# is a sentence on a line of its own, a chapter is a document, a blank line stands between documents.
#
#   scripts/data/kjv_to_text.sh [FILE]     FILE: kjv.txt unless given; '-' is standard output
set -eu
export LC_ALL=C.UTF-8
trap '' XFSZ  # a limit on files becomes an error that names the file

output=${1:-kjv.txt}
verses_expected=31102

if ! command -v bible >/dev/null; then
  echo "kjv_to_text.sh: the command 'bible' is missing; install Debian's package bible-kjv (apt-get install bible-kjv)." >&2
  echo "On other systems, write the text into data-cache/kjv.txt: one verse per line, a blank line between chapters" >&2
  exit 2
fi

# Every line is 'BookChapter:Verse text', for example '1Sm3:1 And the child Samuel ...'.
to_documents() {
  awk -v expected="$verses_expected" '
    match($0, /^[0-9]?[A-Za-z]+[0-9]+:[0-9]+ /) {
      chapter = substr($0, 1, index($0, ":") - 1)
      if (verses > 0 && chapter != last_chapter) print ""
      last_chapter = chapter
      print substr($0, RLENGTH + 1)
      verses++
      next
    }
    { printf "kjv_to_text.sh: unexpected line: %s\n", $0 > "/dev/stderr"; failed = 1; exit 1 }
    END {
      if (!failed && verses != expected) {
        printf "kjv_to_text.sh: %d verses instead of %d\n", verses, expected > "/dev/stderr"
        exit 1
      }
    }'
}

if [ "$output" = - ]; then
  bible -f 'Gen1:1-Rev22:21' | to_documents
  exit
fi
temporary=$(mktemp "$output.tmp.XXXXXX") || { echo "kjv_to_text.sh: $output: cannot be created" >&2; exit 2; }
trap 'rm -f "$temporary"' EXIT
if ! { bible -f 'Gen1:1-Rev22:21' | to_documents >"$temporary"; } || ! sync "$temporary" || ! chmod 644 "$temporary" ||
  ! mv "$temporary" "$output"; then
  echo "kjv_to_text.sh: $output: is not written, for the reason above" >&2
  exit 2
fi
