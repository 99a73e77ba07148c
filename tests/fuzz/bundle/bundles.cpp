// Bundles. The checksum, which protects against damage but not against intent, is corrected first.
#include <cstring>

#include "base/little_endian.h"
#include "bundle/bundle.h"
#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "bundle/code/cuda.h"
#include "bundle/code/flow.h"
#include "bundle/code/host.h"
#include "bundle/code/library.h"
#include "bundle/format.h"
#include "tests/fuzz/target.h"
#include "tests/unit/bundle/flow_sample.h"

namespace dovetail::test {
namespace {

std::vector<FuzzSeed> seeds() {
  bundle::Bundle sample = sample_bundle(), shapes = sample, plain;
  shapes.other_shapes.push_back(sample);
  plain.name = "plain";
  plain.tensors = {{"x", DType::float32, {2}, {}}};
  plain.inputs = plain.outputs = {0};
  plain.report = Json::object();
  plain.modules = {{std::string(bundle::kCpuTarget), "avx2", Bytes(40)}};
  std::vector<FuzzSeed> list;
  const bundle::Bundle choice = if_bundle(), loop = loop_bundle();
  for (const auto& [name, each] : {std::pair<const char*, const bundle::Bundle*>{"sample", &sample},
                                   {"shapes", &shapes},
                                   {"plain", &plain},
                                   {"choice", &choice},
                                   {"loop", &loop}})
    list.push_back({std::string(name) + ".dvt", bundle::serialize(*each)});
  return list;
}

template <typename T>
std::string words(const Result<T>& result) {
  return result ? "" : incomplete_diagnostic(result.errors());
}

std::string take(std::span<const std::byte> bytes) {
  Bytes file(bytes.begin(), bytes.end());
  if (file.size() >= bundle::format::kHeaderBytes) {
    Bytes checksum;
    append_little_endian(checksum, bundle::format::checksum({file}));
    std::memcpy(file.data() + bundle::format::kChecksumOffset, checksum.data(), checksum.size());
  }
  const auto read = bundle::parse(file, "fuzz.dvt", bundle::MachineCode::untrusted);
  if (!read) return incomplete_diagnostic(read.errors());
  if (!bundle::verify(*read)) return "what was read does not verify";
  const Bytes written = bundle::serialize(*read);
  const auto again = bundle::parse(written, "written.dvt", bundle::MachineCode::untrusted);
  if (!again) return "written, it is refused: " + to_string(again.errors());
  if (bundle::serialize(*again) != written) return "written, it is another bundle";
  for (const std::string& broken :
       {words(bundle::accel_steps(*read)), words(bundle::host_steps(*read)), words(bundle::cpu_steps(*read)),
        words(bundle::cuda_steps(*read)), words(bundle::library_steps(*read, bundle::kOnednnTarget)),
        words(bundle::library_steps(*read, bundle::kCublasTarget)),
        words(bundle::library_steps(*read, bundle::kCudnnTarget)), words(bundle::flow_steps(*read))})
    if (!broken.empty()) return broken;
  return "";
}

}  // namespace

FuzzTarget bundle_target() { return {seeds, take}; }

}  // namespace dovetail::test
