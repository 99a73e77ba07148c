// A fuzzing target: valid inputs to start from, and the function that processes every input, however damaged. libFuzzer
// runs it (tests/libfuzzer, ./dev fuzz); ./dev test replays the inputs that libFuzzer has found, and mutations of them
// (replay.h).
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail::test {

using Bytes = std::vector<std::byte>;

struct FuzzSeed {
  std::string name;  // of a file
  Bytes bytes;
};

struct FuzzTarget {
  std::vector<FuzzSeed> (*seeds)();
  // Returns the broken promise; empty: none. Throws InternalError where the kit itself fails.
  std::string (*take)(std::span<const std::byte> bytes);
  // Changes `bytes` according to the format, with pieces of `other`; at most `most` bytes. Null: there is no such
  // function.
  Bytes (*mutate)(std::span<const std::byte> bytes, std::span<const std::byte> other, std::mt19937_64& random,
                  std::size_t most) = nullptr;
};

// The targets, each next to its corpus.
FuzzTarget import_target();    // compiler/import: models, through all graph passes and printers
FuzzTarget bundle_target();    // bundle: bundles, with a corrected checksum, and the code of their steps
FuzzTarget program_target();   // isa: instruction streams: decoder, verifier, disassembler
FuzzTarget assembly_target();  // isa: assembly text
FuzzTarget hardware_target();  // isa: JSON, and hardware configurations in it
FuzzTarget arrays_target();    // base: .npy and .npz
FuzzTarget messages_target();  // remote: messages of the queue
FuzzTarget loops_target();     // loops: texts of loop programs, in the parser, the verifier and the simplifier
FuzzTarget mlir_target();      // mlir: texts of MLIR, in the parser, the reader and the writer

// Returns "" if every diagnostic says what failed, why, and what to do; otherwise the first that does not.
inline std::string incomplete_diagnostic(const Diagnostics& diagnostics) {
  if (diagnostics.empty()) return "an error without a diagnostic";
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.what.empty() || diagnostic.why.empty() || diagnostic.hint.empty())
      return "a diagnostic without words: " + to_string(diagnostic);
  return "";
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace dovetail::test
