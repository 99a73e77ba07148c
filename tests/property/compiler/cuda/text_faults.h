// Faults planted in the text of kernels: the emulated GPU must detect each.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include "tests/property/compiler/cuda/kernel_case.h"

namespace dovetail::cuda::test {

using ChangeText = std::function<std::string(std::string)>;
struct TextFault {
  const char* what;
  ChangeText change;
};

// Exchanges two arguments of each call of `function`.
inline ChangeText exchanged(const std::string& function, std::size_t a, std::size_t b) {
  return [=](std::string text) {
    for (std::size_t at = text.find(function); at != std::string::npos; at = text.find(function, at + 1)) {
      std::vector<std::pair<std::size_t, std::size_t>> arguments;  // from, length
      std::size_t depth = 0, begin = at + function.size();
      for (std::size_t i = begin; i < text.size() && text[i] != ';'; ++i) {
        if (text[i] == '(' || text[i] == '[' || text[i] == '<') ++depth;
        if ((text[i] == ')' && depth == 0) || (text[i] == ',' && depth == 0)) {
          arguments.emplace_back(begin, i - begin);
          begin = i + 2;
        }
        if ((text[i] == ')' || text[i] == ']' || text[i] == '>') && depth > 0) --depth;
      }
      const std::string first = text.substr(arguments.at(a).first, arguments[a].second),
                        second = text.substr(arguments.at(b).first, arguments[b].second);
      text.replace(arguments[b].first, arguments[b].second, first);
      text.replace(arguments[a].first, arguments[a].second, second);
    }
    return text;
  };
}
inline ChangeText replaced(const std::string& from, const std::string& to) {
  return [=](std::string text) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  };
}

// A failed launch breaks the emulated device for all later ones.
inline void repair_device() {
  void* const driver = dlopen(emulated("driver").c_str(), RTLD_NOW);
  REQUIRE(driver != nullptr);
  reinterpret_cast<void (*)(int)>(dlsym(driver, "emulated_gpu_fail"))(0);
  dlclose(driver);
}

// The unchanged text gives the expected values, and with any of the faults it does not.
inline void check_text_faults(const Case& one, std::vector<TextFault> faults) {
  faults.insert(faults.begin(), {"as it is", [](std::string text) { return text; }});
  const dovetail::test::Environment nvrtc("DOVETAIL_NVRTC", emulated("nvrtc")),
      driver("DOVETAIL_LIBCUDA", emulated("driver"));
  std::string text;
  std::vector<Source> sources;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    sources.push_back(emit_source(one.scheduled.kernels, one.scheduled.program.parameters, fmt::format("f{}", i)));
    const std::string changed = faults[i].change(sources.back().text);
    INFO(faults[i].what);
    CHECK((changed != sources.back().text) == (i != 0));
    text += changed;
  }
  const auto compiler = Nvrtc::find();
  if (!compiler) FAIL(to_string(compiler.errors()));
  auto binary = (*compiler)->compile(text, "sm_90a");
  if (!binary) FAIL(to_string(binary.errors()));
  const auto context = runtime::cuda::Context::open();
  if (!context) FAIL(to_string(context.errors()));
  const std::vector<bundle::CudaImage> images{{"sm_90a", false, bundle::Blob(std::move(binary->cubin))}};
  const auto module = (*context)->module(images);
  if (!module) FAIL(to_string(module.errors()));
  for (std::size_t i = 0; i < faults.size(); ++i) {
    INFO(faults[i].what);
    const auto have = launch(*context, sources[i], *module, one);
    CHECK((!have.ok() || *have != *one.expected) == (i != 0));
    if (!have.ok()) repair_device();
  }
}

}  // namespace dovetail::cuda::test
