#include "driver/shapes/yaml.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/printable.h"

#ifdef DOVETAIL_YAML
#include <yaml.h>
#endif

namespace dovetail::driver {

const Yaml* Yaml::find(std::string_view key) const {
  const auto entry = std::ranges::find(entries, key, &std::pair<std::string, Yaml>::first);
  return entry == entries.end() ? nullptr : &entry->second;
}

#ifdef DOVETAIL_YAML

namespace {

constexpr int kMostLevels = 64;
constexpr std::size_t kMostNodes = std::size_t{1} << 20;

class Converter {
 public:
  Converter(yaml_document_t& document, const std::string& where) : document_(document), where_(where) {}

  Result<Yaml> convert(int index, int level = 0) {
    yaml_node_t& node = *yaml_document_get_node(&document_, index);
    Yaml value{.line = static_cast<int>(node.start_mark.line) + 1};
    if (level > kMostLevels || ++nodes_ > kMostNodes)
      return fault(value.line, fmt::format("the file has more than {} levels or {} nodes, with aliases replaced",
                                           kMostLevels, kMostNodes));
    if (node.type == YAML_SCALAR_NODE) {
      value.text = text_of(node);
    } else if (node.type == YAML_SEQUENCE_NODE) {
      value.kind = Yaml::Kind::list;
      for (const auto* item = node.data.sequence.items.start; item != node.data.sequence.items.top; ++item) {
        DOVETAIL_ASSIGN(Yaml converted, convert(*item, level + 1));
        value.items.push_back(std::move(converted));
      }
    } else {
      value.kind = Yaml::Kind::map;
      for (const auto* pair = node.data.mapping.pairs.start; pair != node.data.mapping.pairs.top; ++pair) {
        const yaml_node_t& key = *yaml_document_get_node(&document_, pair->key);
        if (key.type != YAML_SCALAR_NODE) return fault(value.line, "a key of the map is not a word");
        if (value.find(text_of(key)) != nullptr)
          return fault(static_cast<int>(key.start_mark.line) + 1,
                       fmt::format("the key {} occurs twice", printable(text_of(key))));
        DOVETAIL_ASSIGN(Yaml converted, convert(pair->value, level + 1));
        value.entries.emplace_back(text_of(key), std::move(converted));
      }
    }
    return value;
  }

 private:
  static std::string text_of(const yaml_node_t& node) {
    return {reinterpret_cast<const char*>(node.data.scalar.value), node.data.scalar.length};
  }
  Diagnostic fault(int line, std::string why) const {
    return {"cannot read the YAML file", fmt::format("{}, line {}", where_, line), std::move(why), "correct the file"};
  }

  yaml_document_t& document_;
  std::string where_;
  std::size_t nodes_ = 0;
};

}  // namespace

Result<std::vector<Yaml>> parse_yaml(std::string_view text, const std::string& where) {
  yaml_parser_t parser;
  if (yaml_parser_initialize(&parser) == 0) throw std::bad_alloc();
  const std::unique_ptr<yaml_parser_t, void (*)(yaml_parser_t*)> owner(&parser, yaml_parser_delete);
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  std::vector<Yaml> documents;
  while (true) {
    yaml_document_t document;
    if (yaml_parser_load(&parser, &document) == 0)
      return Diagnostic{"cannot read the YAML file", fmt::format("{}, line {}", where, parser.problem_mark.line + 1),
                        fmt::format("syntax: {}", parser.problem == nullptr ? "unknown" : parser.problem),
                        "correct the file"};
    const std::unique_ptr<yaml_document_t, void (*)(yaml_document_t*)> loaded(&document, yaml_document_delete);
    if (yaml_document_get_root_node(&document) == nullptr) return documents;
    DOVETAIL_ASSIGN(Yaml converted, Converter(document, where).convert(1));
    documents.push_back(std::move(converted));
  }
}

#else

Result<std::vector<Yaml>> parse_yaml(std::string_view, const std::string& where) {
  return Diagnostic{"cannot read the YAML file", where, "this build has no YAML library",
                    "install libyaml-dev and build again, or write the layers with --layer or as a CSV file"};
}

#endif

}  // namespace dovetail::driver
