# Installs the built kit in a fresh folder, builds tests/install/consumer against it as a user would, and runs the result.
set(work ${BINARY_DIR}/tests/install)
file(REMOVE_RECURSE ${work})
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE output ECHO_ERROR_VARIABLE)
  message("${output}")
endfunction()
run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${work}/build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${CXX_FLAGS} -DCMAKE_PREFIX_PATH=${work}/prefix)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/consumer ${work}/array.npy)
run(${work}/build/records ${work}/records.db)
run(${work}/build/no_llvm)

# The installed kit knows the areas of the named configurations.
run(${CMAKE_COMMAND} -E env --unset=DOVETAIL_HW PATH=/nonexistent ${work}/prefix/bin/dovetail hw area tiny --flow xc7)

# The installed kit verilates the design that it brought along.
find_program(VERILATOR verilator)
if(VERILATOR)
  set(rtl ${work}/prefix/bin/dovetail rtl build --hw tiny --fast-build --into ${work}/models)
  run(${CMAKE_COMMAND} -E env --unset=DOVETAIL_HW ${rtl})
  file(APPEND ${work}/prefix/share/dovetail/hw/rtl/dovetail_alu.sv "not SystemVerilog")
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=DOVETAIL_HW ${rtl} RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(NOT result EQUAL 1)
    message(FATAL_ERROR "the installed kit does not use its own design: dovetail rtl build left with ${result}")
  endif()
endif()
