# `cpack` (./dev package): five packages for Debian. dovetail has the program and its run-time files; libdovetail1 and libdovetail-runtime1 have the shared
# libraries of the C interface; python3-dovetail has the package for Python; libdovetail-dev has headers and libraries.
# dpkg-shlibdeps finds the packages that programs and shared objects need; the lists below are the packages that it cannot find.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dovetail)
set(CPACK_PACKAGE_VENDOR "Dovetail")
set(CPACK_PACKAGE_CONTACT "The Dovetail developers <dovetail@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL kit dev c runtime_c python)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_KIT_PACKAGE_NAME dovetail)
set(CPACK_DEBIAN_KIT_PACKAGE_SECTION science)
set(CPACK_COMPONENT_KIT_DESCRIPTION "accelerator co-design kit: from ONNX to hardware
 From an ONNX model, Dovetail makes programs for a decoupled access-execute
 accelerator of the VTA kind, for CPUs and for GPUs, runs them on exact
 simulators and on the design itself, and reports what runs where, what it
 costs and whether it is right.")
# Recommended: Verilator and a compiler for engine rtl; the tuner's ranking; target onednn; line editing. Suggested: Yosys for areas of configurations without results in the kit; NumPy for .npy files.
set(CPACK_DEBIAN_KIT_PACKAGE_RECOMMENDS "verilator, g++, libxgboost0, libdnnl2 | libdnnl3, libedit2")
set(CPACK_DEBIAN_KIT_PACKAGE_SUGGESTS "libdovetail-dev, yosys, python3-numpy, python3-onnx")

foreach(component c runtime_c)
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${capi_package_${component}})
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_SECTION libs)
endforeach()
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_COMPONENT_C_DESCRIPTION "accelerator co-design kit: C interface
 The shared library that compiles, runs, simulates, tunes and explores.")
set(CPACK_DEBIAN_C_PACKAGE_RECOMMENDS "dovetail, libxgboost0, libdnnl2 | libdnnl3")
set(CPACK_COMPONENT_RUNTIME_C_DESCRIPTION "accelerator co-design kit: C interface of the runtime
 The shared library that runs compiled models, without the compiler.")
set(CPACK_DEBIAN_RUNTIME_C_PACKAGE_SUGGESTS "dovetail, libdnnl2 | libdnnl3")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-dovetail)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "accelerator co-design kit: package for Python
 The package dovetail, which compiles, runs, simulates, tunes and explores
 through the C interface of the kit.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.9), python3-numpy, libdovetail1 (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-onnx, python3-pandas, python3-matplotlib, python3-tqdm")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libdovetail-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEV_DESCRIPTION "accelerator co-design kit: libraries and headers
 Libraries of Dovetail for C++ and C, their headers, and the packages for CMake's
 find_package(dovetail) and pkg-config.")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "dovetail (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libfmt-dev, nlohmann-json3-dev, zlib1g-dev, libssl-dev, libseccomp-dev, \
libsqlite3-dev, libdovetail1 (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), \
libdovetail-runtime1 (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
# A compiler and CMake; the packages that dovetail::cpu and dovetail::systemc need, which find_package otherwise leaves out.
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "g++, cmake, llvm-19-dev, liblld-19-dev, libsystemc-dev, pkgconf")
include(CPack)
