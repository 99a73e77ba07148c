#include "bench/cpu/onednn/chain.h"

#include <cstring>

#include "base/check.h"

namespace dovetail::bench::onednn {

Type type_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return Type::f32;
    case DType::int32: return Type::s32;
    case DType::int8: return Type::s8;
    case DType::uint8: return Type::u8;
    default: DOVETAIL_CHECK(false, "not a type of these benchmarks");
  }
}

dnnl::memory::format_tag plain_tag(std::size_t rank) {
  using Tag = dnnl::memory::format_tag;
  constexpr Tag kTags[] = {Tag::undef, Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde};
  return kTags[rank];
}

dnnl::memory::desc plain(const Dims& dims, Type type) { return {dims, type, plain_tag(dims.size())}; }
dnnl::memory::desc any(const Dims& dims, Type type) { return {dims, type, dnnl::memory::format_tag::any}; }

dnnl::primitive_attr Chain::attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory Chain::load(const NdArray& array) {
  dnnl::memory loaded = memory(plain(array.shape(), type_of(array.dtype())));
  std::memcpy(loaded.get_data_handle(), array.bytes().data(), array.bytes().size());
  return loaded;
}

dnnl::memory Chain::constant(const NdArray& array, const Dims& dims, const dnnl::memory::desc& desc) {
  dnnl::memory packed = memory(desc);
  reorder_now(load(array.reshaped(dims)), packed);
  return packed;
}

dnnl::memory Chain::as(const dnnl::memory& from, const dnnl::memory::desc& desc) {
  if (from.get_desc() == desc) return from;
  dnnl::memory to = memory(desc);
  if (reorders_ == Reorders::beforehand) {
    reorder_now(from, to);
    return to;
  }
  const dnnl::reorder::primitive_desc reorder(from, to, attributes());
  add(reorder, dnnl::reorder(reorder), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  return to;
}

void Chain::finish() {
  scratchpad_.resize(scratch_bytes_ + 64);
  auto* start = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(scratchpad_.data()) + 63) / 64 * 64);
  for (Step& step : steps_) step.arguments[DNNL_ARG_SCRATCHPAD] = dnnl::memory(step.scratchpad, engine_, start);
}

void Chain::run() {
  for (const Step& step : steps_) step.primitive.execute(stream_, step.arguments);
  stream_.wait();
}

void Chain::reorder_now(dnnl::memory from, dnnl::memory to) {
  dnnl::reorder(from, to).execute(stream_, from, to);
  stream_.wait();
}

NdArray Chain::read(const dnnl::memory& from, DType dtype) {
  NdArray array(dtype, from.get_desc().dims());
  dnnl::memory to = memory(plain(array.shape(), type_of(dtype)));
  reorder_now(from, to);
  std::memcpy(array.bytes().data(), to.get_data_handle(), array.bytes().size());
  return array;
}

}  // namespace dovetail::bench::onednn
