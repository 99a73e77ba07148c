// A failing program and trace made small: steps and nests that are not needed for the failure go.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "loops/print.h"
#include "tests/property/compiler/schedule/step_check.h"

namespace dovetail::schedule::test {

struct Failing {
  Case start;
  std::vector<Step> trace;
};
using Fails = std::function<bool(const Case&, const std::vector<Step>&)>;

// Steps dropped in pieces of half the trace, a quarter, ... one.
inline void shrink_trace(Failing& failing, const Fails& fails) {
  for (std::size_t piece = std::max<std::size_t>(failing.trace.size() / 2, 1);; piece /= 2) {
    for (std::size_t at = 0; at < failing.trace.size();) {
      std::vector<Step> shorter = failing.trace;
      const auto begin = shorter.begin() + static_cast<std::ptrdiff_t>(at);
      shorter.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(piece, shorter.size() - at)));
      if (fails(failing.start, shorter)) failing.trace = std::move(shorter);
      else at += piece;
    }
    if (piece == 1) return;
  }
}

// The program without one nest of its top level. What others read of its results becomes an input of small numbers; buffers that nothing uses any
// more go, and outputs that no nest writes.
inline Case without_nest(const Case& start, const loops::Stmt& nest) {
  Case smaller = start;
  smaller.program.body = replace(start.program.body, nest, nullptr);
  const auto used = [&](const loops::Buffer& buffer, bool written) {
    return writes(smaller.program.body, buffer.get()) || (!written && reads(smaller.program.body, buffer.get()));
  };
  smaller.program.parameters.clear();
  smaller.arguments.clear();
  std::size_t argument = 0;
  for (const loops::Parameter& parameter : start.program.parameters) {
    const bool output = parameter.role == loops::ParameterRole::output, keep = used(parameter.buffer, output);
    if (keep) smaller.program.parameters.push_back(parameter);
    if (!output && keep) smaller.arguments.push_back(start.arguments[argument]);
    if (!output) ++argument;
  }
  std::erase_if(smaller.program.allocations, [&](const loops::Buffer& buffer) {
    if (used(buffer, true)) return false;
    if (!used(buffer, false)) return true;
    NdArray values(buffer->dtype, buffer->shape);
    for (std::int64_t i = 0; i < values.count(); ++i) is_floating(buffer->dtype) ? values.set_double(i, i % 5) : values.set_int64(i, i % 5);
    smaller.program.parameters.push_back({buffer, loops::ParameterRole::input});
    smaller.arguments.push_back(std::move(values));
    return true;
  });
  return smaller;
}

inline Failing shrink(Failing failing, const Fails& fails) {
  shrink_trace(failing, fails);
  for (bool smaller = true; smaller;) {
    smaller = false;
    const auto* nests = std::get_if<loops::Sequence>(&failing.start.program.body->node);
    if (!nests) break;
    for (auto nest = nests->body.rbegin(); nest != nests->body.rend() && !smaller; ++nest) {
      Case candidate = without_nest(failing.start, *nest);
      if (!fails(candidate, failing.trace)) continue;
      failing.start = std::move(candidate);
      smaller = true;
    }
  }
  shrink_trace(failing, fails);
  return failing;
}

inline std::string to_string(const Failing& failing) {
  return loops::to_string(failing.start.program) + "trace:\n" + to_string(std::span(failing.trace));
}

}  // namespace dovetail::schedule::test
