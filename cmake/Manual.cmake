# Writes the manual and the completions of the program STRATA below OUTPUT, which is laid out like a prefix's share folder. GZIP compresses
# the pages if it is given. ZSH is the folder for zsh's completions in share/zsh. EMULATOR runs a program of another machine. Run as a
# script: cmake -DSTRATA=... -DOUTPUT=... -DZSH=... [-DGZIP=...] [-DEMULATOR=...] -P Manual.cmake
file(REMOVE_RECURSE ${OUTPUT})
execute_process(COMMAND ${EMULATOR} ${STRATA} man --all ${OUTPUT}/man/man1 OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(GZIP)
  file(GLOB pages ${OUTPUT}/man/man1/*.1)
  execute_process(COMMAND ${GZIP} -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
foreach(completion bash:bash-completion/completions/strata zsh:zsh/${ZSH}/_strata fish:fish/vendor_completions.d/strata.fish)
  string(REPLACE ":" ";" completion ${completion})
  list(GET completion 0 shell)
  list(GET completion 1 file)
  get_filename_component(folder ${OUTPUT}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${EMULATOR} ${STRATA} completion ${shell} OUTPUT_FILE ${OUTPUT}/${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
