// Statements, and the frame of a kernel.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "bundle/bundle.h"
#include "compiler/target/cuda/codegen/emitter.h"
#include "compiler/target/cuda/gpu.h"
#include "loops/rewrite.h"
#include "loops/simplify.h"
#include "loops/threads/accesses.h"
#include "loops/threads/neighbors.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

// Alignment in bytes of tensors, and of buffers in the workspace.
constexpr std::uint64_t kTensorBytes = bundle::kTensorAlignment;

// Reserved words: those of C++, and those that the text uses.
bool is_reserved(std::string_view word) {
  static const std::unordered_set<std::string_view> words{
      "alignas",   "alignof",   "and",      "asm",      "auto",        "bool",     "break",          "case",
      "catch",     "char",      "class",    "const",    "continue",    "default",  "delete",         "do",
      "double",    "else",      "enum",     "explicit", "export",      "extern",   "false",          "float",
      "for",       "friend",    "goto",     "if",       "inline",      "int",      "long",           "mutable",
      "namespace", "new",       "not",      "nullptr",  "operator",    "or",       "private",        "protected",
      "public",    "register",  "requires", "return",   "scalar",      "short",    "signed",         "sizeof",
      "static",    "struct",    "switch",   "template", "this",        "throw",    "true",           "try",
      "typedef",   "typeid",    "typename", "union",    "unsigned",    "using",    "virtual",        "void",
      "volatile",  "while",     "xor",      "failure",  "shuffle_xor", "Together", "store_together", "Plain",
      "Bool",      "Float16",   "BFloat16", "concept",  "bitand",      "bitor",    "compl",          "co_await",
      "co_yield",  "co_return", "decltype", "constexpr"};
  return words.contains(word);
}

bool has_same_map(const CoreBoxCopy& a, const CoreBoxCopy& b) {
  return a.from == b.from && a.tensor == b.tensor && a.box == b.box && a.swizzle == b.swizzle;
}

// How many blocks a processor should run at once, from the registers of their threads: the compiler may give a thread
// as many registers as leave room for them. 1: no limit. Otherwise a product's tile of 8 x 8 sums per thread with 256
// threads would use slightly more than half of the registers, and run alone.
std::int64_t blocks_at_once(const ThreadKernel& kernel, std::int64_t shared_bytes) {
  constexpr std::int64_t kShared = 224 << 10, kThreads = 2048;  // per processor
  constexpr std::int64_t kBytes = 4, kFew = 32;                 // per register; registers of a thread
  std::int64_t kept = 0;
  for (const Buffer& buffer : kernel.local)
    kept += std::max<std::int64_t>(element_count(buffer->shape), 1) * size_bytes(buffer->dtype) / kBytes;
  if (kept < kFew) return 1;
  const std::int64_t threads = kernel.threads();
  return std::max<std::int64_t>(1, std::min({kRegistersOfProcessor / (threads * registers_for(kept)),
                                             kShared / std::max<std::int64_t>(shared_bytes, 1), kThreads / threads}));
}

std::int64_t elements_of(const Buffer& buffer) { return std::max<std::int64_t>(element_count(buffer->shape), 1); }

}  // namespace

Emitter::Emitter(const ThreadProgram& program, const ThreadKernel& kernel, std::vector<std::string>& failures)
    : program_(program), kernel_(kernel), failures_(failures), bounds_(program.bounds) {}

std::string Emitter::name_for(const std::string& hint) {
  std::string word;
  for (const char c : hint) word += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word.front())) != 0) word = "v" + word;
  // Names with a double underscore, or an underscore before a capital, are reserved for the compiler.
  if (word.front() == '_' || word.find("__") != std::string::npos) word = "v" + std::to_string(taken_.size());
  if (is_reserved(word)) word += '_';
  std::string name = word;
  for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}{}", word, i);
  return name;
}

void Emitter::line(const std::string& text) {
  text_.append(static_cast<std::size_t>(2 * indent_), ' ');
  text_ += text;
  text_ += '\n';
}

std::string Emitter::stored(DType dtype, const std::string& value) const {
  const TypeNames& type = names_of(dtype);
  if (dtype == DType::boolean) return fmt::format("uint8_t({})", value);
  return type.value == type.memory ? value : fmt::format("{}::write({})", type.element, value);
}

std::string Emitter::unrounded(const StoreTarget& target) {
  const DType dtype = target.buffer->dtype;
  const auto* cast =
      dtype == DType::float16 || dtype == DType::bfloat16 ? std::get_if<Cast>(&target.value->node) : nullptr;
  if (cast != nullptr && target.value->dtype == dtype && names_of(cast->a->dtype).value == names_of(dtype).value)
    return emit(cast->a);
  return emit(target.value);
}

// Shared memory beyond the static limit is laid out consecutively in the memory that the launch provides.
void Emitter::declare_shared() {
  const ThreadKernel::SharedPlaces places = kernel_.shared_places();
  // Asynchronous units find a matrix by its address in that memory, which must then start at offset 0.
  const bool given = places.bytes > kStaticSharedBytes || !kernel_.matrices.empty();
  if (given) shared_bytes_ = places.bytes;
  for (std::size_t i = 0; i < kernel_.shared.size(); ++i) {
    const Buffer& buffer = kernel_.shared[i];
    const std::string name = buffers_[buffer.get()] = name_for(buffer->name);
    const std::string_view type = names_of(buffer->dtype).memory;
    if (given)
      line(
          fmt::format("{0}* const {1} = reinterpret_cast<{0}*>(given_shared() + {2});", type, name, places.offsets[i]));
    else
      line(
          fmt::format("alignas({}) __shared__ {} {}[{}];", kernel_.alignment(buffer), type, name, elements_of(buffer)));
  }
}

std::string Emitter::emit_kernel(const std::string& symbol, const std::vector<Buffer>& operands,
                                 const std::unordered_set<const BufferNode*>& written) {
  std::vector<std::string> parameters;
  for (const Buffer& buffer : operands) {
    const std::string name = buffers_[buffer.get()] = name_for(buffer->name), given = name_for(name + "_given");
    const std::string type =
        fmt::format("{}{}*", written.contains(buffer.get()) ? "" : "const ", names_of(buffer->dtype).memory);
    parameters.push_back(fmt::format("{} __restrict__ {}", type, given));
    line(fmt::format("{} const {} = aligned<{}>({});", type, name, kTensorBytes, given));
  }
  each_box_copy(kernel_.body, [&](const CoreBoxCopy& copy) {
    if (std::ranges::any_of(maps_, [&](const CoreBoxCopy* known) { return has_same_map(*known, copy); })) return;
    maps_.push_back(&copy);
    map_names_.push_back(name_for(copy.from->name + "_map"));
    parameters.push_back(fmt::format("const __grid_constant__ TensorMap {}", map_names_.back()));
  });
  declare_shared();
  for (const Buffer& buffer : kernel_.local) {
    const std::string name = buffers_[buffer.get()] = name_for(buffer->name);
    line(fmt::format("{} {}[{}];", names_of(buffer->dtype).memory, name, elements_of(buffer)));
  }
  for (const BoundAxis& axis : kernel_.axes) {
    const std::string name = vars_[axis.var.get()] = name_for(axis.var->name);
    line(fmt::format("const int {} = {}Idx.{};", name, axis.is_block() ? "block" : "thread", axis.axis.back()));
  }
  bool loads = false;  // loads matrices to registers
  each_call(kernel_.body, [&](const CoreCall& call) { loads |= !call.later; });
  if (loads) {
    after_ = name_for("after");
    line(fmt::format("unsigned {} = 0;", after_));
  }
  emit(kernel_.body);
  if (reports_) parameters.emplace_back("Failure* __restrict__ failure");
  const std::int64_t blocks = blocks_at_once(kernel_, kernel_.shared_places().bytes);
  return fmt::format("extern \"C\" __global__ void __launch_bounds__({}{}) {}({}) {{\n{}}}\n", kernel_.threads(),
                     blocks > 1 ? fmt::format(", {}", blocks) : "", symbol, fmt::join(parameters, ", "), text_);
}

void Emitter::emit(const Core& core) {
  if (core) std::visit([&](const auto& n) { emit_node(n); }, core->node);
}

void Emitter::emit_node(const CoreSequence& n) {
  for (const Core& part : n.body) emit(part);
}

bool Emitter::emit_stores_together(const CoreLoop& n) {
  constexpr std::int64_t kMostBytes = 16, kLeastOfOne = 4;  // the compiler combines larger elements itself
  const auto* store = n.kind == ForKind::unrolled ? std::get_if<CoreStore>(&n.body->node) : nullptr;
  if (store == nullptr || store->targets.size() != 1 || store->product_sum || n.extent < 2) return false;
  const StoreTarget& target = store->targets.front();
  const DType dtype = target.buffer->dtype;
  if (size_bytes(dtype) >= kLeastOfOne || dtype == DType::boolean || element_count(target.buffer->shape) == 0 ||
      std::ranges::find(kernel_.local, target.buffer) != kernel_.local.end() ||
      aligned_neighbors(*target.buffer, offset_of(*target.buffer, target.indices, bounds_), n.var.get(), n.extent,
                        kMostBytes) != n.extent)
    return false;
  bool reads_itself = false;
  visit_exprs(target.value, [&](const Expr& e) {
    const auto* read = std::get_if<LoadExpr>(&e->node);
    reads_itself |= read != nullptr && read->buffer == target.buffer;
  });
  if (reads_itself) return false;

  line("{"), ++indent_;
  const bool moves = is_moved(target.value);
  const TypeNames& type = names_of(moves ? DType::uint16 : dtype);
  const std::string values = name_for("together"), name = vars_[n.var.get()] = name_for(n.var->name);
  line(fmt::format("{} {}[{}];", type.value, values, n.extent));
  line("#pragma unroll");
  line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{", name, n.extent)), ++indent_;
  const bool sharing = worth_sharing(std::array{target.value});
  computed_by_both_ = {};
  if (sharing) shared_.emplace_back();
  const std::string value = moves ? moved_bits(target.value) : unrounded(target);
  line(fmt::format("{}[{}] = {};", values, name, value));
  shared_.clear();
  --indent_, line("}");
  std::vector<Expr> first;
  for (const Expr& index : target.indices)
    first.push_back(simplify(substitute(index, {{n.var.get(), int_imm(0)}}), bounds_));
  line(fmt::format("store_together<{}, {}>(&{}, {});", type.element, n.extent, place(target.buffer, first), values));
  --indent_, line("}");
  taken_.erase(name), taken_.erase(values);
  return true;
}

void Emitter::emit_node(const CoreLoop& n) {
  if (n.kind == ForKind::unrolled && (emit_unrolled_products(n) || emit_stores_together(n))) return;
  const std::string name = vars_[n.var.get()] = name_for(n.var->name);
  if (n.kind == ForKind::unrolled) line("#pragma unroll");
  line(fmt::format("for ({} {} = 0; {} < {}; ++{}) {{", n.extent <= kMostInt ? "int" : "int64_t", name, name, n.extent,
                   name));
  ++indent_;
  emit(n.body);
  --indent_;
  line("}");
  taken_.erase(name);
}

void Emitter::emit_node(const CoreIf& n) {
  const std::string condition = emit(n.condition);
  line(fmt::format("if ({}) {{", condition));
  ++indent_;
  emit(n.then_body);
  --indent_;
  if (n.else_body) {
    line("} else {");
    ++indent_;
    emit(n.else_body);
    --indent_;
  }
  line("}");
}

void Emitter::emit_node(const CoreStore& n) {
  std::vector<Expr> expressions;
  for (const StoreTarget& target : n.targets) {
    expressions.insert(expressions.end(), target.indices.begin(), target.indices.end());
    expressions.push_back(target.value);
  }
  const bool sharing = worth_sharing(expressions), braces = sharing || n.targets.size() > 1;
  computed_by_both_ = {};
  if (braces) line("{"), ++indent_;
  if (sharing) shared_.emplace_back();
  // All values and addresses are computed before the first write.
  std::vector<std::pair<std::string, std::string>> writes;
  for (const StoreTarget& target : n.targets) {
    if (element_count(target.buffer->shape) == 0) continue;
    const std::string value = n.product_sum            ? stored(target.buffer->dtype, emit_product_sum(target))
                              : is_moved(target.value) ? moved_bits(target.value)
                                                       : stored(target.buffer->dtype, unrounded(target));
    writes.emplace_back(place(target.buffer, target.indices), value);
  }
  if (n.targets.size() > 1)
    for (std::size_t i = 0; i < writes.size(); ++i) {
      auto& [place, value] = writes[i];
      const std::string kept = name_for("w"), where = name_for("p");
      line(fmt::format("const auto {} = {};", kept, value));
      line(fmt::format("auto& {} = {};", where, place));
      place = where;
      value = kept;
    }
  for (const auto& [place, value] : writes) line(fmt::format("{} = {};", place, value));
  shared_.clear();
  if (braces) --indent_, line("}");
}

void Emitter::emit_node(const CoreBarrier& n) {
  line(n.of_warp ? "__syncwarp();" : "__syncthreads();");
  if (!after_.empty()) line(fmt::format("{} = after_barrier();", after_));
}

void Emitter::emit_node(const CoreAsyncCopy& n) {
  const std::string to = place(n.to, n.to_indices), from = place(n.from, n.from_indices);
  line(fmt::format("copy_async<{}>(&{}, &{}{});", n.elements * size_bytes(n.to->dtype), to, from,
                   n.condition ? ", " + emit(n.condition) : ""));
}

void Emitter::emit_node(const CoreAsyncGroup& n) {
  line(n.step == CoreAsyncGroup::Step::commit ? "commit_copies();" : fmt::format("wait_for_copies<{}>();", n.groups));
}

// Registers of sums must not be moved around asynchronous calls: the compiler sees these only as statements.
void Emitter::hold_sums() {
  std::vector<std::string> names;
  each_call(kernel_.body, [&](const CoreCall& call) {
    const std::string& name = buffers_.at(call.operands[0].buffer.get());
    if (call.later && std::ranges::find(names, name) == names.end()) names.push_back(name);
  });
  for (const std::string& name : names) line(fmt::format("hold_registers({});", name));
}

void Emitter::emit_node(const CoreCallGroup& n) {
  using Step = CoreCallGroup::Step;
  if (n.step == Step::arrive) {
    hold_sums();
    line("arrive_for_calls();");
  } else if (n.step == Step::commit) {
    line("commit_calls();");
  } else {
    line(fmt::format("wait_for_calls<{}>();", n.groups));
    hold_sums();
  }
}

void Emitter::emit_node(const CoreProxyFence&) { line("fence_for_units();"); }

// A unit counts dimensions from the innermost one.
void Emitter::emit_node(const CoreBoxCopy& n) {
  const auto map = std::ranges::find_if(maps_, [&](const CoreBoxCopy* known) { return has_same_map(*known, n); });
  std::vector<std::string> corner;
  for (std::size_t d = n.from_indices.size(); d-- > 0;) corner.push_back(integer(n.from_indices[d]));
  line(fmt::format("copy_box(&{}, &{}, &{}, {});", place(n.to, n.to_indices),
                   map_names_[static_cast<std::size_t>(map - maps_.begin())], place(n.signals, {n.signal}),
                   fmt::join(corner, ", ")));
}

void Emitter::emit_node(const CoreSignal& n) {
  using Step = CoreSignal::Step;
  const std::string signal = place(n.signals, {n.signal});
  if (n.step == Step::start) line(fmt::format("start_signal(&{});", signal));
  else if (n.step == Step::expect) line(fmt::format("expect_bytes(&{}, {});", signal, n.bytes));
  else line(fmt::format("wait_for_signal(&{}, {});", signal, integer(n.parity)));
}

void Emitter::emit_node(const CoreShuffle& n) {
  const std::string to = place(n.to.buffer, n.to.indices);
  line(fmt::format("{} = shuffle_xor({:#x}u, {}, {});", to, n.mask, place(n.from.buffer, n.from.indices), n.distance));
}

}  // namespace dovetail::cuda
