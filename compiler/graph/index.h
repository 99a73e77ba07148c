// The index of a graph: with it a graph of thousands of nodes finds the readers of a value, and whether a name is taken
// or a value is an output, without a scan. Used only by the graph, which keeps it up to date.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace dovetail::graph {

// Strong ids: positions in Graph::values and Graph::nodes. Stable under all edits except compact().
struct ValueId {
  std::int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const ValueId&) const = default;
};
struct NodeId {
  std::int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const NodeId&) const = default;
};

class Graph;
class NodeEdit;

// A list that is read-only except for the graph.
template <typename T>
class ReadOnly {
 public:
  const T& operator[](std::size_t position) const { return items_[position]; }
  const T& front() const { return items_.front(); }
  const T& back() const { return items_.back(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }

 private:
  friend class Graph;
  friend class NodeEdit;
  std::vector<T> items_;
};

// The graph's outputs, in order. A value may be listed twice.
class Outputs {
 public:
  Outputs() = default;
  Outputs(std::vector<ValueId> ids) : ids_(std::move(ids)) {}  // NOLINT: a list of values is one of outputs
  Outputs(std::initializer_list<ValueId> ids) : ids_(ids) {}

  operator const std::vector<ValueId>&() const { return ids_; }
  const ValueId& operator[](std::size_t position) const { return ids_[position]; }
  const ValueId& front() const { return ids_.front(); }
  const ValueId& back() const { return ids_.back(); }
  auto begin() const { return ids_.begin(); }
  auto end() const { return ids_.end(); }
  std::size_t size() const { return ids_.size(); }
  bool empty() const { return ids_.empty(); }
  bool operator==(const std::vector<ValueId>& other) const { return ids_ == other; }

  void push_back(ValueId id);
  void pop_back();
  void clear();
  void replace(ValueId from, ValueId to);
  bool contains(ValueId id) const;

 private:
  std::vector<ValueId> ids_;
  mutable std::unordered_set<std::int32_t> known_;  // empty: not built yet
};

// Results are candidates: they include every live node that reads the value or has the name, and possibly nodes that no
// longer do. Callers must check.
class GraphIndex {
 public:
  // A copy of a graph builds a new index when needed.
  GraphIndex() = default;
  GraphIndex(const GraphIndex&) {}
  GraphIndex& operator=(const GraphIndex&) { return *this = GraphIndex(); }
  GraphIndex(GraphIndex&&) = default;
  GraphIndex& operator=(GraphIndex&&) = default;

  std::size_t nodes = 0, values = 0;         // how many of the graph's are indexed
  std::vector<std::vector<NodeId>> readers;  // by value, in node order, without duplicates
  std::unordered_map<std::string, std::vector<NodeId>> nodes_of;
  std::unordered_map<std::string, ValueId> value_of;  // the first value of that name

  void add_reader(ValueId value, NodeId node);
  void add_name(const std::string& name, NodeId node);
};

}  // namespace dovetail::graph
