# libyaml for dovetail::driver, in the kit's build and in find_package(dovetail): the target DovetailYaml::yaml.
find_path(DOVETAIL_YAML_INCLUDE_DIR yaml.h)
find_library(DOVETAIL_YAML_LIBRARY yaml)
mark_as_advanced(DOVETAIL_YAML_INCLUDE_DIR DOVETAIL_YAML_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(DovetailYaml REQUIRED_VARS DOVETAIL_YAML_LIBRARY DOVETAIL_YAML_INCLUDE_DIR)
if(DovetailYaml_FOUND AND NOT TARGET DovetailYaml::yaml)
  add_library(DovetailYaml::yaml UNKNOWN IMPORTED)
  set_target_properties(DovetailYaml::yaml PROPERTIES IMPORTED_LOCATION ${DOVETAIL_YAML_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${DOVETAIL_YAML_INCLUDE_DIR})
endif()
