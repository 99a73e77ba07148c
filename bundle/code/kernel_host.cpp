#include "bundle/code/kernel_host.h"

#include <array>
#include <atomic>
#include <cmath>

#include <fmt/format.h>

#include "base/aligned_bytes.h"
#include "base/large_pages.h"
#include "base/thread_pool.h"
#include "loops/ir.h"

namespace dovetail::bundle {

namespace {

double inverse_sqrt(double x) { return 1 / std::sqrt(x); }

// loops::UnaryOp -> function. Rounding functions and similar ones are machine instructions and never requested.
using UnaryFunction = double (*)(double);
const std::array<UnaryFunction, static_cast<std::size_t>(loops::UnaryOp::is_inf) + 1>& unary_functions() {
  static const auto table = [] {
    using U = loops::UnaryOp;
    std::array<UnaryFunction, static_cast<std::size_t>(U::is_inf) + 1> functions{};
    const auto set = [&](U op, UnaryFunction function) { functions[static_cast<std::size_t>(op)] = function; };
    set(U::sqrt, std::sqrt), set(U::rsqrt, inverse_sqrt), set(U::exp, std::exp), set(U::log, std::log),
        set(U::sin, std::sin), set(U::cos, std::cos);
    set(U::tan, std::tan), set(U::asin, std::asin), set(U::acos, std::acos), set(U::atan, std::atan),
        set(U::sinh, std::sinh), set(U::cosh, std::cosh);
    set(U::asinh, std::asinh), set(U::acosh, std::acosh), set(U::atanh, std::atanh), set(U::tanh, std::tanh),
        set(U::erf, std::erf);
    return functions;
  }();
  return table;
}

}  // namespace

struct KernelHost::State {
  ThreadPool pool;
  AlignedBytes shared, local;
  std::size_t local_bytes;
  KernelServices services{};
  // The first failure.
  std::atomic<bool> failed{false};
  std::uint32_t site = 0;
  std::int64_t value = 0;

  State(int threads, std::size_t shared_bytes, std::size_t local_bytes_of_one, ThreadPool::Placement placement)
      : pool(threads, placement), shared(shared_bytes), local_bytes((local_bytes_of_one + 63) / 64 * 64) {
    local = AlignedBytes(local_bytes * static_cast<std::size_t>(pool.threads()));
    use_large_pages({shared, local});
    services.parallel_for = [](const KernelServices* own, ParallelBody body, void* closure, std::int64_t count) {
      auto& state = *static_cast<State*>(own->context);
      if (count <= 0) return;
      if (count == 1 || state.pool.threads() == 1) return body(closure, 0, count, state.local.data());
      state.pool.parallel_for(count, [&](std::int64_t begin, std::int64_t end, int thread) {
        body(closure, begin, end, state.local.data() + state.local_bytes * static_cast<std::size_t>(thread));
      });
    };
    services.fail = [](const KernelServices* own, std::uint32_t where, std::int64_t what) {
      auto& state = *static_cast<State*>(own->context);
      if (state.failed.exchange(true)) return;
      state.site = where;
      state.value = what;
    };
    services.unary = unary_functions().data();
    services.pow = std::pow;
    services.fmod = std::fmod;
    services.shared = shared.data();
    services.local = local.data();
    services.context = this;
  }
};

KernelHost::KernelHost(int threads, std::size_t shared_bytes, std::size_t local_bytes, ThreadPool::Placement placement)
    : state_(std::make_unique<State>(threads > 0 ? threads : available_processors(), shared_bytes, local_bytes,
                                     placement)) {}
KernelHost::~KernelHost() = default;

int KernelHost::threads() const { return state_->pool.threads(); }

Result<void> KernelHost::run(Kernel kernel, void* const* buffers, std::span<const std::string> failures,
                             const std::string& where) {
  state_->failed = false;
  kernel(&state_->services, buffers);
  if (!state_->failed) return {};
  const std::string what = state_->site < failures.size() ? failures[state_->site] : "a rule is broken";
  return Diagnostic{"the run failed", where, fmt::format("{}; the value is {}", what, state_->value),
                    "check the inputs; on the interpreter the element is named"};
}

}  // namespace dovetail::bundle
