# `cmake --install`: installs a kit that may be moved later. Component kit: bin/dovetail, lib/dovetail (libraries loaded at run time), share/dovetail (the design, examples,
# tables: base/kit_folder.h), share/doc/dovetail. Components c and runtime_c: the shared libraries of the C interface. Component python: the package for Python. Component dev: headers under include/dovetail, libraries, and the package for find_package(dovetail).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dovetail)
set(share ${CMAKE_INSTALL_DATADIR}/dovetail)
set(doc ${CMAKE_INSTALL_DATADIR}/doc/dovetail)
set(capi_package_c libdovetail1)  # the Debian packages of the shared libraries
set(capi_package_runtime_c libdovetail-runtime1)

# The libraries. Those that need packages which a user's machine may lack are exported separately (dovetail-config.cmake.in).
get_property(libraries GLOBAL PROPERTY DOVETAIL_LIBRARIES)
if(TARGET dovetail_systemc)
  list(APPEND libraries systemc)
endif()
set(needs_llvm cpu explore)
set(needs_systemc systemc)
set(needs_images driver)
foreach(library ${libraries})
  set(export dovetail_targets)
  foreach(apart llvm systemc images)
    if(library IN_LIST needs_${apart})
      set(export dovetail_${apart}_targets)
    endif()
  endforeach()
  list(APPEND exports ${export})
  list(APPEND targets_of_${export} ${library})
  install(TARGETS dovetail_${library} EXPORT ${export} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endforeach()
list(REMOVE_DUPLICATES exports)
foreach(export ${exports})
  install(EXPORT ${export} NAMESPACE dovetail:: FILE ${export}.cmake DESTINATION ${package_dir} COMPONENT dev)
endforeach()
get_property(layers GLOBAL PROPERTY DOVETAIL_LAYERS)
get_property(dovetail_file_packages GLOBAL PROPERTY DOVETAIL_FILE_PACKAGES)
install(DIRECTORY ${layers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dovetail COMPONENT dev FILES_MATCHING PATTERN "*.h")
configure_package_config_file(cmake/dovetail-config.cmake.in ${CMAKE_BINARY_DIR}/dovetail-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_BINDIR NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/dovetail-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/dovetail-config.cmake ${CMAKE_BINARY_DIR}/dovetail-config-version.cmake
  cmake/modules/FindDovetailLLVM.cmake cmake/modules/FindDovetailSystemC.cmake
  cmake/modules/FindDovetailYaml.cmake DESTINATION ${package_dir} COMPONENT dev)

# The C interface (capi/): each library is its own component, so that a program's user needs nothing else.
foreach(component c runtime_c)
  if(TARGET dovetail::${component})
    get_target_property(target dovetail::${component} ALIASED_TARGET)
    install(TARGETS ${target} EXPORT dovetail_capi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT dev)
    get_target_property(name ${target} OUTPUT_NAME)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pkgconfig/${name}.pc @ONLY CONTENT [[
prefix=${pcfiledir}/../..
libdir=${pcfiledir}/..
includedir=${prefix}/@CMAKE_INSTALL_INCLUDEDIR@/dovetail-1

Name: @name@
Description: C interface of @PROJECT_NAME@: @PROJECT_DESCRIPTION@
Version: @PROJECT_VERSION@
Cflags: -I${includedir}
Libs: -L${libdir} -l@name@
]])
    install(FILES ${CMAKE_BINARY_DIR}/pkgconfig/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
    install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${capi_package_${component}} RENAME copyright COMPONENT ${component})
  endif()
endforeach()
install(EXPORT dovetail_capi NAMESPACE dovetail:: FILE capi_targets.cmake DESTINATION ${package_dir} COMPONENT dev)
install(FILES capi/include/dovetail.h capi/include/dlpack.h capi/include/dlpack.LICENSE DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dovetail-1 COMPONENT dev)

# The Python package over the C interface, where Debian's interpreters look for packages.
install(DIRECTORY python/dovetail DESTINATION lib/python3/dist-packages COMPONENT python PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-dovetail RENAME copyright COMPONENT python)

# The programs, and the libraries that they load.
if(TARGET dovetail)
  install(TARGETS dovetail RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT kit)
endif()
if(TARGET dovetail_systemc_engine)
  install(TARGETS dovetail_systemc_engine LIBRARY DESTINATION lib/dovetail COMPONENT kit)
endif()
if(TARGET dovetail_mpi)
  install(TARGETS dovetail_mpi LIBRARY DESTINATION lib/dovetail COMPONENT kit)
endif()
# The design, for `dovetail rtl build` and `dovetail hw area`; its test bench includes the header.
install(DIRECTORY hw/rtl hw/soc hw/sva hw/syn hw/tb DESTINATION ${share}/hw COMPONENT kit)
install(FILES simulator/rtl/model_api.h DESTINATION ${share}/simulator/rtl COMPONENT kit)
install(FILES simulator/soc/model_api.h DESTINATION ${share}/simulator/soc COMPONENT kit)
# The energy table, whose rows `--energy FILE.json` replaces.
install(DIRECTORY explore/energy explore/technology DESTINATION ${share} COMPONENT kit FILES_MATCHING PATTERN "*.json")
install(DIRECTORY simulator/memory/dram DESTINATION ${share} COMPONENT kit)
install(DIRECTORY examples DESTINATION ${share} COMPONENT kit PATTERN __pycache__ EXCLUDE)

# Pages, next to the examples that they link to.
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${doc} COMPONENT kit)
install(DIRECTORY docs DESTINATION ${doc} COMPONENT kit)
# The file in which Debian expects a package's license.
install(FILES LICENSE DESTINATION ${doc} RENAME copyright COMPONENT kit)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libdovetail-dev RENAME copyright COMPONENT dev)
install(CODE "file(CREATE_LINK ../../dovetail/examples \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${doc}/examples SYMBOLIC)" COMPONENT kit)

# Completions of shells, which the program writes during the build. In Debian, zsh searches only vendor-completions in addition to its own folder.
if(TARGET completions)
  set(completions ${PROJECT_BINARY_DIR}/completions)
  install(FILES ${completions}/dovetail.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME dovetail COMPONENT kit)
  install(FILES ${completions}/_dovetail DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT kit)
  install(FILES ${completions}/_dovetail DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT kit)
  install(FILES ${completions}/dovetail.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT kit)
endif()

# Names of sources in messages of internal errors are the only part of the kit with paths of the build.
find_program(DOVETAIL_PYTHON NAMES python3 HINTS /usr/bin REQUIRED)
set(shorten "execute_process(COMMAND ${DOVETAIL_PYTHON} ${PROJECT_SOURCE_DIR}/tools/shorten_paths.py ${PROJECT_SOURCE_DIR}/ ${PROJECT_BINARY_DIR}/ --below")
set(prefix "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}")
install(CODE "${shorten} ${prefix}/${CMAKE_INSTALL_BINDIR}/dovetail ${prefix}/lib/dovetail COMMAND_ERROR_IS_FATAL ANY)" COMPONENT kit)
foreach(component dev c runtime_c)
  install(CODE "${shorten} ${prefix}/${CMAKE_INSTALL_LIBDIR} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component})
endforeach()

# The Python wheels (capi/wheel.cmake): a component each, which only python/CMakeLists.txt installs. Each package has what base/kit_folder.h searches a kit for.
if(TARGET wheel_compiler)
  set(wheel_package_runtime dovetail)
  set(wheel_sources_runtime python/dovetail)
  set(wheel_package_compiler dovetail_kit_compiler)
  set(wheel_sources_compiler python/kit/dovetail_kit_compiler)
  foreach(wheel runtime compiler)
    set(package ${wheel_package_${wheel}})
    set(only COMPONENT wheel_${wheel} EXCLUDE_FROM_ALL)
    install(DIRECTORY ${wheel_sources_${wheel}} DESTINATION . ${only} PATTERN __pycache__ EXCLUDE)
    install(TARGETS dovetail_wheel_${wheel} LIBRARY DESTINATION ${package}/lib ${only} NAMELINK_SKIP)
    install(DIRECTORY hw/rtl hw/soc hw/sva hw/tb DESTINATION ${package}/share/dovetail/hw ${only})
    install(FILES simulator/rtl/model_api.h DESTINATION ${package}/share/dovetail/simulator/rtl ${only})
    install(FILES simulator/soc/model_api.h DESTINATION ${package}/share/dovetail/simulator/soc ${only})
  endforeach()
  install(DIRECTORY hw/syn DESTINATION ${package}/share/dovetail/hw ${only})
  install(DIRECTORY explore/energy explore/technology DESTINATION ${package}/share/dovetail ${only} FILES_MATCHING PATTERN "*.json")
  install(DIRECTORY simulator/memory/dram DESTINATION ${package}/share/dovetail ${only})
  install(DIRECTORY examples/assembly examples/digits examples/explore examples/first_week DESTINATION ${package}/share/dovetail/examples ${only} PATTERN __pycache__ EXCLUDE)
  if(TARGET dovetail_wheel_systemc)
    install(TARGETS dovetail_wheel_systemc LIBRARY DESTINATION ${package}/lib/dovetail ${only})
  endif()
  foreach(wheel runtime compiler)
    set(libraries ${prefix}/${wheel_package_${wheel}}/lib)
    install(CODE "${shorten} ${libraries} ${libraries}/dovetail COMMAND_ERROR_IS_FATAL ANY)" COMPONENT wheel_${wheel} EXCLUDE_FROM_ALL)
  endforeach()
endif()
