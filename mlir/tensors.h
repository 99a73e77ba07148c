// Graphs as MLIR: one function on tensors, which calls a function for each operator. These are loop programs whose
// blocks become linalg.generic.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ndarray.h"
#include "loops/ir.h"
#include "mlir/meanings.h"

namespace dovetail::mlir {

// Why a program has no form on tensors; nullopt: it has one. Its blocks must define whole buffers, each element once or
// as a reduction.
std::optional<std::string> why_no_tensors(const loops::Program& program);

// A module under construction. Values are names with the percent sign.
class TensorModule {
 public:
  struct Port {
    std::string name;  // of the model
    DType dtype;
    Shape shape;
  };
  // The function's arguments; their values are %arg0, %arg1, ...
  void begin(const std::string& name, const std::vector<Port>& inputs);
  // Inline up to this size, and else a resource at the end of the module.
  static constexpr std::size_t kMostInlineBytes = 1024;
  std::string constant(const std::string& name, const NdArray& array);
  // The results of the program for these operands, in the order of its inputs and constants. Equal programs share a
  // function. Precondition: !why_no_tensors(program).
  std::vector<std::string> call(const loops::Program& program, const std::vector<std::string>& operands);
  void end(const std::vector<std::string>& results, const std::vector<Port>& outputs);

  std::string text() const;

 private:
  struct Kernel {
    std::string symbol;
    std::string text;
  };
  Meanings meanings_;
  std::map<std::string, Kernel> kernels_;  // by the program's text, without its name
  std::vector<std::string> order_;
  std::set<std::string> symbols_;
  std::string main_;
  std::vector<std::string> resources_;
  int count_ = 0;
};

}  // namespace dovetail::mlir
