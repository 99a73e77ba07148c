#include "base/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/expected_file.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "base/zip.h"

namespace dovetail {

static_assert(std::endian::native == std::endian::little, "array bytes are kept little-endian");

namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kMostArrayBytes = std::size_t{1} << 34;
constexpr std::size_t kMaxRank = 64;          // numpy's own limit
constexpr std::size_t kHeaderAlignment = 64;  // of the data in the file, since format 1.0 of numpy 1.14

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

// The header is a Python dictionary literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  // nullopt with `problem()` set where the text is not such a dictionary with these three keys.
  std::optional<NpyHeader> parse() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!expect('{')) return std::nullopt;
    while (!accept('}')) {
      const std::optional<std::string> key = string();
      if (!key || !expect(':')) return std::nullopt;
      if (*key == "descr" && !std::exchange(has_descr, true)) {
        std::optional<std::string> descr = string();
        if (!descr) return std::nullopt;
        header.descr = std::move(*descr);
      } else if (*key == "fortran_order" && !std::exchange(has_order, true)) {
        if (accept("True")) header.fortran_order = true;
        else if (!accept("False")) return fail("fortran_order is neither True nor False");
      } else if (*key == "shape" && !std::exchange(has_shape, true)) {
        if (!shape(header.shape)) return std::nullopt;
      } else {
        return fail(fmt::format("the key '{}' is unknown or occurs twice", *key));
      }
      if (!accept(',') && !peek('}')) return fail("a comma or } is missing");
    }
    skip_space();
    if (at_ != text_.size()) return fail("text follows the dictionary");
    if (!has_descr || !has_order || !has_shape)
      return fail("one of the keys descr, fortran_order and shape is missing");
    return header;
  }

  const std::string& problem() const { return problem_; }

 private:
  std::nullopt_t fail(std::string problem) {
    problem_ = fmt::format("{} (header byte {})", problem, at_);
    return std::nullopt;
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool peek(char expected) {
    skip_space();
    return at_ < text_.size() && text_[at_] == expected;
  }
  bool accept(char expected) {
    if (!peek(expected)) return false;
    ++at_;
    return true;
  }
  bool accept(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  bool expect(char expected) { return accept(expected) || (fail(fmt::format("expected '{}'", expected)), false); }

  std::optional<std::string> string() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote == '[') return fail("structured element types are not supported");
    if (quote != '\'' && quote != '"') return fail("expected a string");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return fail("a string is not terminated");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool shape(Shape& shape) {
    if (!expect('(')) return false;
    while (!accept(')')) {
      skip_space();
      std::int64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc{} || extent < 0) return fail("extents must be integers from 0 to 2^63 - 1"), false;
      at_ += static_cast<std::size_t>(end - begin);
      accept('L');  // Python 2 wrote long integers with this suffix
      shape.push_back(extent);
      if (shape.size() > kMaxRank) return fail(fmt::format("more than {} dimensions", kMaxRank)), false;
      if (!accept(',') && !peek(')')) return fail("a comma or ) is missing"), false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string problem_;
};

struct ElementType {
  DType dtype;
  bool big_endian;
};

// The byte order is '<', '>', '=' (the writer's order; in practice little) or '|'; kind and size follow.
std::optional<ElementType> element_type(std::string_view descr) {
  if (descr.empty()) return std::nullopt;
  const char order = descr[0];
  if (order != '<' && order != '>' && order != '=' && order != '|') return std::nullopt;
  for (const char canonical : {'<', '|'}) {
    const std::optional<DType> dtype = dtype_from_npy(canonical + std::string(descr.substr(1)));
    if (!dtype) continue;
    if (order == '|' && size_bytes(*dtype) > 1) return std::nullopt;  // the order would be unknown
    return ElementType{*dtype, order == '>'};
  }
  return std::nullopt;
}

// The byte count of an array of this shape; nullopt if it exceeds `limit`.
std::optional<std::size_t> array_bytes(DType dtype, const Shape& shape, std::size_t limit) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t total = static_cast<std::uint64_t>(size_bytes(dtype));
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(extent), &total) || total > limit) return std::nullopt;
  return total <= limit ? std::optional<std::size_t>(total) : std::nullopt;
}

void reverse_element_bytes(std::span<std::byte> bytes, std::size_t element_bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += element_bytes)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + element_bytes));
}

// Reorders elements from column-major to row-major.
std::vector<std::byte> fortran_to_row_major(std::span<const std::byte> source, const Shape& shape,
                                            std::size_t element_bytes) {
  std::vector<std::byte> target(source.size());
  std::vector<std::size_t> source_strides(shape.size());
  std::size_t stride = element_bytes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    source_strides[axis] = stride;
    stride *= static_cast<std::size_t>(shape[axis]);
  }
  Shape index(shape.size(), 0);
  std::size_t source_offset = 0;
  for (std::size_t at = 0; at < target.size(); at += element_bytes) {
    std::memcpy(target.data() + at, source.data() + source_offset, element_bytes);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source_offset += source_strides[axis];
      if (++index[axis] < shape[axis]) break;
      source_offset -= source_strides[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
  return target;
}

}  // namespace

Result<NdArray> parse_npy(std::span<const std::byte> bytes, std::string_view where) {
  const auto refuse = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot read .npy", std::string(where), std::move(why), std::move(hint)};
  };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic))
    return refuse("the file does not start with \\x93NUMPY", "check that it is a .npy file");
  const auto cut_off = [&](std::size_t needed_bytes) {
    return refuse(fmt::format("{} bytes are needed, the file has {}", needed_bytes, bytes.size()),
                  "the file is truncated; write it again");
  };
  if (bytes.size() < 8) return cut_off(8);
  const int major = static_cast<int>(bytes[6]);
  if (major < 1 || major > 3)
    return refuse(fmt::format("version {} of the format is not supported; versions 1 to 3 are", major),
                  "write it with numpy.save");
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_offset = 8 + length_bytes;
  if (bytes.size() < header_offset) return cut_off(header_offset);
  const std::size_t header_bytes =
      major == 1 ? load_little_endian<std::uint16_t>(bytes, 8) : load_little_endian<std::uint32_t>(bytes, 8);
  if (bytes.size() - header_offset < header_bytes) return cut_off(header_offset + header_bytes);

  HeaderParser parser(text.substr(header_offset, header_bytes));
  std::optional<NpyHeader> header = parser.parse();
  if (!header)
    return refuse(fmt::format("invalid header: {}", parser.problem()),
                  "write it with numpy.save, plain element types only");
  const std::optional<ElementType> type = element_type(header->descr);
  if (!type)
    return refuse(fmt::format("element type '{}' is not supported", header->descr),
                  "convert it to bool, an integer or a float of 8 to 64 bits");

  const std::span<const std::byte> data = bytes.subspan(header_offset + header_bytes);
  const std::optional<std::size_t> expected_bytes = array_bytes(type->dtype, header->shape, data.size());
  if (!expected_bytes || *expected_bytes != data.size())
    return refuse(fmt::format("{} {} does not match the {} bytes of data", name(type->dtype), to_string(header->shape),
                              data.size()),
                  "the file is truncated or contains more than one array; write it again");

  const auto element_bytes = static_cast<std::size_t>(size_bytes(type->dtype));
  std::vector<std::byte> content = header->fortran_order ? fortran_to_row_major(data, header->shape, element_bytes)
                                                         : std::vector<std::byte>(data.begin(), data.end());
  if (type->big_endian) reverse_element_bytes(content, element_bytes);
  if (type->dtype == DType::boolean)  // numpy reads every nonzero byte as true; in C++ only 1 is
    for (std::byte& value : content) value = value == std::byte{0} ? value : std::byte{1};
  return NdArray(type->dtype, std::move(header->shape), std::move(content));
}

bool is_npy(std::span<const std::byte> file) {
  return file.size() >= kMagic.size() &&
         std::ranges::equal(file.first(kMagic.size()), std::as_bytes(std::span(kMagic)));
}

Result<NdArray> read_npy(const std::filesystem::path& path) {
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(path, kMostArrayBytes, {"a .npy file", is_npy}));
  return parse_npy(bytes, path.string());
}

std::vector<std::byte> format_npy(const NdArray& array) {
  const DType stored_as = array.dtype() == DType::bfloat16 ? DType::uint16 : array.dtype();
  std::string shape;
  for (const std::int64_t extent : array.shape()) shape += fmt::format("{}, ", extent);
  if (array.rank() > 1) shape.resize(shape.size() - 2);
  if (array.rank() == 1) shape.resize(shape.size() - 1);  // Python's "(3,)"
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", info(stored_as).npy_descr, shape);
  constexpr std::size_t kPreambleBytes = 10;
  DOVETAIL_CHECK(header.size() + kHeaderAlignment <= 0xffff, fmt::format("an array of rank {}", array.rank()));
  const std::size_t unpadded = kPreambleBytes + header.size() + 1;
  header.append((kHeaderAlignment - unpadded % kHeaderAlignment) % kHeaderAlignment, ' ');
  header += '\n';

  std::vector<std::byte> bytes;
  bytes.reserve(kPreambleBytes + header.size() + array.bytes().size());
  for (const char c : kMagic) bytes.push_back(static_cast<std::byte>(c));
  bytes.push_back(std::byte{1});  // format 1.0
  bytes.push_back(std::byte{0});
  append_little_endian(bytes, static_cast<std::uint16_t>(header.size()));
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  bytes.insert(bytes.end(), array.bytes().begin(), array.bytes().end());
  return bytes;
}

Result<void> write_npy(const std::filesystem::path& path, const NdArray& array) {
  return write_file(path, format_npy(array));
}

Result<std::map<std::string, NdArray>> parse_npz(std::span<const std::byte> bytes, std::string_view where) {
  DOVETAIL_ASSIGN(const std::vector<ZipMember> members, parse_zip(bytes, where));
  std::map<std::string, NdArray> arrays;
  Diagnostics problems;
  for (const ZipMember& member : members) {
    constexpr std::string_view kSuffix = ".npy";
    if (!member.name.ends_with(kSuffix)) {
      problems.push_back({"cannot read .npz", fmt::format("{}, member {}", where, member.name),
                          "the member's name does not end in .npy", "write the archive with numpy.savez"});
      continue;
    }
    Result<NdArray> array = parse_npy(member.content, fmt::format("{}, member {}", where, member.name));
    if (array.ok()) arrays.emplace(member.name.substr(0, member.name.size() - kSuffix.size()), *std::move(array));
    else problems.insert(problems.end(), array.errors().begin(), array.errors().end());
  }
  if (!problems.empty()) return problems;
  return arrays;
}

Result<std::map<std::string, NdArray>> read_npz(const std::filesystem::path& path) {
  const auto is_archive = [](std::span<const std::byte> file) {
    return file.size() >= 2 && file[0] == std::byte{'P'} && file[1] == std::byte{'K'};
  };
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, read_file(path, kMostArrayBytes, {"a .npz file", is_archive}));
  return parse_npz(bytes, path.string());
}

Result<void> write_npz(const std::filesystem::path& path, const std::map<std::string, NdArray>& arrays) {
  std::vector<ZipMember> members;
  for (const auto& [name, array] : arrays) members.push_back({name + ".npy", format_npy(array)});
  DOVETAIL_ASSIGN(const std::vector<std::byte> bytes, format_zip(members, path.string()));
  return write_file(path, bytes);
}

}  // namespace dovetail
