# What `make install` puts where: the command, both libraries, the public headers and the pkg-config file.
install(TARGETS hone RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS hone_library_static hone_library_shared
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# Opened at run time, from this place beside the libraries.
if(HONE_GPU)
  install(FILES ${HONE_WGPU_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR}/hone RENAME libwgpu_native.so)
endif()
# Paths are relative to the file's own place, so that --prefix may be given at install time and the tree be moved.
file(RELATIVE_PATH HONE_PC_INCLUDE /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/hone.pc.in ${PROJECT_BINARY_DIR}/hone.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
