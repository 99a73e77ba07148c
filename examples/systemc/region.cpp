// Runs a region written by `dovetail compile --emit` on a SystemC platform with one accelerator and our DRAM, through
// the driver in C (examples/driver). Exit code 0: every launch completed with the expected outputs.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <tlm_utils/simple_initiator_socket.h>
#include <systemc>
#include <tlm>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "examples/driver/dovetail_driver.h"
#include "isa/config.h"
#include "isa/spec/registers.h"
#include "simulator/cycle/execution.h"
#include "simulator/systemc/accelerator.h"
#include "simulator/systemc/dram.h"

using namespace dovetail;
using namespace dovetail::simulator::systemc;

namespace {

// The files of a region.
struct Region {
  std::filesystem::path folder;
  Json map;
  isa::HardwareConfig config;
  std::uint64_t base = 0;
  std::vector<std::byte> image;

  explicit Region(const std::filesystem::path& at)
      : folder(at),
        map(read_json_file(at / "map.json").value()),
        config(isa::load_config((at / "hardware.json").string()).value()),
        base(map["image"]["base"].get<std::uint64_t>()),
        image(read_file(at / "image.bin").value()) {
    for (const Json& name : map["inputs"]) {
      const NdArray array = read_npy(folder / ("input_" + name.get<std::string>() + ".npy")).value();
      std::copy(array.bytes().begin(), array.bytes().end(), image.begin() + offset(name));
    }
  }

  std::ptrdiff_t offset(const std::string& name) const {
    for (const Json& symbol : map["symbols"])
      if (symbol["name"] == name && symbol["kind"] == "address")
        return static_cast<std::ptrdiff_t>(symbol["value"].get<std::uint64_t>() - base);
    throw std::runtime_error("the map has no " + name);
  }
  bool outputs_are_right(const std::vector<std::byte>& memory) const {
    for (const Json& name : map["outputs"]) {
      const NdArray array = read_npy(folder / ("expected_" + name.get<std::string>() + ".npy")).value();
      if (!std::equal(array.bytes().begin(), array.bytes().end(), memory.begin() + offset(name))) return false;
    }
    return true;
  }
};

// A processor that runs the driver.
class Processor : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Processor> registers;
  sc_core::sc_in<bool> interrupt;

  Processor(sc_core::sc_module_name name, const Region& region)
      : sc_module(name), registers("registers"), interrupt("interrupt"), region_(region) {
    SC_HAS_PROCESS(Processor);
    SC_THREAD(run);
  }

  int result() const { return result_; }
  std::uint64_t cycles() const { return cycles_; }
  dovetail_error error{};

 private:
  static std::uint32_t access(void* context, tlm::tlm_command command, std::uint32_t offset, std::uint32_t value) {
    tlm::tlm_generic_payload transaction;
    transaction.set_command(command);
    transaction.set_address(offset);
    transaction.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
    transaction.set_data_length(4);
    transaction.set_streaming_width(4);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    static_cast<Processor*>(context)->registers->b_transport(transaction, delay);
    return value;
  }

  void run() {
    wait(sc_core::SC_ZERO_TIME);  // by then the accelerator waits for its start
    const dovetail_device device{
        this, [](void* context, std::uint32_t offset) { return access(context, tlm::TLM_READ_COMMAND, offset, 0); },
        [](void* context, std::uint32_t offset, std::uint32_t value) {
          access(context, tlm::TLM_WRITE_COMMAND, offset, value);
        },
        [](void* context) {
          auto& self = *static_cast<Processor*>(context);
          sc_core::wait(self.interrupt.posedge_event());
        }};
    result_ = dovetail_probe(&device, isa::spec::config_register(region_.config));
    const auto program = region_.map["program_base"].get<std::uint64_t>();
    for (const Json& launch : region_.map["launches"]) {
      const dovetail_launch part{launch["begin"].get<std::uint32_t>(), launch["count"].get<std::uint32_t>()};
      if (result_ == DOVETAIL_OK) result_ = dovetail_run(&device, program, &part, 1, 0, &error);
      cycles_ += dovetail_cycles(&device);
    }
  }

  const Region& region_;
  int result_ = DOVETAIL_TIMED_OUT;
  std::uint64_t cycles_ = 0;
};

}  // namespace

int sc_main(int count, char** arguments) {
  if (count != 2) {
    std::puts("usage: systemc_region FOLDER (written by `dovetail compile --emit`)");
    return 2;
  }
  const Region region(arguments[1]);
  DramModule memory("memory", simulator::make_memory(simulator::IdealMemory{}, region.config.bus_bytes), region.base,
                    region.image);
  simulator::Execution execution(region.config, simulator::Values::computed);
  AcceleratorOptions options;
  options.config = region.config;
  options.image_base = region.base;
  options.image_bytes = region.image.size();
  Accelerator accelerator("accelerator", options, execution);
  Processor processor("processor", region);
  sc_core::sc_signal<bool> interrupt;
  accelerator.memory.bind(memory.port);
  accelerator.interrupt.bind(interrupt);
  processor.registers.bind(accelerator.registers);
  processor.interrupt.bind(interrupt);
  sc_core::sc_start();

  if (processor.result() != DOVETAIL_OK) {
    std::printf("the driver gives up: %d, error %u at instruction %u\n", processor.result(), processor.error.code,
                processor.error.instruction);
    return 1;
  }
  const bool right = region.outputs_are_right(memory.bytes());
  std::printf("%llu cycles, outputs %s\n", static_cast<unsigned long long>(processor.cycles()),
              right ? "as expected" : "differ");
  return right ? 0 : 1;
}
