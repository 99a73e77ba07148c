# `cmake --install`: the headers under include/dovetail, the libraries, the CLI and a package for find_package(dovetail).
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY DOVETAIL_LIBRARIES)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dovetail)
foreach(library ${libraries})
  install(TARGETS dovetail_${library} EXPORT dovetail_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
get_property(layers GLOBAL PROPERTY DOVETAIL_LAYERS)
install(DIRECTORY ${layers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dovetail FILES_MATCHING PATTERN "*.h")
if(TARGET dovetail)
  install(TARGETS dovetail RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# The design, for `dovetail rtl build` and `dovetail hw area`; its test bench includes the header.
install(DIRECTORY hw/rtl hw/sva hw/syn hw/tb DESTINATION ${CMAKE_INSTALL_DATADIR}/dovetail/hw)
# What `--energy FILE.json` replaces rows of.
install(FILES explore/energy/cmos45.json DESTINATION ${CMAKE_INSTALL_DATADIR}/dovetail/energy)
install(FILES simulator/rtl/model_api.h DESTINATION ${CMAKE_INSTALL_DATADIR}/dovetail/simulator/rtl)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/dovetail)

install(EXPORT dovetail_targets NAMESPACE dovetail:: FILE dovetail_targets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/dovetail-config.cmake.in ${CMAKE_BINARY_DIR}/dovetail-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/dovetail-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/dovetail-config.cmake ${CMAKE_BINARY_DIR}/dovetail-config-version.cmake
  DESTINATION ${package_dir})
