# Adds the folders of CUDA's libraries to LD_LIBRARY_PATH. Source this file; do not run it. STRATA_OUTER_LIBRARY_PATH keeps
# the old path, because PyTorch must not find its own libraries this way.

add_cuda_libraries() {
  local cuda=${CUDA_HOME:-${CUDA_PATH:-}} folder
  # The toolkit of the nvcc in PATH, unless that is a distribution's own.
  if [[ -z $cuda ]]; then cuda=$(realpath "$(command -v nvcc)" 2>/dev/null) && cuda=${cuda%/bin/nvcc} || cuda=/usr; fi
  if [[ $cuda == /usr ]]; then cuda=/usr/local/cuda; fi
  export STRATA_OUTER_LIBRARY_PATH=${STRATA_OUTER_LIBRARY_PATH-${LD_LIBRARY_PATH-}}
  # The last folders belong to PyTorch's wheels.
  for folder in "$cuda"/{lib64,lib,targets/x86_64-linux/lib} \
    "$(python3 -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)"/nvidia/*/lib; do
    [[ ! -d $folder || :${LD_LIBRARY_PATH-}: == *":$folder:"* ]] ||
      export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
  done
}
