#pragma once

#include <chrono>

namespace dovetail::bench {

inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace dovetail::bench
