// The accesses of the instructions of a stream, by the same code as isa/verify.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compiler/target/accel/stream/stream.h"
#include "isa/config.h"
#include "isa/verify/accesses.h"

namespace dovetail::accel {

struct Accesses {
  std::vector<isa::SramAccess> sram;
  isa::DramAccess dram;  // not set for a LOAD UOP: isa/verify allows no STORE to micro-ops
};

// Equal GEMMs and ALUs, of which a tiled operation has many, are analyzed once.
class StreamAccesses {
 public:
  // Both outlive this object.
  StreamAccesses(const isa::HardwareConfig& config, const Stream& stream)
      : config_(config), stream_(stream), finder_(config) {}

  // Valid until the next call.
  const Accesses& of(const StreamInstruction& item);

 private:
  using LoopKey = std::array<std::uint32_t, 11>;
  struct LoopHash {
    std::size_t operator()(const LoopKey& key) const;
  };
  static LoopKey key_of(const StreamInstruction& item, const isa::UopLoop& loop);

  const isa::HardwareConfig& config_;
  const Stream& stream_;
  isa::AccessFinder finder_;
  std::unordered_map<LoopKey, Accesses, LoopHash> loops_;
  Accesses transfer_;
};

}  // namespace dovetail::accel
