# Sets STRATA_WITH_CUDA: whether the CUDA backend is built. It needs a GPU only to run.
set(STRATA_WITH_CUDA OFF)
if(NOT STRATA_CUDA)
  return()
endif()
# Kernels are compiled for A100 and H100; the driver compiles them for newer GPUs. nvcc's host code does not support sanitizers.
if(STRATA_CUDA STREQUAL AUTO AND STRATA_SANITIZE)
  return()
endif()
find_program(STRATA_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(NOT STRATA_NVCC)
  if(STRATA_CUDA STREQUAL AUTO)
    message(STATUS "No CUDA toolkit: the CUDA backend is left out")
    return()
  endif()
  message(FATAL_ERROR "STRATA_CUDA=ON, but there is no nvcc: set CUDA_HOME or STRATA_NVCC")
endif()

set(CMAKE_CUDA_COMPILER ${STRATA_NVCC})
set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual)
# Keeps the report on each kernel beside its object. CMake's own trial compilations need none.
set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/keep_ptxas_report.sh ${STRATA_CCACHE})
enable_language(CUDA)
# CMake 3.25 does not know CUDA 13's option for the standard in CMAKE_CXX_STANDARD.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
# Otherwise system libraries put /usr/include first, and the C++ headers do not find C's.
list(APPEND CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
find_package(CUDAToolkit REQUIRED)
set(STRATA_WITH_CUDA ON)

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
