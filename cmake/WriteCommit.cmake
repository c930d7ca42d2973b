# Writes OUTPUT, a C++ file that defines strata::cli::kCommit: the commit that SOURCE is at, with "+" if files differ from it. In an
# archive of the sources, git has written the commit into cmake/commit.txt. Otherwise the commit is "unknown".
# Keeps an unchanged file. Run as a script:
# cmake -DSOURCE=... -DOUTPUT=... -P WriteCommit.cmake
set(commit unknown)
# Whoever owns the sources, they are being built.
set(git git -c safe.directory=${SOURCE} -C ${SOURCE})
execute_process(COMMAND ${git} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
# A source tree that was unpacked inside another project's checkout has no commit of its own.
execute_process(COMMAND ${git} rev-parse --show-prefix
                OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(status EQUAL 0 AND prefix STREQUAL "")
  set(commit ${found})
  execute_process(COMMAND ${git} --no-optional-locks status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changed ERROR_QUIET)
  if(NOT changed STREQUAL "")
    string(APPEND commit "+")
  endif()
else()
  file(STRINGS ${SOURCE}/cmake/commit.txt archived REGEX "^[0-9a-f]+$" LIMIT_COUNT 1)
  if(archived)
    string(SUBSTRING ${archived} 0 12 commit)
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
