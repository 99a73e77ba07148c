#include "cli/commands/all.h"

#include <array>

namespace dovetail::cli {

std::span<const CommandRow> all_commands() {
  static constexpr auto kCommands = std::to_array<CommandRow>({
      {"compile", "compile an ONNX model into a bundle, and report what runs where", make_compile},
      {"export", "write a model as C99 or as machine code, with a test, to run without the kit", make_export},
      {"run", "run an ONNX model or a bundle", make_run},
      {"evaluate", "run a model on many samples: accuracy, and agreement with another model or target", make_evaluate},
      {"quantize", "quantize a float model to int8, with ranges from samples, and report the loss of accuracy",
       make_quantize},
      {"profile", "time a model step by step, compared with the processor's peak", make_profile},
      {"compare", "run models on several targets and configurations, side by side", make_compare},
      {"tune", "search the schedules of a model's kernels for faster ones, and record them", make_tune},
      {"explore", "measure a space of design points for models: latency, area, energy, and the front", make_explore},
      {"kernel", "print, check, run and compile your own loop program, with a schedule by hand", make_kernel},
      {"queue", "lease boards to clients, which run their commands there with --on", make_queue},
      {"serve", "run commands of a queue's clients on this machine", make_serve},
      {"simulate", "run a raw accelerator program on a memory image", make_simulate},
      {"debug", "run a raw program, or a region of a bundle, up to any point, and inspect its state", make_debug},
      {"trace", "summarize a trace of an engine with a clock, or compare two traces", make_trace},
      {"check", "verify a raw accelerator program: races, deadlock, illegal instructions", make_check},
      {"asm", "assemble text into a raw program", make_asm},
      {"disasm", "print a raw program as assembly text", make_disasm},
      {"isa", "print the instruction set as documentation or as constants", make_isa},
      {"hw", "list and show hardware configurations, and their chip area", make_hw},
      {"rtl", "build the Verilated model of a hardware configuration", make_rtl},
      {"soc", "run a model as firmware on a system on chip: RISC-V processor and accelerator", make_soc},
      {"records", "list, show, merge, export and import the records of tuning", make_records},
      {"zoo", "write a known topology with pseudo-random weights as an ONNX model", make_zoo},
      {"inspect", "describe a file: bundle, model, array, configuration, report, program", make_inspect},
      {"operators", "print the supported operators: versions, types, attributes, and each target's rules",
       make_operators},
      {"onnx-test", "run tests in the format of the ONNX backend tests, and report which pass", make_onnx_test},
      {"certificates", "make, renew and revoke the certificates of a queue, its boards and its clients",
       make_certificates},
      {"doctor", "report which engines and targets work here, and what is missing", make_doctor},
      {"completion", "print the script by which bash, zsh or fish completes this command line", make_completion},
      {"help", "describe a command, or list all commands", make_help},
  });
  return kCommands;
}

}  // namespace dovetail::cli
