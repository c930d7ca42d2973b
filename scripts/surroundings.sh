# Protects every script from its surroundings: locale, limits, strange paths. Source this file first; do not run it. Expects bash.

# Numbers have decimal points, even for awk, printf and sort; text is UTF-8.
export LC_ALL=C.UTF-8

# Exceeding the file size limit (ulimit -f) becomes an error of the program instead of its end.
trap '' XFSZ

# refuse_path WHAT PATH: ends the script if CMake, mpirun, YAML or a shell would interpret a character of the path.
refuse_path() {
  local i strange=$',;:"\'`$\\{}[]*?<>|&#\n\t\r' found=
  for ((i = 0; i < ${#strange}; ++i)); do [[ $2 != *"${strange:i:1}"* ]] || found=1; done
  [[ -n $found ]] || return 0
  printf '%s: %s %q: scripts do not take paths with commas, quotes, line breaks or %s; choose another\n' \
    "${0##*/}" "$1" "$2" '; : $ \ ` { } [ ] * ? < > | & #' >&2
  exit 2
}

# Turns the entities of XML into characters, from standard input to standard output.
unescape_xml() { sed 's/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&apos;/'"'"'/g; s/&amp;/\&/g'; }

# Names the output file of a command that fails, because most programs do not know it.
name_unwritten_file() {
  local command=$1 target='' pattern='(^|[^0-9<&>])>>?[[:space:]]*("\$[^"]*"|\$[A-Za-z_{][^[:space:];|&()]*)'
  [[ $- == *e* && $command =~ $pattern ]] || return 0
  target=${BASH_REMATCH[2]}
  [[ $target != *['`(']* ]] || return 0  # expanding it must run nothing
  eval "target=$target" 2>/dev/null || return 0
  [[ $target != /dev/* ]] || return 0
  printf '%s: %s: is not written: a command failed, or the disk or a limit (ulimit -f, -n) has no room for it\n' \
    "${0##*/}" "$target" >&2
}
set -E
trap 'name_unwritten_file "$BASH_COMMAND"' ERR

# Scripts and the programs that they start have several files open at once.
if [[ $(ulimit -n) =~ ^[0-9]+$ && $(ulimit -n) -lt 32 ]]; then
  printf '%s: ulimit -n is %s: 32 open files or more are needed, or %s cannot be run\n' "${0##*/}" "$(ulimit -n)" "$0" >&2
  exit 2
fi

refuse_path "the folder" "$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && printf '%s.' "$PWD")"
[[ -z ${TMPDIR:-} ]] || refuse_path TMPDIR "$TMPDIR"

# Checks the paths among the script's arguments: values of options that name files, and anything with a slash.
refuse_paths_in() {
  local argument option=
  for argument in "$@"; do
    case $option in
      --output | --data | --strata | --venv | --python | --config | --model | --text | --vocab | --hostfile)
        refuse_path "$option" "$argument" ;;
      '')
        case $argument in
          --output=* | --data=* | --strata=* | --venv=* | --python=* | --config=* | --model=*)
            refuse_path "${argument%%=*}" "${argument#*=}" ;;
          -* | *=*) ;;  # another option, or KEY=VALUE
          */*) refuse_path "the argument" "$argument" ;;
        esac ;;
    esac
    [[ $argument == --* && $argument != *=* ]] && option=$argument || option=
  done
}
refuse_paths_in "$@"
