// Tables (functions of one value): in the memory for a table, or on two lines.
#include "compiler/target/accel/select/selection.h"

namespace dovetail::accel {

Result<Operation> select_table(const Context& c) {
  const NdArray& table = *c.constant(1);
  if (table.shape().size() != 1) return c.refuse("it has several tables, and the accelerator one for an operation");
  if (!share_form(c, {c.node().inputs[0], c.node().outputs[0]})) return c.refuse(kLayoutsDiffer);
  TableOperation operation;
  operation.spec.name = c.node().name;
  operation.spec.widening = cheapest_widening(c.config);
  operation.table = table;
  return Operation{{c.id}, {c.node().inputs[0]}, c.node().outputs[0], {{}}, std::move(operation)};
}

Result<Operation> select_lines(const Context& c) {
  const Shape& shape = c.type(0).shape;
  const NdArray& tables = *c.constant(1);
  const auto rank = static_cast<std::int64_t>(shape.size()),
             channels = rank == 4 && !rows_are_pixels(c.graph, c.node().inputs[0]) ? std::int64_t{1} : rank - 1;
  if (tables.shape().size() > 1) {
    const std::int64_t axis = c.attribute("axis", 0);
    if (axis != channels && axis + rank != channels)
      return c.refuse(fmt::format(
          "it has a table for each position of axis {}, and the accelerator supports one for each channel", axis));
  }
  const auto lines = fit_piecewise_linear(tables.data<std::int8_t>(), c.config.requant);
  if (!lines)
    return c.refuse(c.config.table ? "its tables are not two lines through one point"
                                   : "its table is not two lines through one point, and the accelerator has no memory "
                                     "for tables (`table=true` adds it)");
  if (!share_form(c, {c.node().inputs[0], c.node().outputs[0]})) return c.refuse(kLayoutsDiffer);
  LinesOperation operation;
  operation.spec.name = c.node().name;
  operation.spec.form = c.config.requant ? Epilogue::Form::requant : Epilogue::Form::fixed_point;
  operation.spec.lines = *lines;
  operation.spec.saturate = c.config.saturate;
  operation.spec.widening = cheapest_widening(c.config);
  return Operation{{c.id}, {c.node().inputs[0]}, c.node().outputs[0], {{}}, std::move(operation)};
}

}  // namespace dovetail::accel
