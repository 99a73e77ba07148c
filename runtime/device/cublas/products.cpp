#include "runtime/device/cublas/products.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bundle/code/product_batches.h"

namespace dovetail::runtime::cublas {

namespace {

// The maximum workspace of the library in addition to the tensors; NVIDIA recommends this size for Hopper.
constexpr std::size_t kWorkspaceBytes = 32 << 20;
// The alignment of tensors in device memory (bundle::kTensorAlignment).
constexpr std::uint32_t kAlignment = 64;

using Object = std::shared_ptr<void>;  // an object of the library, destroyed by its last owner

std::uint32_t alignment_of(std::int64_t elements, std::size_t element_bytes) {
  const auto bytes = static_cast<std::uint64_t>(elements) * element_bytes | kAlignment;
  return static_cast<std::uint32_t>(bytes & (~bytes + 1));
}

class Product {
 public:
  Product(std::shared_ptr<cuda::Context> context, std::shared_ptr<const Library> library)
      : context_(std::move(context)), library_(std::move(library)) {}

  Result<void> make(const bundle::LibraryOperation& operation, const std::vector<Shape>& shapes,
                    const std::vector<DType>& types) {
    operation_ = operation;
    const Shape &a = shapes[operation.operands[0]], &b = shapes[operation.operands[1]];
    batches_ = bundle::product_batches(a, b, operation.transposed_a, operation.transposed_b);
    const DType type = types[operation.operands[0]], result = types[operation.result];
    integer_ = type == DType::int8;
    element_bytes_ = size_of(type);
    result_bytes_ = size_of(result);
    // The addend is cuBLAS's C if it is a matrix, and its bias if it is a row.
    const std::size_t operands = operation.operands.size();
    const bool one_is_matrix =
        operands == 3 && element_count(shapes[operation.operands[2]]) == element_count(shapes[operation.result]);
    if (operands == 4 || one_is_matrix) matrix_ = operands - 1;
    row_ = operands == 4 || (operands == 3 && !one_is_matrix);
    const std::int64_t m = batches_.m, n = batches_.n, k = batches_.k;
    DOVETAIL_ASSIGN(a_layout_, operation.transposed_b ? layout(type, k, n, batches_.stride_b)
                                                      : layout(type, n, k, batches_.stride_b));
    DOVETAIL_ASSIGN(b_layout_, operation.transposed_a ? layout(type, m, k, batches_.stride_a)
                                                      : layout(type, k, m, batches_.stride_a));
    DOVETAIL_ASSIGN(d_layout_, layout(result, n, m, batches_.stride_result));
    const Functions& f = library_->functions();
    void* product = nullptr;
    DOVETAIL_TRY(library_->check(
        f.create_product(&product, compute_of(type, operation.tf32), integer_ ? number::kInt32 : number::kFloat32),
        "describing a product"));
    product_ = Object(product, f.destroy_product);
    DOVETAIL_TRY(set(attribute::kTransposeA, operation.transposed_b ? number::kTransposed : number::kAsIs));
    DOVETAIL_TRY(set(attribute::kTransposeB, operation.transposed_a ? number::kTransposed : number::kAsIs));
    const bool clamps = operation.least.has_value();
    const std::uint32_t epilogue =
        (row_ ? number::kBias : 0) | (clamps ? number::kRelu : 0) | (operation.gelu ? number::kGelu : 0);
    DOVETAIL_TRY(set(attribute::kEpilogue, epilogue == 0 ? number::kDefaultEpilogue : epilogue));
    // A placeholder with the right alignment, until the actual address is known.
    if (row_) DOVETAIL_TRY(set(attribute::kBiasPointer, std::uint64_t{kAlignment}));
    return choose();
  }

  std::uint64_t workspace_bytes() const { return chosen_.workspace_bytes; }

  Result<void> begin(std::span<const cuda::Address> tensors, cuda::Address workspace) const {
    const auto address = [&](std::size_t operand) { return tensors[operation_.operands[operand]]; };
    if (row_) DOVETAIL_TRY(set(attribute::kBiasPointer, std::uint64_t{address(2)}));
    const auto alpha = static_cast<float>(operation_.scale);
    const auto beta = static_cast<float>(matrix_ ? operation_.addend_scale : 0);
    const std::int32_t one = 1, zero = 0;
    const auto at = [](cuda::Address base, std::int64_t elements, std::size_t bytes) {
      return reinterpret_cast<void*>(base + static_cast<std::uint64_t>(elements) * bytes);
    };
    for (const auto& call : batches_.calls) {
      void* const d = at(tensors[operation_.result], call.result, result_bytes_);
      DOVETAIL_TRY(library_->check(
          library_->functions().multiply(
              library_->handle(), product_.get(), integer_ ? static_cast<const void*>(&one) : &alpha,
              at(address(1), call.b, element_bytes_), a_layout_.get(), at(address(0), call.a, element_bytes_),
              b_layout_.get(), integer_ ? static_cast<const void*>(&zero) : &beta,
              matrix_ ? at(address(*matrix_), call.result, result_bytes_) : d, d_layout_.get(), d, d_layout_.get(),
              &chosen_.algorithm, reinterpret_cast<void*>(workspace), chosen_.workspace_bytes, context_->stream()),
          description()));
    }
    return {};
  }

 private:
  // A precise compute type: with plain 32F, cuBLAS's settings would decide how float32 is multiplied.
  static std::int32_t compute_of(DType type, bool tf32) {
    if (type == DType::int8) return number::kCompute32I;
    if (type != DType::float32) return number::kCompute32F;
    return tf32 ? number::kFastTf32 : number::kPedantic32F;
  }
  static std::size_t size_of(DType type) { return static_cast<std::size_t>(size_bytes(type)); }
  std::string description() const {
    return fmt::format("a product of {} x {} by {} x {}, {} of them", batches_.m, batches_.k, batches_.k, batches_.n,
                       batches_.count);
  }

  // Layout of column-major matrices without gaps.
  Result<Object> layout(DType type, std::int64_t rows, std::int64_t columns, std::int64_t stride) const {
    const Functions& f = library_->functions();
    void* made = nullptr;
    DOVETAIL_TRY(library_->check(f.create_layout(&made, number_of(type), static_cast<std::uint64_t>(rows),
                                                 static_cast<std::uint64_t>(columns), rows),
                                 "describing a matrix"));
    Object object(made, f.destroy_layout);
    const auto count = static_cast<std::int32_t>(batches_.count);
    DOVETAIL_TRY(
        library_->check(f.set_layout(made, attribute::kBatchCount, &count, sizeof count), "describing a matrix"));
    DOVETAIL_TRY(
        library_->check(f.set_layout(made, attribute::kBatchOffset, &stride, sizeof stride), "describing a matrix"));
    return object;
  }
  template <typename Value>
  Result<void> set(int attribute, Value value) const {
    return library_->check(library_->functions().set_product(product_.get(), attribute, &value, sizeof value),
                           "describing a product");
  }

  Result<void> choose() {
    const Functions& f = library_->functions();
    void* made = nullptr;
    DOVETAIL_TRY(library_->check(f.create_preference(&made), "choosing an algorithm"));
    const Object preference(made, f.destroy_preference);
    const auto prefer = [&](int which, const auto& value) {
      return library_->check(f.set_preference(made, which, &value, sizeof value), "choosing an algorithm");
    };
    DOVETAIL_TRY(prefer(attribute::kMostWorkspace, kWorkspaceBytes));
    std::array<std::uint32_t, 4> alignment{kAlignment, kAlignment, kAlignment, kAlignment};
    for (const auto& call : batches_.calls) {
      alignment[0] = std::min(alignment[0], alignment_of(call.b, element_bytes_));
      alignment[1] = std::min(alignment[1], alignment_of(call.a, element_bytes_));
      alignment[2] = std::min(alignment[2], alignment_of(call.result, result_bytes_));
    }
    alignment[3] = alignment[2];
    for (std::size_t i = 0; i < alignment.size(); ++i)
      DOVETAIL_TRY(prefer(attribute::kAlignmentA + static_cast<int>(i), alignment.at(i)));
    int given = 0;
    DOVETAIL_TRY(library_->check(f.heuristic(library_->handle(), product_.get(), a_layout_.get(), b_layout_.get(),
                                             d_layout_.get(), d_layout_.get(), made, 1, &chosen_, &given),
                                 description()));
    if (given == 0)
      return Diagnostic{"cuBLAS rejects an operation", description(), "cuBLAS has no algorithm for it on this device",
                        "leave cublas out of --target"};
    return library_->check(chosen_.status, description());
  }

  std::shared_ptr<cuda::Context> context_;
  std::shared_ptr<const Library> library_;
  bundle::LibraryOperation operation_;
  bundle::ProductBatches batches_;
  bool integer_ = false, row_ = false;      // row_: operand 2 is added to each row
  std::optional<std::size_t> matrix_ = {};  // the operand that is added unchanged
  std::size_t element_bytes_ = 4, result_bytes_ = 4;
  Object a_layout_, b_layout_, d_layout_, product_;
  Heuristic chosen_;
};

class Products : public cuda::StreamWork {
 public:
  Products(std::vector<Product> products, std::uint64_t arithmetic)
      : products_(std::move(products)), arithmetic_(arithmetic) {}

  Result<void> begin(std::span<const cuda::Address> tensors, cuda::Address workspace) override {
    for (const Product& product : products_) DOVETAIL_TRY(product.begin(tensors, workspace));
    return {};
  }
  std::uint64_t workspace_bytes() const override {
    std::uint64_t most = 0;
    for (const Product& product : products_) most = std::max(most, product.workspace_bytes());
    return most;
  }
  std::uint64_t work_steps() const override { return arithmetic_; }

 private:
  std::vector<Product> products_;
  std::uint64_t arithmetic_;
};

}  // namespace

Result<std::unique_ptr<cuda::StreamWork>> make_products(std::shared_ptr<cuda::Context> context,
                                                        std::shared_ptr<const Library> library,
                                                        const bundle::Bundle& bundle,
                                                        const bundle::CodedStep<bundle::LibraryCode>& step) {
  const std::vector<Shape> shapes = bundle::tensor_shapes(bundle, *step.step, step.code);
  const std::vector<DType> types = bundle::tensor_types(bundle, *step.step, step.code);
  std::vector<Product> products;
  for (const bundle::LibraryOperation& operation : step.code.operations) {
    Product product(context, library);
    DOVETAIL_TRY(product.make(operation, shapes, types));
    products.push_back(std::move(product));
  }
  return std::unique_ptr<cuda::StreamWork>(std::make_unique<Products>(std::move(products), step.code.arithmetic));
}

}  // namespace dovetail::runtime::cublas
