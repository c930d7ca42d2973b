# Sets STRATA_WITH_CUDA: whether the CUDA backend is built. It needs a GPU only to run.
set(STRATA_WITH_CUDA OFF)
string(TOUPPER "${STRATA_CUDA}" STRATA_CUDA)
if(NOT STRATA_CUDA)
  return()
endif()
# nvcc's host code does not support sanitizers.
if(STRATA_CUDA STREQUAL AUTO AND STRATA_SANITIZE)
  return()
endif()

# Leaves the CUDA backend out, or stops if it was asked for.
macro(strata_without_cuda reason)
  if(STRATA_CUDA STREQUAL AUTO)
    message(STATUS "The CUDA backend is left out: ${reason}")
    message(STATUS "  (STRATA_CUDA=AUTO; with -DSTRATA_CUDA=ON this is an error, with -DSTRATA_CUDA=OFF CUDA is not looked for)")
    return()
  endif()
  message(FATAL_ERROR "STRATA_CUDA=${STRATA_CUDA}, but the CUDA backend cannot be built: ${reason}")
endmacro()

# The compiler is CMAKE_CUDA_COMPILER, else CUDACXX, else an nvcc in CUDA_HOME, CUDA_PATH or CUDAToolkit_ROOT, else the first in PATH,
# else the one in the default folder.
set(wanted nvcc)
set(wanted_by "nvcc is neither in CUDA_HOME nor in PATH nor in /usr/local/cuda/bin")
if(CMAKE_CUDA_COMPILER)
  set(wanted ${CMAKE_CUDA_COMPILER})
  set(wanted_by "CMAKE_CUDA_COMPILER=${wanted} is no program")
elseif(NOT "$ENV{CUDACXX}" STREQUAL "")
  separate_arguments(words UNIX_COMMAND "$ENV{CUDACXX}")
  list(POP_FRONT words wanted)
  list(JOIN words " " CMAKE_CUDA_FLAGS_INIT)
  set(wanted_by "CUDACXX=$ENV{CUDACXX} names no program")
endif()
if(DEFINED STRATA_NVCC_WANTED AND NOT STRATA_NVCC_WANTED STREQUAL wanted)
  unset(STRATA_NVCC CACHE)
endif()
set(STRATA_NVCC_WANTED ${wanted} CACHE INTERNAL "")
set(folders)
foreach(folder IN ITEMS "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" "${CUDAToolkit_ROOT}" "$ENV{CUDAToolkit_ROOT}")
  if(NOT folder STREQUAL "")
    list(APPEND folders ${folder}/bin)
  endif()
endforeach()
find_program(STRATA_NVCC NAMES ${wanted} HINTS ${folders} PATHS /usr/local/cuda/bin DOC "CUDA's compiler")
if(NOT STRATA_NVCC)
  strata_without_cuda("${wanted_by}")
endif()

# Kernels are compiled for A100 and H100 unless told otherwise; the driver compiles them for newer GPUs.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual)
  if(NOT "$ENV{CUDAARCHS}" STREQUAL "")
    set(CMAKE_CUDA_ARCHITECTURES $ENV{CUDAARCHS})
  endif()
endif()

# CMake would stop at a compiler that does not know an architecture or refuses the host's compiler. So it is tried first.
set(trial ${STRATA_NVCC} ${CMAKE_CUDA_FLAGS_INIT} ${CMAKE_CUDA_FLAGS} -std=c++20)
if(CMAKE_CUDA_HOST_COMPILER)
  list(APPEND trial -ccbin ${CMAKE_CUDA_HOST_COMPILER})
elseif(NOT "$ENV{CUDAHOSTCXX}" STREQUAL "")
  list(APPEND trial -ccbin $ENV{CUDAHOSTCXX})
endif()
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  if(architecture MATCHES "^([0-9]+[a-z]?)(-real|-virtual)?$")
    if(NOT CMAKE_MATCH_2 STREQUAL "-virtual")
      list(APPEND trial -gencode=arch=compute_${CMAKE_MATCH_1},code=sm_${CMAKE_MATCH_1})
    endif()
    if(NOT CMAKE_MATCH_2 STREQUAL "-real")
      list(APPEND trial -gencode=arch=compute_${CMAKE_MATCH_1},code=compute_${CMAKE_MATCH_1})
    endif()
  else()
    list(APPEND trial -arch=${architecture})
  endif()
endforeach()
if(NOT "${trial}" STREQUAL "${STRATA_NVCC_WORKS}")
  set(trial_folder ${PROJECT_BINARY_DIR}/CMakeFiles/strata_nvcc)
  file(WRITE ${trial_folder}/trial.cu [[
#include <concepts>
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "Strata's kernels need compute capability 8.0 (A100) or later: set CMAKE_CUDA_ARCHITECTURES"
#endif
__global__ void trial(int* x) { *x = 1; }
int main() {}
]])
  execute_process(COMMAND ${trial} trial.cu -o trial WORKING_DIRECTORY ${trial_folder}
                  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    string(STRIP "${said}" said)
    string(REGEX REPLACE "\n" "\n    " said "${said}")
    list(JOIN CMAKE_CUDA_ARCHITECTURES "," architectures)
    string(CONCAT reason "${STRATA_NVCC} cannot compile for CMAKE_CUDA_ARCHITECTURES=${architectures}. It says\n    ${said}\n"
           "  Name another compiler by -DCMAKE_CUDA_COMPILER=NVCC, the host's compiler by -DCMAKE_CUDA_HOST_COMPILER=g++-N, or "
           "architectures by -DCMAKE_CUDA_ARCHITECTURES=80")
    strata_without_cuda("${reason}")
  endif()
  set(STRATA_NVCC_WORKS "${trial}" CACHE INTERNAL "The compiler command that works")
endif()

set(CMAKE_CUDA_COMPILER ${STRATA_NVCC})
# Keeps the report on each kernel beside its object. CMake's own trial compilations need none.
set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/keep_ptxas_report.sh ${CMAKE_CXX_COMPILER_LAUNCHER})
enable_language(CUDA)
# CMake 3.25 does not know CUDA 13's option for the standard in CMAKE_CXX_STANDARD.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
# Otherwise system libraries put /usr/include first, and the C++ headers do not find C's.
list(APPEND CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
find_package(CUDAToolkit)
if(NOT TARGET CUDA::cudart_static)
  strata_without_cuda("the toolkit of ${STRATA_NVCC} has no libcudart_static.a")
endif()
find_path(STRATA_CUBLASLT_INCLUDE cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(NOT STRATA_CUBLASLT_INCLUDE)
  strata_without_cuda("the toolkit of ${STRATA_NVCC} has no cublasLt.h (NVIDIA's package libcublas-dev)")
endif()
set(STRATA_WITH_CUDA ON)
list(JOIN CMAKE_CUDA_ARCHITECTURES "," architectures)
message(STATUS "CUDA ${CUDAToolkit_VERSION}: ${STRATA_NVCC} for ${architectures}")
set(STRATA_CUDA_ARCHITECTURES_ARE_OURS OFF)
if(CMAKE_CUDA_ARCHITECTURES STREQUAL "80-real;90a-real;90-virtual")
  set(STRATA_CUDA_ARCHITECTURES_ARE_OURS ON)
endif()
# Without 90a there is no code for the warpgroup's matrix products of H100.
set(STRATA_WITH_WGMMA OFF)
if(CMAKE_CUDA_ARCHITECTURES MATCHES "90a")
  set(STRATA_WITH_WGMMA ON)
endif()

# cuDNN is loaded at run time, too; its C++ interface has only headers.
find_path(STRATA_CUDNN_INCLUDE cudnn.h HINTS $ENV{CUDNN_HOME}/include ${CUDAToolkit_INCLUDE_DIRS})
find_path(STRATA_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h
          HINTS $ENV{CUDNN_FRONTEND_HOME}/include ${PROJECT_SOURCE_DIR}/data-cache/cudnn-frontend/include)
if(STRATA_CUDNN_INCLUDE AND STRATA_CUDNN_FRONTEND_INCLUDE)
  set(STRATA_WITH_CUDNN ON)
  set(STRATA_CUDNN_OPTIONS -DNV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING -DCUDNN_FRONTEND_SKIP_JSON_LIB -O1)
  foreach(folder ${STRATA_CUDNN_FRONTEND_INCLUDE} ${STRATA_CUDNN_INCLUDE})
    if(NOT folder IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
      list(APPEND STRATA_CUDNN_OPTIONS -isystem ${folder})
    endif()
  endforeach()
else()
  set(STRATA_WITH_CUDNN OFF)
  message(STATUS "No cudnn.h or no cudnn_frontend.h: attention by cuDNN is left out")
endif()

# NCCL is loaded at run time; only its header is needed here.
find_path(STRATA_NCCL_INCLUDE nccl.h HINTS $ENV{NCCL_HOME}/include ${CUDAToolkit_INCLUDE_DIRS})
if(NOT STRATA_NCCL_INCLUDE)
  message(STATUS "No nccl.h: the CUDA backend is built for one rank")
endif()
