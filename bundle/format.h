// The format of a bundle file: header, manifest and blobs. All integers little-endian.
//
//   0  "DOVETAIL"            8 bytes
//   8  format version        uint32: 6 where a tensor overwrites another, else 5 where there are states, else 4 where
//                            there are programs of steps or extents of outputs, else 3: readers of an older version do
//                            not know these
//  12  CRC-32                uint32, of every byte from 16 to the end
//  16  manifest size         uint64, bytes
//  24  manifest              JSON; its "blobs" lists the size of every blob
//   …  blobs in that order, each beginning at the next multiple of 16, the gaps zero; the file ends where the last blob
//   does
//
// The manifest is an object; blobs are named by their index, tensors and memory spaces by theirs:
//
//   name, report   members of bundle::Bundle, like the following
//   spaces         [{target, name, base, bytes}], the host's first
//   tensors        [{name, dtype, shape, [layout, logical], [space], [offset], [view_of], [overwrites],
//                    [constant: blob]}]
//   inputs         [tensor]
//   outputs        [tensor]
//   extents        [{output: tensor, axis, extent: tensor}], where there are any
//   states         [{input: tensor, output: tensor}], where there are any
//   residents      [{input: tensor, output: tensor, before: tensor, after: tensor}], where there are any
//   steps          [{name, target, origins, arguments: [tensor], results: [tensor], code: blob, data: [blob],
//                    [programs: [an object with all of these]]}]
//   modules        [{target, made_for, code: blob}]
//   other_shapes   [an object with all of the above], where there are any
//   blobs          [bytes]
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/expected_file.h"
#include "base/file.h"

namespace dovetail::bundle::format {

inline constexpr std::string_view kMagic = "DOVETAIL";
inline const ExpectedFile kExpected{"a bundle", [](std::span<const std::byte> so_far) {
                                      return std::ranges::equal(so_far.first(kMagic.size()),
                                                                std::as_bytes(std::span(kMagic)));
                                    }};
inline constexpr std::uint32_t kOldestVersion = 3, kVersion = 6;
inline constexpr std::size_t kVersionOffset = 8;
inline constexpr std::size_t kChecksumOffset = 12;
inline constexpr std::size_t kManifestSizeOffset = 16;
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kBlobAlignment = 16;

constexpr std::size_t aligned(std::size_t offset) {
  return (offset + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
}

// The checksum of the bytes after the checksum field. Precondition: the first piece contains the header.
std::uint32_t checksum(const Pieces& file);

}  // namespace dovetail::bundle::format
