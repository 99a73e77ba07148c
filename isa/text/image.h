// The directives that fill the memory image: `.uop`, `.data`, `.space`, `.org`, `.align`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/codec.h"
#include "isa/text.h"
#include "isa/text/scan.h"
#include "isa/text/symbols.h"

namespace dovetail::isa::text {

class ImageBuilder {
 public:
  ImageBuilder(Symbols& symbols, Errors& errors, const ReadData& read_data)
      : symbols_(symbols), errors_(errors), read_data_(read_data) {}

  static bool knows(std::string_view directive);
  // Precondition: knows(line.words.front().text). Pending labels, by name, get this item's address, unless the line has
  // none (`.org`, `.align`).
  void take(const Line& line, const Codec& codec, std::vector<std::string>& waiting_labels);
  // Called before an item other than `.uop`: the preceding label's size is then known.
  void close();

  std::vector<ImageItem> items() && { return std::move(items_); }
  std::vector<Uop> uops() && { return std::move(uops_); }

 private:
  struct Content {
    DType dtype = DType::uint8;
    Shape shape;
    std::uint64_t size_bytes = 0;
    std::vector<std::byte> bytes;  // empty: zeros
  };

  void uop(const Line& line, const Codec& codec, std::vector<std::string>& waiting_labels);
  void org(const Line& line);
  void align(const Line& line);
  // `.data` and `.space`.
  void named(const Line& line, std::vector<std::string>& waiting_labels);

  std::optional<Content> file(const Line& line, Word quoted);
  // TYPE, or TYPE[EXTENT,...]: nullopt if it is not of that form. `ok` becomes false after an error.
  std::optional<Content> type(const Line& line, Word word, bool& ok);
  std::optional<Content> values(const Line& line, Content content, bool has_shape);
  bool append_value(const Line& line, Word word, DType dtype, std::vector<std::byte>& bytes);

  std::optional<std::int64_t> number(const Line& line, Word word, std::string_view what, std::int64_t least,
                                     std::int64_t most);
  // Allocates `size_bytes` at the next multiple of `alignment`: its address.
  std::optional<std::uint64_t> reserve(const Line& line, std::uint64_t size_bytes, std::uint64_t alignment);
  void label(std::vector<std::string>& waiting, const Symbol& as);

  Symbols& symbols_;
  Errors& errors_;
  const ReadData& read_data_;
  std::vector<ImageItem> items_;
  std::vector<Uop> uops_;
  std::uint64_t next_ = kImageBase;
  std::vector<std::string> open_;  // labels of the current run of `.uop` lines
  bool in_uops_ = false;
  std::vector<Word> pieces_;
};

}  // namespace dovetail::isa::text
