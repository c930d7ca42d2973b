# Where CUDA's libraries may be on this machine, added to LD_LIBRARY_PATH; sourced, not run. PyTorch must not find its
# own this way: STRATA_OUTER_LIBRARY_PATH keeps the path as it was.

add_cuda_libraries() {
  local cuda=${CUDA_HOME:-/usr/local/cuda} folder
  export STRATA_OUTER_LIBRARY_PATH=${STRATA_OUTER_LIBRARY_PATH-${LD_LIBRARY_PATH-}}
  # The last are those of PyTorch's wheels.
  for folder in "$cuda"/{lib64,lib,targets/x86_64-linux/lib} \
    "$(python3 -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)"/nvidia/*/lib; do
    [[ ! -d $folder || :${LD_LIBRARY_PATH-}: == *":$folder:"* ]] ||
      export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
  done
}
