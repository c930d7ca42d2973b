# Part of the installation: moves the files below SHARE to the same places below DATAROOTDIR. CMake's own rule for folders would change the
# permissions of folders that others share, such as /usr/local/share.
file(GLOB_RECURSE files RELATIVE "${SHARE}" "${SHARE}/*")
foreach(file IN LISTS files)
  get_filename_component(FOLDERS "${DATAROOTDIR}/${file}" DIRECTORY)
  include("${CMAKE_CURRENT_LIST_DIR}/OpenFolders.cmake")
  if(NOT IS_ABSOLUTE "${FOLDERS}")
    set(FOLDERS "${CMAKE_INSTALL_PREFIX}/${FOLDERS}")
  endif()
  file(INSTALL DESTINATION "${FOLDERS}" TYPE FILE FILES "${SHARE}/${file}")
endforeach()
# Whoever builds may not be whoever installs, and could not remove these.
file(REMOVE_RECURSE "${SHARE}")
