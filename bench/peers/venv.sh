# A rival's virtual environment; sourced, not run.

# make_venv VENV MODULES NAME PACKAGE...: installs the packages from PyPI into VENV where its Python cannot import MODULES (with
# commas between them). NAME: what a user reads.
make_venv() {
  local venv=$1 modules=$2 name=$3
  shift 3
  if ! "$venv/bin/python" -c "import $modules" 2> /dev/null; then
    echo "installing $name into $venv" >&2
    python3 -I -m venv "$venv"
    "$venv/bin/pip" install --quiet "$@"
  fi
}

# What PyTorch starts with on processors: glibc's malloc that keeps memory and takes it in huge pages (2.35 or later), as PyTorch's guide
# to tuning advises other allocators for: a step of the quickstart takes a sixth less time.
pytorch_tunables=glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.top_pad=268435456
pytorch_memory=(env "GLIBC_TUNABLES=${GLIBC_TUNABLES-$pytorch_tunables}")
