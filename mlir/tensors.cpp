#include "mlir/tensors.h"

#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/print.h"
#include "mlir/tensor_function.h"
#include "mlir/text.h"

namespace dovetail::mlir {

namespace {

std::string hex_of(const NdArray& array) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  text.reserve(array.bytes().size() * 2);
  for (const std::byte byte : array.bytes()) {
    text += kDigits[static_cast<std::size_t>(byte) >> 4];
    text += kDigits[static_cast<std::size_t>(byte) & 15];
  }
  return text;
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "constants are written in the order of the memory");

void TensorModule::begin(const std::string& name, const std::vector<Port>& inputs) {
  std::vector<std::string> arguments;
  for (const Port& port : inputs)
    arguments.push_back(fmt::format("%arg{}: {} {{dovetail.name = {}, dovetail.type = {}}}", arguments.size(),
                                    tensor_type(port.dtype, port.shape), string_literal(port.name),
                                    string_literal(dovetail::name(port.dtype))));
  main_ = fmt::format("  func.func @main({}) -> RESULTS attributes {{dovetail.model = {}}} {{\n",
                      fmt::join(arguments, ", "), string_literal(name));
}

std::string TensorModule::constant(const std::string& name, const NdArray& array) {
  std::string value = fmt::format("%c{}", count_++);
  const std::string type = tensor_type(array.dtype(), array.shape());
  if (array.count() == 0) {
    main_ +=
        fmt::format("    {} = arith.constant {{dovetail.name = {}}} dense<> : {}\n", value, string_literal(name), type);
  } else if (array.bytes().size() <= kMostInlineBytes) {
    main_ += fmt::format("    {} = arith.constant {{dovetail.name = {}}} dense<\"0x{}\"> : {}\n", value,
                         string_literal(name), hex_of(array), type);
  } else {
    const std::string resource = fmt::format("constant{}", resources_.size());
    main_ += fmt::format("    {} = arith.constant {{dovetail.name = {}}} dense_resource<{}> : {}\n", value,
                         string_literal(name), resource, type);
    // The first four bytes are the alignment of the others.
    resources_.push_back(fmt::format("{}: \"0x08000000{}\"", resource, hex_of(array)));
  }
  return value;
}

std::vector<std::string> TensorModule::call(const loops::Program& program, const std::vector<std::string>& operands) {
  loops::Program unnamed = program;
  unnamed.name = "kernel";
  const auto [found, is_new] = kernels_.emplace(loops::to_string(unnamed), Kernel{});
  Kernel& kernel = found->second;
  if (is_new) {
    std::string wish = program.name;
    for (int number = 1; wish == "main" || !symbols_.insert(wish).second; ++number)
      wish = fmt::format("{}_{}", program.name, number);
    kernel.symbol = wish;
    kernel.text = tensor_function(program, kernel.symbol, meanings_);
    order_.push_back(found->first);
  }
  std::vector<std::string> types, result_types, results;
  for (const loops::Parameter& parameter : program.parameters)
    (parameter.role == loops::ParameterRole::output ? result_types : types)
        .push_back(tensor_type(parameter.buffer->dtype, parameter.buffer->shape));
  const std::string value = fmt::format("%v{}", count_++);
  main_ += fmt::format("    {}{} = func.call {}({}) : ({}) -> ({})\n", value,
                       result_types.size() > 1 ? fmt::format(":{}", result_types.size()) : "",
                       symbol_reference(kernel.symbol), fmt::join(operands, ", "), fmt::join(types, ", "),
                       fmt::join(result_types, ", "));
  if (result_types.size() == 1) return {value};
  for (std::size_t i = 0; i < result_types.size(); ++i) results.push_back(fmt::format("{}#{}", value, i));
  return results;
}

void TensorModule::end(const std::vector<std::string>& results, const std::vector<Port>& outputs) {
  std::vector<std::string> types, declared;
  for (const Port& port : outputs) {
    types.push_back(tensor_type(port.dtype, port.shape));
    declared.push_back(fmt::format("{} {{dovetail.name = {}, dovetail.type = {}}}", types.back(),
                                   string_literal(port.name), string_literal(dovetail::name(port.dtype))));
  }
  const std::size_t at = main_.find("RESULTS");
  main_.replace(at, std::string_view("RESULTS").size(), fmt::format("({})", fmt::join(declared, ", ")));
  main_ += fmt::format("    return {} : {}\n  }}\n", fmt::join(results, ", "), fmt::join(types, ", "));
}

std::string TensorModule::text() const {
  std::string text = "module {\n" + main_;
  for (const std::string& key : order_) text += kernels_.at(key).text;
  text += meanings_.text() + "}\n";
  if (!resources_.empty())
    text += fmt::format("\n{{-#\n  dialect_resources: {{\n    builtin: {{\n      {}\n    }}\n  }}\n#-}}\n",
                        fmt::join(resources_, ",\n      "));
  return text;
}

}  // namespace dovetail::mlir
