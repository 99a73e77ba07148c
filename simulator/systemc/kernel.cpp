#include "simulator/systemc/kernel.h"

namespace dovetail::simulator::systemc {

namespace {

std::mutex& one_at_a_time() {
  static std::mutex one;
  return one;
}

}  // namespace

Kernel::Kernel() : lock_(one_at_a_time()), context_(std::make_unique<sc_core::sc_simcontext>()) {
  sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = context_.get();
}

Kernel::~Kernel() { sc_core::sc_curr_simcontext = sc_core::sc_default_global_context = nullptr; }

}  // namespace dovetail::simulator::systemc
