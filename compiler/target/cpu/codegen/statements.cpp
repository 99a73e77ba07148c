// Statements: loops by kind, conditions as branches or masks, and the frames of kernels and parallel bodies.
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <llvm/IR/MDBuilder.h>

#include "base/check.h"
#include "compiler/target/cpu/codegen/emitter.h"
#include "loops/sharing.h"

namespace dovetail::cpu {

using namespace loops;

Emitter::Emitter(llvm::Module& module, const Cpu& cpu, const CoreProgram& core,
                 const std::vector<Parameter>& parameters, const Workspace& workspace, const TileRegisters& tiles,
                 std::map<std::string, double> sum_bounds)
    : module_(module),
      context_(module.getContext()),
      cpu_(cpu),
      core_(core),
      parameters_(parameters),
      workspace_(workspace),
      tiles_(tiles),
      sum_bounds_(std::move(sum_bounds)),
      builder_(context_) {
  // Buffers do not overlap: an access belongs to the alias scope of its buffer and does not alias the others. With very
  // many buffers, the lists of scopes would exceed the code.
  constexpr std::size_t kMostScopes = 256;
  if (parameters_.size() + core_.temporary.size() > kMostScopes) return;
  llvm::MDBuilder metadata(context_);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain("kernel");
  std::vector<std::pair<const BufferNode*, llvm::Metadata*>> all;
  const auto add = [&](const Buffer& buffer) {
    llvm::MDNode* scope = metadata.createAnonymousAliasScope(domain, buffer->name);
    scopes_[buffer.get()] = llvm::MDNode::get(context_, {scope});
    all.emplace_back(buffer.get(), scope);
  };
  for (const Parameter& parameter : parameters_) add(parameter.buffer);
  for (const Buffer& buffer : core_.temporary) add(buffer);
  for (const auto& [buffer, scope] : all) {
    std::vector<llvm::Metadata*> others;
    for (const auto& [other, other_scope] : all)
      if (other != buffer) others.push_back(other_scope);
    others_[buffer] = llvm::MDNode::get(context_, others);
  }
  std::vector<llvm::Metadata*> every;
  for (const auto& [buffer, scope] : all) every.push_back(scope);
  every_scope_ = llvm::MDNode::get(context_, every);
}

void Emitter::set_processor(llvm::Function* function) const {
  function->addFnAttr("target-cpu", cpu_.llvm_cpu);
  if (!cpu_.llvm_features.empty()) function->addFnAttr("target-features", cpu_.llvm_features);
  if (cpu_.vector_bytes == kWidestVectorBytes) {
    const std::string bits = std::to_string(8 * cpu_.vector_bytes);
    function->addFnAttr("prefer-vector-width", bits);
    function->addFnAttr("min-legal-vector-width", bits);
  }
}

void Emitter::enter_frame(llvm::Function* function) {
  frame_ = {};
  frame_.function = function;
  set_processor(function);
  function->setDoesNotThrow();
  llvm::BasicBlock::Create(context_, "entry", function);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "body", function));
}

void Emitter::close_frame(llvm::BasicBlock* body) {
  if (frame_.uses_tiles) release_tiles();
  builder_.CreateRetVoid();
  builder_.SetInsertPoint(&frame_.function->getEntryBlock());
  if (frame_.uses_tiles) configure_tiles();
  builder_.CreateBr(body);
  if (cpu_.check_bounds) check_bounds();
}

llvm::Value* Emitter::service(unsigned field, llvm::Type* type) {
  llvm::Type* pointer = llvm::PointerType::get(context_, 0);
  return load_unchanging(type, builder_.CreateConstGEP1_32(pointer, frame_.services, field));
}

llvm::LoadInst* Emitter::load_unchanging(llvm::Type* type, llvm::Value* pointer) {
  auto* load = builder_.CreateLoad(type, pointer);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  if (every_scope_ != nullptr) load->setMetadata(llvm::LLVMContext::MD_noalias, every_scope_);
  return load;
}

void Emitter::emit_kernel(const std::string& symbol) {
  llvm::Type* pointer = llvm::PointerType::get(context_, 0);
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module_);
  if (cpu_.is_exported) function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  enter_frame(function);
  frame_.services = function->getArg(0);
  frame_.buffers = function->getArg(1);
  llvm::BasicBlock& entry = function->getEntryBlock();
  {
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    builder_.SetInsertPoint(&entry);
    frame_.local = service(kLocal, pointer);
  }
  llvm::BasicBlock* body = builder_.GetInsertBlock();
  if (core_.body) emit(core_.body);
  close_frame(body);
}

void Emitter::emit(const Core& core) {
  std::visit([&](const auto& n) { emit_node(n); }, core->node);
}

void Emitter::emit_node(const CoreSequence& n) {
  for (std::size_t i = 0; i < n.body.size(); ++i) {
    const std::size_t before = frame_.spreads.size();
    spread_before_sum(n, i);
    emit(n.body[i]);
    frame_.spreads.resize(before);
  }
}

void Emitter::emit_node(const CoreLoop& n) {
  depth_[n.var.get()] = static_cast<int>(depth_.size()) + 1;
  if (n.kind == ForKind::parallel && !parallel_ && lane_var_ == nullptr && !cpu_.is_exported) {
    emit_parallel(n);
  } else if (n.kind == ForKind::vectorized && lane_var_ == nullptr) {
    emit_vector(n);
  } else {
    if (n.kind == ForKind::vectorized)
      notes.push_back(fmt::format("loop {} is not vectorized: it is inside a vectorized loop", n.var->name));
    emit_serial(n);
  }
  depth_.erase(n.var.get());
}

void Emitter::counted_loop(llvm::Value* begin, llvm::Value* end, const std::string& name,
                           const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(context_, name, frame_.function);
  auto* done = llvm::BasicBlock::Create(context_, name + ".done", frame_.function);
  llvm::BasicBlock* const around = std::exchange(frame_.done, done);
  const bool never_empty = llvm::isa<llvm::ConstantInt>(begin) && llvm::isa<llvm::ConstantInt>(end);
  // Counters have the width of the registers.
  llvm::Type* counter = cpu_.pointer_bytes() == 8 ? builder_.getInt64Ty() : builder_.getInt32Ty();
  begin = builder_.CreateTrunc(begin, counter), end = builder_.CreateTrunc(end, counter);
  if (never_empty) {
    builder_.CreateBr(head);
  } else {
    builder_.CreateCondBr(builder_.CreateICmpSLT(begin, end), head, done);
  }
  builder_.SetInsertPoint(head);
  llvm::PHINode* i = builder_.CreatePHI(counter, 2, name);
  i->addIncoming(begin, before);
  body(builder_.CreateSExt(i, builder_.getInt64Ty()));
  llvm::Value* next = builder_.CreateAdd(i, llvm::ConstantInt::get(counter, 1), "", true, true);
  i->addIncoming(next, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpSLT(next, end), head, done);
  builder_.SetInsertPoint(done);
  frame_.done = around;
}

// Ends the loop around before the rest of an iteration.
void Emitter::leave_unless(llvm::Value* condition) {
  auto* proceed = llvm::BasicBlock::Create(context_, "proceed", frame_.function);
  builder_.CreateCondBr(condition, proceed, frame_.done);
  builder_.SetInsertPoint(proceed);
}

void Emitter::emit_serial(const CoreLoop& n) {
  const Sums sums = sums_in(n);
  if (sums.loops == 1) fetch_shares(nullptr);
  llvm::Value* const extent = builder_.getInt64(static_cast<std::uint64_t>(n.extent));
  // What differs between lanes is left to the conditions inside.
  const auto limit = [&](const Expr& expr, llvm::Value* otherwise) {
    const Value value = expr ? emit(expr) : Value{};
    if (!expr || value.varying) return otherwise;
    llvm::Value* const least = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value.llvm, builder_.getInt64(0));
    return static_cast<llvm::Value*>(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, least, extent));
  };
  llvm::Value* const first = limit(n.first, builder_.getInt64(0));
  counted_loop(first, limit(n.end, extent), n.var->name, [&](llvm::Value* i) {
    frame_.vars[n.var.get()] = i;
    if (n.proceed)
      if (const Value proceed = emit(n.proceed); !proceed.varying) leave_unless(proceed.llvm);
    frame_.serial.push_back({n.var.get(), n.extent, frame_.branches, {}, {}});
    std::vector<Spread> around = enter_iteration(n, i);
    emit(n.body);
    frame_.spreads = std::move(around);
    fetch_ahead(frame_.serial.back(), i);
    frame_.serial.pop_back();
    frame_.vars.erase(n.var.get());
  });
  pass(sums);
}

void Emitter::emit_vector(const CoreLoop& n) {
  lane_var_ = n.var.get();
  lanes_ = static_cast<unsigned>(n.extent);
  emit(n.body);
  lane_var_ = nullptr;
  lanes_ = 0;
}

// Outlines the body as a function of a range of iterations; values from outside are passed in an array of 64-bit slots.
void Emitter::emit_parallel(const CoreLoop& n) {
  llvm::Type* pointer = llvm::PointerType::get(context_, 0);
  llvm::Type* slot = builder_.getInt64Ty();
  std::vector<std::pair<const VarNode*, llvm::Value*>> captured(frame_.vars.begin(), frame_.vars.end());
  llvm::Value* closure;
  {
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    builder_.SetInsertPoint(&frame_.function->getEntryBlock());
    closure = builder_.CreateAlloca(llvm::ArrayType::get(slot, captured.size() + 2), nullptr, "closure");
  }
  frame_.own.insert(closure);
  builder_.CreateStore(frame_.services, closure);
  builder_.CreateStore(frame_.buffers, builder_.CreateConstGEP1_64(slot, closure, 1));
  for (std::size_t i = 0; i < captured.size(); ++i)
    builder_.CreateStore(captured[i].second, builder_.CreateConstGEP1_64(slot, closure, i + 2));

  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, slot, slot, pointer}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage,
                                          frame_.function->getName() + "." + n.var->name, module_);
  auto* run = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer, pointer, slot}, false);
  builder_.CreateCall(run, service(kParallelFor, pointer),
                      {frame_.services, function, closure, builder_.getInt64(static_cast<std::uint64_t>(n.extent))});

  const Frame saved = frame_;
  {
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    enter_frame(function);
    parallel_ = true;
    llvm::BasicBlock& entry = function->getEntryBlock();
    llvm::BasicBlock* body = builder_.GetInsertBlock();
    builder_.SetInsertPoint(&entry);
    frame_.services = builder_.CreateLoad(pointer, function->getArg(0));
    frame_.buffers = builder_.CreateLoad(pointer, builder_.CreateConstGEP1_64(slot, function->getArg(0), 1));
    for (std::size_t i = 0; i < captured.size(); ++i)
      frame_.vars[captured[i].first] =
          builder_.CreateLoad(slot, builder_.CreateConstGEP1_64(slot, function->getArg(0), i + 2));
    frame_.local = function->getArg(3);
    builder_.SetInsertPoint(body);
    counted_loop(function->getArg(1), function->getArg(2), n.var->name, [&](llvm::Value* i) {
      frame_.vars[n.var.get()] = i;
      enter_iteration(n, i);
      emit(n.body);
    });
    close_frame(body);
    parallel_ = false;
  }
  frame_ = saved;
}

void Emitter::emit_node(const CoreIf& n) {
  const Value condition = emit(n.condition);
  if (condition.varying) {
    llvm::Value* saved = mask_;
    mask_ = active(condition.llvm);
    if (n.then_body) emit(n.then_body);
    mask_ = saved;
    if (n.else_body) {
      mask_ = active(builder_.CreateNot(condition.llvm));
      emit(n.else_body);
      mask_ = saved;
    }
    return;
  }
  auto* then_block = llvm::BasicBlock::Create(context_, "if.then", frame_.function);
  auto* else_block = n.else_body ? llvm::BasicBlock::Create(context_, "if.else", frame_.function) : nullptr;
  auto* join = llvm::BasicBlock::Create(context_, "if.join", frame_.function);
  builder_.CreateCondBr(condition.llvm, then_block, else_block ? else_block : join);
  ++frame_.branches;
  const std::vector<Spread> before = frame_.spreads;
  builder_.SetInsertPoint(then_block);
  if (n.then_body) emit(n.then_body);
  builder_.CreateBr(join);
  frame_.spreads = before;
  if (else_block) {
    builder_.SetInsertPoint(else_block);
    emit(n.else_body);
    builder_.CreateBr(join);
    frame_.spreads = before;
  }
  const Sums a = sums_in(n.then_body), b = sums_in(n.else_body);
  pass({std::max(a.loops, b.loops), std::max(a.steps, b.steps)});
  --frame_.branches;
  builder_.SetInsertPoint(join);
}

void Emitter::emit_node(const CoreStore& n) {
  std::vector<Expr> expressions;
  for (const StoreTarget& target : n.targets) {
    expressions.insert(expressions.end(), target.indices.begin(), target.indices.end());
    expressions.push_back(target.value);
  }
  computed_by_both_ = {};
  if (worth_sharing(expressions)) shared_.emplace_back();
  std::vector<Value> values;
  for (const StoreTarget& target : n.targets) {
    const auto word_sum = emit_word_sum(target);
    values.push_back(word_sum ? *word_sum : n.product_sum ? emit_product_sum(target) : emit(target.value));
  }
  std::vector<Place> places;
  for (const StoreTarget& target : n.targets) places.push_back(place_of(target.buffer, target.indices));
  for (std::size_t i = 0; i < n.targets.size(); ++i) store_to(n.targets[i].buffer, places[i], values[i]);
  shared_.clear();
}

void Emitter::fail_where(Value broken, const std::string& message, Value value) {
  llvm::Value* condition = broken.llvm;
  llvm::Value* shown = value.llvm;
  if (broken.varying) {
    condition = active(condition);
    llvm::Type* type = shown->getType();
    llvm::Value* none = number(type, 0);
    shown = value.varying ? builder_.CreateOrReduce(builder_.CreateSelect(condition, shown, none)) : shown;
    condition = builder_.CreateOrReduce(condition);
  } else if (mask_) {
    condition = builder_.CreateAnd(condition, builder_.CreateOrReduce(mask_));
  }
  auto* report = llvm::BasicBlock::Create(context_, "failure", frame_.function);
  auto* go_on = llvm::BasicBlock::Create(context_, "checked", frame_.function);
  builder_.CreateCondBr(condition, report, go_on, llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  builder_.SetInsertPoint(report);
  report_failure(builder_.getInt32(site_of(message)), shown);
  builder_.CreateBr(go_on);
  builder_.SetInsertPoint(go_on);
}

std::uint32_t Emitter::site_of(const std::string& message) {
  const auto known = std::find(failures.begin(), failures.end(), message);
  const auto site = static_cast<std::uint32_t>(known - failures.begin());
  if (known == failures.end()) failures.push_back(message);
  return site;
}

void Emitter::report_failure(llvm::Value* site, llvm::Value* value) {
  llvm::Type* pointer = llvm::PointerType::get(context_, 0);
  auto* type =
      llvm::FunctionType::get(builder_.getVoidTy(), {pointer, builder_.getInt32Ty(), builder_.getInt64Ty()}, false);
  llvm::CallInst* call =
      builder_.CreateCall(type, service(kFail, pointer),
                          {frame_.services, site, builder_.CreateIntCast(value, builder_.getInt64Ty(), true)});
  // It accesses no buffer and returns: sums stay in registers in loops that may report.
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  if (every_scope_ != nullptr) call->setMetadata(llvm::LLVMContext::MD_noalias, every_scope_);
}

}  // namespace dovetail::cpu
