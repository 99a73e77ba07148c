// The input of firmware over the serial line.
#pragma once

#include <cstddef>
#include <string_view>

#include "simulator/soc/memory_map.h"

namespace dovetail::simulator::soc {

// Answers firmware that asks for a byte (kAskForInput). `bytes` outlive the object.
class SerialInput {
 public:
  explicit SerialInput(std::string_view bytes) : bytes_(bytes) {}

  // The next byte; after the last one kEndOfInput.
  int next() { return at_ < bytes_.size() ? static_cast<unsigned char>(bytes_[at_++]) : static_cast<int>(kEndOfInput); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace dovetail::simulator::soc
