// The instances of a design as it was before synthesis flattened it: finds the block that a name of the flat netlist
// belongs to.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dovetail::driver {

// "$paramod$<hash>\name" and "$paramod\name\parameter=…" are instances of `name` with parameters.
std::string module_name(std::string_view type);

// The name without the indices of generate blocks, whose instances share a row of a report.
std::string kind_of(std::string_view instance);

// The signal that a name of the netlist belongs to, without what synthesis appends to it: "left_q_TRELLIS_FF_Q_13" is
// left_q, "grant[1]" is grant. Empty: synthesis has made the name.
std::string signal_of(std::string_view name);

class InstanceTree {
 public:
  struct Child {
    std::string instance, type;  // as Yosys writes them, without the leading backslash
  };

  // The output of Yosys's `dump -m` of the cells that are instances.
  static InstanceTree parse(std::string_view dump, std::string_view top);

  // The instances in a module of this type.
  const std::vector<Child>& children(std::string_view type) const;
  const std::string& top() const { return top_; }

  struct Place {
    std::string path;  // the kinds of the instances, joined by '/'; empty: the top
    std::string type;  // of the module
    std::string name;  // the rest: a net or cell of that module
  };
  // The innermost instance whose name begins that of the net or cell: "u_load.u_split.left_q[4]" is left_q[4] of
  // u_load/u_split. A name that begins with no instance belongs to the top.
  Place locate(std::string_view name) const;

 private:
  std::string top_;
  std::map<std::string, std::vector<Child>, std::less<>> children_;
};

}  // namespace dovetail::driver
