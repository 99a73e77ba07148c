// Products of four warps (wgmma) with hand-decided schedules, and changes of their lowered form.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/plant_faults.h"
#include "tests/property/compiler/cuda/decided_layers.h"

namespace dovetail::cuda::test {

inline constexpr std::string_view kGroupProduct = "group_product";

inline const cuda::Gpu& hopper() {
  static const cuda::Gpu gpu = cuda::parse_gpu("", "sm_90a").value();
  return gpu;
}

struct Form {
  std::int64_t m, n, k;
  DType type;
  bool right_transposed, left_turned;
  schedule::Decisions decisions;
  std::int64_t before = 0;
};

inline schedule::Decisions tile(const char* row_fragments, const char* columns, const char* depth_fragments,
                                const char* stages, const char* parts = "1", const char* groups = "1") {
  return {{"groups", groups},   {"row_fragments", row_fragments},
          {"columns", columns}, {"depth_fragments", depth_fragments},
          {"stages", stages},   {"parts", parts},
          {"stream", "0"}};
}

// A device adds floats in its own order: it gets numbers whose sums are all exact.
inline Case group_case(const loops::Program& program, const schedule::FindRecorded& recorded, std::uint64_t seed) {
  return layer_case(program, recorded, seed, hopper(), dovetail::test::tests_device());
}
inline Case form_case(const Form& form, std::uint64_t seed) {
  return group_case(
      layer(form.m, form.n, form.k, form.type, form.right_transposed, true, form.left_turned, form.before),
      decided(form.decisions), seed);
}

// The emulated GPU has products of four warps; among devices only those of capability 9.0.
inline bool group_products_run_here() {
  constexpr int kOfGroups = 90;
  if (!dovetail::test::tests_device()) return true;
  const auto device = runtime::cuda::find_device();
  return !device.ok() || device->capability == kOfGroups;
}
inline void check_group_text(const std::vector<Case>& all) {
  for (const Case& one : all) CHECK(one.scheduled.kind == kGroupProduct);
  if (group_products_run_here()) check_text(all);
  else dovetail::test::skip("the device has no products of groups of warps: it is not of capability 9.0");
}

template <typename T>
dovetail::test::Change each(const std::function<loops::Core(T)>& edit) {
  return [edit](const loops::Core& core) -> loops::Core {
    const T* node = core ? std::get_if<T>(&core->node) : nullptr;
    return node == nullptr ? core : edit(*node);
  };
}
inline dovetail::test::Change calls(const std::function<void(loops::CoreCall&)>& edit) {
  return each<loops::CoreCall>([edit](loops::CoreCall call) {
    edit(call);
    return loops::make_core(std::move(call));
  });
}

// The other steps between the products, in order.
inline std::vector<std::string> steps_of(const loops::Core& core) {
  std::vector<std::string> words;
  dovetail::test::changed(core, [&](const loops::Core& inner) {
    if (!inner) return inner;
    if (std::holds_alternative<loops::CoreBarrier>(inner->node)) words.emplace_back("barrier");
    if (std::holds_alternative<loops::CoreProxyFence>(inner->node)) words.emplace_back("fence");
    if (std::holds_alternative<loops::CoreAsyncCopy>(inner->node)) words.emplace_back("copy");
    if (std::holds_alternative<loops::CoreBoxCopy>(inner->node)) words.emplace_back("box");
    if (std::holds_alternative<loops::CoreCall>(inner->node)) words.emplace_back("call");
    if (const auto* signal = std::get_if<loops::CoreSignal>(&inner->node)) {
      using Step = loops::CoreSignal::Step;
      words.emplace_back(signal->step == Step::start    ? "start"
                         : signal->step == Step::expect ? "expect"
                                                        : "wait for signal");
    }
    if (const auto* group = std::get_if<loops::CoreCallGroup>(&inner->node)) {
      using Step = loops::CoreCallGroup::Step;
      words.push_back(group->step == Step::arrive   ? "arrive"
                      : group->step == Step::commit ? "commit"
                                                    : fmt::format("wait {}", group->groups));
    }
    return inner;
  });
  return words;
}

}  // namespace dovetail::cuda::test
