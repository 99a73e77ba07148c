// The operations of a step as calls of oneDNN, in the order in which they run: constants packed beforehand, changes of
// layout where one operation leaves a tensor in another layout than the next one takes, and memory that tensors share
// one after the other.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bundle/code/library.h"
#include "runtime/device/onednn/library.h"

namespace dovetail::runtime::onednn {

struct Call {
  Primitive primitive;
  std::vector<Library::Argument> arguments;
};

struct Chain {
  std::shared_ptr<const Library> library;
  std::vector<Call> calls;
  // Memories that lie in the bytes of an argument or a result of the step, by its number: arguments, then results.
  std::vector<std::pair<std::size_t, Handle>> external;
  std::vector<Handle> memories;                                  // all, as long as calls name them
  std::vector<std::unique_ptr<std::vector<std::byte>>> storage;  // that memories lie in

  // Row-major bytes of each argument, then of each result.
  Result<void> run(std::span<std::byte* const> tensors) const;
};

// The bundle outlives the chain. Error: an operation that the library refuses.
Result<Chain> make_chain(std::shared_ptr<const Library> library, const bundle::Bundle& bundle,
                         const bundle::CodedStep<bundle::LibraryCode>& step);

}  // namespace dovetail::runtime::onednn
