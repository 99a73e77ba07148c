# The Verilated model of a configuration, for the tests that need it: where the cache of tests has none of the design as it is, one is built with
# little optimization.
set(ENV{XDG_CACHE_HOME} ${CACHE})
execute_process(COMMAND ${CLI} rtl find --hw ${CONFIG} RESULT_VARIABLE missing OUTPUT_VARIABLE found ERROR_QUIET)
if(missing)
  execute_process(COMMAND ${CLI} rtl build --hw ${CONFIG} --fast-build COMMAND_ERROR_IS_FATAL ANY)
else()
  message("there is ${found}")
endif()
