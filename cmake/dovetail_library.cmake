# dovetail_library(<layer> [DEPENDS <targets>...] [PRIVATE_DEPENDS <targets>...])
# Makes the static library dovetail_<layer>, alias dovetail::<layer>, of every .cpp below the calling folder. Sources are found by
# pattern, so a new file needs no edit here. Files under a folder named gen_tool/ are left out.
function(dovetail_library layer)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE_DEPENDS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  add_library(dovetail_${layer} STATIC ${sources})
  add_library(dovetail::${layer} ALIAS dovetail_${layer})
  set_target_properties(dovetail_${layer} PROPERTIES EXPORT_NAME ${layer})
  target_compile_features(dovetail_${layer} PUBLIC cxx_std_20)
  target_compile_options(dovetail_${layer} PRIVATE -Wall -Wextra -Wpedantic $<$<BOOL:${DOVETAIL_WERROR}>:-Werror>)
  target_include_directories(dovetail_${layer} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/dovetail>)
  target_link_libraries(dovetail_${layer} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY DOVETAIL_LIBRARIES dovetail_${layer})
endfunction()
