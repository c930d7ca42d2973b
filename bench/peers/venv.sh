# Makes the virtual environments of other programs, and checks their memory. Source this file; do not run it.

# make_venv VENV MODULES NAME PACKAGE...: if VENV's Python cannot import MODULES (separated by commas), installs the packages from PyPI.
# Messages call it NAME.
make_venv() {
  local venv=$1 modules=$2 name=$3
  shift 3
  if ! "$venv/bin/python" -c "import $modules" 2> /dev/null; then
    echo "installing $name into $venv" >&2
    python3 -I -m venv "$venv"
    "$venv/bin/pip" install --quiet "$@"
  fi
}

# The memory settings that PyTorch starts with on processors: glibc's malloc (2.35 or later) keeps memory and takes it in huge pages.
# PyTorch's tuning guide recommends other allocators for this. A step of the quickstart takes a sixth less time.
pytorch_tunables=glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.top_pad=268435456
pytorch_memory=(env "GLIBC_TUNABLES=${GLIBC_TUNABLES-$pytorch_tunables}")

# has_memory NAME ARGUMENT...: succeeds if the memory that pytorch_memory.py estimates is available. Otherwise says that NAME is left out.
has_memory() {
  local name=$1 reason
  shift
  reason=$(python3 -I "$(dirname "${BASH_SOURCE[0]}")/pytorch/pytorch_memory.py" "$@" 2>&1) && return
  [[ $reason == needs* ]] || { echo "$reason" >&2; exit 2; }
  echo "$name is left out: $reason" >&2
  return 1
}
