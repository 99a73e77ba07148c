// A sequence of oneDNN primitives set up for speed: created once, with layouts chosen by the library (format_tag::any),
// weights reordered in advance, one scratchpad for all, no allocation while running.
#pragma once

#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include "base/ndarray.h"

namespace dovetail::bench::onednn {

using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;

Type type_of(DType dtype);
dnnl::memory::format_tag plain_tag(std::size_t rank);
dnnl::memory::desc plain(const Dims& dims, Type type);
dnnl::memory::desc any(const Dims& dims, Type type);

class Chain {
 public:
  using Arguments = std::unordered_map<int, dnnl::memory>;
  // beforehand: loaded data are reordered once, before anything runs. timed: reorders are part of the chain.
  enum class Reorders : std::uint8_t { beforehand, timed };

  explicit Chain(Reorders reorders) : reorders_(reorders) {}

  const dnnl::engine& engine() const { return engine_; }
  // The attributes that every primitive needs.
  static dnnl::primitive_attr attributes();

  dnnl::memory memory(const dnnl::memory::desc& desc) { return dnnl::memory(desc, engine_); }
  dnnl::memory load(const NdArray& array);  // plain layout
  dnnl::memory constant(const NdArray& array, const Dims& dims,
                        const dnnl::memory::desc& desc);  // reordered once, at this call
  // `memory` if it has the layout; otherwise a copy in that layout.
  dnnl::memory as(const dnnl::memory& memory, const dnnl::memory::desc& desc);

  template <typename PrimitiveDesc>
  void add(const PrimitiveDesc& desc, const dnnl::primitive& primitive, Arguments arguments) {
    scratch(desc.scratchpad_desc());
    steps_.push_back({primitive, std::move(arguments), desc.scratchpad_desc()});
  }

  void finish();  // allocates the scratchpad; call before run()
  void run();
  NdArray read(const dnnl::memory& memory, DType dtype);  // in plain layout

 private:
  struct Step {
    dnnl::primitive primitive;
    Arguments arguments;
    dnnl::memory::desc scratchpad;
  };

  void scratch(const dnnl::memory::desc& desc) { scratch_bytes_ = std::max(scratch_bytes_, desc.get_size()); }
  void reorder_now(dnnl::memory from, dnnl::memory to);

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Step> steps_;
  Reorders reorders_;
  std::size_t scratch_bytes_ = 0;
  std::vector<std::byte> scratchpad_;
};

}  // namespace dovetail::bench::onednn
