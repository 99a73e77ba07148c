// Immutable content. Several tensors or steps, also of several programs, may share it; a file contains identical
// content once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ndarray.h"

namespace dovetail::bundle {

// The elements of a constant tensor, or none.
class Constant {
 public:
  Constant() = default;
  Constant(NdArray elements)
      : elements_(std::make_shared<const NdArray>(std::move(elements))) {}  // NOLINT: implicit by design
  Constant(std::optional<NdArray> elements) {                               // NOLINT: implicit by design
    if (elements) elements_ = std::make_shared<const NdArray>(*std::move(elements));
  }

  explicit operator bool() const { return elements_ != nullptr; }
  const NdArray& operator*() const { return *elements_; }
  const NdArray* operator->() const { return elements_.get(); }
  bool operator==(const Constant& other) const {
    return elements_ == other.elements_ || (elements_ && other.elements_ && *elements_ == *other.elements_);
  }
  bool is_same_as(const Constant& other) const { return elements_ == other.elements_; }

 private:
  std::shared_ptr<const NdArray> elements_;
};

// A piece of a step's code.
class Blob {
 public:
  Blob() : Blob(std::vector<std::byte>()) {}
  Blob(std::vector<std::byte> bytes) {  // NOLINT: implicit by design
    auto held = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    bytes_ = *held;
    owner_ = std::move(held);
  }
  explicit Blob(NdArray elements) {  // the elements' bytes
    auto held = std::make_shared<const NdArray>(std::move(elements));
    bytes_ = held->bytes();
    owner_ = std::move(held);
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool operator==(const Blob& other) const { return is_same_as(other) || std::ranges::equal(bytes_, other.bytes_); }
  bool is_same_as(const Blob& other) const { return owner_ == other.owner_; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;  // owned by owner_
};

}  // namespace dovetail::bundle
