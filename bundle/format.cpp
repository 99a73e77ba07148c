#include "bundle/format.h"

#include <algorithm>

#include <zlib.h>

namespace dovetail::bundle::format {

std::uint32_t checksum(std::span<const std::byte> bytes) {
  uLong crc = ::crc32(0, nullptr, 0);
  for (std::size_t offset = kManifestSizeOffset; offset < bytes.size();) {
    const std::size_t chunk = std::min(bytes.size() - offset, std::size_t{1} << 30);  // zlib counts in 32 bits
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data() + offset), static_cast<uInt>(chunk));
    offset += chunk;
  }
  return static_cast<std::uint32_t>(crc);
}

}  // namespace dovetail::bundle::format
