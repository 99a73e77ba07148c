// ZIP archives as numpy writes them (.npz): stored and deflated members, no encryption, no zip64.
// Format: PKWARE APPNOTE 6.3, sections 4.3.7 (local header), 4.3.12 (central directory), 4.3.16 (end record).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dovetail {

struct ZipMember {
  std::string name;
  std::vector<std::byte> content;
};

// In the order of the central directory. Errors: damaged or overlapping members, a wrong checksum, an unsupported
// method, a name twice, members that claim more than the limit of memory in all (base/memory_limit.h). Memory stays
// proportional to the members' real sizes, whatever the headers claim.
Result<std::vector<ZipMember>> parse_zip(std::span<const std::byte> bytes, std::string_view where);

// Stored, with a fixed date: equal members give equal bytes. Errors: more than 65535 members or 4 GiB, which would need
// zip64.
Result<std::vector<std::byte>> format_zip(std::span<const ZipMember> members, std::string_view where);

}  // namespace dovetail
