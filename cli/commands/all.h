// Every command's factory; the list itself is all.cpp.
#pragma once

#include <memory>

#include "cli/shell/command.h"

namespace dovetail::cli {

std::unique_ptr<Command> make_compile();
std::unique_ptr<Command> make_export();
std::unique_ptr<Command> make_run();
std::unique_ptr<Command> make_evaluate();
std::unique_ptr<Command> make_quantize();
std::unique_ptr<Command> make_profile();
std::unique_ptr<Command> make_compare();
std::unique_ptr<Command> make_tune();
std::unique_ptr<Command> make_explore();
std::unique_ptr<Command> make_kernel();
std::unique_ptr<Command> make_queue();
std::unique_ptr<Command> make_serve();
std::unique_ptr<Command> make_simulate();
std::unique_ptr<Command> make_trace();
std::unique_ptr<Command> make_check();
std::unique_ptr<Command> make_asm();
std::unique_ptr<Command> make_debug();
std::unique_ptr<Command> make_disasm();
std::unique_ptr<Command> make_isa();
std::unique_ptr<Command> make_hw();
std::unique_ptr<Command> make_rtl();
std::unique_ptr<Command> make_soc();
std::unique_ptr<Command> make_records();
std::unique_ptr<Command> make_zoo();
std::unique_ptr<Command> make_inspect();
std::unique_ptr<Command> make_onnx_test();
std::unique_ptr<Command> make_operators();
std::unique_ptr<Command> make_certificates();
std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_completion();
std::unique_ptr<Command> make_help();

}  // namespace dovetail::cli
