// The wire format of protobuf, for the messages of compiler/import/messages.h.
// Specification: https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compiler/import/messages.h"

namespace dovetail::onnx {

// Reads a message from all of `bytes`, which must outlive it (Tensor::raw_data). False: the bytes are not such a
// message, and `message` has the fields before the place of the error. What is allocated is proportional to `bytes`.
// Fields of unknown numbers or other wire types are skipped; a message that occurs again is merged with the first one.
[[nodiscard]] bool read(std::span<const std::byte> bytes, Model& message);
[[nodiscard]] bool read(std::span<const std::byte> bytes, Tensor& message);
// False: no message, of whatever fields, begins with these bytes.
[[nodiscard]] bool may_begin_message(std::span<const std::byte> bytes);

// The bytes of a message, fields in the order of their numbers. Plain members that are 0 or empty are left out, and
// lists of numbers are not packed.
std::size_t written_bytes(const Model& message);
std::vector<std::byte> write(const Model& message);

}  // namespace dovetail::onnx
