// An open file, socket or pipe, closed when its owner ends.
#pragma once

#include <utility>

#include <unistd.h>

namespace dovetail {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : file_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      file_ = other.release();
    }
    return *this;
  }

  int file() const { return file_; }  // -1: none
  int release() { return std::exchange(file_, -1); }
  void close() {
    if (file_ >= 0) ::close(release());
  }

 private:
  int file_ = -1;
};

}  // namespace dovetail
