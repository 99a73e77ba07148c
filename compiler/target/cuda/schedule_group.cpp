#include "compiler/target/cuda/schedule_group.h"

#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bundle/code/cuda.h"
#include "compiler/prepare/preparation.h"
#include "compiler/schedule/contraction.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/cuda/intrinsics.h"
#include "compiler/target/cuda/lower.h"
#include "compiler/target/cuda/sketches/product.h"
#include "compiler/target/cuda/sketches/sketches.h"
#include "loops/product_sum.h"

namespace dovetail::cuda {

namespace {

constexpr std::string_view kUnscheduled = "none";

Json facts_of(const Gpu& gpu, FloatSums float_sums) {
  Json facts{{"threads", gpu.threads},
             {"shared_bytes", gpu.shared_bytes},
             {"processors", gpu.processors},
             {kFreeSums, float_sums == FloatSums::free}};
  if (gpu.tf32) facts["tf32"] = true;
  if (has_group_products(gpu)) facts["group_products"] = true;
  return facts;
}

std::shared_ptr<const loops::IntrinsicTable> table() {
  return {&intrinsics(), [](auto*) {}};
}

// Tensor cores multiply only bytes, four of the depth at a time; elsewhere, skipping the subtraction of a zero point
// saves an operation, and weights are loaded 16 bytes at a time.
void prepare_bytes(prepare::Preparation& p) {
  for (const std::string& name : schedule::block_names(p.task.program.body)) {
    p.drop_zero_point(name);
    for (const DType type : {DType::int8, DType::uint8}) p.put_depth_last(name, type);
  }
}

struct GroupProduct {
  std::string block;
  int bytes;  // of a factor
};
// The program's only contraction, if sketch_group_product accepts it. Two contractions are attention.
std::optional<GroupProduct> group_product(const loops::Program& program, bool tf32) {
  constexpr std::int64_t kMostColumnsOfReduction = 8;
  std::optional<GroupProduct> found;
  for (const schedule::Path& path : schedule::blocks_below(program.body)) {
    const auto product = schedule::require_contraction(path, "prepare");
    if (!product.ok()) continue;
    const loops::Block& block = *schedule::as_block(path.back());
    const auto mma =
        find_matrix_multiply(product->left.stored->dtype, product->right.stored->dtype, product->left.type);
    if (found || !mma || (mma->rounds_factors() && !tf32) || (is_floating(mma->sum) && !loops::is_product_sum(block)) ||
        product->extent(block, product->rows) < kFewestGroupRows ||
        product->extent(block, product->columns) <= kMostColumnsOfReduction)
      return std::nullopt;
    found = GroupProduct{block.name, size_bytes(product->left.stored->dtype)};
  }
  return found;
}

// For products of four warps. Constants are the same for every GPU, since all kernels of a bundle have the same
// operands: the order of the depth, and factors in TF32 if the user allows it, which instructions of one warp round
// again. Only instructions of four warps need other factors to be rounded before they are in shared memory. They
// transpose no bytes and no TF32.
void prepare_copies(prepare::Preparation& p, const Gpu& gpu) {
  const auto product = group_product(p.task.program, gpu.tf32);
  if (!product) return;
  constexpr int kEitherWay = 2;
  p.put_channels_last(product->block, kVectorBytes, product->bytes != kEitherWay);
  p.put_depth_last(product->block, DType::float32);
  p.round_factors(product->block, has_group_products(gpu));
}

// The task's schedule by the first sketch whose kernels can be lowered, else the program `written` as it is.
Result<ScheduledGroup> first_that_lowers(schedule::Task task, std::map<std::size_t, NdArray> constants,
                                         const loops::Program& written, const Gpu& gpu,
                                         const schedule::FindRecorded& recorded) {
  std::vector<std::string> notes;
  const auto refused = [&](const Kind& kind, const Diagnostics& errors) {
    notes.push_back(fmt::format("schedule {} was refused: {}", kind.name, to_string(errors)));
  };
  for (const Kind& kind : kKinds) {
    task.kind = kind.name;
    schedule::Origin origin;
    auto scheduled = schedule::try_run(sketch_of(kind, gpu), task, recorded, origin);
    if (!scheduled.ok()) {
      refused(kind, scheduled.errors());
    } else if (*scheduled) {
      auto kernels = lower((*scheduled)->program, gpu);
      if (kernels.ok())
        return ScheduledGroup{std::move((*scheduled)->program),
                              std::move((*scheduled)->trace),
                              std::string(kind.name),
                              std::move(origin),
                              *std::move(kernels),
                              std::move(notes),
                              std::move(constants)};
      refused(kind, kernels.errors());
    }
  }
  DOVETAIL_ASSIGN(loops::ThreadProgram kernels, lower(written, gpu));
  return ScheduledGroup{written, {}, std::string(kUnscheduled), {}, std::move(kernels), std::move(notes), {}};
}

schedule::Task task_of(loops::Program program, const Gpu& gpu, FloatSums float_sums) {
  return {std::string(bundle::kCudaTarget), {}, std::move(program), {}, {}, facts_of(gpu, float_sums), table()};
}

}  // namespace

Result<ScheduledGroup> schedule_group(const FusedGroup& group, const Gpu& gpu, const schedule::FindRecorded& recorded,
                                      FloatSums float_sums) {
  prepare::Preparation made(group, task_of(group.program, gpu, float_sums));
  prepare_bytes(made);
  prepare_copies(made, gpu);
  return first_that_lowers(std::move(made.task), std::move(made.constants), group.program, gpu, recorded);
}

Result<ScheduledGroup> schedule_program(const loops::Program& program, const Gpu& gpu) {
  return first_that_lowers(task_of(program, gpu, FloatSums::in_order), {}, program, gpu, {});
}

}  // namespace dovetail::cuda
