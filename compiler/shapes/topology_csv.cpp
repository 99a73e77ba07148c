#include "compiler/shapes/topology_csv.h"

#include <array>
#include <charconv>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"

namespace dovetail::shapes {

namespace {

constexpr std::size_t kMostProblems = 20;
constexpr std::string_view kSparsity = "Sparsity";
constexpr std::array<std::string_view, 8> kConvolution{"Layer name",   "IFMAP Height", "IFMAP Width", "Filter Height",
                                                       "Filter Width", "Channels",     "Num Filter",  "Strides"};
constexpr std::array<std::string_view, 4> kProduct{"Layer name", "M", "N", "K"};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// Without the empty one after a comma at the end.
std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    columns.push_back(trimmed(line.substr(begin, end - begin)));
    begin = end + 1;
  }
  while (!columns.empty() && columns.back().empty()) columns.pop_back();
  return columns;
}

class Reader {
 public:
  explicit Reader(const std::string& where) : where_(where) {}

  Result<std::vector<Layer>> run(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    for (int number = 1; !text.empty() && problems_.size() < kMostProblems; ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = trimmed(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      line_ = fmt::format("{}, line {}", where_, number);
      if (line.empty()) continue;
      if (!has_header_) header(columns_of(line));
      else if (columns_.empty()) break;
      else layer(columns_of(line));
    }
    if (!problems_.empty()) return problems_;
    if (layers_.empty())
      return Diagnostic{"cannot read the topology", where_, "the file has no layers", "add a line for each layer"};
    return layers_;
  }

 private:
  void fault(std::string why, std::string hint) {
    problems_.push_back({"cannot read the topology", line_, std::move(why), std::move(hint)});
  }

  void header(const std::vector<std::string_view>& columns) {
    has_header_ = true;
    const std::size_t count = columns.size();
    if (count >= 2 &&
        std::from_chars(columns[1].data(), columns[1].data() + columns[1].size(), unused_).ec == std::errc{})
      return fault(fmt::format("the line, which must be a header, begins like a layer: \"{}\" is a number",
                               printable(columns[1])),
                   fmt::format("begin the file with the line \"{},\" or \"{},\"", fmt::join(kConvolution, ", "),
                               fmt::join(kProduct, ", ")));
    if (count == kProduct.size() || count == kProduct.size() + 1) columns_ = kProduct;
    else if (count == kConvolution.size() || count == kConvolution.size() + 1) columns_ = kConvolution;
    else
      fault(fmt::format("the header has {} columns, and must have {} for convolutions or {} for products, or one more "
                        "for the sparsity",
                        count, kConvolution.size(), kProduct.size()),
            fmt::format("write \"{},\" or \"{},\"", fmt::join(kConvolution, ", "), fmt::join(kProduct, ", ")));
  }

  // 0: an error was reported.
  std::int64_t number(const std::vector<std::string_view>& columns, std::size_t column) {
    const std::string_view text = columns[column];
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value > 0 && value <= kMostExtent) return value;
    fault(
        fmt::format("{} is \"{}\", and must be a number from 1 to {}", columns_[column], printable(text), kMostExtent),
        "write a decimal number");
    return 0;
  }

  void layer(const std::vector<std::string_view>& columns) {
    const std::size_t count = columns_.size();
    if (columns.size() != count && columns.size() != count + 1)
      return fault(fmt::format("the line has {} columns, and must have {} ({}), or one more for the sparsity",
                               columns.size(), count, fmt::join(columns_, ", ")),
                   "add or remove columns");
    const std::size_t before = problems_.size();
    if (columns.size() > count) sparsity(columns.back());
    std::array<std::int64_t, 8> n{};
    for (std::size_t i = 1; i < count; ++i) n[i] = number(columns, i);
    if (columns[0].empty()) fault("the layer has no name", "write a name in the first column");
    if (problems_.size() > before) return;
    Layer layer{printable(columns[0]), {}};
    if (count == kProduct.size()) {
      layer.operation = Product{.rows = n[1], .inner = n[3], .columns = n[2]};
    } else {
      Convolution c{
          .channels = n[5], .image = {n[1], n[2]}, .filters = n[6], .kernel = {n[3], n[4]}, .stride = {n[7], n[7]}};
      if (layer.name.find("DP") != std::string::npos) {
        c.groups = c.channels;
        c.filters *= c.channels;
      }
      layer.operation = c;
    }
    if (const auto checked = check(layer, line_); !checked.ok())
      problems_.insert(problems_.end(), checked.errors().begin(), checked.errors().end());
    layers_.push_back(std::move(layer));
  }

  // "N:M": N of M weights are not zero.
  void sparsity(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos)
      return fault(fmt::format("{} is \"{}\", and must have the form N:M", kSparsity, printable(text)), "write 1:1");
    if (trimmed(text.substr(0, colon)) != trimmed(text.substr(colon + 1)))
      fault(fmt::format("{} is {}: weights that are zero are multiplied like all others by this hardware, so that the "
                        "cycles would be those of 1:1",
                        kSparsity, printable(text)),
            "write 1:1, and give only the channels that remain");
  }

  std::string where_, line_;
  bool has_header_ = false;
  std::span<const std::string_view> columns_;  // empty: no usable header
  std::vector<Layer> layers_;
  Diagnostics problems_;
  std::int64_t unused_ = 0;
};

}  // namespace

Result<std::vector<Layer>> read_topology(std::string_view text, const std::string& where) {
  return Reader(where).run(text);
}

}  // namespace dovetail::shapes
