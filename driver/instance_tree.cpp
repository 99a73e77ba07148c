#include "driver/instance_tree.h"

#include <algorithm>
#include <array>

#include "base/text_stream.h"

namespace dovetail::driver {

namespace {

// What Yosys appends to the name of a signal to name cells and nets of its logic.
constexpr std::array<std::string_view, 8> kAppended{"_LUT4",     "_PFUMX",   "_L6MUX21", "_CCU2C",
                                                    "_TRELLIS_", "_MULT18X", "_DP16KD",  "$"};

std::string_view without_backslash(std::string_view name) { return name.starts_with('\\') ? name.substr(1) : name; }

}  // namespace

std::string signal_of(std::string_view name) {
  std::size_t end = name.find('[');
  for (const std::string_view appended : kAppended) end = std::min(end, name.find(appended));
  return std::string(name.substr(0, end));
}

std::string module_name(std::string_view type) {
  if (!type.starts_with("$paramod")) return std::string(type);
  const std::size_t begin = type.find('\\');
  if (begin == type.npos) return std::string(type);
  const std::size_t end = type.find('\\', begin + 1);
  return std::string(type.substr(begin + 1, end == type.npos ? type.npos : end - begin - 1));
}

std::string kind_of(std::string_view instance) {
  std::string kind;
  bool index = false;
  for (const char c : instance) {
    if (c == '[') index = true;
    if (!index) kind += c;
    if (c == ']') index = false;
  }
  return kind;
}

InstanceTree InstanceTree::parse(std::string_view dump, std::string_view top) {
  InstanceTree tree;
  tree.top_ = top;
  TextStream lines{std::string(dump)};
  std::string module;
  for (std::string line; std::getline(lines, line);) {
    TextStream words(line);
    std::string keyword, first, second;
    words >> keyword >> first >> second;
    if (keyword == "module") module = without_backslash(first);
    if (keyword == "cell" && !module.empty())
      tree.children_[module].push_back({std::string(without_backslash(second)), std::string(without_backslash(first))});
  }
  return tree;
}

const std::vector<InstanceTree::Child>& InstanceTree::children(std::string_view type) const {
  static const std::vector<Child> none;
  const auto found = children_.find(type);
  return found == children_.end() ? none : found->second;
}

InstanceTree::Place InstanceTree::locate(std::string_view name) const {
  Place place{{}, top_, {}};
  while (true) {
    const Child* longest = nullptr;
    for (const Child& child : children(place.type))
      if (name.size() > child.instance.size() && name.starts_with(child.instance) &&
          name[child.instance.size()] == '.' &&
          (longest == nullptr || child.instance.size() > longest->instance.size()))
        longest = &child;
    if (longest == nullptr) break;
    name.remove_prefix(longest->instance.size() + 1);
    place.path += (place.path.empty() ? "" : "/") + kind_of(longest->instance);
    place.type = longest->type;
  }
  place.name = name;
  return place;
}

}  // namespace dovetail::driver
