#include "cli/program/program_image.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/dtype.h"
#include "base/file.h"
#include "base/npy.h"
#include "cli/shell/arguments.h"
#include "cli/shell/standard_streams.h"
#include "isa/nearest.h"

namespace dovetail::cli {

namespace {

constexpr std::size_t kMostImageBytes = std::size_t{1} << 33;
constexpr std::string_view kArrayMagic = "\x93NUMPY";
constexpr std::array kTypes{DType::int8,  DType::uint8,  DType::int16,  DType::uint16,
                            DType::int32, DType::uint32, DType::float32};

Diagnostic bad_place(std::string_view option, std::string_view text, std::string why, std::string hint) {
  return {fmt::format("invalid value for {}", option), std::string(text), std::move(why), std::move(hint)};
}

bool is_npy_name(const std::string& path) { return path.ends_with(".npy"); }

// ":int8[4,16]" without its colon.
Result<void> parse_type(std::string_view option, std::string_view text, ImageSlice& slice) {
  const std::size_t bracket = text.find('[');
  const auto bad = [&](std::string why) {
    return bad_place(option, text, std::move(why), "write a type and its extents, for example 0x2000:int8[4,16]");
  };
  if (bracket == std::string_view::npos || text.back() != ']')
    return bad("the type is not of the form TYPE[EXTENT,...]");
  const auto dtype = dtype_from_name(text.substr(0, bracket));
  if (!dtype || std::find(kTypes.begin(), kTypes.end(), *dtype) == kTypes.end())
    return bad("the type must be int8, uint8, int16, uint16, int32, uint32 or float32");
  slice.dtype = *dtype;
  slice.shape.clear();
  slice.size_bytes = static_cast<std::uint64_t>(info(*dtype).bytes);
  std::string_view rest = text.substr(bracket + 1, text.size() - bracket - 2);
  for (;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto extent = parse_address(option, rest.substr(0, comma));
    if (!extent || *extent == 0 || *extent > kMostImageBytes ||
        __builtin_mul_overflow(slice.size_bytes, *extent, &slice.size_bytes) || slice.size_bytes > kMostImageBytes)
      return bad("an extent is not a positive number, or the array exceeds 8 GiB");
    slice.shape.push_back(static_cast<std::int64_t>(*extent));
    if (comma == rest.size()) return {};
    rest.remove_prefix(comma + 1);
  }
}

Diagnostic unknown_name(std::string_view option, std::string_view name, const std::vector<isa::Symbol>& symbols) {
  std::vector<std::string_view> names;
  for (const isa::Symbol& symbol : symbols)
    if (symbol.kind == isa::SymbolKind::address) names.push_back(symbol.name);
  return bad_place(
      option, name, "the program has no place of that name",
      names.empty() ? "write an address; names come from assembly text or --map" : isa::suggestion(name, names));
}

std::string range_text(std::uint64_t begin, std::uint64_t size) {
  return fmt::format("[{:#x}, {:#x})", begin, begin + size);
}

Result<void> check_base(const std::vector<ImagePart>& base, const ImagePart& item) {
  for (const ImagePart& part : base) {
    const std::uint64_t begin = std::max(part.address, item.address);
    const std::uint64_t end = std::min(part.address + part.size_bytes, item.address + item.bytes.size());
    for (std::uint64_t at = begin; at < end; ++at)
      if (part.bytes[at - part.address] != item.bytes[at - item.address])
        return Diagnostic{"cannot compose memory image", part.name,
                          fmt::format("the byte at {:#x} differs from that of {}", at, item.name),
                          "remove --dram, or reserve its addresses with .org"};
  }
  return {};
}

}  // namespace

Result<FileAt> parse_file_at(std::string_view option, std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == text.size())
    return bad_place(option, text, "it is not FILE@PLACE", fmt::format("write {} x.npy@0x2000 or x.npy@NAME", option));
  return FileAt{std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

Result<ImageSlice> parse_slice(std::string_view option, std::string_view text, const std::vector<isa::Symbol>& symbols,
                               bool typed) {
  ImageSlice slice;
  slice.name = std::string(text);
  const std::size_t colon = text.find(':');
  const bool has_type = colon != std::string_view::npos;
  const std::string_view place = has_type ? text.substr(0, colon) : text;
  const std::size_t plus = place.find('+');
  const std::string_view base = place.substr(0, plus);
  std::uint64_t offset = 0;
  if (plus != std::string_view::npos) {
    DOVETAIL_ASSIGN(offset, parse_address(option, place.substr(plus + 1)));
  }
  if (!base.empty() && base.front() >= '0' && base.front() <= '9') {
    DOVETAIL_ASSIGN(slice.address, parse_address(option, base));
    if (typed && !has_type)
      return bad_place(option, text, "an address needs a type", "write for example 0x2000:int8[4,16]");
  } else {
    const auto symbol = std::find_if(symbols.begin(), symbols.end(), [&](const isa::Symbol& entry) {
      return entry.kind == isa::SymbolKind::address && entry.name == base;
    });
    if (symbol == symbols.end()) return unknown_name(option, base, symbols);
    if (offset > symbol->bytes)
      return bad_place(option, text, fmt::format("`{}` has {} bytes", base, symbol->bytes), "write a smaller offset");
    slice.address = symbol->value;
    slice.size_bytes = symbol->bytes - offset;
    slice.dtype = offset == 0 ? symbol->dtype : DType::uint8;
    slice.shape = offset == 0 ? symbol->shape : Shape{static_cast<std::int64_t>(slice.size_bytes)};
  }
  if (__builtin_add_overflow(slice.address, offset, &slice.address))
    return bad_place(option, text, "it exceeds 64 bits", "write a smaller offset");
  if (!has_type) return slice;
  if (!typed) return bad_place(option, text, "the file has its own type", "write FILE@PLACE");
  DOVETAIL_TRY(parse_type(option, text.substr(colon + 1), slice));
  return slice;
}

namespace {

bool is_npy(std::span<const std::byte> bytes) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(kArrayMagic);
}

Result<NdArray> parse_array(std::span<const std::byte> bytes, const std::string& path) {
  DOVETAIL_ASSIGN(NdArray array, parse_npy(bytes, path));
  if (std::find(kTypes.begin(), kTypes.end(), array.dtype()) == kTypes.end())
    return Diagnostic{
        "cannot place array", path,
        fmt::format("the array has type {}, which the accelerator's memories cannot contain", name(array.dtype())),
        "save it with another type, for example numpy.save(path, x.astype(numpy.int8))"};
  return array;
}

}  // namespace

Result<NdArray> read_array_or_bytes(const std::string& path) {
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(path, kMostImageBytes));
  if (is_npy(bytes)) return parse_array(bytes, path);
  return NdArray(DType::uint8, {static_cast<std::int64_t>(bytes.size())}, bytes);
}

Result<std::vector<std::byte>> read_bytes(const std::string& path) {
  DOVETAIL_ASSIGN(std::vector<std::byte> bytes, read_file(path, kMostImageBytes));
  if (!is_npy(bytes)) return bytes;
  DOVETAIL_ASSIGN(const NdArray array, parse_array(bytes, path));
  return std::vector<std::byte>(array.bytes().begin(), array.bytes().end());
}

Result<void> write_slice(const std::string& path, const simulator::Dram& dram, const ImageSlice& slice) {
  const std::uint64_t offset = slice.address - dram.base;
  if (slice.address < dram.base || offset > dram.bytes.size() || slice.size_bytes > dram.bytes.size() - offset)
    return Diagnostic{"cannot write slice", slice.name,
                      fmt::format("the bytes {} are outside the image, {}", range_text(slice.address, slice.size_bytes),
                                  range_text(dram.base, dram.bytes.size())),
                      "name an address range within the image"};
  const auto bytes = std::span(dram.bytes).subspan(offset, slice.size_bytes);
  return is_npy_name(path) ? write_result_npy(path, NdArray(slice.dtype, slice.shape, bytes))
                           : write_result_file(path, bytes);
}

Result<void> write_image(const std::string& path, const simulator::Dram& dram) {
  const auto bytes = static_cast<std::int64_t>(dram.bytes.size());
  return write_slice(path, dram, {dram.base, dram.bytes.size(), DType::uint8, {bytes}, "the image"});
}

Result<simulator::Dram> compose_image(const isa::HardwareConfig& config, const std::vector<ImagePart>& base,
                                      const std::vector<ImagePart>& items, const std::vector<ImagePart>& placements) {
  const std::uint64_t space = std::uint64_t{1} << config.address_bits;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), last = 0;
  for (const auto* parts : {&base, &items, &placements})
    for (const ImagePart& part : *parts) {
      if (part.address > space || part.size_bytes > space - part.address)
        return Diagnostic{"cannot place in memory", part.name,
                          fmt::format("{} bytes from {:#x} end after the {} address bits of {}", part.size_bytes,
                                      part.address, config.address_bits, config.name),
                          "place it lower, or use a configuration with more address_bits"};
      first = std::min(first, part.address);
      last = std::max(last, part.address + part.size_bytes);
    }
  if (last == 0) return simulator::Dram{};
  if (last - first > kMostImageBytes)
    return Diagnostic{
        "cannot compose memory image", "",
        fmt::format("the image would have {} bytes from {:#x}, more than {}", last - first, first, kMostImageBytes),
        "place its parts closer together"};
  for (std::size_t i = 0; i < placements.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const ImagePart &a = placements[j], &b = placements[i];
      if (!a.bytes.empty() && !b.bytes.empty() && a.address < b.address + b.size_bytes &&
          b.address < a.address + a.size_bytes)
        return Diagnostic{"cannot compose memory image", b.name,
                          fmt::format("the bytes {} overlap {} of {}", range_text(b.address, b.size_bytes),
                                      range_text(a.address, a.size_bytes), a.name),
                          "place them so that they do not overlap"};
    }
  for (const ImagePart& item : items) DOVETAIL_TRY(check_base(base, item));
  simulator::Dram dram{first, std::vector<std::byte>(last - first)};
  for (const auto* parts : {&base, &items, &placements})
    for (const ImagePart& part : *parts)
      std::copy(part.bytes.begin(), part.bytes.end(),
                dram.bytes.begin() + static_cast<std::ptrdiff_t>(part.address - first));
  return dram;
}

}  // namespace dovetail::cli
