// Links object files to one shared object, with lld as a library.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "compiler/target/cpu/codegen/archive.h"

namespace dovetail::cpu {

// Exports every global symbol of the objects; rejects undefined symbols, so that the result loads anywhere. Calls are
// serialized: lld has global state.
Result<std::vector<std::byte>> link_shared(std::span<const ArchiveMember> objects);

}  // namespace dovetail::cpu
