#include "compiler/target/cpu/codegen/run_function.h"

#include <algorithm>

#include <fmt/format.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "base/check.h"
#include "bundle/code/kernel_abi.h"
#include "compiler/target/cpu/codegen/emitter.h"
#include "compiler/target/cpu/codegen/machine.h"

namespace dovetail::cpu {

namespace {

constexpr std::uint64_t kConstantAlignment = 16;

class RunBuilder {
 public:
  RunBuilder(llvm::Module& module, const RunFunction& run, const Cpu& cpu)
      : module_(module), builder_(module.getContext()), run_(run), cpu_(cpu) {}

  void build() {
    for (const std::span<const std::byte> bytes : run_.constants) constants_.push_back(constant(bytes));
    llvm::Type *pointer = builder_.getPtrTy(), *integer = builder_.getInt32Ty();
    llvm::Function* function =
        make_function(run_.symbol, llvm::FunctionType::get(integer, {pointer, pointer, pointer}, false),
                      llvm::GlobalValue::ExternalLinkage);
    const std::size_t operands = most_operands();
    llvm::Function* const fail = fail_function();
    builder_.SetInsertPoint(&function->getEntryBlock());
    // Two numbers: the first failure, or 0; and that of site 0 of the kernel that runs.
    failures_ = builder_.CreateAlloca(llvm::ArrayType::get(integer, 2), nullptr, "failures");
    llvm::Value* services = builder_.CreateAlloca(llvm::ArrayType::get(pointer, kServices), nullptr, "services");
    llvm::Value* buffers = builder_.CreateAlloca(llvm::ArrayType::get(pointer, operands), nullptr, "buffers");
    llvm::BasicBlock* body = block(function, "body");
    llvm::Value* address = builder_.CreatePtrToInt(function->getArg(2), word());
    llvm::Value* rest = builder_.CreateAnd(address, llvm::ConstantInt::get(word(), run_.arena_alignment - 1));
    llvm::BasicBlock* refused = block(function, "refused");
    builder_.CreateCondBr(builder_.CreateIsNull(rest), body, refused);
    builder_.SetInsertPoint(refused);
    builder_.CreateRet(builder_.getInt32(static_cast<std::uint32_t>(-1)));

    builder_.SetInsertPoint(body);
    builder_.CreateStore(builder_.getInt32(0), failures_);
    builder_.CreateStore(fail, at(services, kFail));
    builder_.CreateStore(failures_, at(services, kContext));
    for (const RunCall& call : run_.calls) {
      for (std::size_t i = 0; i < call.operands.size(); ++i)
        builder_.CreateStore(address_of(*function, call.operands[i]), at(buffers, i));
      builder_.CreateStore(in_arena(*function, call.shared), at(services, kShared));
      builder_.CreateStore(in_arena(*function, call.local), at(services, kLocal));
      if (call.fails) builder_.CreateStore(builder_.getInt32(call.first_failure), first_number());
      auto* const type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer}, false);
      llvm::FunctionCallee kernel = module_.getOrInsertFunction(call.kernel, type);
      llvm::cast<llvm::Function>(kernel.getCallee())->setVisibility(llvm::GlobalValue::HiddenVisibility);
      builder_.CreateCall(kernel, {services, buffers});
      if (call.fails) return_if_failed(function);
    }
    for (const RunCopy& copy : run_.copies)
      builder_.CreateMemCpy(address_of(*function, {RunOperand::Of::output, copy.output}), llvm::Align(1),
                            address_of(*function, copy.from), llvm::Align(1), copy.bytes);
    builder_.CreateRet(builder_.getInt32(0));
  }

 private:
  static constexpr std::size_t kServices = sizeof(bundle::KernelServices) / sizeof(void*);

  llvm::Type* word() { return cpu_.pointer_bytes() == 8 ? builder_.getInt64Ty() : builder_.getInt32Ty(); }
  llvm::BasicBlock* block(llvm::Function* function, const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, function);
  }
  llvm::Function* make_function(const std::string& name, llvm::FunctionType* type,
                                llvm::GlobalValue::LinkageTypes linkage) {
    auto* function = llvm::Function::Create(type, linkage, name, module_);
    function->addFnAttr("target-cpu", cpu_.llvm_cpu);
    if (!cpu_.llvm_features.empty()) function->addFnAttr("target-features", cpu_.llvm_features);
    function->setDoesNotThrow();
    block(function, "entry");
    return function;
  }

  llvm::GlobalVariable* constant(std::span<const std::byte> bytes) {
    llvm::Constant* value = llvm::ConstantDataArray::getRaw(
        llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()), bytes.size(), builder_.getInt8Ty());
    auto* global = new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::InternalLinkage, value,
                                            fmt::format("constant_{}", constants_.size()));
    global->setAlignment(llvm::Align(kConstantAlignment));
    return global;
  }

  std::size_t most_operands() const {
    std::size_t most = 1;
    for (const RunCall& call : run_.calls) most = std::max(most, call.operands.size());
    return most;
  }

  llvm::Value* at(llvm::Value* pointers, std::size_t index) {
    return builder_.CreateConstInBoundsGEP1_32(builder_.getPtrTy(), pointers, static_cast<unsigned>(index));
  }
  llvm::Value* first_number() { return builder_.CreateConstInBoundsGEP1_32(builder_.getInt32Ty(), failures_, 1); }
  llvm::Value* in_arena(llvm::Function& function, std::uint64_t offset) {
    return builder_.CreateInBoundsGEP(builder_.getInt8Ty(), function.getArg(2), llvm::ConstantInt::get(word(), offset));
  }

  llvm::Value* address_of(llvm::Function& function, const RunOperand& operand) {
    switch (operand.of) {
      case RunOperand::Of::constant: return constants_[operand.at];
      case RunOperand::Of::input: return builder_.CreateLoad(builder_.getPtrTy(), at(function.getArg(0), operand.at));
      case RunOperand::Of::output: return builder_.CreateLoad(builder_.getPtrTy(), at(function.getArg(1), operand.at));
      case RunOperand::Of::arena: return in_arena(function, operand.at);
    }
    throw InternalError("unknown operand");
  }

  // KernelServices::fail: keeps the first failure.
  llvm::Function* fail_function() {
    llvm::Type *pointer = builder_.getPtrTy(), *integer = builder_.getInt32Ty();
    llvm::Function* function = make_function(
        "fail", llvm::FunctionType::get(builder_.getVoidTy(), {pointer, integer, builder_.getInt64Ty()}, false),
        llvm::GlobalValue::InternalLinkage);
    builder_.SetInsertPoint(&function->getEntryBlock());
    llvm::Value* state = builder_.CreateLoad(pointer, at(function->getArg(0), kContext));
    llvm::Value* before = builder_.CreateLoad(integer, state);
    llvm::Value* base = builder_.CreateLoad(integer, builder_.CreateConstInBoundsGEP1_32(integer, state, 1));
    llvm::Value* number = builder_.CreateAdd(base, function->getArg(1));
    builder_.CreateStore(builder_.CreateSelect(builder_.CreateIsNull(before), number, before), state);
    builder_.CreateRetVoid();
    return function;
  }

  void return_if_failed(llvm::Function* function) {
    llvm::Value* failure = builder_.CreateLoad(builder_.getInt32Ty(), failures_);
    llvm::BasicBlock *failed = block(function, "failed"), *next = block(function, "next");
    builder_.CreateCondBr(builder_.CreateIsNull(failure), next, failed);
    builder_.SetInsertPoint(failed);
    builder_.CreateRet(failure);
    builder_.SetInsertPoint(next);
  }

  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  const RunFunction& run_;
  const Cpu& cpu_;
  llvm::Value* failures_ = nullptr;
  std::vector<llvm::GlobalVariable*> constants_;
};

}  // namespace

std::vector<std::byte> compile_run_function(const RunFunction& run, const Cpu& cpu) {
  llvm::LLVMContext context;
  llvm::Module module(run.symbol, context);
  const auto machine = make_machine(cpu);
  module.setTargetTriple(cpu.triple);
  module.setDataLayout(machine->createDataLayout());
  RunBuilder(module, run, cpu).build();
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  DOVETAIL_CHECK(!llvm::verifyModule(module, &stream), "the run function must be well-formed: " + stream.str());
  optimize(module, *machine);
  return write_object(module, *machine);
}

}  // namespace dovetail::cpu
