// Runs exported programs with an accelerator in this process: the C files, compiled to a shared object, on a machine
// whose processor and accelerators do not share caches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/aligned_bytes.h"
#include "base/file.h"
#include "base/shared_library.h"
#include "bundle/bundle.h"
#include "driver/export_model.h"
#include "driver/tensor_files.h"
#include "examples/driver/dovetail_machine.h"
#include "export/project.h"
#include "isa/spec/registers.h"
#include "runtime/executor.h"
#include "simulator/driven_machine.h"
#include "tests/catch.h"
#include "tests/exported_program.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"

namespace dovetail::test {

inline std::uint32_t register_at(std::string_view name) {
  return std::ranges::find(isa::spec::kRegisters, name, &isa::spec::Register::name)->offset;
}

// The processor's view of the memory is a copy: only clean and invalidate move bytes between it and the accelerators'
// memory, in whole lines, so that a missing one, or one line of both, gives wrong results. Both copies begin with bytes
// that no program wrote.
class IncoherentMachine {
 public:
  enum class Waits : std::uint8_t { polling, interrupt };

  IncoherentMachine(const exporting::PlannedAccelerator& plan, const std::string& engine, Waits waits,
                    std::uint64_t missing_bytes = 0)
      : waits_(waits), view_(plan.bytes) {
    const auto make = runtime::simulator_factory(engine);
    REQUIRE(make.ok());
    auto made = simulator::DrivenMachine::make(plan.configs, plan.base, plan.bytes - missing_bytes,
                                               [&](const isa::HardwareConfig& config) { return (*make)({config}); });
    INFO((made.ok() ? "" : to_string(made.errors())));
    REQUIRE(made.ok());
    simulated_ = *std::move(made);
    std::ranges::fill(simulated_->memory(), std::byte{0x5a});
    std::memset(view_.data(), 0xa5, view_.size());
    for (std::size_t i = 0; i < plan.configs.size(); ++i)
      accelerators_.push_back(std::make_unique<Accelerator>(Accelerator{this, i}));
    for (const auto& accelerator : accelerators_)
      devices_.push_back({accelerator.get(), read, write, waits == Waits::interrupt ? pause : nullptr});
    machine.accelerators = devices_.data();
    machine.count = static_cast<std::uint32_t>(devices_.size());
    machine.base = plan.base;
    machine.bytes = plan.bytes;
    machine.memory = reinterpret_cast<unsigned char*>(view_.data());
    machine.context = this;
    machine.clean = [](void* context, const void* address, std::size_t bytes) {
      static_cast<IncoherentMachine*>(context)->move(address, bytes, true);
    };
    machine.invalidate = [](void* context, void* address, std::size_t bytes) {
      static_cast<IncoherentMachine*>(context)->move(address, bytes, false);
    };
  }
  IncoherentMachine(const IncoherentMachine&) = delete;
  IncoherentMachine& operator=(const IncoherentMachine&) = delete;

  dovetail_machine machine{};
  std::uint64_t cleaned = 0, invalidated = 0;  // bytes, as asked for
  int launches = 0, pauses = 0;
  bool never_ends = false;  // launches
  std::string last_failure;

 private:
  static constexpr std::uint64_t kLine = 64;
  static constexpr int kLooks = 3;  // at STATUS until a launch has ended

  struct Accelerator {
    IncoherentMachine* machine;
    std::size_t number;
    int looks = 0;  // busy for so many more looks; then the launch that was started runs
  };

  void move(const void* address, std::size_t bytes, bool to_memory) {
    (to_memory ? cleaned : invalidated) += bytes;
    const auto first = static_cast<std::uint64_t>(static_cast<const unsigned char*>(address) - machine.memory);
    const auto memory = simulated_->memory();
    CHECK(first + bytes <= view_.size());
    if (first + bytes > view_.size()) return;
    const std::uint64_t begin = first / kLine * kLine,
                        end = std::min<std::uint64_t>((first + bytes + kLine - 1) / kLine * kLine, memory.size());
    if (begin >= end) return;
    std::byte *const here = view_.data() + begin, *const there = memory.data() + begin;
    std::memcpy(to_memory ? there : here, to_memory ? here : there, end - begin);
  }

  void end(Accelerator& accelerator) {
    accelerator.looks = 0;
    ++launches;
    const auto written = simulated_->write(accelerator.number, register_at("CONTROL"), 1);
    if (!written.ok()) last_failure = to_string(written.errors());
  }

  static std::uint32_t read(void* context, std::uint32_t offset) {
    auto& accelerator = *static_cast<Accelerator*>(context);
    IncoherentMachine& self = *accelerator.machine;
    if (accelerator.looks > 0 && offset == register_at("STATUS")) {
      if (self.never_ends || self.waits_ == Waits::interrupt || --accelerator.looks > 0) return 1;
      self.end(accelerator);
    }
    return self.simulated_->read(accelerator.number, offset).value();
  }
  static void write(void* context, std::uint32_t offset, std::uint32_t value) {
    auto& accelerator = *static_cast<Accelerator*>(context);
    if (offset == register_at("CONTROL")) accelerator.looks = kLooks;
    else CHECK(accelerator.machine->simulated_->write(accelerator.number, offset, value).ok());
  }
  // Sleeps until the interrupt.
  static void pause(void* context) {
    auto& accelerator = *static_cast<Accelerator*>(context);
    IncoherentMachine& self = *accelerator.machine;
    ++self.pauses;
    const auto get = [&](std::uint32_t offset) { return self.simulated_->read(accelerator.number, offset).value(); };
    CHECK(get(register_at("INTERRUPT_STATUS")) == 0);
    if (self.never_ends) return;
    self.end(accelerator);
    CHECK((get(register_at("INTERRUPT_STATUS")) & get(register_at("INTERRUPT_ENABLE"))) != 0);
  }

  Waits waits_;
  AlignedBytes view_;
  std::unique_ptr<simulator::DrivenMachine> simulated_;
  std::vector<std::unique_ptr<Accelerator>> accelerators_;
  std::vector<dovetail_device> devices_;
};

// An exported program, loaded.
class AcceleratedProgram {
 public:
  AcceleratedProgram(const bundle::Bundle& bundle, const std::string& compiler, const std::string& processor = "",
                     const std::vector<std::string>& flags = {"-O1"}, const std::map<std::string, NdArray>& given = {},
                     const std::function<std::string(std::string source)>& edit = nullptr)
      : bundle_(bundle) {
    auto made =
        processor.empty() ? driver::export_bundle(bundle, bundle.name, {}, {.tensors = given}) : as_objects(processor);
    INFO((made.ok() ? "" : to_string(made.errors())));
    REQUIRE(made.ok());
    exported_ = std::make_unique<driver::Exported>(*std::move(made));
    REQUIRE(exported_->plan.accelerator);
    const std::string out = folder_ / "net", object = folder_ / "net.so";
    const auto project = exporting::write_project(out, exported_->plan, exported_->golden, exported_->archive);
    INFO((project.ok() ? "" : to_string(project.errors())));
    REQUIRE(project.ok());
    if (edit) REQUIRE(write_text_file(out + "/net.c", edit(read_text_file(out + "/net.c").value())).ok());
    std::vector<std::string> command{compiler, "-shared", "-fPIC"};
    for (const std::string& flag : strict_flags()) command.push_back(flag);
    command.insert(command.end(), flags.begin(), flags.end());
    for (const std::string source : {"net.c", "dovetail_tiny.c", "dovetail_driver.c", "dovetail_machine.c"})
      command.push_back(out + "/" + source);
    if (!processor.empty()) command.push_back(out + "/net.a");
    command.insert(command.end(), {"-o", object, "-lm"});
    const Finished compiled = run_process(command, std::chrono::seconds(600));
    INFO(compiled.error << compiled.out);
    REQUIRE(compiled.exit == 0);
    auto library = SharedLibrary::open(object);
    INFO((library.ok() ? "" : to_string(library.errors())));
    REQUIRE(library.ok());
    library_ = std::make_unique<SharedLibrary>(*std::move(library));
    load_ = reinterpret_cast<int (*)(const dovetail_machine*)>(library_->find("net_load"));
    run_ = reinterpret_cast<int (*)(dovetail_machine*, const void*, const void*, void*)>(library_->find("net_run"));
    REQUIRE(load_ != nullptr);
    REQUIRE(run_ != nullptr);
    arena_ = AlignedBytes(exported_->plan.arena_bytes + 1);
  }

  const exporting::Plan& plan() const { return exported_->plan; }
  const exporting::PlannedAccelerator& accelerator() const { return *plan().accelerator; }

  int load(const dovetail_machine& machine) const { return load_(&machine); }
  // `outputs`: by name.
  int run(dovetail_machine& machine, const std::map<std::string, NdArray>& inputs,
          std::map<std::string, NdArray>& outputs, std::size_t arena_offset = 0) {
    std::vector<const void*> given;
    std::vector<void*> found;
    for (const exporting::Port& port : plan().inputs) given.push_back(inputs.at(port.tensor).bytes().data());
    for (const exporting::Port& port : plan().outputs) {
      NdArray& output = outputs.insert_or_assign(port.tensor, NdArray(port.dtype, port.shape)).first->second;
      found.push_back(output.bytes().data());
    }
    return run_(&machine, given.data(), found.data(), arena_.data() + arena_offset);
  }

  // Runs the program on inputs of several seeds and compares all bits with those of the interpreter's runs. `changed`
  // may replace inputs. Empty: equal.
  std::string compare(IncoherentMachine& machine, int runs,
                      const std::function<void(int run, std::map<std::string, NdArray>&)>& change = nullptr) {
    auto executor = runtime::Executor::make(bundle_, *runtime::simulator_factory("functional"), {1});
    if (!executor.ok()) return to_string(executor.errors());
    if (const int status = load(machine.machine); status != 0) return fmt::format("load: {}", status);
    for (int i = 0; i < runs; ++i) {
      auto inputs = driver::gather_inputs(bundle_, {}, static_cast<std::uint64_t>(i + 1));
      if (!inputs.ok()) return to_string(inputs.errors());
      if (change) change(i, inputs->tensors);
      const auto expected = executor->run(inputs->tensors);
      if (!expected.ok()) return to_string(expected.errors());
      std::map<std::string, NdArray> found;
      if (const int status = run(machine.machine, inputs->tensors, found); status != 0)
        return fmt::format("run {}: {}, error {} at instruction {}\n{}", i, status, machine.machine.error.code,
                           machine.machine.error.instruction, machine.last_failure);
      for (const auto& [name, array] : expected->outputs)
        if (!std::ranges::equal(array.bytes(), found.at(name).bytes()))
          return fmt::format("run {}: {} differs", i, name);
    }
    return "";
  }

 private:
  Result<driver::Exported> as_objects(const std::string& processor) const {
    DOVETAIL_ASSIGN(const bundle::Bundle objects, driver::object_bundle(bundle_, processor, "net"));
    return driver::export_objects(objects, bundle_, bundle_.name,
                                  {.object = exporting::ObjectKernels{.processor = processor}});
  }

  const bundle::Bundle& bundle_;
  TemporaryFolder folder_;
  std::unique_ptr<driver::Exported> exported_;
  std::unique_ptr<SharedLibrary> library_;
  int (*load_)(const dovetail_machine*) = nullptr;
  int (*run_)(dovetail_machine*, const void* inputs, const void* outputs, void* arena) = nullptr;
  AlignedBytes arena_;
};

}  // namespace dovetail::test
