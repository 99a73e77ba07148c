#include "runtime/device/all.h"

#include "bundle/code/flow.h"

namespace dovetail::runtime {

std::vector<std::shared_ptr<Device>> built_in_devices(const DeviceOptions& options) {
  return {
      make_accel_device(options.make_simulator),
      make_cpu_device(options.threads, options.placement, options.work),
      make_onednn_device(options.threads, options.work),
      make_cuda_device(options.work),
      make_host_device(options.work),
  };
}

Result<void> check_code(const bundle::Bundle& bundle, const std::vector<std::shared_ptr<Device>>& devices) {
  for (const auto& device : devices) DOVETAIL_TRY(device->check(bundle));
  DOVETAIL_TRY(bundle::flow_steps(bundle));
  for (const bundle::Step& step : bundle.steps)
    for (const bundle::Bundle& program : step.programs) DOVETAIL_TRY(check_code(program, devices));
  for (const bundle::Bundle& other : bundle.other_shapes) DOVETAIL_TRY(check_code(other, devices));
  return {};
}

}  // namespace dovetail::runtime
