// AlignedBytes: heap bytes aligned to 64, the width of the widest vector registers. A std::vector with a custom
// allocator would copy them one by one.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace dovetail {

class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t size) : AlignedBytes(size, allocate(size)) {  // zeros
    if (size_ > 0) std::memset(data_, 0, size_);
  }
  explicit AlignedBytes(std::span<const std::byte> bytes) : AlignedBytes(bytes.size(), allocate(bytes.size())) {
    if (size_ > 0) std::memcpy(data_, bytes.data(), size_);
  }
  AlignedBytes(const AlignedBytes& other) : AlignedBytes(std::span(other)) {}
  AlignedBytes(AlignedBytes&& other) noexcept
      : size_(std::exchange(other.size_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  AlignedBytes& operator=(AlignedBytes other) noexcept {
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~AlignedBytes() { ::operator delete(data_, kAlignment); }

  std::size_t size() const { return size_; }
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::byte* begin() { return data_; }
  std::byte* end() { return data_ + size_; }
  const std::byte* begin() const { return data_; }
  const std::byte* end() const { return data_ + size_; }
  std::byte& operator[](std::size_t i) { return data_[i]; }
  std::byte operator[](std::size_t i) const { return data_[i]; }

  bool operator==(const AlignedBytes& other) const {
    return size_ == other.size_ && (size_ == 0 || std::memcmp(data_, other.data_, size_) == 0);
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static std::byte* allocate(std::size_t size) {
    return size > 0 ? static_cast<std::byte*>(::operator new(size, kAlignment)) : nullptr;
  }
  AlignedBytes(std::size_t size, std::byte* data) : size_(size), data_(data) {}

  std::size_t size_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace dovetail
