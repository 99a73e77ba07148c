#include "base/zip.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "base/little_endian.h"
#include "base/memory_limit.h"

namespace dovetail {

namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kMaxCommentBytes = 65535;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint16_t kEncryptedFlag = 1;
constexpr std::uint32_t kZip64Mark = 0xffffffff;
constexpr std::uint16_t kDosDate = (0 << 9) | (1 << 5) | 1;  // 1980-01-01, the first date of the format

std::uint16_t load16(std::span<const std::byte> bytes, std::size_t offset) {
  return load_little_endian<std::uint16_t>(bytes, offset);
}
std::uint32_t load32(std::span<const std::byte> bytes, std::size_t offset) {
  return load_little_endian<std::uint32_t>(bytes, offset);
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

struct CentralEntry {
  std::string name;
  std::uint16_t flags;
  std::uint16_t method;
  std::uint32_t crc;
  std::size_t packed_bytes;
  std::size_t content_bytes;
  std::size_t local_offset;
};

std::optional<std::size_t> find_end_record(std::span<const std::byte> bytes) {
  if (bytes.size() < kEndBytes) return std::nullopt;
  const std::size_t last = bytes.size() - kEndBytes;
  const std::size_t first = last > kMaxCommentBytes ? last - kMaxCommentBytes : 0;
  for (std::size_t offset = last + 1; offset-- > first;)
    if (load32(bytes, offset) == kEndSignature && load16(bytes, offset + 20) == bytes.size() - offset - kEndBytes)
      return offset;
  return std::nullopt;
}

// nullopt unless the stream is complete and inflates to exactly `expected_bytes`.
std::optional<std::vector<std::byte>> inflate_raw(std::span<const std::byte> packed, std::size_t expected_bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
  std::vector<std::byte> content;
  std::byte excess;  // room for one excess byte, to detect a longer stream
  int status = Z_OK;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());  // below 4 GiB: no zip64
  while (status == Z_OK) {
    // The buffer grows with the output, not with the claimed size.
    const std::size_t filled = content.size();
    const std::size_t room = std::min(expected_bytes - filled, std::max(filled, std::size_t{1} << 16));
    content.resize(filled + room);
    stream.next_out = reinterpret_cast<Bytef*>(room > 0 ? content.data() + filled : &excess);
    stream.avail_out = room > 0 ? static_cast<uInt>(room) : 1;
    const uInt offered = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t produced = offered - stream.avail_out;
    if (room == 0 && produced > 0) status = Z_DATA_ERROR;
    else content.resize(filled + (room > 0 ? produced : 0));
    if (status == Z_OK && produced == 0 && stream.avail_in == 0) status = Z_BUF_ERROR;  // truncated
  }
  const bool whole = status == Z_STREAM_END && stream.avail_in == 0 && content.size() == expected_bytes;
  inflateEnd(&stream);
  if (!whole) return std::nullopt;
  return content;
}

class ZipReader {
 public:
  ZipReader(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  Result<std::vector<ZipMember>> read() const {
    DOVETAIL_ASSIGN(const std::vector<CentralEntry> entries, read_directory());
    std::vector<ZipMember> members;
    for (const CentralEntry& entry : entries) {
      DOVETAIL_ASSIGN(std::vector<std::byte> content, read_content(entry));
      members.push_back({entry.name, std::move(content)});
    }
    return members;
  }

 private:
  Diagnostic error(std::string_view member, std::string why,
                   std::string hint = "the file is damaged; write it again") const {
    return {"cannot read zip archive", member.empty() ? where_ : fmt::format("{}, member {}", where_, member),
            std::move(why), std::move(hint)};
  }

  Result<std::vector<CentralEntry>> read_directory() const {
    const std::optional<std::size_t> end = find_end_record(bytes_);
    if (!end)
      return error("", fmt::format("there is no end record in its {} bytes", bytes_.size()),
                   "check that it is a complete .npz file");
    const std::size_t entry_count = load16(bytes_, *end + 10);
    const std::size_t directory_bytes = load32(bytes_, *end + 12);
    const std::size_t directory_offset = load32(bytes_, *end + 16);
    if (load16(bytes_, *end + 4) != 0 || load16(bytes_, *end + 8) != entry_count)
      return error("", "the archive spans several files", "join the files first");
    if (directory_offset == kZip64Mark || directory_bytes == kZip64Mark || entry_count == 0xffff)
      return error("", "the file is a zip64 archive", "keep archives below 4 GiB, or use one .npy file per array");
    if (directory_offset > *end || directory_bytes > *end - directory_offset)
      return error("", fmt::format("the directory, {} bytes at {}, does not end before the end record at {}",
                                   directory_bytes, directory_offset, *end));

    const std::span<const std::byte> directory = bytes_.subspan(directory_offset, directory_bytes);
    std::vector<CentralEntry> entries;
    std::set<std::string> names;
    std::size_t total_packed_bytes = 0, total_content_bytes = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < entry_count; ++i) {
      if (directory.size() - at < kCentralBytes || load32(directory, at) != kCentralSignature)
        return error("", fmt::format("entry {} of {} of the directory is damaged", i, entry_count));
      const std::size_t name_bytes = load16(directory, at + 28);
      const std::size_t extra_bytes = load16(directory, at + 30);
      const std::size_t comment_bytes = load16(directory, at + 32);
      const std::size_t entry_bytes = kCentralBytes + name_bytes + extra_bytes + comment_bytes;
      if (directory.size() - at < entry_bytes)
        return error("", fmt::format("entry {} of {} of the directory is truncated", i, entry_count));
      const auto* name = reinterpret_cast<const char*>(directory.data() + at + kCentralBytes);
      CentralEntry entry{.name = std::string(name, name_bytes),
                         .flags = load16(directory, at + 8),
                         .method = load16(directory, at + 10),
                         .crc = load32(directory, at + 16),
                         .packed_bytes = load32(directory, at + 20),
                         .content_bytes = load32(directory, at + 24),
                         .local_offset = load32(directory, at + 42)};
      if (!names.insert(entry.name).second)
        return error(entry.name, "the name occurs twice in the archive", "rename one");
      // Overlapping members could make a small file inflate without bound.
      total_packed_bytes += entry.packed_bytes;
      if (total_packed_bytes > directory_offset)
        return error(entry.name, fmt::format("the members have {} bytes > {} bytes before the directory",
                                             total_packed_bytes, directory_offset));
      // Deflated zeros take a thousandth of their bytes.
      total_content_bytes += entry.content_bytes;
      DOVETAIL_TRY(check_memory("cannot read zip archive",
                                fmt::format("{}, with all members up to {}", where_, entry.name), total_content_bytes));
      entries.push_back(std::move(entry));
      at += entry_bytes;
    }
    return entries;
  }

  Result<std::vector<std::byte>> read_content(const CentralEntry& entry) const {
    if ((entry.flags & kEncryptedFlag) != 0)
      return error(entry.name, "the member is encrypted", "decrypt the archive first");
    if (entry.method != kStored && entry.method != kDeflated)
      return error(
          entry.name,
          fmt::format("compression method {} is not supported; methods 0 (stored) and 8 (deflated) are", entry.method),
          "write it with numpy.savez or numpy.savez_compressed");
    if (entry.packed_bytes == kZip64Mark || entry.content_bytes == kZip64Mark || entry.local_offset == kZip64Mark)
      return error(entry.name, "the member uses zip64", "keep archives below 4 GiB, or use one .npy file per array");
    if (entry.local_offset > bytes_.size() || bytes_.size() - entry.local_offset < kLocalBytes ||
        load32(bytes_, entry.local_offset) != kLocalSignature)
      return error(entry.name, fmt::format("there is no member at byte {}", entry.local_offset));
    const std::size_t header_bytes =
        kLocalBytes + load16(bytes_, entry.local_offset + 26) + load16(bytes_, entry.local_offset + 28);
    const std::size_t available_bytes = bytes_.size() - entry.local_offset;
    if (available_bytes < header_bytes || available_bytes - header_bytes < entry.packed_bytes)
      return error(entry.name, fmt::format("{} bytes of data > {} bytes left in the file", entry.packed_bytes,
                                           available_bytes - std::min(available_bytes, header_bytes)));
    const std::span<const std::byte> packed = bytes_.subspan(entry.local_offset + header_bytes, entry.packed_bytes);

    std::vector<std::byte> content;
    if (entry.method == kStored) {
      if (entry.packed_bytes != entry.content_bytes)
        return error(entry.name,
                     fmt::format("stored as {} bytes, but {} bytes long", entry.packed_bytes, entry.content_bytes));
      content.assign(packed.begin(), packed.end());
    } else {
      std::optional<std::vector<std::byte>> inflated = inflate_raw(packed, entry.content_bytes);
      if (!inflated)
        return error(entry.name, fmt::format("its data does not inflate to {} bytes", entry.content_bytes));
      content = std::move(*inflated);
    }
    if (const std::uint32_t crc = checksum(content); crc != entry.crc)
      return error(entry.name, fmt::format("the checksum is {:08x}, but {:08x} in the directory", crc, entry.crc));
    return content;
  }

  std::span<const std::byte> bytes_;
  std::string where_;
};

void append(std::vector<std::byte>& bytes, std::span<const std::byte> tail) {
  bytes.insert(bytes.end(), tail.begin(), tail.end());
}

// The fields that the local header and the directory share.
void append_common_fields(std::vector<std::byte>& bytes, const ZipMember& member) {
  const auto content_bytes = static_cast<std::uint32_t>(member.content.size());
  append_little_endian<std::uint16_t>(bytes, 20);  // version 2.0 is needed to extract
  append_little_endian<std::uint16_t>(bytes, 0);   // flags
  append_little_endian<std::uint16_t>(bytes, kStored);
  append_little_endian<std::uint16_t>(bytes, 0);  // time
  append_little_endian<std::uint16_t>(bytes, kDosDate);
  append_little_endian<std::uint32_t>(bytes, checksum(member.content));
  append_little_endian<std::uint32_t>(bytes, content_bytes);
  append_little_endian<std::uint32_t>(bytes, content_bytes);
  append_little_endian<std::uint16_t>(bytes, static_cast<std::uint16_t>(member.name.size()));
  append_little_endian<std::uint16_t>(bytes, 0);  // extra field
}

}  // namespace

Result<std::vector<ZipMember>> parse_zip(std::span<const std::byte> bytes, std::string_view where) {
  return ZipReader(bytes, where).read();
}

Result<std::vector<std::byte>> format_zip(std::span<const ZipMember> members, std::string_view where) {
  const auto refuse = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot write zip archive", std::string(where), std::move(why), std::move(hint)};
  };
  std::uint64_t total_bytes = kEndBytes;
  for (const ZipMember& member : members) {
    if (member.name.size() > 0xffff)
      return refuse(fmt::format("a member's name has {} bytes > 65535", member.name.size()), "shorten it");
    total_bytes += kLocalBytes + kCentralBytes + 2 * member.name.size() + member.content.size();
  }
  if (members.size() >= 0xffff || total_bytes >= kZip64Mark)
    return refuse(fmt::format("{} members of {} bytes exceed the format's 65534 members or 4294967294 bytes",
                              members.size(), total_bytes),
                  "use one .npy file per array");

  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(total_bytes));
  std::vector<std::byte> directory;
  for (const ZipMember& member : members) {
    const std::span<const std::byte> name = std::as_bytes(std::span(member.name.data(), member.name.size()));
    append_little_endian(directory, kCentralSignature);
    append_little_endian<std::uint16_t>(directory, 20);  // version 2.0 wrote it, on a FAT file system: no permissions
    append_common_fields(directory, member);
    append_little_endian<std::uint16_t>(directory, 0);  // comment
    append_little_endian<std::uint16_t>(directory, 0);  // disk
    append_little_endian<std::uint16_t>(directory, 0);  // internal attributes
    append_little_endian<std::uint32_t>(directory, 0);  // external attributes
    append_little_endian(directory, static_cast<std::uint32_t>(bytes.size()));
    append(directory, name);

    append_little_endian(bytes, kLocalSignature);
    append_common_fields(bytes, member);
    append(bytes, name);
    append(bytes, member.content);
  }
  const auto directory_offset = static_cast<std::uint32_t>(bytes.size());
  const auto member_count = static_cast<std::uint16_t>(members.size());
  append(bytes, directory);
  append_little_endian(bytes, kEndSignature);
  append_little_endian<std::uint16_t>(bytes, 0);  // disk
  append_little_endian<std::uint16_t>(bytes, 0);  // disk of the directory
  append_little_endian(bytes, member_count);
  append_little_endian(bytes, member_count);
  append_little_endian(bytes, static_cast<std::uint32_t>(directory.size()));
  append_little_endian(bytes, directory_offset);
  append_little_endian<std::uint16_t>(bytes, 0);  // comment
  return bytes;
}

}  // namespace dovetail
