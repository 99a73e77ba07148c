#include "isa/text/image.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "isa/spec/memories.h"
#include "isa/text/expression.h"

namespace dovetail::isa::text {

namespace {

constexpr std::array<std::string_view, 5> kDirectives{".uop", ".data", ".space", ".org", ".align"};
// The element types of the accelerator's memories and of REQUANT's scales.
constexpr std::array kTypes{DType::int8,  DType::uint8,  DType::int16,  DType::uint16,
                            DType::int32, DType::uint32, DType::float32};
constexpr std::string_view kTypeNames = "int8, uint8, int16, uint16, int32, uint32 or float32";

std::optional<DType> type_named(std::string_view text) {
  for (const DType dtype : kTypes)
    if (name(dtype) == text) return dtype;
  return std::nullopt;
}

// Makes the item addressable in elements of any memory.
std::uint64_t largest_element(const HardwareConfig& config) {
  std::int64_t bytes = 1;
  for (const spec::MemoryInfo& row : spec::kMemories)
    if (spec::is_enabled(row, config)) bytes = std::max(bytes, config.element_bytes(row.id));
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

bool ImageBuilder::knows(std::string_view directive) {
  return std::find(kDirectives.begin(), kDirectives.end(), directive) != kDirectives.end();
}

void ImageBuilder::take(const Line& line, const Codec& codec, std::vector<std::string>& waiting_labels) {
  const std::string_view head = line.words.front().text;
  if (head == ".uop") return uop(line, codec, waiting_labels);
  close();
  if (head == ".org") return org(line);
  if (head == ".align") return align(line);
  named(line, waiting_labels);
}

void ImageBuilder::close() {
  in_uops_ = false;
  for (const std::string& name : open_) {
    Symbol& symbol = *symbols_.find(name);
    symbol.bytes = next_ - symbol.value;
    symbol.shape = {static_cast<std::int64_t>(symbol.bytes)};
    symbol.is_closed = true;
  }
  open_.clear();
}

void ImageBuilder::label(std::vector<std::string>& waiting, const Symbol& as) {
  for (const std::string& name : waiting) {
    Symbol& symbol = *symbols_.find(name);
    const std::size_t line = symbol.line;
    symbol = as;
    symbol.name = name;
    symbol.line = line;
  }
  waiting.clear();
}

void ImageBuilder::uop(const Line& line, const Codec& codec, std::vector<std::string>& waiting_labels) {
  const auto wrong = [&](std::size_t column, std::string why) {
    errors_.add(line, column, std::move(why), "write .uop DST, SRC, WGT");
  };
  const std::size_t column = line.words.front().column;
  if (line.words.size() != 4)
    return wrong(column, fmt::format("{} indices are given, but a micro-op has 3", line.words.size() - 1));
  Uop uop;
  std::uint32_t* const members[] = {&uop.dst, &uop.src, &uop.wgt};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = number(line, line.words[i + 1], "an index", 0, UINT32_MAX);
    if (!value) return;
    *members[i] = static_cast<std::uint32_t>(*value);
  }
  const auto unit = static_cast<std::uint64_t>(codec.config().uop_bytes());
  if (!waiting_labels.empty()) close();  // this run belongs to another label
  const auto address = reserve(line, unit, unit);
  if (!address) return;
  if (!in_uops_ || items_.back().address + items_.back().size_bytes != *address)
    items_.push_back({*address, 0, {}, line.place.line, true});
  open_.insert(open_.end(), waiting_labels.begin(), waiting_labels.end());
  label(waiting_labels, {{}, SymbolKind::address, *address, 0, DType::uint8, {}, 1, false});
  in_uops_ = true;
  ImageItem& item = items_.back();
  if (const Result<void> encoded = codec.encode(uop, item.bytes); !encoded.ok()) {
    for (const Diagnostic& error : encoded.errors())
      errors_.add(line, column, fmt::format("{}: {}", error.where, error.why), error.hint);
    item.bytes.resize(item.bytes.size() + unit);
  }
  item.size_bytes += unit;
  uops_.push_back(uop);
}

void ImageBuilder::org(const Line& line) {
  if (line.words.size() != 2)
    return errors_.add(line, line.words.front().column, ".org needs one address", "write .org ADDRESS");
  const auto address = number(line, line.words[1], "an address", 0, std::numeric_limits<std::int64_t>::max());
  if (!address) return;
  const std::uint64_t end = items_.empty() ? 0 : items_.back().address + items_.back().size_bytes;
  if (static_cast<std::uint64_t>(*address) < end)
    return errors_.add(line, line.words[1].column,
                       fmt::format(".org {:#x} is below {:#x}, the end of the preceding items", *address, end),
                       "order the items by address");
  next_ = static_cast<std::uint64_t>(*address);
}

void ImageBuilder::align(const Line& line) {
  if (line.words.size() != 2)
    return errors_.add(line, line.words.front().column, ".align needs one number", "write .align BYTES");
  const auto bytes = number(line, line.words[1], "an alignment", 1, std::int64_t{1} << 30);
  if (!bytes) return;
  if (!std::has_single_bit(static_cast<std::uint64_t>(*bytes)))
    return errors_.add(line, line.words[1].column, fmt::format("{} is not a power of two", *bytes),
                       "write 16, 64 or 4096");
  next_ = (next_ + static_cast<std::uint64_t>(*bytes) - 1) & ~static_cast<std::uint64_t>(*bytes - 1);
}

void ImageBuilder::named(const Line& line, std::vector<std::string>& waiting_labels) {
  const bool is_space = line.words.front().text == ".space";
  const std::string_view form = is_space ? "write .space NAME BYTES, or .space NAME int8[4,16]"
                                         : "write .data NAME \"x.npy\", or .data NAME int32 1 2 3";
  std::vector<Word> words(line.words.begin() + 1, line.words.end());
  if (!words.empty()) symbols_.spoil(words[0].text);
  std::uint64_t alignment = largest_element(symbols_.config());
  if (!words.empty() && words.back().text.starts_with("align=")) {
    const Word word = words.back().from(6);
    const auto bytes = number(line, word, "an alignment", 1, std::int64_t{1} << 30);
    if (!bytes) return;
    if (!std::has_single_bit(static_cast<std::uint64_t>(*bytes)))
      return errors_.add(line, word.column, fmt::format("{} is not a power of two", *bytes), "write 16, 64 or 4096");
    alignment = static_cast<std::uint64_t>(*bytes);
    words.pop_back();
  }
  if (words.size() < 2 || (is_space && words.size() > 2))
    return errors_.add(line, line.words.front().column,
                       words.empty()       ? fmt::format("{} has no name", line.words.front().text)
                       : words.size() == 1 ? fmt::format("`{}` has no {}", words[0].text, is_space ? "size" : "content")
                                           : fmt::format("`{}` is unexpected", words[2].text),
                       std::string(form));
  const Word name = words[0];
  if (!is_free_name(name, line, symbols_, errors_)) return;

  bool ok = true;
  std::optional<Content> content;
  const bool has_shape = words[1].text.find('[') != std::string_view::npos;
  if (words[1].text.front() == '"') {
    if (is_space || words.size() > 2)
      return errors_.add(line, words[1].column,
                         is_space ? ".space accepts no file" : "a file and values are both given", std::string(form));
    content = file(line, words[1]);
  } else if ((content = type(line, words[1], ok)); content && is_space) {
    if (!has_shape)
      return errors_.add(line, words[1].column, fmt::format("the number of {} elements is missing", words[1].text),
                         std::string(form));
  } else if (content) {
    if (words.size() == 2)
      return errors_.add(line, words[1].column, fmt::format("`{}` has no values", name.text),
                         "write them after the type, or .space for zeros");
    content = values(line, *std::move(content), has_shape);
  } else if (!ok) {
    return;
  } else if (is_space) {
    const auto bytes = number(line, words[1], "a size in bytes", 1, static_cast<std::int64_t>(kMostImageBytes));
    if (!bytes) return;
    content = Content{DType::uint8, {*bytes}, static_cast<std::uint64_t>(*bytes), {}};
  } else {
    return errors_.add(line, words[1].column, fmt::format("`{}` is neither a file nor a type", words[1].text),
                       "a file is in quotation marks; types are " + std::string(kTypeNames));
  }
  if (!content) return;
  const auto address = reserve(line, content->size_bytes, alignment);
  if (!address) return;
  items_.push_back({*address, content->size_bytes, std::move(content->bytes), line.place.line});
  Symbol symbol{std::string(name.text), SymbolKind::address,       *address,        content->size_bytes,
                content->dtype,         std::move(content->shape), line.place.line, true};
  label(waiting_labels, symbol);
  symbols_.define(std::move(symbol));
}

std::optional<ImageBuilder::Content> ImageBuilder::file(const Line& line, Word quoted) {
  const auto fail = [&](std::string why, std::string hint) {
    errors_.add(line, quoted.column, std::move(why), std::move(hint));
    return std::nullopt;
  };
  if (quoted.text.size() < 3 || quoted.text.back() != '"' || quoted.text.find('"', 1) != quoted.text.size() - 1)
    return fail(fmt::format("`{}` is not a file name in quotation marks", quoted.text), "write .data NAME \"x.npy\"");
  const std::string path(quoted.text.substr(1, quoted.text.size() - 2));
  if (!read_data_)
    return fail(fmt::format("files such as `{}` cannot be read here", path), "give the values in the line");
  auto array = read_data_(path);
  if (!array.ok())
    return fail(array.errors().front().where + ": " + array.errors().front().why, array.errors().front().hint);
  if (std::find(kTypes.begin(), kTypes.end(), array->dtype()) == kTypes.end())
    return fail(
        fmt::format("`{}` has type {}, which the accelerator's memories cannot contain", path, name(array->dtype())),
        "save it with another type, as in numpy.save(path, x.astype(numpy.int8)); the types are " +
            std::string(kTypeNames));
  if (array->bytes().empty()) return fail(fmt::format("`{}` is empty", path), "leave it out");
  const auto bytes = array->bytes();
  return Content{array->dtype(), array->shape(), bytes.size(), {bytes.begin(), bytes.end()}};
}

std::optional<ImageBuilder::Content> ImageBuilder::type(const Line& line, Word word, bool& ok) {
  const std::size_t bracket = std::min(word.text.find('['), word.text.size());
  const auto dtype = type_named(word.text.substr(0, bracket));
  if (!dtype) return std::nullopt;
  Content content{*dtype, {}, static_cast<std::uint64_t>(info(*dtype).bytes), {}};
  if (bracket == word.text.size()) return content;
  ok = false;
  if (word.text.back() != ']') {
    errors_.add(line, word.column, fmt::format("`{}` has an opening bracket that is not closed", word.text),
                "write extents as in int8[4,16]");
    return std::nullopt;
  }
  split({word.text.substr(bracket + 1, word.text.size() - bracket - 2), word.column + bracket + 1}, ',', pieces_);
  const std::vector<Word> extents = pieces_;
  for (const Word& piece : extents) {
    const auto extent = number(line, piece, "an extent", 1, static_cast<std::int64_t>(kMostImageBytes));
    if (!extent) return std::nullopt;
    content.shape.push_back(*extent);
    if (__builtin_mul_overflow(content.size_bytes, static_cast<std::uint64_t>(*extent), &content.size_bytes) ||
        content.size_bytes > kMostImageBytes) {
      errors_.add(line, word.column, fmt::format("`{}` exceeds {} bytes", word.text, kMostImageBytes),
                  "use a smaller size");
      return std::nullopt;
    }
  }
  ok = true;
  return content;
}

std::optional<ImageBuilder::Content> ImageBuilder::values(const Line& line, Content content, bool has_shape) {
  constexpr std::size_t first = 3;  // after directive, name and type
  const auto unit = static_cast<std::uint64_t>(info(content.dtype).bytes);
  for (std::size_t i = first; i < line.words.size() && !line.words[i].text.starts_with("align="); ++i)
    if (!append_value(line, line.words[i], content.dtype, content.bytes)) return std::nullopt;
  const std::uint64_t given = content.bytes.size() / unit;
  if (!has_shape) {
    content.shape = {static_cast<std::int64_t>(given)};
    content.size_bytes = content.bytes.size();
    return content;
  }
  const std::uint64_t elements = content.size_bytes / unit;
  if (elements % given != 0) {
    errors_.add(line, line.words[first].column, fmt::format("{} values do not fill {} evenly", given, elements),
                "give as many values as elements, or a shorter pattern that repeats");
    return std::nullopt;
  }
  const std::size_t round = content.bytes.size();
  content.bytes.resize(content.size_bytes);
  for (std::size_t at = round; at < content.bytes.size(); at += round)
    std::copy_n(content.bytes.begin(), round, content.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  return content;
}

bool ImageBuilder::append_value(const Line& line, Word word, DType dtype, std::vector<std::byte>& bytes) {
  std::array<std::byte, 4> raw{};
  const auto unit = static_cast<std::size_t>(info(dtype).bytes);
  if (dtype == DType::float32) {
    float value = 0;
    const char* end = word.text.data() + word.text.size();
    if (const auto [stop, error] = std::from_chars(word.text.data(), end, value); error != std::errc{} || stop != end) {
      errors_.add(line, word.column, fmt::format("`{}` is not a binary32 number", word.text), "write 0.5 or 1e-3");
      return false;
    }
    std::memcpy(raw.data(), &value, sizeof value);
  } else {
    const int bits = 8 * info(dtype).bytes;
    const bool is_signed = info(dtype).kind == DTypeKind::signed_integer;
    const auto value = number(line, word, name(dtype), is_signed ? -(std::int64_t{1} << (bits - 1)) : 0,
                              (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1);
    if (!value) return false;
    for (std::size_t i = 0; i < unit; ++i)
      raw[i] = static_cast<std::byte>(static_cast<std::uint64_t>(*value) >> (8 * i) & 0xff);
  }
  bytes.insert(bytes.end(), raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(unit));
  return true;
}

std::optional<std::int64_t> ImageBuilder::number(const Line& line, Word word, std::string_view what, std::int64_t least,
                                                 std::int64_t most) {
  ExpressionFault fault;
  const auto value = evaluate(word, symbols_, fault);
  if (!value) {
    report(std::move(fault), line, true, errors_);
    return std::nullopt;
  }
  if (value->number < least || value->number > most) {
    errors_.add(line, word.column, fmt::format("{} is {}, but must be from {} to {}", what, value->number, least, most),
                "write a number in that range");
    return std::nullopt;
  }
  return value->number;
}

std::optional<std::uint64_t> ImageBuilder::reserve(const Line& line, std::uint64_t size_bytes,
                                                   std::uint64_t alignment) {
  const std::uint64_t space = std::uint64_t{1} << symbols_.config().address_bits;
  // Neither overflows: next_ is below 2^63, the others far below.
  const std::uint64_t address = (next_ + alignment - 1) & ~(alignment - 1), end = address + size_bytes;
  if (end > space) {
    errors_.add(line, line.words.front().column,
                fmt::format("{} bytes from {:#x} end beyond the {} address bits of {}", size_bytes, address,
                            symbols_.config().address_bits, symbols_.config().name),
                "place it lower, or choose a configuration with more address_bits");
    return std::nullopt;
  }
  const std::uint64_t first = items_.empty() ? address : items_.front().address;
  if (end - first > kMostImageBytes) {
    errors_.add(line, line.words.front().column,
                fmt::format("the image would have {} bytes from its first item to this one, more than {}", end - first,
                            kMostImageBytes),
                "place the items closer together");
    return std::nullopt;
  }
  next_ = end;
  return address;
}

}  // namespace dovetail::isa::text
