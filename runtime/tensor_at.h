// A tensor of a bundle by its index.
#pragma once

#include "bundle/bundle.h"

namespace dovetail::runtime {

inline const bundle::Tensor& tensor_at(const bundle::Bundle& bundle, bundle::TensorIndex index) {
  return bundle.tensors[static_cast<std::size_t>(index)];
}

}  // namespace dovetail::runtime
