// oneDNN, loaded at run time when a bundle has steps for it, not linked. Versions 2.6 and later (Debian 12) and 3
// (later systems) have the same functions under different names; library.cpp contains the differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"

namespace dovetail::runtime::onednn {

class Library;

// An object of the library, destroyed by its last owner.
using Handle = std::shared_ptr<void>;

// dnnl_memory_desc: the layout of a float32 tensor.
class Layout {
 public:
  Layout() = default;
  explicit Layout(Handle object) : object_(std::move(object)) {}
  const void* get() const { return object_.get(); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Handle object_;
};

// The role of a memory as a primitive's argument (DNNL_ARG_...).
enum class Role : int { source = 1, second_source = 2, destination = 17, weights = 33, bias = 41, many_sources = 1024 };

// A primitive, with the layouts that it has chosen for operands of any layout.
struct Primitive {
  Handle object;
  std::string implementation;
  Layout source, weights, destination;
};

struct Windows {
  Shape kernel, strides, dilations, pad_begin, pad_end;  // as bundle::LibraryOperation
};
enum class Pool : std::uint8_t { maximum, average, average_of_pads };
struct Clamp {
  std::optional<double> least, most;
};

class Library {
 public:
  // Error: there is no library, or it is too old.
  static Result<std::shared_ptr<const Library>> find();
  virtual ~Library() = default;

  virtual std::string version() const = 0;
  virtual const std::string& path() const = 0;
  // Applies to the work that this thread starts from now on.
  virtual void set_threads(int threads) const = 0;

  // Row-major except for `order`: the axes from the slowest to the fastest. Empty: in their order.
  virtual Result<Layout> plain(const Shape& shape, const std::vector<std::size_t>& order = {}) const = 0;
  virtual Result<Layout> any(const Shape& shape) const = 0;
  virtual std::size_t bytes(const Layout& layout) const = 0;
  virtual bool equal(const Layout& a, const Layout& b) const = 0;

  // For operands of layout `any`, the primitive chooses the layout. Without bias, its layout is empty.
  virtual Result<Primitive> convolution(const Layout& x, const Layout& weights, const Layout& bias, const Layout& y,
                                        const Windows& windows, const Clamp& clamp) const = 0;
  virtual Result<Primitive> product(const Layout& a, const Layout& b, const Layout& bias, const Layout& y,
                                    const Clamp& clamp) const = 0;
  virtual Result<Primitive> pool(Pool kind, const Layout& x, const Layout& y, const Windows& windows,
                                 const Clamp& clamp) const = 0;
  virtual Result<Primitive> sum(const Layout& a, const Layout& b, const Layout& y, const Clamp& clamp) const = 0;
  virtual Result<Primitive> concatenation(std::span<const Layout> xs, std::size_t axis, const Clamp& clamp) const = 0;
  virtual Result<Primitive> reorder(const Layout& from, const Layout& to) const = 0;

  // A memory without bytes.
  virtual Result<Handle> memory(const Layout& layout) const = 0;
  virtual void set_bytes(const Handle& memory, void* bytes) const = 0;
  struct Argument {
    int role;  // Role, or many_sources plus a number
    void* memory;
  };
  virtual Result<void> execute(const Primitive& primitive, std::span<const Argument> arguments) const = 0;
  virtual Result<void> wait() const = 0;
};

}  // namespace dovetail::runtime::onednn
