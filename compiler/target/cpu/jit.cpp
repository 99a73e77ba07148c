#include "compiler/target/cpu/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include "base/check.h"
#include "bundle/code/kernel_host.h"
#include "compiler/target/cpu/intrinsics.h"
#include "loops/interpreter.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

struct LoadedKernel::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  KernelObject object;
  bundle::Kernel kernel = nullptr;
};

Result<LoadedKernel> LoadedKernel::load(KernelObject object, const std::string& symbol) {
  // The object is one of ours: what LLVM cannot do with it here, it has no memory for.
  const auto no_memory = [](llvm::Error error) {
    return Diagnostic{"cannot run machine code while compiling", "", llvm::toString(std::move(error)),
                      "close other programs, or raise the limits (`ulimit -a`)", Cause::resource};
  };
  auto state = std::make_shared<State>();
  state->object = std::move(object);
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) return no_memory(jit.takeError());
  state->jit = std::move(*jit);
  const llvm::StringRef bytes(reinterpret_cast<const char*>(state->object.object.data()), state->object.object.size());
  if (llvm::Error error = state->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(bytes, symbol)))
    return no_memory(std::move(error));
  auto address = state->jit->lookup(symbol);
  if (!address) return no_memory(address.takeError());
  state->kernel = address->toPtr<bundle::Kernel>();
  LoadedKernel result;
  result.state_ = std::move(state);
  return result;
}

bundle::Kernel LoadedKernel::kernel() const { return state_->kernel; }
const KernelObject& LoadedKernel::object() const { return state_->object; }

struct JitProgram::State {
  std::vector<Parameter> parameters;
  LoadedKernel kernel;
  std::unique_ptr<bundle::KernelHost> host;
};

Result<JitProgram> JitProgram::make(const Program& program, const IntrinsicTable& intrinsics, const Cpu& cpu,
                                    int threads) {
  constexpr const char* kSymbol = "jit_kernel";
  DOVETAIL_ASSIGN(KernelObject compiled, compile_kernel(program, intrinsics, kSymbol, cpu));
  DOVETAIL_ASSIGN(LoadedKernel kernel, LoadedKernel::load(std::move(compiled), kSymbol));
  const KernelObject& object = kernel.object();
  auto host = std::make_unique<bundle::KernelHost>(threads, static_cast<std::size_t>(object.shared_bytes),
                                                   static_cast<std::size_t>(object.local_bytes));
  JitProgram result;
  result.state_ = std::make_shared<State>(State{program.parameters, std::move(kernel), std::move(host)});
  return result;
}

Result<std::vector<NdArray>> JitProgram::run(std::span<const NdArray> arguments) const {
  std::vector<NdArray> results;
  for (const Parameter& parameter : state_->parameters)
    if (parameter.role == ParameterRole::output) results.emplace_back(parameter.buffer->dtype, parameter.buffer->shape);
  std::vector<void*> buffers;
  std::size_t argument = 0, result = 0;
  for (const Parameter& parameter : state_->parameters) {
    if (parameter.role == ParameterRole::output) {
      buffers.push_back(results[result++].bytes().data());
      continue;
    }
    DOVETAIL_CHECK(argument < arguments.size() && arguments[argument].dtype() == parameter.buffer->dtype &&
                       arguments[argument].shape() == parameter.buffer->shape,
                   "arguments have the parameters' types");
    buffers.push_back(const_cast<std::byte*>(arguments[argument++].bytes().data()));  // kernels only read them
  }
  DOVETAIL_TRY(state_->host->run(state_->kernel.kernel(), buffers.data(), state_->kernel.object().failures, "JIT"));
  return results;
}

const std::vector<std::string>& JitProgram::notes() const { return state_->kernel.object().notes; }

passes::Evaluate jit_evaluate(const Cpu& cpu) {
  return [cpu](const Program& program, std::span<const NdArray> inputs) -> Result<std::vector<NdArray>> {
    constexpr double kWorthCompiling = 20e6;  // points: what the interpreter does in the time of compiling
    double points = 0;
    visit_stmts(program.body, [&](const Stmt& stmt) {
      const auto* block = std::get_if<Block>(&stmt->node);
      if (block == nullptr) return;
      double own = 1;
      for (const Iterator& iterator : block->iterators) own *= static_cast<double>(iterator.extent);
      points += own;
    });
    if (points < kWorthCompiling) return loops::evaluate(program, inputs);
    // Constants do not depend on the processor that the compiler runs on.
    DOVETAIL_ASSIGN(const JitProgram compiled, JitProgram::make(with_fixed_rounding(program), intrinsics(cpu), cpu));
    return compiled.run(inputs);
  };
}

}  // namespace dovetail::cpu
