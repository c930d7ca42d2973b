# Writes OUTPUT, a C++ file that defines strata::cli::kCommit: the commit that SOURCE is at, with "+" if files differ from it, or
# "unknown" without a git checkout. Keeps an unchanged file. Run as a script:
# cmake -DSOURCE=... -DOUTPUT=... -P WriteCommit.cmake
set(commit unknown)
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
# A source tree that was unpacked inside another project's checkout has no commit of its own.
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix
                OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(status EQUAL 0 AND prefix STREQUAL "")
  set(commit ${found})
  execute_process(COMMAND git -C ${SOURCE} --no-optional-locks status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changed ERROR_QUIET)
  if(NOT changed STREQUAL "")
    string(APPEND commit "+")
  endif()
endif()
set(text "namespace strata::cli {\nextern const char kCommit[];\nconst char kCommit[] = \"${commit}\";\n}  // namespace strata::cli\n")
set(known "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} known)
endif()
if(NOT text STREQUAL known)
  file(WRITE ${OUTPUT} "${text}")
endif()
