// A step with its decoded code, for the device that runs it and the tools that inspect it. Each of the kit's targets
// has its own type of code, a value type in a file of this folder with the functions
//
//   void encode(const Code& code, Step& step);                 sets the step's target, code and data
//   Result<Code> decode_NAME(const Step& step);                the bytes may come from an untrusted file
//   Result<std::vector<CodedStep<Code>>> NAME_steps(bundle);   decoded, and checked against tensors and memories
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "bundle/bundle.h"

namespace dovetail::bundle {

template <typename Code>
struct CodedStep {
  std::size_t index = 0;  // index in the bundle's steps
  const Step* step = nullptr;
  Code code;
};

// A problem found in a step's code.
inline Diagnostic invalid_step(const Step& step, std::string why) {
  return {"invalid bundle", fmt::format("step {}", step.name), std::move(why),
          "make the bundle again with `dovetail compile`"};
}

// All steps of a target. `check(step, code)` returns the rules that a step violates, one sentence each.
template <typename Code, typename Check>
Result<std::vector<CodedStep<Code>>> decode_steps(const Bundle& bundle, std::string_view target,
                                                  Result<Code> (*decode)(const Step& step), const Check& check) {
  std::vector<CodedStep<Code>> steps;
  Diagnostics problems;
  for (std::size_t i = 0; i < bundle.steps.size(); ++i) {
    const Step& step = bundle.steps[i];
    if (step.target != target) continue;
    Result<Code> code = decode(step);
    if (!code.ok()) {
      problems.insert(problems.end(), code.errors().begin(), code.errors().end());
      continue;
    }
    for (std::string& why : check(step, *code)) problems.push_back(invalid_step(step, std::move(why)));
    steps.push_back({i, &step, *std::move(code)});
  }
  if (!problems.empty()) return problems;
  return steps;
}

}  // namespace dovetail::bundle
