# The libraries of the Python wheels (./dev wheel): those of the C interface, for any machine with glibc 2.35 or later. LLVM (X86 alone), lld, OpenSSL, SQLite,
# zlib, zstd and libstdc++ are linked in from archives, and fmt is compiled in. libpng, libjpeg and libyaml, whose archives are not made for shared libraries, and SystemC
# are added to the wheel by auditwheel. libgcc_s stays shared: it unwinds for the whole process, and every system has it.
# The targets wheel_runtime and wheel_compiler make them of the objects of the build; cmake/install.cmake has the components of these names.
if(NOT DOVETAIL_HAS_LLD)
  return()  # the order of archives and shared libraries below is lld's
endif()

# lld takes a symbol from what defines it first. So archives precede the shared libraries that the kit's own libraries name, which are then not needed.
set(archives)
foreach(name ssl crypto z zstd)
  find_library(DOVETAIL_ARCHIVE_${name} lib${name}.a)
  if(NOT DOVETAIL_ARCHIVE_${name})
    return()
  endif()
  list(APPEND archives ${DOVETAIL_ARCHIVE_${name}})
endforeach()
set(llvm_archives)
set(other_targets ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM other_targets X86)
list(JOIN other_targets "|" other_targets)
foreach(library ${LLVM_AVAILABLE_LIBS})
  if(NOT library MATCHES "^LLVM(${other_targets})" AND EXISTS ${LLVM_LIBRARY_DIRS}/lib${library}.a)
    list(APPEND llvm_archives ${LLVM_LIBRARY_DIRS}/lib${library}.a)
  endif()
endforeach()

add_library(dovetail_wheel_fmt STATIC EXCLUDE_FROM_ALL wheel/fmt.cpp)
target_link_libraries(dovetail_wheel_fmt PRIVATE fmt::fmt-header-only)
target_compile_options(dovetail_wheel_fmt PRIVATE -fkeep-inline-functions)
add_library(dovetail_wheel_llvm STATIC EXCLUDE_FROM_ALL wheel/llvm.cpp)
target_include_directories(dovetail_wheel_llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})

# dovetail_wheel_library(<target> <name of the wheel's component> <folder in the package>)
function(dovetail_wheel_library target component folder)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON SKIP_BUILD_RPATH ON VERSION 1  # a wheel has no links
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/wheel/${component}/${folder})
  # Names the archives, whose licenses the wheel has (tools/wheel_licenses.py).
  target_link_options(${target} PRIVATE LINKER:--dependency-file=${PROJECT_BINARY_DIR}/wheel/${component}/${target}.d)
  if(NOT TARGET ${component})
    add_custom_target(${component})
  endif()
  add_dependencies(${component} ${target})
endfunction()

dovetail_capi_library(dovetail_wheel_runtime wheel_runtime 0 dovetail_wheel_fmt ${archives} dovetail_capi_runtime dovetail_runtime)
set_target_properties(dovetail_wheel_runtime PROPERTIES OUTPUT_NAME dovetail_runtime)
target_link_options(dovetail_wheel_runtime PRIVATE -static-libstdc++)
dovetail_wheel_library(dovetail_wheel_runtime wheel_runtime lib)

dovetail_capi_library(dovetail_wheel_compiler wheel_compiler 1 ${sqlite} dovetail_wheel_fmt dovetail_wheel_llvm ${archives} ${llvm_archives}
  dovetail_capi_runtime dovetail_capi_compiler dovetail_cli)
set_target_properties(dovetail_wheel_compiler PROPERTIES OUTPUT_NAME dovetail)
target_link_options(dovetail_wheel_compiler PRIVATE -static-libstdc++)
dovetail_wheel_library(dovetail_wheel_compiler wheel_compiler lib)

# libstdc++ stays shared in it, since SystemC's library throws through it.
if(TARGET dovetail_systemc)
  add_library(dovetail_wheel_systemc MODULE ${PROJECT_SOURCE_DIR}/simulator/systemc/engine.cpp)
  target_link_libraries(dovetail_wheel_systemc PRIVATE dovetail_wheel_fmt ${archives} dovetail_systemc)
  target_compile_options(dovetail_wheel_systemc PRIVATE -Wall -Wextra -fvisibility=hidden)
  target_link_options(dovetail_wheel_systemc PRIVATE LINKER:--exclude-libs,ALL LINKER:--as-needed LINKER:--gc-sections -fuse-ld=lld)
  set_target_properties(dovetail_wheel_systemc PROPERTIES OUTPUT_NAME dovetail_systemc_engine)
  dovetail_wheel_library(dovetail_wheel_systemc wheel_compiler lib/dovetail)
endif()
