#include "compiler/tensor/tensor.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"
#include "loops/verify.h"

namespace dovetail::tensor {
namespace {

Shape extents(const Axes& axes) {
  Shape shape;
  for (const Axis& axis : axes) shape.push_back(axis.extent);
  return shape;
}

bool is_empty(const Axes& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.extent == 0; });
}

Indices load_all(const std::vector<loops::Buffer>& buffers, const Indices& indices) {
  Indices values;
  for (const loops::Buffer& buffer : buffers) values.push_back(loops::load(buffer, indices));
  return values;
}

// One store statement for all buffers, so that a tuple is updated at once.
loops::Stmt store_all(const std::vector<loops::Buffer>& buffers, const Indices& indices,
                      const std::vector<loops::Expr>& values) {
  DOVETAIL_CHECK(values.size() == buffers.size(),
                 fmt::format("{} values for {} buffers", values.size(), buffers.size()));
  loops::Store store;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    DOVETAIL_CHECK(values[i]->dtype == buffers[i]->dtype, fmt::format("{} holds {}, its value is {}", buffers[i]->name,
                                                                      name(buffers[i]->dtype), name(values[i]->dtype)));
    store.targets.push_back({buffers[i], indices, values[i]});
  }
  return loops::make_stmt(std::move(store));
}

}  // namespace

Definition::Definition(std::string program_name) : name_(std::move(program_name)) {}

loops::Buffer Definition::parameter(std::string name, DType dtype, Shape shape, loops::ParameterRole role) {
  parameters_.push_back({loops::make_buffer(std::move(name), dtype, std::move(shape)), role});
  return parameters_.back().buffer;
}

loops::Buffer Definition::input(std::string name, DType dtype, Shape shape) {
  return parameter(std::move(name), dtype, std::move(shape), loops::ParameterRole::input);
}

loops::Buffer Definition::constant(std::string name, DType dtype, Shape shape) {
  return parameter(std::move(name), dtype, std::move(shape), loops::ParameterRole::constant);
}

void Definition::add_nest(const std::string& name, const std::vector<UpdateAxis>& axes,
                          const std::function<loops::Block(const Indices&)>& make_block) {
  if (std::ranges::any_of(axes, [](const UpdateAxis& axis) { return axis.extent == 0; })) return;
  // The loops of in_order that enclose the block are its ordered iterators.
  std::vector<loops::Iterator> iterators;
  loops::VarMap inside;
  for (const Step& step : steps_) {
    iterators.push_back(
        {loops::make_var(step.axis.name), step.axis.extent, loops::IterKind::ordered, loops::ref(step.loop)});
    inside[step.loop.get()] = loops::ref(iterators.back().var);
  }
  std::vector<std::pair<loops::Var, std::int64_t>> nest;
  Indices indices;
  for (const UpdateAxis& axis : axes) {
    const loops::Var loop = loops::make_var(name + "." + axis.name);
    nest.emplace_back(loop, axis.extent);
    iterators.push_back({loops::make_var(axis.name), axis.extent, axis.kind, loops::ref(loop)});
    indices.push_back(loops::ref(iterators.back().var));
  }

  loops::Block block = make_block(indices);
  block.name = name;
  block.iterators = std::move(iterators);
  if (!inside.empty()) {
    block.body = loops::substitute(block.body, inside);
    if (block.init) block.init = loops::substitute(block.init, inside);
  }
  loops::BlockRegions regions = loops::infer_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);

  loops::Stmt stmt = loops::make_stmt(std::move(block));
  for (auto loop = nest.rbegin(); loop != nest.rend(); ++loop)
    stmt = loops::make_stmt(loops::For{loop->first, loop->second, loops::ForKind::serial, {}, {}, std::move(stmt)});
  body_.push_back(std::move(stmt));
}

void Definition::add_block(const std::string& name, const Axes& axes, const Axes& reduce_axes,
                           const std::vector<loops::Buffer>& written,
                           const std::function<loops::Block(const Indices&, const Indices&)>& make_block) {
  computed_.insert(computed_.end(), written.begin(), written.end());
  std::vector<UpdateAxis> all;
  for (const Axis& axis : axes) all.push_back({axis.name, axis.extent});
  for (const Axis& axis : reduce_axes) all.push_back({axis.name, axis.extent, loops::IterKind::reduce});
  const auto spatial = static_cast<std::ptrdiff_t>(axes.size());
  add_nest(name, all, [&](const Indices& indices) {
    return make_block(Indices(indices.begin(), indices.begin() + spatial),
                      Indices(indices.begin() + spatial, indices.end()));
  });
}

loops::Buffer Definition::compute(std::string name, DType dtype, const Axes& axes,
                                  const std::function<loops::Expr(const Indices&)>& body) {
  const loops::Buffer buffer = loops::make_buffer(name, dtype, extents(axes));
  add_block(name, axes, {}, {buffer}, [&](const Indices& spatial, const Indices&) {
    loops::Block block;
    block.body = store_all({buffer}, spatial, {body(spatial)});
    return block;
  });
  return buffer;
}

loops::Buffer Definition::reduce(std::string name, DType dtype, const Axes& axes, const Axes& reduce_axes,
                                 const Reducer& reducer,
                                 const std::function<loops::Expr(const Indices&, const Indices&)>& body) {
  return reduce_tuple({std::move(name)}, {dtype}, axes, reduce_axes, reducer,
                      [&](const Indices& spatial, const Indices& reduced) {
                        return std::vector<loops::Expr>{body(spatial, reduced)};
                      })[0];
}

loops::Buffer Definition::reduce_from(std::string name, DType dtype, const Axes& axes, const Axes& reduce_axes,
                                      const Reducer& reducer, const std::function<loops::Expr(const Indices&)>& start,
                                      const std::function<loops::Expr(const Indices&, const Indices&)>& body) {
  DOVETAIL_CHECK(!is_empty(reduce_axes), fmt::format("{} must be a reduction", name));
  const loops::Buffer buffer = loops::make_buffer(name, dtype, extents(axes));
  add_block(name, axes, reduce_axes, {buffer}, [&](const Indices& spatial, const Indices& reduced) {
    loops::Block block;
    block.init = store_all({buffer}, spatial, {start(spatial)});
    block.body = store_all({buffer}, spatial, reducer.combine(load_all({buffer}, spatial), {body(spatial, reduced)}));
    return block;
  });
  return buffer;
}

std::vector<loops::Buffer> Definition::reduce_tuple(
    const std::vector<std::string>& names, const std::vector<DType>& dtypes, const Axes& axes, const Axes& reduce_axes,
    const Reducer& reducer, const std::function<std::vector<loops::Expr>(const Indices&, const Indices&)>& body) {
  DOVETAIL_CHECK(!names.empty() && names.size() == dtypes.size(),
                 fmt::format("{} names, {} types", names.size(), dtypes.size()));
  std::vector<loops::Buffer> buffers;
  for (std::size_t i = 0; i < names.size(); ++i)
    buffers.push_back(loops::make_buffer(names[i], dtypes[i], extents(axes)));

  if (is_empty(reduce_axes)) {
    add_block(names[0], axes, {}, buffers, [&](const Indices& spatial, const Indices&) {
      loops::Block block;
      block.body = store_all(buffers, spatial, reducer.identity(dtypes));
      return block;
    });
    return buffers;
  }
  add_block(names[0], axes, reduce_axes, buffers, [&](const Indices& spatial, const Indices& reduced) {
    loops::Block block;
    block.init = store_all(buffers, spatial, reducer.identity(dtypes));
    block.body = store_all(buffers, spatial, reducer.combine(load_all(buffers, spatial), body(spatial, reduced)));
    if (reducer.of_products && is_floating(dtypes[0]))
      block.annotations[std::string(loops::kSumAnnotation)] = loops::kProductSum;
    return block;
  });
  return buffers;
}

void Definition::statement(loops::Stmt stmt, std::vector<loops::Buffer> written) {
  computed_.insert(computed_.end(), written.begin(), written.end());
  body_.push_back(std::move(stmt));
}

loops::Buffer Definition::declare(std::string name, DType dtype, Shape shape) {
  computed_.push_back(loops::make_buffer(std::move(name), dtype, std::move(shape)));
  return computed_.back();
}

void Definition::update(const std::string& name, const std::vector<UpdateAxis>& axes,
                        const std::function<loops::Stmt(const Indices&)>& body, const loops::Annotations& annotations) {
  add_nest(name, axes, [&](const Indices& indices) {
    loops::Block block;
    block.body = body(indices);
    block.annotations = annotations;
    return block;
  });
}

void Definition::accumulate(const std::string& name, const loops::Buffer& buffer, const Axes& axes, const Axis& reduced,
                            const std::function<loops::Expr(const Indices&, const loops::Expr&)>& product) {
  std::vector<UpdateAxis> nest;
  for (const Axis& axis : axes) nest.push_back({axis.name, axis.extent});
  nest.insert(nest.end() - 1, {reduced.name, reduced.extent, loops::IterKind::reduce});
  loops::Annotations annotations;
  if (is_floating(buffer->dtype)) annotations[std::string(loops::kSumAnnotation)] = loops::kProductSum;
  update(
      name, nest,
      [&](const Indices& all) {
        Indices place = all;
        place.erase(place.end() - 2);
        return loops::store(buffer, place, loops::load(buffer, place) + product(place, all[all.size() - 2]));
      },
      annotations);
}

void Definition::in_order(const Axis& axis, const std::function<void(const loops::Expr&)>& body) {
  if (axis.extent == 0) return;
  const std::size_t dot = axis.name.rfind('.');
  const loops::Var loop = loops::make_var(axis.name);
  steps_.push_back({{dot == std::string::npos ? axis.name : axis.name.substr(dot + 1), axis.extent}, loop});
  std::vector<loops::Stmt> around = std::exchange(body_, {});
  body(loops::ref(loop));
  around.push_back(loops::make_stmt(
      loops::For{loop, axis.extent, loops::ForKind::serial, {}, {}, loops::sequence(std::exchange(body_, {}))}));
  body_ = std::move(around);
  steps_.pop_back();
}

loops::Program Definition::build(const std::vector<loops::Buffer>& outputs,
                                 const std::vector<std::string>& output_names) const {
  DOVETAIL_CHECK(output_names.empty() || output_names.size() == outputs.size(),
                 fmt::format("{} names for {} outputs", output_names.size(), outputs.size()));
  loops::Program program{name_, parameters_, {}, loops::sequence(body_)};
  loops::BufferMap renamed;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    loops::Buffer buffer = outputs[i];
    DOVETAIL_CHECK(std::find(computed_.begin(), computed_.end(), buffer) != computed_.end(),
                   fmt::format("output {} of {} is not computed there", buffer->name, name_));
    if (!output_names.empty() && output_names[i] != buffer->name) {
      renamed[outputs[i].get()] = loops::make_buffer(output_names[i], buffer->dtype, buffer->shape, buffer->scope);
      buffer = renamed[outputs[i].get()];
    }
    program.parameters.push_back({buffer, loops::ParameterRole::output});
  }
  for (const loops::Buffer& buffer : computed_)
    if (std::find(outputs.begin(), outputs.end(), buffer) == outputs.end()) program.allocations.push_back(buffer);
  if (!renamed.empty()) program.body = loops::replace_buffers(program.body, renamed);

  std::set<std::string> names;
  const auto claim = [&](const std::string& name) {
    DOVETAIL_CHECK(names.insert(name).second, fmt::format("{} defines {} twice", name_, name));
  };
  for (const loops::Parameter& parameter : program.parameters) claim(parameter.buffer->name);
  for (const loops::Buffer& buffer : program.allocations) claim(buffer->name);
  return program;
}

}  // namespace dovetail::tensor
