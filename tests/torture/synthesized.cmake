# Torture of a model whose dot product has the body that synthesis takes.
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CLI} rtl build --hw tiny --synthesis-dot --fast-build --into ${WORK} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB model ${WORK}/rtl-*.so)
execute_process(COMMAND ${TORTURE} 20000 --hw tiny --model ${model} COMMAND_ERROR_IS_FATAL ANY)
