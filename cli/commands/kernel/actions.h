// The actions of `dovetail kernel`, each in the file of its name.
#pragma once

#include <array>
#include <string_view>

#include "base/result.h"
#include "cli/commands/kernel/arguments.h"
#include "cli/shell/command.h"

namespace dovetail::cli {

Result<Exit> kernel_print(const KernelArguments& arguments);
Result<Exit> kernel_mlir(const KernelArguments& arguments);
Result<Exit> kernel_check(const KernelArguments& arguments);
Result<Exit> kernel_run(const KernelArguments& arguments);
Result<Exit> kernel_compile(const KernelArguments& arguments);
Result<Exit> kernel_edit(const KernelArguments& arguments);
Result<Exit> kernel_tune(const KernelArguments& arguments);
Result<Exit> kernel_profile(const KernelArguments& arguments);
Result<Exit> kernel_compare(const KernelArguments& arguments);
Result<Exit> kernel_export(const KernelArguments& arguments);
Result<Exit> kernel_bench(const KernelArguments& arguments);

struct KernelAction {
  std::string_view name, summary;
  std::string_view options;  // those that it takes, in addition to the ones of all actions
  Result<Exit> (*run)(const KernelArguments& arguments);
};

// clang-format off
inline constexpr std::array<KernelAction, 11> kKernelActions{{
    {"print", "the program, after its schedule", "", kernel_print},
    {"check", "whether program and schedule are valid, and for a target that it takes them", "--target", kernel_check},
    {"run", "the program on a target",
     "--target --engine --input --seed --threads --output-dir --check --limit", kernel_run},
    {"edit", "steps of a schedule, tried one by one at a prompt",
     "--target --engine --input --seed --threads -x --limit", kernel_edit},
    {"tune", "the fastest values of the samples of a schedule, or of the compiler's own schedule",
     "--target --input --seed --threads --trials --search -o --limit", kernel_tune},
    {"profile", "its speed compared with the machine's",
     "--target --engine --input --seed --threads --repeat --html --limit", kernel_profile},
    {"compare", "several targets", "--target --engine --input --seed --threads --repeat --limit", kernel_compare},
    {"bench", "its speed compared with a C function",
     "--baseline --input --seed --threads --limit", kernel_bench},
    {"compile", "a bundle for `dovetail run`, `profile` and `export`", "--target -o", kernel_compile},
    {"export", "C, or an object", "--input --seed -o --name --format", kernel_export},
    {"mlir", "a module of MLIR", "-o --mlir-dialects", kernel_mlir},
}};
// clang-format on

}  // namespace dovetail::cli
