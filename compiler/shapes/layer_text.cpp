#include "compiler/shapes/layer_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"

namespace dovetail::shapes {

namespace {

// The first fault that was found, as a position and what is wrong there.
struct Fault {
  std::size_t at = 0;
  std::string why, hint;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Layer> run() {
    Layer layer;
    try {
      layer.name = name();
      layer.operation = operation();
      skip();
      if (at_ < text_.size()) fail(at_, fmt::format("\"{}\" is not expected here", rest()), "remove it");
    } catch (const Fault& fault) {
      return Diagnostic{"cannot read the layer",
                        fmt::format("\"{}\", character {}", printable(std::string(text_)), fault.at + 1), fault.why,
                        fmt::format("{}; for example \"{}\"", fault.hint, kLayerExample)};
    }
    DOVETAIL_TRY(check(layer, fmt::format("\"{}\"", printable(std::string(text_)))));
    return layer;
  }

 private:
  [[noreturn]] static void fail(std::size_t at, std::string why, std::string hint) {
    throw Fault{at, std::move(why), std::move(hint)};
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  std::string rest() const {
    const std::size_t end = std::min(text_.find_first_of(" \t", at_), text_.size());
    return printable(std::string(text_.substr(at_, end - at_)));
  }
  bool takes(std::string_view word) {  // a whole word
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && text_[end] != ' ' && text_[end] != '\t') return false;
    at_ = end;
    return true;
  }
  // The text before a colon that is not in an operation.
  std::string name() {
    const std::size_t colon = text_.find(':');
    if (colon == std::string_view::npos) return {};
    std::string_view name = text_.substr(0, colon);
    while (name.ends_with(' ')) name.remove_suffix(1);
    while (name.starts_with(' ')) name.remove_prefix(1);
    if (name.empty()) fail(0, "the name before the colon is empty", "write a name, or remove the colon");
    at_ = colon + 1;
    return printable(std::string(name));
  }

  std::int64_t number(std::string_view what) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail(at_, "the number is too large", "write a smaller one");
    if (error != std::errc{} || text_[at_] == '-')
      fail(at_, fmt::format("{} must be a number", what), fmt::format("write {} here", what));
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  // Numbers separated by "x", at most four.
  Shape numbers(std::string_view what) {
    Shape all{number(what)};
    while (at_ < text_.size() && text_[at_] == 'x') {
      if (all.size() == 8) fail(at_, fmt::format("{} has more than 8 extents", what), "remove some");
      ++at_;
      all.push_back(number(what));
    }
    if (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\t')
      fail(at_, fmt::format("'{}' cannot follow a number", printable(text_.substr(at_, 1))),
           "separate extents by x, and words by spaces");
    return all;
  }
  Shape shape(std::string_view what, std::size_t least, std::size_t most) {
    skip();
    const std::size_t at = at_;
    Shape found = numbers(what);
    if (found.size() < least || found.size() > most)
      fail(at,
           fmt::format("{} has {} extents, and must have {}", what, found.size(),
                       least == most ? fmt::format("{}", least) : fmt::format("{} or {}", least, most)),
           fmt::format("write {}", what));
    return found;
  }
  Pair pair(std::string_view what) {
    const Shape found = shape(what, 1, 2);
    return {found[0], found.back()};
  }
  void arrow() {
    if (!takes("->")) fail(at_, "\"->\" is expected here", "write the shape, \"->\", and the number of results");
  }

  template <class Image>
  void image(Image& to) {
    const Shape found = shape("the image, channels x rows x columns,", 3, 4);
    const std::size_t first = found.size() - 3;
    if (first == 1) to.batch = found[0];
    to.channels = found[first];
    to.image = {found[first + 1], found[first + 2]};
  }

  // Words of one letter and numbers, or words, in any order and each once. Returns whether a kernel was given.
  template <class Windowed>
  bool window(Windowed& to, std::string_view letters, bool* bias, bool* relu, Pair* dilation, std::int64_t* groups) {
    std::set<char> given;
    bool same = false;
    while (true) {
      skip();
      if (at_ == text_.size()) break;
      const std::size_t start = at_;
      if (bias != nullptr && takes("bias")) {
        *bias = true;
        continue;
      }
      if (relu != nullptr && takes("relu")) {
        *relu = true;
        continue;
      }
      const char letter = text_[at_];
      if (letters.find(letter) == std::string_view::npos)
        fail(start, fmt::format("\"{}\" is not a setting of this layer", rest()),
             fmt::format("the settings are {}{}{}", fmt::join(letters, ", "), bias != nullptr ? ", bias" : "",
                         relu != nullptr ? ", relu" : ""));
      if (!given.insert(letter).second)
        fail(start, fmt::format("'{}' is given twice", letter), "give each setting once");
      ++at_;
      if (letter == 'k') to.kernel = pair("the kernel");
      else if (letter == 's') to.stride = pair("the stride");
      else if (letter == 'd') *dilation = pair("the dilation");
      else if (letter == 'g') *groups = number("the number of groups");
      else if (text_.substr(at_ - 1, 1) == "p" && text_.substr(at_).starts_with("same")) same = true, at_ += 4;
      else to.pads = pads();
    }
    if (same) pad_same(to, dilation != nullptr ? *dilation : Pair{1, 1});
    return given.contains('k');
  }
  std::array<std::int64_t, 4> pads() {
    const std::size_t at = at_;
    const Shape found = numbers("the pad");
    if (found.size() == 1) return {found[0], found[0], found[0], found[0]};
    if (found.size() == 2) return {found[0], found[1], found[0], found[1]};
    if (found.size() == 4) return {found[0], found[1], found[2], found[3]};
    fail(at, fmt::format("the pads have {} numbers, and must have 1, 2 or 4", found.size()),
         "write p1, p1x0 (rows, columns), p0x0x1x1 (top, left, bottom, right) or psame");
  }
  // ceil(extent / stride) results; the odd row and column of pads at the end (ONNX: SAME_UPPER).
  template <class Windowed>
  static void pad_same(Windowed& to, const Pair& dilation) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (to.stride[axis] < 1 || to.kernel[axis] < 1 || to.kernel[axis] > kMostExtent || dilation[axis] > kMostExtent)
        continue;  // refused by check()
      const std::int64_t results = (to.image[axis] + to.stride[axis] - 1) / to.stride[axis];
      const std::int64_t pad = std::max<std::int64_t>(
          0, (results - 1) * to.stride[axis] + (to.kernel[axis] - 1) * dilation[axis] + 1 - to.image[axis]);
      to.pads[axis] = pad / 2;
      to.pads[axis + 2] = pad - pad / 2;
    }
  }
  void need_kernel(bool given) {
    if (!given) fail(at_, "the kernel is missing", "add k and its extent, as in k3 or k1x7");
  }

  Operation operation() {
    skip();
    const std::size_t start = at_;
    if (takes("conv")) {
      Convolution c;
      image(c);
      arrow();
      skip();
      c.filters = number("the number of filters");
      need_kernel(window(c, "kspdg", &c.bias, &c.relu, &c.dilation, &c.groups));
      return c;
    }
    if (takes("depthwise")) {
      Convolution c;
      image(c);
      c.filters = c.groups = c.channels;
      need_kernel(window(c, "kspd", &c.bias, &c.relu, &c.dilation, nullptr));
      return c;
    }
    if (takes("gemm") || takes("dense")) {
      Product p;
      const Shape input = shape("the input, rows x inner extent (MxK),", 2, 2);
      p.rows = input[0], p.inner = input[1];
      arrow();
      skip();
      p.columns = number("the number of columns (N)");
      Convolution none;
      window(none, "", &p.bias, &p.relu, nullptr, nullptr);
      return p;
    }
    if (takes("attention")) return attention();
    if (takes("maxpool")) {
      Pooling p;
      image(p);
      need_kernel(window(p, "ksp", nullptr, nullptr, nullptr, nullptr));
      return p;
    }
    if (takes("avgpool")) {
      Pooling p{.is_maximum = false};
      image(p);
      if (!window(p, "ksp", nullptr, nullptr, nullptr, nullptr)) p.kernel = p.image;
      return p;
    }
    if (takes("add")) return Addition{shape("the shape", 1, 8)};
    fail(start, at_ == text_.size() ? "the layer is empty" : fmt::format("\"{}\" is not a kind of layer", rest()),
         "the kinds are conv, depthwise, gemm (or dense), attention, maxpool, avgpool and add");
  }

  Attention attention() {
    Attention a;
    const std::map<std::string_view, std::int64_t*> keys{
        {"heads", &a.heads}, {"seq", &a.positions}, {"keys", &a.keys}, {"dim", &a.size}};
    std::set<std::string_view> given;
    while (true) {
      skip();
      if (at_ == text_.size()) break;
      const std::size_t equals = text_.find('=', at_);
      const auto key =
          keys.find(equals == std::string_view::npos ? std::string_view() : text_.substr(at_, equals - at_));
      if (key == keys.end())
        fail(at_, fmt::format("\"{}\" is not a setting of attention", rest()),
             "the settings are heads=N, seq=N, keys=N and dim=N");
      if (!given.insert(key->first).second)
        fail(at_, fmt::format("{} is given twice", key->first), "give each setting once");
      at_ = equals + 1;
      *key->second = number(key->first);
      if (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\t')
        fail(at_, "a setting must end here", "separate settings by spaces");
    }
    for (const std::string_view need : {"heads", "seq", "dim"})
      if (!given.contains(need)) fail(at_, fmt::format("{}= is missing", need), "give heads=, seq= and dim=");
    if (!given.contains("keys")) a.keys = a.positions;
    return a;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string_view kind_of(const Operation& operation) {
  constexpr std::array<std::string_view, std::variant_size_v<Operation>> kinds{"conv", "gemm", "attention", "pool",
                                                                               "add"};
  return kinds[operation.index()];
}

}  // namespace

Result<Layer> parse_layer(std::string_view text) { return Parser(text).run(); }

std::vector<Layer> named(std::vector<Layer> layers) {
  std::set<std::string> names;
  for (Layer& layer : layers) {
    const std::string stem = layer.name.empty() ? std::string(kind_of(layer.operation)) : layer.name;
    layer.name = stem;
    for (int number = 2; !names.insert(layer.name).second; ++number) layer.name = fmt::format("{}_{}", stem, number);
  }
  return layers;
}

}  // namespace dovetail::shapes
