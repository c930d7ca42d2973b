# Makes strata.html of the program and the page's files. The program becomes strata.js, whose function loadStrata() gives it a file
# system in memory, and which calls it as often as wanted.
target_sources(strata PRIVATE ${CMAKE_CURRENT_LIST_DIR}/missing_calls.cc)
target_link_options(strata PRIVATE -sSINGLE_FILE -sMODULARIZE -sEXPORT_NAME=loadStrata -sINVOKE_RUN=0 -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB
                                   -sSTACK_SIZE=1MB -sFORCE_FILESYSTEM -sEXPORTED_RUNTIME_METHODS=FS,callMain -sENVIRONMENT=worker,node)
set(parts page.html page.css page.js archives.js targets.js worker.js JoinPage.cmake)
list(TRANSFORM parts PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/strata.html
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_LIST_DIR} -DPROGRAM=$<TARGET_FILE:strata> -DOUTPUT=${PROJECT_BINARY_DIR}/strata.html
          -P ${CMAKE_CURRENT_LIST_DIR}/JoinPage.cmake
  DEPENDS strata ${parts} VERBATIM)
add_custom_target(strata_page ALL DEPENDS ${PROJECT_BINARY_DIR}/strata.html)
