// Minimizes a failing program and trace: removes steps and nests that the failure does not need.
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

// Drops steps in pieces of half the trace, a quarter, ... one.
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

// The program without one nest of its top level. Results that others read become inputs of small numbers; unused
// buffers are removed.
inline Case without_nest(const Case& start, const loops::Stmt& nest) {
  Case smaller{start.program, {}};
  smaller.program.body = replace(start.program.body, nest, nullptr);
  smaller.program.parameters.clear();
  smaller.program.allocations.clear();
  const auto written = [&](const loops::Buffer& buffer) { return writes(smaller.program.body, buffer.get()); };
  const auto read = [&](const loops::Buffer& buffer) { return reads(smaller.program.body, buffer.get()); };
  const auto take_as_input = [&](const loops::Buffer& buffer) {
    if (!read(buffer)) return;
    NdArray values(buffer->dtype, buffer->shape);
    for (std::int64_t i = 0; i < values.count(); ++i)
      is_floating(buffer->dtype) ? values.set_double(i, static_cast<double>(i % 5)) : values.set_int64(i, i % 5);
    smaller.program.parameters.push_back({buffer, loops::ParameterRole::input});
    smaller.arguments.push_back(std::move(values));
  };
  std::size_t argument = 0;
  for (const loops::Parameter& parameter : start.program.parameters) {
    if (parameter.role == loops::ParameterRole::output) {
      if (written(parameter.buffer)) smaller.program.parameters.push_back(parameter);
      else take_as_input(parameter.buffer);
      continue;
    }
    const NdArray& values = start.arguments[argument++];
    if (!read(parameter.buffer)) continue;
    smaller.program.parameters.push_back(parameter);
    smaller.arguments.push_back(values);
  }
  for (const loops::Buffer& buffer : start.program.allocations) {
    if (written(buffer)) smaller.program.allocations.push_back(buffer);
    else take_as_input(buffer);
  }
  return smaller;
}

inline Failing shrink(Failing failing, const Fails& fails) {
  shrink_trace(failing, fails);
  for (bool smaller = true; smaller;) {
    smaller = false;
    const loops::Stmt body = failing.start.program.body;  // kept alive while a smaller case replaces it
    const auto* nests = std::get_if<loops::Sequence>(&body->node);
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
