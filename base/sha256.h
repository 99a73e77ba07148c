// SHA-256 (FIPS 180-4), which names files by their content: compiled bundles, caches, uploaded files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/file.h"

namespace dovetail {

// The hash of bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void add(std::span<const std::byte> bytes);
  // 64 hexadecimal digits, the hash of everything added so far; more may be added afterwards.
  std::string digits() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The hash of a whole file; 64 hexadecimal digits.
std::string sha256(std::span<const std::byte> bytes);
std::string sha256(const Pieces& file);

}  // namespace dovetail
