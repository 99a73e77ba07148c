// A main function around the programs of a module: it calls each with given arguments, compares the results, and
// returns the number of the first program with wrong values, from 1; 0: all are right.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/ndarray.h"
#include "loops/ir.h"
#include "mlir/text.h"

namespace dovetail::mlir::test {

struct Case {
  loops::Program program;
  std::vector<NdArray> arguments, results;
  double tolerance = 0;  // of floats, relative to the larger value; 0: the same bits, all NaNs being one
};

inline std::string hexadecimal(const NdArray& array) {
  std::string text = "0x";
  for (const std::byte byte : array.bytes()) text += fmt::format("{:02X}", static_cast<unsigned>(byte));
  return text;
}

class MainFunction {
 public:
  std::string text(std::span<const Case> cases) {
    body_ = "  func.func @main() -> i32 {\n    %good = arith.constant 0 : i32\n";
    for (std::size_t i = 0; i < cases.size(); ++i) add(cases[i], i);
    std::string last = "%good";
    for (std::size_t i = cases.size(); i-- > 0;) {
      body_ += fmt::format(
          "    %n{0} = arith.constant {1} : i32\n    %first{0} = arith.select %wrong{0}, %n{0}, {2} : i32\n", i, i + 1,
          last);
      last = fmt::format("%first{}", i);
    }
    return globals_ + functions_ + body_ + fmt::format("    return {} : i32\n  }}\n", last);
  }

 private:
  std::string global(const NdArray& array) {
    const std::string name = fmt::format("given{}", count_++), type = memref_type(array.dtype(), array.shape());
    globals_ +=
        fmt::format("  memref.global \"private\" constant @{} : {} = dense<\"{}\">\n", name, type, hexadecimal(array));
    const std::string value = fmt::format("%v{}", count_++);
    body_ += fmt::format("    {} = memref.get_global @{} : {}\n", value, name, type);
    return value;
  }

  void add(const Case& test, std::size_t number) {
    std::string arguments, types, checks;
    std::size_t input = 0, output = 0;
    std::string wrong = fmt::format("%start{}", number);
    body_ += fmt::format("    {} = arith.constant false\n", wrong);
    for (const loops::Parameter& parameter : test.program.parameters) {
      const std::string type = memref_type(parameter.buffer->dtype, parameter.buffer->shape);
      std::string value;
      if (parameter.role == loops::ParameterRole::output) {
        value = fmt::format("%v{}", count_++);
        body_ += fmt::format("    {} = memref.alloc() : {}\n", value, type);
        const NdArray& expected = test.results[output++];
        const std::string right = global(expected), check = check_function(expected, test.tolerance);
        const std::string next = fmt::format("%v{}", count_++), joined = fmt::format("%v{}", count_++);
        checks += fmt::format("    {} = func.call @{}({}, {}) : ({}, {}) -> i1\n    {} = arith.ori {}, {} : i1\n", next,
                              check, value, right, type, type, joined, wrong, next);
        wrong = joined;
      } else {
        value = global(test.arguments[input++]);
      }
      arguments += (arguments.empty() ? "" : ", ") + value;
      types += (types.empty() ? "" : ", ") + type;
    }
    body_ += fmt::format("    func.call {}({}) : ({}) -> ()\n{}", symbol_reference(test.program.name), arguments, types,
                         checks);
    body_ +=
        fmt::format("    %no{0} = arith.constant false\n    %wrong{0} = arith.ori {1}, %no{0} : i1\n", number, wrong);
  }

  // A function that says whether two memrefs differ.
  std::string check_function(const NdArray& array, double tolerance) {
    const std::string name = fmt::format("check{}", count_++), type = memref_type(array.dtype(), array.shape()),
                      element(memory_type(array.dtype()));
    std::string text = fmt::format(
        "  func.func private @{}(%a: {}, %b: {}) -> i1 {{\n    %c0 = arith.constant 0 : index\n"
        "    %c1 = arith.constant 1 : index\n    %no = arith.constant false\n    %found = memref.alloc() : "
        "memref<1xi1>\n"
        "    memref.store %no, %found[%c0] : memref<1xi1>\n",
        name, type, type);
    std::string indices, indent = "    ", ends;
    for (std::size_t dim = 0; dim < array.shape().size(); ++dim) {
      text += fmt::format("    %e{} = arith.constant {} : index\n", dim, array.shape()[dim]);
      indices += fmt::format("{}%i{}", dim == 0 ? "" : ", ", dim);
    }
    for (std::size_t dim = 0; dim < array.shape().size(); ++dim) {
      text += fmt::format("    scf.for %i{0} = %c0 to %e{0} step %c1 {{\n", dim);
      ends += "    }\n";
    }
    text += fmt::format("    %x = memref.load %a[{0}] : {1}\n    %y = memref.load %b[{0}] : {1}\n", indices, type);
    text += is_floating(array.dtype()) ? floats_differ(array.dtype(), tolerance)
                                       : fmt::format("    %differ = arith.cmpi ne, %x, %y : {}\n", element);
    text +=
        "    %before = memref.load %found[%c0] : memref<1xi1>\n    %now = arith.ori %before, %differ : i1\n"
        "    memref.store %now, %found[%c0] : memref<1xi1>\n";
    functions_ += text + ends +
                  "    %result = memref.load %found[%c0] : memref<1xi1>\n    memref.dealloc %found : memref<1xi1>\n"
                  "    return %result : i1\n  }\n";
    return name;
  }

  static std::string floats_differ(DType dtype, double tolerance) {
    const std::string type(value_type(dtype));
    const std::string bits = fmt::format("i{}", 8 * size_bytes(dtype));
    std::string text = fmt::format(
        "    %xbits = arith.bitcast %x : {0} to {1}\n    %ybits = arith.bitcast %y : {0} to {1}\n"
        "    %other = arith.cmpi ne, %xbits, %ybits : {1}\n    %xnan = arith.cmpf uno, %x, %x : {0}\n"
        "    %ynan = arith.cmpf uno, %y, %y : {0}\n    %nans = arith.andi %xnan, %ynan : i1\n"
        "    %true = arith.constant true\n    %numbers = arith.xori %nans, %true : i1\n",
        type, bits);
    if (tolerance == 0) return text + "    %differ = arith.andi %other, %numbers : i1\n";
    const std::string wide = dtype == DType::float64 ? "%x" : "%xw", right = dtype == DType::float64 ? "%y" : "%yw";
    if (dtype != DType::float64)
      text += fmt::format("    %xw = arith.extf %x : {0} to f64\n    %yw = arith.extf %y : {0} to f64\n", type);
    return text +
           fmt::format(
               "    %d = arith.subf {0}, {1} : f64\n    %ad = math.absf %d : f64\n    %ax = math.absf {0} : f64\n"
               "    %ay = math.absf {1} : f64\n    %m = arith.maximumf %ax, %ay : f64\n"
               "    %t = arith.constant {2} : f64\n    %limit = arith.mulf %m, %t : f64\n"
               "    %far = arith.cmpf ugt, %ad, %limit : f64\n    %both = arith.andi %far, %other : i1\n"
               "    %differ = arith.andi %both, %numbers : i1\n",
               wide, right, float_text(tolerance, DType::float64));
  }

  std::string globals_, functions_, body_;
  int count_ = 0;
};

}  // namespace dovetail::mlir::test
