// What the test bench of every Verilated design has: its context and power-up contents, failed assertions, the clock
// and waveforms. A test bench is one unit with the code that Verilator generates.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <verilated.h>
#if VM_TRACE
#include <verilated_fst_c.h>
#endif

// Thrown at a failed assertion of the design. It leaves the model in the middle of a cycle.
struct AssertionFailed {
  std::string where;
};

// Verilator calls this instead of ending the process (VL_USER_STOP).
void vl_stop(const char* file, int line, const char* hierarchy) {
  throw AssertionFailed{std::string(file) + ":" + std::to_string(line) + " in " + hierarchy};
}

// Top: the Verilated module, with the clock clk_i.
template <typename Top>
class ClockedModel {
 public:
  ClockedModel(const ClockedModel&) = delete;
  ClockedModel& operator=(const ClockedModel&) = delete;

  // Writes the waveform of everything from now on. False: the model was built without waveforms, or the file cannot be
  // opened.
  bool open_waves([[maybe_unused]] const char* path) {
#if VM_TRACE
    waves_ = std::make_unique<VerilatedFstC>();
    top_->trace(waves_.get(), 99);
    waves_->open(path);
    return waves_->isOpen();
#else
    return false;
#endif
  }

 protected:
  ClockedModel(std::uint64_t seed, bool assertions) : context_(std::make_unique<VerilatedContext>()) {
    context_->assertOn(assertions);
    context_->randReset(2);
    // Verilator takes positive seeds; with 0 it would seed from the clock.
    context_->randSeed(static_cast<int>(seed % 0x7fffffff) + 1);
#if VM_TRACE
    context_->traceEverOn(true);
#endif
    top_ = std::make_unique<Top>(context_.get());
  }
  ~ClockedModel() {
    enter();
    top_->final();
  }

  // Verilator's run time uses the thread's context unless one is passed: that of the most recently created model, which
  // may be destroyed already.
  void enter() { Verilated::threadContextp(context_.get()); }
  // Both edges of the clock; the falling one is evaluated with the inputs of the next cycle.
  void edge() {
    top_->clk_i = 1;
    top_->eval();
    dump();
    top_->clk_i = 0;
    dump();
  }
  void flush_waves() {
#if VM_TRACE
    if (waves_) waves_->flush();
#endif
  }

 private:
  void dump() {
#if VM_TRACE
    if (waves_) waves_->dump(time_ += 5);
#endif
  }

  std::unique_ptr<VerilatedContext> context_;

 protected:
  std::unique_ptr<Top> top_;

 private:
#if VM_TRACE
  std::unique_ptr<VerilatedFstC> waves_;
  std::uint64_t time_ = 0;
#endif
};
