// The contents of UOP SRAM at each point of the compute queue. Micro-ops are constants of the memory image, so they are
// known statically; the only way to change them, a STORE to bytes that a LOAD UOP reads, is a separate finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isa/codec.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"

namespace dovetail::isa {

class UopBuffer {
 public:
  UopBuffer(const HardwareConfig& config, const std::optional<DramImage>& image);

  // False: there is no image, and only the set of loaded elements is known.
  bool contents_known() const { return image_.has_value(); }

  void load(const Load& load);

  // The elements of [begin, end) that were never loaded.
  std::vector<Extent> undefined(std::uint64_t begin, std::uint64_t end) const;
  // True for an element with known contents. False after a load from outside the image, which is already a finding.
  bool known(std::size_t element) const { return states_[element] == State::known; }
  const Uop& operator[](std::size_t element) const { return uops_[element]; }
  // The elements of [begin, end) whose contents are known; valid until the next call. nullopt if there is no image.
  std::optional<std::span<const Uop>> kernel(std::uint64_t begin, std::uint64_t end);
  std::size_t size() const { return uops_.size(); }

 private:
  enum class State : std::uint8_t { undefined, unknown, known };

  Codec codec_;
  std::optional<DramImage> image_;
  std::uint64_t uop_bytes_;
  std::vector<Uop> uops_, known_;
  std::vector<State> states_;
};

}  // namespace dovetail::isa
