// The operations of a step as oneDNN calls, in execution order: constants packed in advance, layout conversions where
// one operation's output layout differs from the next one's input layout, and memory that is reused for tensors.
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
  // Memory objects for arguments and results of the step, with the number of each: arguments first, then results.
  std::vector<std::pair<std::size_t, Handle>> external;
  std::vector<Handle> memories;                                  // all memories that calls use
  std::vector<std::unique_ptr<std::vector<std::byte>>> storage;  // the bytes of those memories

  // Row-major bytes of each argument, then of each result.
  Result<void> run(std::span<std::byte* const> tensors) const;
};

// The bundle outlives the chain. Error: oneDNN rejects an operation.
Result<Chain> make_chain(std::shared_ptr<const Library> library, const bundle::Bundle& bundle,
                         const bundle::CodedStep<bundle::LibraryCode>& step);

}  // namespace dovetail::runtime::onednn
