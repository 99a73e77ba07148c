#include "bundle/format.h"

#include <algorithm>

#include <zlib.h>

namespace dovetail::bundle::format {

std::uint32_t checksum(const Pieces& file) {
  uLong crc = ::crc32(0, nullptr, 0);
  for (const std::span<const std::byte>& piece : file)
    for (std::span<const std::byte> rest = &piece == &file.front() ? piece.subspan(kManifestSizeOffset) : piece;
         !rest.empty();) {
      const std::size_t chunk = std::min(rest.size(), std::size_t{1} << 30);  // zlib counts in 32 bits
      crc = ::crc32(crc, reinterpret_cast<const Bytef*>(rest.data()), static_cast<uInt>(chunk));
      rest = rest.subspan(chunk);
    }
  return static_cast<std::uint32_t>(crc);
}

}  // namespace dovetail::bundle::format
