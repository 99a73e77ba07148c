#include "runtime/device/onednn/chain.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/ndarray.h"

namespace dovetail::runtime::onednn {

namespace {

using bundle::LibraryKind;
using bundle::LibraryOperation;

// A tensor in one layout.
struct Stored {
  Layout layout;
  Handle memory;
  // The location of its bytes: an argument or result of the step by its number, a buffer by its number, or these bytes.
  std::optional<std::size_t> external = {}, buffer = {};
  void* bytes = nullptr;
};

class ChainBuilder {
 public:
  ChainBuilder(std::shared_ptr<const Library> library, const bundle::Bundle& bundle,
               const bundle::CodedStep<bundle::LibraryCode>& step)
      : code_(step.code),
        shapes_(bundle::tensor_shapes(bundle, *step.step, step.code)),
        externals_(step.step->arguments.size() + step.step->results.size()),
        stored_(shapes_.size()),
        constants_(shapes_.size(), nullptr),
        last_use_(shapes_.size(), 0) {
    chain_.library = std::move(library);
    for (std::size_t i = 0; i < step.step->arguments.size(); ++i) {
      const auto root = static_cast<std::size_t>(bundle::root_of(bundle, step.step->arguments[i]));
      if (const bundle::Constant& constant = bundle.tensors[root].constant) constants_[i] = &*constant;
    }
    for (std::size_t i = 0; i < code_.operations.size(); ++i) {
      for (const std::uint64_t operand : code_.operations[i].operands) last_use_[operand] = i;
      last_use_[code_.operations[i].result] = i;
    }
    for (std::size_t i = step.step->arguments.size(); i < shapes_.size(); ++i) computed_.push_back(i);
  }

  Result<Chain> build() {
    const std::size_t arguments = externals_ - (computed_.size() - code_.inner.size());
    for (std::size_t i = 0; i < arguments; ++i) {
      DOVETAIL_ASSIGN(const Layout layout, plain(i));
      DOVETAIL_ASSIGN(stored_[i], constants_[i] != nullptr ? in_bytes(layout, const_cast<std::byte*>(bytes_of(i)))
                                                           : in_external(layout, i));
    }
    for (std::size_t i = 0; i < code_.operations.size(); ++i) {
      DOVETAIL_TRY(add(code_.operations[i]));
      for (const Stored& temporary : temporaries_) release(temporary);
      temporaries_.clear();
      for (const std::size_t tensor : computed_)
        if (last_use_[tensor] == i) release(stored_[tensor]);
    }
    return finish();
  }

 private:
  struct Buffer {
    std::size_t bytes = 0;
    bool free = false;
  };

  const Library& library() const { return *chain_.library; }
  const std::byte* bytes_of(std::size_t tensor) const { return constants_[tensor]->bytes().data(); }
  Result<Layout> plain(std::size_t tensor) const { return library().plain(shapes_[tensor]); }

  // ---- Locations of tensors

  Result<Stored> in_bytes(const Layout& layout, void* bytes) {
    DOVETAIL_ASSIGN(Handle memory, new_memory(layout));
    library().set_bytes(memory, bytes);
    return Stored{layout, std::move(memory), {}, {}, bytes};
  }
  Result<Stored> in_external(const Layout& layout, std::size_t number) {
    DOVETAIL_ASSIGN(Handle memory, new_memory(layout));
    chain_.external.emplace_back(number, memory);
    return Stored{layout, std::move(memory), number, {}, nullptr};
  }
  // The smallest free buffer that is large enough; else a new one.
  Result<Stored> in_buffer(const Layout& layout) {
    const std::size_t bytes = library().bytes(layout);
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (buffers_[i].free && buffers_[i].bytes >= bytes && (!best || buffers_[i].bytes < buffers_[*best].bytes))
        best = i;
    if (!best) {
      best = buffers_.size();
      buffers_.push_back({bytes, false});
    }
    buffers_[*best].free = false;
    DOVETAIL_ASSIGN(Handle memory, new_memory(layout));
    in_buffers_.emplace_back(*best, memory);
    return Stored{layout, std::move(memory), {}, best, nullptr};
  }
  // The same bytes, viewed in another layout.
  Result<Stored> seen_as(const Stored& from, const Layout& layout) {
    if (from.external) return in_external(layout, *from.external);
    if (!from.buffer) return in_bytes(layout, from.bytes);
    DOVETAIL_ASSIGN(Handle memory, new_memory(layout));
    in_buffers_.emplace_back(*from.buffer, memory);
    return Stored{layout, std::move(memory), {}, from.buffer, nullptr};
  }
  void release(const Stored& stored) {
    if (stored.buffer) buffers_[*stored.buffer].free = true;
  }
  Result<Handle> new_memory(const Layout& layout) {
    DOVETAIL_ASSIGN(Handle memory, library().memory(layout));
    chain_.memories.push_back(memory);
    return memory;
  }

  // ---- Changes of layout

  // The tensor in another layout, stored until the operation that is being added has run.
  Result<Stored> in_layout(const Stored& from, const Layout& layout) {
    if (library().equal(from.layout, layout)) return from;
    DOVETAIL_ASSIGN(Stored to, in_buffer(layout));
    DOVETAIL_TRY(copy(from, to));
    temporaries_.push_back(to);
    return to;
  }
  Result<void> copy(const Stored& from, const Stored& to) {
    DOVETAIL_ASSIGN(Primitive reorder, library().reorder(from.layout, to.layout));
    call(std::move(reorder), {{Role::source, from}, {Role::destination, to}});
    return {};
  }
  // Converts row-major bytes, viewed by `view` with other axes, to a layout that an operation has chosen. Constants are
  // converted now.
  Result<Stored> packed(std::size_t tensor, const Layout& view, const Layout& layout) {
    DOVETAIL_ASSIGN(const Layout as_is, plain(tensor));
    DOVETAIL_ASSIGN(const Stored row_major, in_layout(stored_[tensor], as_is));
    DOVETAIL_ASSIGN(const Stored seen, seen_as(row_major, view));
    if (constants_[tensor] == nullptr || library().equal(view, layout)) return in_layout(seen, layout);
    DOVETAIL_ASSIGN(const Stored to, in_bytes(layout, allocate(library().bytes(layout))));
    DOVETAIL_ASSIGN(const Primitive reorder, library().reorder(view, layout));
    const std::array<Library::Argument, 2> arguments{
        {{static_cast<int>(Role::source), seen.memory.get()}, {static_cast<int>(Role::destination), to.memory.get()}}};
    DOVETAIL_TRY(library().execute(reorder, arguments));
    DOVETAIL_TRY(library().wait());
    return to;
  }
  void* allocate(std::size_t bytes) {
    auto& storage = chain_.storage.emplace_back(std::make_unique<std::vector<std::byte>>(bytes + kAlignment));
    const auto address = reinterpret_cast<std::uintptr_t>(storage->data());
    return reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }

  // ---- Operations

  void call(Primitive primitive, const std::vector<std::pair<Role, Stored>>& arguments) {
    Call next{std::move(primitive), {}};
    int sources = 0;
    for (const auto& [role, stored] : arguments)
      next.arguments.push_back(
          {role == Role::many_sources ? static_cast<int>(role) + sources++ : static_cast<int>(role),
           stored.memory.get()});
    chain_.calls.push_back(std::move(next));
  }
  // Adds the operation's call, and stores its result in its location.
  Result<void> finish(const LibraryOperation& operation, Primitive primitive,
                      std::vector<std::pair<Role, Stored>> arguments) {
    const std::size_t y = operation.result;
    DOVETAIL_ASSIGN(const Layout row_major, plain(y));
    const bool external = y < externals_, direct = library().equal(primitive.destination, row_major);
    DOVETAIL_ASSIGN(stored_[y], external && direct ? in_external(row_major, y) : in_buffer(primitive.destination));
    arguments.emplace_back(Role::destination, stored_[y]);
    call(std::move(primitive), arguments);
    if (!external || direct) return {};
    DOVETAIL_ASSIGN(const Stored result, in_external(row_major, y));
    return copy(stored_[y], result);
  }
  static Clamp clamp_of(const LibraryOperation& operation) { return {operation.least, operation.most}; }
  static Windows windows_of(const LibraryOperation& operation) {
    return {operation.kernel, operation.strides, operation.dilations, operation.pad_begin, operation.pad_end};
  }

  Result<void> add(const LibraryOperation& operation) {
    switch (operation.kind) {
      case LibraryKind::convolution: return add_convolution(operation);
      case LibraryKind::product: return add_product(operation);
      case LibraryKind::maximum: return add_pool(operation, Pool::maximum);
      case LibraryKind::average: return add_pool(operation, Pool::average);
      case LibraryKind::average_of_pads: return add_pool(operation, Pool::average_of_pads);
      case LibraryKind::sum: return add_sum(operation);
      case LibraryKind::concatenation: return add_concatenation(operation);
      case LibraryKind::softmax:
      case LibraryKind::log_softmax: break;  // refused when the code is read (bundle::library_facts)
    }
    return {};
  }

  Result<void> add_convolution(const LibraryOperation& operation) {
    const std::size_t x = operation.operands[0], w = operation.operands[1];
    // Weights of grouped convolutions have a leading axis for the groups.
    Shape weights = shapes_[w];
    if (operation.groups > 1) {
      weights[0] /= operation.groups;
      weights.insert(weights.begin(), operation.groups);
    }
    DOVETAIL_ASSIGN(const Layout weights_view, library().plain(weights));
    DOVETAIL_ASSIGN(const Layout any_x, library().any(shapes_[x]));
    DOVETAIL_ASSIGN(const Layout any_w, library().any(weights));
    DOVETAIL_ASSIGN(const Layout any_y, library().any(shapes_[operation.result]));
    Layout bias;
    if (operation.operands.size() > 2) {
      DOVETAIL_ASSIGN(bias, library().plain({shapes_[w][0]}));
    }
    DOVETAIL_ASSIGN(Primitive primitive,
                    library().convolution(any_x, any_w, bias, any_y, windows_of(operation), clamp_of(operation)));
    std::vector<std::pair<Role, Stored>> arguments;
    DOVETAIL_ASSIGN(const Stored source, in_layout(stored_[x], primitive.source));
    DOVETAIL_ASSIGN(const Stored packed_weights, packed(w, weights_view, primitive.weights));
    arguments.emplace_back(Role::source, source);
    arguments.emplace_back(Role::weights, packed_weights);
    if (bias) {
      DOVETAIL_ASSIGN(const Stored stored, packed(operation.operands[2], bias, bias));
      arguments.emplace_back(Role::bias, stored);
    }
    return finish(operation, std::move(primitive), std::move(arguments));
  }

  // An operand with as many axes as the result, and its row-major layout, transposed or not.
  Result<Layout> product_view(Shape shape, std::size_t rank, bool transposed) const {
    shape.insert(shape.begin(), rank - shape.size(), 1);
    std::vector<std::size_t> order(rank);
    for (std::size_t i = 0; i < rank; ++i) order[i] = i;
    if (transposed) {
      std::swap(shape[rank - 2], shape[rank - 1]);
      std::swap(order[rank - 2], order[rank - 1]);
    }
    return library().plain(shape, order);
  }
  static Shape product_shape(Shape shape, std::size_t rank, bool transposed) {
    shape.insert(shape.begin(), rank - shape.size(), 1);
    if (transposed) std::swap(shape[rank - 2], shape[rank - 1]);
    return shape;
  }

  Result<void> add_product(const LibraryOperation& operation) {
    const std::size_t a = operation.operands[0], b = operation.operands[1];
    const std::size_t rank = std::max(shapes_[a].size(), shapes_[b].size());
    if (shapes_[operation.result].size() != rank)
      return Diagnostic{
          "cannot run with oneDNN", "a product",
          fmt::format("the result has {} axes, but the operands have {}", shapes_[operation.result].size(), rank),
          "make the bundle again with `dovetail compile`"};
    DOVETAIL_ASSIGN(const Layout a_view, product_view(shapes_[a], rank, operation.transposed_a));
    DOVETAIL_ASSIGN(const Layout b_view, product_view(shapes_[b], rank, operation.transposed_b));
    DOVETAIL_ASSIGN(const Layout any_b, library().any(product_shape(shapes_[b], rank, operation.transposed_b)));
    DOVETAIL_ASSIGN(const Layout y, plain(operation.result));
    Layout bias;
    if (operation.operands.size() > 2) {
      Shape shape(rank, 1);
      shape.back() = shapes_[operation.result].back();
      DOVETAIL_ASSIGN(bias, library().plain(shape));
    }
    // Operands computed at run time are used in their current layout.
    DOVETAIL_ASSIGN(Primitive primitive,
                    library().product(a_view, constants_[b] != nullptr ? any_b : b_view, bias, y, clamp_of(operation)));
    std::vector<std::pair<Role, Stored>> arguments;
    DOVETAIL_ASSIGN(const Stored left, packed(a, a_view, a_view));
    DOVETAIL_ASSIGN(const Stored right, packed(b, b_view, primitive.weights));
    arguments.emplace_back(Role::source, left);
    arguments.emplace_back(Role::weights, right);
    if (bias) {
      DOVETAIL_ASSIGN(const Stored stored, packed(operation.operands[2], bias, bias));
      arguments.emplace_back(Role::bias, stored);
    }
    return finish(operation, std::move(primitive), std::move(arguments));
  }

  Result<void> add_pool(const LibraryOperation& operation, Pool kind) {
    const Stored& x = stored_[operation.operands[0]];
    DOVETAIL_ASSIGN(const Layout any_y, library().any(shapes_[operation.result]));
    DOVETAIL_ASSIGN(Primitive primitive,
                    library().pool(kind, x.layout, any_y, windows_of(operation), clamp_of(operation)));
    return finish(operation, std::move(primitive), {{Role::source, x}});
  }

  Result<void> add_sum(const LibraryOperation& operation) {
    const Stored& a = stored_[operation.operands[0]];
    DOVETAIL_ASSIGN(const Stored b, in_layout(stored_[operation.operands[1]], a.layout));
    DOVETAIL_ASSIGN(Primitive primitive, library().sum(a.layout, b.layout, a.layout, clamp_of(operation)));
    return finish(operation, std::move(primitive), {{Role::source, a}, {Role::second_source, b}});
  }

  Result<void> add_concatenation(const LibraryOperation& operation) {
    std::vector<Layout> layouts;
    std::vector<std::pair<Role, Stored>> arguments;
    for (const std::uint64_t operand : operation.operands) {
      layouts.push_back(stored_[operand].layout);
      arguments.emplace_back(Role::many_sources, stored_[operand]);
    }
    DOVETAIL_ASSIGN(Primitive primitive, library().concatenation(layouts, operation.axis, clamp_of(operation)));
    return finish(operation, std::move(primitive), std::move(arguments));
  }

  // ---- The end

  Result<Chain> finish() {
    std::uint64_t total = 0;
    for (const Buffer& buffer : buffers_) total += buffer.bytes;
    DOVETAIL_TRY(check_memory("running with oneDNN", "tensors between operations", total));
    std::vector<void*> addresses;
    for (const Buffer& buffer : buffers_) addresses.push_back(allocate(buffer.bytes));
    for (const auto& [buffer, memory] : in_buffers_) library().set_bytes(memory, addresses[buffer]);
    return std::move(chain_);
  }

  static constexpr std::size_t kAlignment = 64;

  const bundle::LibraryCode& code_;
  std::vector<Shape> shapes_;
  std::size_t externals_;  // arguments and results of the step, the first tensors
  std::vector<Stored> stored_;
  std::vector<const NdArray*> constants_;  // null for tensors that are not constant
  std::vector<std::size_t> last_use_;      // the last operation that names a tensor
  std::vector<std::size_t> computed_;
  std::vector<Stored> temporaries_;
  std::vector<Buffer> buffers_;
  std::vector<std::pair<std::size_t, Handle>> in_buffers_;
  Chain chain_;
};

}  // namespace

Result<void> Chain::run(std::span<std::byte* const> tensors) const {
  for (const auto& [number, memory] : external) library->set_bytes(memory, tensors[number]);
  for (const Call& call : calls) DOVETAIL_TRY(library->execute(call.primitive, call.arguments));
  return library->wait();
}

Result<Chain> make_chain(std::shared_ptr<const Library> library, const bundle::Bundle& bundle,
                         const bundle::CodedStep<bundle::LibraryCode>& step) {
  return ChainBuilder(std::move(library), bundle, step).build();
}

}  // namespace dovetail::runtime::onednn
