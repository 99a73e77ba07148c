#include "tests/fuzz/compiler/import/mutate_model.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "compiler/ops/op.h"
#include "tests/fuzz/compiler/import/message_tree.h"

namespace dovetail::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::int64_t kNumbers[] = {0,
                                     1,
                                     -1,
                                     2,
                                     3,
                                     4,
                                     7,
                                     8,
                                     16,
                                     127,
                                     128,
                                     255,
                                     256,
                                     65'535,
                                     65'536,
                                     INT32_MAX,
                                     INT32_MIN,
                                     std::int64_t{1} << 31,
                                     std::int64_t{1} << 32,
                                     std::int64_t{1} << 40,
                                     std::int64_t{1} << 62,
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_MAX - 1};
constexpr float kReals[] = {0.0f,
                            -0.0f,
                            1.0f,
                            -1.0f,
                            0.5f,
                            1e-38f,
                            1e38f,
                            3.4028235e38f,
                            2147483648.0f,
                            9.2233720e18f,
                            1e-45f,
                            __builtin_inff(),
                            -__builtin_inff(),
                            __builtin_nanf("")};
// Texts with a meaning in an attribute or as a name.
constexpr std::string_view kTexts[] = {"",
                                       "x",
                                       "y",
                                       "w",
                                       "SAME_UPPER",
                                       "SAME_LOWER",
                                       "VALID",
                                       "NOTSET",
                                       "linear",
                                       "cubic",
                                       "nearest",
                                       "align_corners",
                                       "asymmetric",
                                       "floor",
                                       "ceil",
                                       "round_prefer_ceil",
                                       "constant",
                                       "reflect",
                                       "edge",
                                       "wrap",
                                       "mean",
                                       "sum",
                                       "none",
                                       "tanh",
                                       "reverse",
                                       "bidirectional",
                                       "axis",
                                       "axes",
                                       "perm",
                                       "pads",
                                       "strides",
                                       "dilations",
                                       "group",
                                       "kernel_shape",
                                       "ceil_mode",
                                       "to",
                                       "value",
                                       "alpha",
                                       "beta",
                                       "transA",
                                       "num_outputs",
                                       "block_size",
                                       "keepdims",
                                       "hidden_size",
                                       "direction",
                                       "equation",
                                       "ij,jk->ik",
                                       "...i->i",
                                       "\xff\xfe",
                                       "com.microsoft",
                                       "ai.onnx.ml"};

class Mutator {
 public:
  Mutator(Message& model, const Message& other, std::mt19937_64& random)
      : model_(model), other_(other), random_(random) {}

  void change() {
    places_.clear();
    collect(model_.fields, MessageKind::model);
    if (places_.empty()) return;
    const Place place = places_[below(places_.size())];
    switch (below(10)) {
      case 0: return remove(place);
      case 1: return repeat(place);
      case 2: return swap(place);
      case 3: return borrow(place, model_);
      case 4: return borrow(place, other_);
      default: return change_value(place);
    }
  }

 private:
  struct Place {
    std::vector<Field>* siblings;
    std::size_t index;
    MessageKind parent;
    Field& field() const { return (*siblings)[index]; }
  };

  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  template <typename Row, std::size_t count>
  const Row& any(const Row (&rows)[count]) {
    return rows[below(count)];
  }

  void collect(std::vector<Field>& fields, MessageKind parent) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      places_.push_back({&fields, i, parent});
      collect(fields[i].fields, fields[i].kind);
    }
  }

  void remove(const Place& place) {
    place.siblings->erase(place.siblings->begin() + static_cast<std::ptrdiff_t>(place.index));
  }
  void repeat(const Place& place) {
    const Field copy = place.field();
    const std::size_t times = below(16) == 0 ? 64 : 1;
    place.siblings->insert(place.siblings->begin() + static_cast<std::ptrdiff_t>(below(place.siblings->size() + 1)),
                           times, copy);
  }
  void swap(const Place& place) { std::swap(place.field(), (*place.siblings)[below(place.siblings->size())]); }

  // Replaces the field by, or adds, one of the same kind from the same kind of message of `from`.
  void borrow(const Place& place, const Message& from) {
    std::vector<const Field*> found;
    find(from.fields, MessageKind::model, place, found);
    if (found.empty()) return;
    const Field copy = *found[below(found.size())];
    if (below(2)) place.field() = copy;
    else place.siblings->push_back(copy);
  }
  void find(const std::vector<Field>& fields, MessageKind parent, const Place& place,
            std::vector<const Field*>& found) {
    for (const Field& field : fields) {
      if (parent == place.parent && field.number == place.field().number) found.push_back(&field);
      find(field.fields, field.kind, place, found);
    }
  }

  void change_value(const Place& place) {
    Field& field = place.field();
    if (field.kind != MessageKind::none) return insert_field(field);
    switch (field.wire_type) {
      case 0: return change_number(field.varint);
      case 5: return change_real(field.bytes);
      default: return change_bytes(field, place.parent);
    }
  }
  void change_number(std::uint64_t& number) {
    switch (below(4)) {
      case 0: number = static_cast<std::uint64_t>(any(kNumbers)); break;
      case 1: number += below(2) ? 1 : UINT64_MAX; break;
      case 2: number = below(16); break;
      default: number = static_cast<std::uint64_t>(-static_cast<std::int64_t>(below(8))); break;
    }
  }
  void change_real(std::string& bytes) {
    const float value = any(kReals);
    bytes.assign(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
  }
  void change_bytes(Field& field, MessageKind parent) {
    if (parent == MessageKind::node && field.number == 4) {
      const auto operators = ops::all();
      field.bytes = operators[below(operators.size())].op;
      return;
    }
    if (below(3) == 0 && field.bytes.size() < 64) {
      field.bytes = any(kTexts);
      return;
    }
    if (field.bytes.empty()) {
      field.bytes.assign(1 + below(16), static_cast<char>(random_()));
      return;
    }
    switch (below(4)) {
      case 0: field.bytes.resize(below(field.bytes.size())); break;
      case 1: field.bytes += field.bytes.substr(0, 4096); break;
      default: field.bytes[below(field.bytes.size())] = static_cast<char>(random_()); break;
    }
  }
  // Adds a field that the message may lack: a dimension, an attribute's list, an input.
  void insert_field(Field& message) {
    Field field;
    field.number = 1 + static_cast<std::uint32_t>(below(message.kind == MessageKind::attribute ? 20 : 15));
    switch (below(3)) {
      case 0: change_number(field.varint); break;
      case 1:
        field.wire_type = 2;
        field.bytes = any(kTexts);
        break;
      default:
        field.wire_type = 5;
        change_real(field.bytes);
        break;
    }
    message.fields.push_back(std::move(field));
  }

  Message& model_;
  const Message& other_;
  std::mt19937_64& random_;
  std::vector<Place> places_;
};

void change_bytes(Bytes& bytes, std::mt19937_64& random) {
  if (bytes.empty()) return;
  const auto at = [&] { return static_cast<std::ptrdiff_t>(random() % bytes.size()); };
  switch (random() % 3) {
    case 0: bytes[static_cast<std::size_t>(at())] = std::byte{static_cast<unsigned char>(random())}; break;
    case 1: bytes.erase(bytes.begin() + at(), bytes.end()); break;
    default: {
      const Bytes piece(bytes.begin() + at(), bytes.end());
      bytes.insert(bytes.begin() + at(), piece.begin(),
                   piece.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(piece.size(), 64)));
    }
  }
}

}  // namespace

Bytes mutate_model(std::span<const std::byte> model, std::span<const std::byte> other, std::mt19937_64& random,
                   std::size_t max_bytes) {
  Bytes bytes(model.begin(), model.end());
  if (random() % 8 == 0) {
    change_bytes(bytes, random);
  } else {
    Message message = read_model(model);
    const Message lender = read_model(other);
    for (std::uint64_t count = 1 + random() % 4; count > 0; --count) Mutator(message, lender, random).change();
    bytes = write_model(message);
  }
  if (bytes.size() <= max_bytes) return bytes;
  return {model.begin(), model.end()};
}

}  // namespace dovetail::test
