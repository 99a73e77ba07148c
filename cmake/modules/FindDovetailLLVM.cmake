# LLVM 19.1 with lld for dovetail::cpu, in the kit's build and in find_package(dovetail): the target DovetailLLVM::lld, which has the libraries that are linked.
if(NOT TARGET DovetailLLVM::lld)
  # LLVM's package compiles C if it finds libedit, which a project with only C++ cannot; libedit is needed only for LLVM's line editor, which is not used here.
  set(CMAKE_DISABLE_FIND_PACKAGE_LibEdit TRUE)
  find_package(LLVM 19.1 QUIET CONFIG)
  unset(CMAKE_DISABLE_FIND_PACKAGE_LibEdit)
  if(LLVM_FOUND)
    find_library(DOVETAIL_LLD_ELF NAMES liblldELF.a PATHS ${LLVM_LIBRARY_DIRS} NO_DEFAULT_PATH)
    find_library(DOVETAIL_LLD_COMMON NAMES liblldCommon.a PATHS ${LLVM_LIBRARY_DIRS} NO_DEFAULT_PATH)
    mark_as_advanced(DOVETAIL_LLD_ELF DOVETAIL_LLD_COMMON)
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(DovetailLLVM REQUIRED_VARS LLVM_LIBRARY_DIRS DOVETAIL_LLD_ELF DOVETAIL_LLD_COMMON
  REASON_FAILURE_MESSAGE "On Debian and Ubuntu: sudo apt-get install llvm-19-dev liblld-19-dev")
if(DovetailLLVM_FOUND AND NOT TARGET DovetailLLVM::lld)
  add_library(DovetailLLVM::lld INTERFACE IMPORTED)
  # z by name, after lld that needs it: CMake would keep only the earlier one of dovetail::base.
  target_link_libraries(DovetailLLVM::lld INTERFACE ${DOVETAIL_LLD_ELF} ${DOVETAIL_LLD_COMMON} ${LLVM_LIBRARY_DIRS}/libLLVM.so zstd z)
endif()
