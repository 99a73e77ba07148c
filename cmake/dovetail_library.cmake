# dovetail_library(<layer> [DEPENDS <targets>...] [PRIVATE_DEPENDS <targets>...] [EXCLUDE <regexes>...])
# Makes the static library dovetail_<layer>, alias dovetail::<layer>, of every .cpp below the calling folder. Sources are found by
# pattern, so a new file needs no edit here. A layer that has headers only becomes an INTERFACE library of the same name.
function(dovetail_library layer)
  # GCC 12.2 loses the rounding of (double)(float)x when it vectorises two of them side by side (-O2 and -O3: two neighbouring stores suffice).
  # Scales of the integer form and binary32 arithmetic of the interpreter rest on that rounding.
  set(exact $<$<CXX_COMPILER_ID:GNU>:-fno-tree-slp-vectorize>)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE_DEPENDS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  if(sources)
    set(scope PUBLIC)
    add_library(dovetail_${layer} STATIC ${sources})
    target_compile_options(dovetail_${layer} PRIVATE ${DOVETAIL_WARNINGS} ${exact})
    target_link_libraries(dovetail_${layer} PRIVATE ${ARG_PRIVATE_DEPENDS})
    dovetail_precompile(dovetail_${layer} dovetail_base)
    # Sources with compile options or definitions of their own stay alone. No two files of a library may give one name two meanings in unnamed namespaces.
    set_target_properties(dovetail_${layer} PROPERTIES UNITY_BUILD ${DOVETAIL_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  else()
    set(scope INTERFACE)
    add_library(dovetail_${layer} INTERFACE)
  endif()
  add_library(dovetail::${layer} ALIAS dovetail_${layer})
  set_target_properties(dovetail_${layer} PROPERTIES EXPORT_NAME ${layer})
  target_compile_features(dovetail_${layer} ${scope} cxx_std_20)
  target_include_directories(dovetail_${layer} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/dovetail>)
  target_link_libraries(dovetail_${layer} ${scope} ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY DOVETAIL_LAYERS ${layer})
endfunction()
