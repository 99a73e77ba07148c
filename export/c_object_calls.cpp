#include "export/c_object_calls.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/c_place.h"

namespace dovetail::exporting {

std::string object_services() {
  return R"(
/* What kernels of objects get: their workspace, and a function that keeps the first failure. */
struct services {
  void (*parallel_for)(void); /* not called, like unary, pow and fmod */
  void (*fail)(const struct services* services, uint32_t site, int64_t value);
  const void* unary;
  double (*pow)(double, double);
  double (*fmod)(double, double);
  void* shared;
  void* local;
  void* context; /* struct failures */
};
struct failures {
  int first; /* 0: none */
  int base;  /* the number of the kernel's site 0 */
};

static void fail(const struct services* services, uint32_t site, int64_t value) {
  struct failures* const failures = services->context;
  (void)value;
  if (failures->first == 0) failures->first = failures->base + (int)site;
}
)";
}

std::string object_kernel(const PlannedKernel& kernel) {
  return fmt::format("void {}(const struct services* services, void* const* buffers);\n", kernel.function);
}

std::string object_variables() {
  return "  struct failures failures = {0, 0};\n"
         "  struct services services = {0, fail, 0, 0, 0, 0, 0, &failures};\n";
}

std::string object_call(const Plan& plan, const PlannedKernel& kernel, const KernelCall& call) {
  std::vector<std::string> buffers;
  for (const Place& place : call.arguments) buffers.push_back("(void*)" + place_text(plan, place));
  const auto workspace = [&](std::size_t i) { return place_text(plan, call.workspace.at(i)); };
  std::string text = fmt::format(
      "  {{\n    void* const buffers[] = {{\n        {}}};\n    services.shared = {};\n    services.local = {};\n",
      fmt::join(buffers, ",\n        "), workspace(0), workspace(1));
  if (kernel.code.fails) text += fmt::format("    failures.base = {};\n", kernel.first_site + 1);
  text += fmt::format("    {}(&services, buffers);\n", kernel.function);
  if (kernel.code.fails) text += "    if (failures.first != 0) return failures.first;\n";
  return text + "  }\n";
}

}  // namespace dovetail::exporting
