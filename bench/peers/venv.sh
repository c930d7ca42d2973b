# A rival's virtual environment; sourced, not run.

# make_venv VENV MODULES NAME PACKAGE...: installs the packages from PyPI into VENV where its Python cannot import MODULES (with
# commas between them). NAME: what a user reads.
make_venv() {
  local venv=$1 modules=$2 name=$3
  shift 3
  if ! "$venv/bin/python" -c "import $modules" 2> /dev/null; then
    echo "installing $name into $venv" >&2
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "$@"
  fi
}
