#include "runtime/device/cudnn/operations.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace dovetail::runtime::cudnn {

namespace {

using bundle::LibraryKind;
using bundle::LibraryOperation;

constexpr std::size_t kMostWorkspace = std::size_t{1} << 30;  // of a convolution
constexpr float kOne = 1, kZero = 0;

int number_of(DType type) {
  return type == DType::float16 ? number::kFloat16 : type == DType::bfloat16 ? number::kBfloat16 : number::kFloat32;
}

using Descriptor = std::shared_ptr<void>;  // an object of the library, destroyed by its last owner

// Extends to at least two spatial axes: `fill` for a missing one.
std::vector<int> spatial(const Shape& extents, int fill) {
  std::vector<int> list(extents.begin(), extents.end());
  if (list.size() == 1) list.insert(list.begin(), fill);
  return list;
}
std::vector<int> as_image(Shape shape) {
  if (shape.size() == 3) shape.insert(shape.begin() + 2, 1);
  return {shape.begin(), shape.end()};
}

class Operation {
 public:
  Operation(std::shared_ptr<cuda::Context> context, std::shared_ptr<const Library> library)
      : context_(std::move(context)), library_(std::move(library)) {}

  Result<void> make(const LibraryOperation& operation, const std::vector<Shape>& shapes,
                    const std::vector<DType>& types) {
    operation_ = operation;
    type_ = number_of(types[operation.result]);
    const Shape &x = shapes[operation.operands[0]], &y = shapes[operation.result];
    switch (operation.kind) {
      case LibraryKind::convolution: return make_convolution(shapes, types[operation.result]);
      case LibraryKind::softmax:
      case LibraryKind::log_softmax: return make_softmax(x);
      default: return make_pool(as_image(x), as_image(y));
    }
  }

  std::uint64_t workspace_bytes() const { return padded_ ? padded_at_ + padded_bytes_ : workspace_bytes_; }

  Result<void> begin(std::span<const cuda::Address> tensors, cuda::Address workspace) const {
    const Functions& f = library_->functions();
    const auto pointer = [&](std::size_t tensor) { return reinterpret_cast<void*>(tensors[tensor]); };
    const void* x = pointer(operation_.operands[0]);
    void* const y = pointer(operation_.result);
    void* const handle = library_->handle();
    switch (operation_.kind) {
      case LibraryKind::convolution: break;
      case LibraryKind::softmax:
      case LibraryKind::log_softmax:
        return library_->check(
            f.softmax(handle, operation_.kind == LibraryKind::softmax ? number::kAccurate : number::kLogarithm,
                      number::kChannels, &kOne, x_.get(), x, &kZero, x_.get(), y),
            "a softmax");
      default: return library_->check(f.pool(handle, pool_.get(), &kOne, x_.get(), x, &kZero, y_.get(), y), "a pool");
    }
    if (padded_) {
      const cuda::Address padded = workspace + padded_at_;
      DOVETAIL_TRY(context_->clear(padded, padded_bytes_));
      cuda::Planes planes = *padded_;
      planes.from = tensors[operation_.operands[0]];
      planes.to += padded;
      DOVETAIL_TRY(context_->copy_planes(planes));
      x = reinterpret_cast<const void*>(padded);
    }
    const void* const w = pointer(operation_.operands[1]);
    const void* const bias = operation_.operands.size() > 2 ? pointer(operation_.operands[2]) : nullptr;
    const void* const added = operation_.operands.size() > 3 ? pointer(operation_.operands[3]) : y;
    void* const room = reinterpret_cast<void*>(workspace);
    if (bias != nullptr && operation_.least && !operation_.most)
      return library_->check(f.convolve_with_bias(handle, &kOne, x_.get(), x, w_.get(), w, convolution_.get(),
                                                  algorithm_, room, workspace_bytes_, added == y ? &kZero : &kOne,
                                                  y_.get(), added, bias_.get(), bias, activation_.get(), y_.get(), y),
                             "a convolution with bias and activation");
    DOVETAIL_TRY(library_->check(f.convolve(handle, &kOne, x_.get(), x, w_.get(), w, convolution_.get(), algorithm_,
                                            room, workspace_bytes_, &kZero, y_.get(), y),
                                 "a convolution"));
    if (bias != nullptr)
      DOVETAIL_TRY(library_->check(f.add(handle, &kOne, bias_.get(), bias, &kOne, y_.get(), y), "adding a bias"));
    if (!operation_.least) return {};
    return library_->check(f.activate(handle, activation_.get(), &kOne, y_.get(), y, &kZero, y_.get(), y),
                           "an activation");
  }

 private:
  template <typename Create, typename Destroy, typename Set>
  Result<Descriptor> describe(Create create, Destroy destroy, std::string_view what, const Set& set) const {
    void* object = nullptr;
    DOVETAIL_TRY(library_->check(create(&object), what));
    Descriptor descriptor(object, destroy);
    DOVETAIL_TRY(library_->check(set(object), what));
    return descriptor;
  }
  Result<Descriptor> tensor(const std::vector<int>& dims) const {
    const Functions& f = library_->functions();
    std::vector<int> strides(dims.size(), 1);
    for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
    return describe(f.create_tensor, f.destroy_tensor, "describing a tensor", [&](void* object) {
      return f.set_tensor(object, type_, static_cast<int>(dims.size()), dims.data(), strides.data());
    });
  }
  static Result<void> same(const std::vector<int>& made, const std::vector<int>& expected, std::string_view what) {
    if (made == expected) return {};
    return Diagnostic{"cuDNN cannot run the operation", std::string(what),
                      "cuDNN pads both sides of an axis equally, so the result would have another shape",
                      "make the bundle again with `dovetail compile`"};
  }

  Result<void> make_softmax(const Shape& x) {
    std::array<std::int64_t, 3> extents{1, x[operation_.axis], 1};
    for (std::size_t axis = 0; axis < x.size(); ++axis)
      if (axis != operation_.axis) extents.at(axis < operation_.axis ? 0 : 2) *= x[axis];
    DOVETAIL_ASSIGN(
        x_, tensor({static_cast<int>(extents[0]), static_cast<int>(extents[1]), static_cast<int>(extents[2]), 1}));
    return {};
  }

  Result<void> make_pool(const std::vector<int>& x, const std::vector<int>& y) {
    const Functions& f = library_->functions();
    DOVETAIL_ASSIGN(x_, tensor(x));
    DOVETAIL_ASSIGN(y_, tensor(y));
    const int mode = operation_.kind == LibraryKind::maximum   ? number::kMaximum
                     : operation_.kind == LibraryKind::average ? number::kAverage
                                                               : number::kAverageOfPads;
    const std::vector<int> window = spatial(operation_.kernel, 1), pads = spatial(operation_.pad_begin, 0),
                           strides = spatial(operation_.strides, 1);
    DOVETAIL_ASSIGN(pool_, describe(f.create_pool, f.destroy_pool, "describing a pool", [&](void* object) {
                      return f.set_pool(object, mode, number::kPropagateNan, static_cast<int>(window.size()),
                                        window.data(), pads.data(), strides.data());
                    }));
    std::vector<int> made(x.size());
    DOVETAIL_TRY(library_->check(f.pool_dims(pool_.get(), x_.get(), static_cast<int>(made.size()), made.data()),
                                 "describing a pool"));
    return same(made, y, "a pool");
  }

  Result<void> make_convolution(const std::vector<Shape>& shapes, DType type) {
    const Functions& f = library_->functions();
    std::vector<int> x = as_image(shapes[operation_.operands[0]]);
    const std::vector<int> w = as_image(shapes[operation_.operands[1]]), y = as_image(shapes[operation_.result]);
    std::vector<int> pads = spatial(operation_.pad_begin, 0);
    DOVETAIL_TRY(pad(x, w, y, pads, static_cast<std::size_t>(size_bytes(type))));
    DOVETAIL_ASSIGN(x_, tensor(x));
    DOVETAIL_ASSIGN(y_, tensor(y));
    DOVETAIL_ASSIGN(w_, describe(f.create_filter, f.destroy_filter, "describing weights", [&](void* object) {
                      return f.set_filter(object, type_, number::kRows, static_cast<int>(w.size()), w.data());
                    }));
    const std::vector<int> strides = spatial(operation_.strides, 1), dilations = spatial(operation_.dilations, 1);
    DOVETAIL_ASSIGN(
        convolution_,
        describe(f.create_convolution, f.destroy_convolution, "describing a convolution", [&](void* object) {
          return f.set_convolution(object, static_cast<int>(pads.size()), pads.data(), strides.data(), dilations.data(),
                                   number::kCrossCorrelation, number::kFloat32);
        }));
    DOVETAIL_TRY(library_->check(f.set_groups(convolution_.get(), static_cast<int>(operation_.groups)),
                                 "describing a convolution"));
    const int math = type != DType::float32 ? number::kTensorCores
                     : operation_.tf32      ? number::kDefaultMath
                                            : number::kMultiplyAdds;
    DOVETAIL_TRY(library_->check(f.set_math(convolution_.get(), math), "describing a convolution"));
    std::vector<int> made(x.size());
    DOVETAIL_TRY(library_->check(
        f.convolution_dims(convolution_.get(), x_.get(), w_.get(), static_cast<int>(made.size()), made.data()),
        "describing a convolution"));
    DOVETAIL_TRY(same(made, y, "a convolution"));
    if (operation_.operands.size() > 2) {
      std::vector<int> bias(y.size(), 1);
      bias[1] = y[1];
      DOVETAIL_ASSIGN(bias_, tensor(bias));
    }
    if (operation_.least) {
      DOVETAIL_ASSIGN(
          activation_,
          describe(f.create_activation, f.destroy_activation, "describing an activation", [&](void* object) {
            return f.set_activation(object, operation_.most ? number::kClippedRelu : number::kRelu,
                                    number::kPropagateNan, operation_.most.value_or(0));
          }));
    }
    DOVETAIL_TRY(choose(math));
    constexpr std::uint64_t kAlignment = 256;  // as cuMemAlloc's
    padded_at_ = (workspace_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
    return {};
  }

  // cuDNN pads both sides of an axis equally. If the two pads differ, the surplus of the larger one is added to a copy
  // of x in the workspace; updates `x` and `pads` to what cuDNN receives.
  Result<void> pad(std::vector<int>& x, const std::vector<int>& w, const std::vector<int>& y, std::vector<int>& pads,
                   std::size_t element_bytes) {
    const std::vector<int> ends = spatial(operation_.pad_end, 0), strides = spatial(operation_.strides, 1),
                           dilations = spatial(operation_.dilations, 1), given = x;
    std::vector<int> in_front(x.size(), 0);
    for (std::size_t axis = 0; axis < pads.size(); ++axis) {
      const std::size_t d = axis + 2;
      if (bundle::positions(x[d], w[d], strides[axis], dilations[axis], 2 * std::int64_t{pads[axis]}) == y[d]) continue;
      const int common = std::min(pads[axis], ends[axis]);
      in_front[d] = pads[axis] - common;
      x[d] += in_front[d] + ends[axis] - common;
      pads[axis] = common;
    }
    if (x == given) return {};
    const std::size_t rank = x.size();
    std::int64_t elements = 1;
    for (const int extent : x) elements *= extent;
    if (elements > std::numeric_limits<std::int32_t>::max() || x[rank - 3] != given[rank - 3])
      return Diagnostic{"cuDNN cannot run the operation", "a convolution",
                        "its pads differ between the two sides of an axis",
                        "make the bundle again with `dovetail compile`"};
    const auto bytes_of = [&](int count) { return static_cast<std::size_t>(count) * element_bytes; };
    cuda::Planes planes;
    planes.row_bytes = bytes_of(given[rank - 1]), planes.rows = static_cast<std::size_t>(given[rank - 2]);
    planes.planes = 1;
    for (std::size_t d = 0; d + 2 < rank; ++d) planes.planes *= static_cast<std::size_t>(given[d]);
    planes.to_row_bytes = bytes_of(x[rank - 1]), planes.to_rows = static_cast<std::size_t>(x[rank - 2]);
    planes.to = bytes_of(in_front[rank - 2] * x[rank - 1] + in_front[rank - 1]);
    padded_ = planes;
    padded_bytes_ = static_cast<std::size_t>(elements) * element_bytes;
    return {};
  }

  // Chooses the algorithm that cuDNN ranks fastest, of those with the required arithmetic and within the memory limit.
  Result<void> choose(int math) {
    const Functions& f = library_->functions();
    std::array<Performance, 16> list{};
    int given = 0;
    DOVETAIL_TRY(library_->check(f.convolution_algorithms(library_->handle(), x_.get(), w_.get(), convolution_.get(),
                                                          y_.get(), static_cast<int>(list.size()), &given, list.data()),
                                 "choosing an algorithm for a convolution"));
    for (int i = 0; i < given; ++i) {
      const Performance& candidate = list.at(static_cast<std::size_t>(i));
      const bool keeps = math != number::kMultiplyAdds || candidate.math == number::kMultiplyAdds ||
                         candidate.math == number::kDefaultMath;  // as set in the descriptor
      if (candidate.status != 0 || !keeps || candidate.workspace_bytes > kMostWorkspace) continue;
      algorithm_ = candidate.algorithm;
      if (math == number::kTensorCores)
        DOVETAIL_TRY(library_->check(f.set_math(convolution_.get(), candidate.math), "choosing an algorithm"));
      std::size_t bytes = 0;
      DOVETAIL_TRY(library_->check(f.convolution_workspace(library_->handle(), x_.get(), w_.get(), convolution_.get(),
                                                           y_.get(), algorithm_, &bytes),
                                   "choosing an algorithm"));
      workspace_bytes_ = bytes;
      return {};
    }
    return Diagnostic{"cuDNN cannot run the operation", "a convolution", "cuDNN has no algorithm for it on this device",
                      "remove cudnn from --target"};
  }

  std::shared_ptr<cuda::Context> context_;
  std::shared_ptr<const Library> library_;
  LibraryOperation operation_;
  int type_ = 0, algorithm_ = 0;
  std::size_t workspace_bytes_ = 0;     // needed by the algorithm
  std::optional<cuda::Planes> padded_;  // x, and the location of its copy with more pads; nullopt: there is no copy
  std::size_t padded_at_ = 0, padded_bytes_ = 0;  // of that copy, in the workspace
  Descriptor x_, w_, y_, bias_, convolution_, activation_, pool_;
};

class Operations : public cuda::StreamWork {
 public:
  Operations(std::shared_ptr<cuda::Context> context, std::vector<Operation> operations, std::uint64_t arithmetic)
      : context_(std::move(context)), operations_(std::move(operations)), arithmetic_(arithmetic) {}

  Result<void> begin(std::span<const cuda::Address> tensors, cuda::Address workspace) override {
    for (const Operation& operation : operations_) DOVETAIL_TRY(operation.begin(tensors, workspace));
    return {};
  }
  std::uint64_t workspace_bytes() const override {
    std::uint64_t most = 0;
    for (const Operation& operation : operations_) most = std::max(most, operation.workspace_bytes());
    return most;
  }
  std::uint64_t work_steps() const override { return arithmetic_; }

 private:
  std::shared_ptr<cuda::Context> context_;
  std::vector<Operation> operations_;
  std::uint64_t arithmetic_;
};

}  // namespace

Result<std::unique_ptr<cuda::StreamWork>> make_operations(std::shared_ptr<cuda::Context> context,
                                                          std::shared_ptr<const Library> library,
                                                          const bundle::Bundle& bundle,
                                                          const bundle::CodedStep<bundle::LibraryCode>& step) {
  const std::vector<Shape> shapes = bundle::tensor_shapes(bundle, *step.step, step.code);
  const std::vector<DType> types = bundle::tensor_types(bundle, *step.step, step.code);
  std::vector<Operation> operations;
  for (const Shape& shape : shapes)
    if (element_count(shape) > std::numeric_limits<std::int32_t>::max())
      return Diagnostic{
          "cuDNN cannot run the operation", fmt::format("step {}", step.step->name),
          fmt::format("a tensor of shape {} has more elements than a 32-bit index can count", to_string(shape)),
          "make the bundle again with `dovetail compile`"};
  for (const LibraryOperation& operation : step.code.operations) {
    Operation next(context, library);
    DOVETAIL_TRY(next.make(operation, shapes, types));
    operations.push_back(std::move(next));
  }
  return std::unique_ptr<cuda::StreamWork>(
      std::make_unique<Operations>(std::move(context), std::move(operations), step.code.arithmetic));
}

}  // namespace dovetail::runtime::cudnn
