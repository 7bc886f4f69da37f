# What `make install` puts where: the command, both libraries, the public headers and the pkg-config file.
include(GNUInstallDirs)
install(TARGETS hone RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS hone_library_static hone_library_shared
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# The prefix is found from the file's own place, so that the tree may be moved and --prefix be given at install time.
configure_file(${PROJECT_SOURCE_DIR}/cmake/hone.pc.in ${PROJECT_BINARY_DIR}/hone.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hone.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
