#include "export/c_kernel.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "export/c_text.h"
#include "loops/core/compact.h"
#include "loops/core/dissolve_blocks.h"
#include "loops/core/hoist_conditions.h"
#include "loops/core/peel.h"
#include "loops/core/rebase_loops.h"
#include "loops/core/trim_loops.h"
#include "loops/rewrite.h"
#include "loops/run_time_checks.h"
#include "loops/sharing.h"
#include "loops/verify.h"

namespace dovetail::exporting {

using namespace loops;

namespace {

// Peeling copies statements: this many for one outermost loop, so that only small loops are split.
constexpr std::int64_t kMostStatements = 4;
constexpr std::int64_t kMostUnrolled = 4;  // as in dovetail_tiny.h
CoreProgram lower(const Program& program) {
  CoreProgram core = hoist_conditions(compact_buffers(dissolve_blocks(program, {})));
  return trim_loops(rebase_loops(peel_tails(core, {kMostStatements})));
}

// Buffers that are read or written, in order.
class UsedBuffers {
 public:
  void add(const Core& core) {
    if (!core) return;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) {
      for (const Expr& expr : {loop->first, loop->end, loop->proceed})
        if (expr) add(expr);
      return add(loop->body);
    }
    if (const auto* n = std::get_if<CoreIf>(&core->node)) {
      add(n->condition), add(n->then_body), add(n->else_body);
    } else if (const auto* s = std::get_if<CoreSequence>(&core->node)) {
      for (const Core& inner : s->body) add(inner);
    } else if (const auto* store = std::get_if<CoreStore>(&core->node)) {
      for (const StoreTarget& target : store->targets) {
        buffers.insert(target.buffer.get());
        for (const Expr& index : target.indices) add(index);
        add(target.value);
      }
    }
  }

  std::set<const BufferNode*> buffers, read;

 private:
  void add(const Expr& expr) {
    visit_exprs(expr, [&](const Expr& e) {
      if (const auto* n = std::get_if<LoadExpr>(&e->node))
        buffers.insert(n->buffer.get()), read.insert(n->buffer.get());
    });
  }
};

class KernelPrinter {
 public:
  KernelPrinter(const CoreProgram& core, std::vector<std::string> names, FailureSites& sites, Needs& needs)
      : core_(core), needs_(needs), print_(core.bounds, sites, needs) {
    result_.names = std::move(names);
  }

  CKernel run(const Program& program) {
    UsedBuffers used;
    used.add(core_.body);
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      const Buffer& buffer = program.parameters[i].buffer;
      result_.uses.push_back(used.buffers.contains(buffer.get()) && element_count(buffer->shape) > 0);
      taken_.insert(result_.names[i]);
      print_.name(buffer, result_.names[i], false);
    }
    const bool failed_before = std::exchange(needs_.failures, false);
    place_temporaries(used);
    statement(core_.body);
    result_.fails = needs_.failures;
    needs_.failures |= failed_before;
    return std::move(result_);
  }

 private:
  // Local variables begin at 0: compilers cannot always prove that a program writes each element before it reads it.
  void place_temporaries(const UsedBuffers& used) {
    std::vector<Buffer> buffers;
    for (const Buffer& buffer : core_.temporary)
      if (used.buffers.contains(buffer.get()) && element_count(buffer->shape) > 0) buffers.push_back(buffer);
    const auto bytes = [](const Buffer& buffer) {
      return static_cast<std::uint64_t>(element_count(buffer->shape)) *
             static_cast<std::uint64_t>(size_bytes(buffer->dtype));
    };
    std::vector<Buffer> small = buffers;
    std::stable_sort(small.begin(), small.end(), [&](const Buffer& a, const Buffer& b) { return bytes(a) < bytes(b); });
    std::set<const BufferNode*> local;
    for (const Buffer& buffer : small)
      if (result_.stack_bytes + bytes(buffer) <= kMostStackBytes) {
        local.insert(buffer.get());
        result_.stack_bytes += bytes(buffer);
      }
    for (const Buffer& buffer : buffers) {
      const std::string name = unique_identifier(last_word(buffer->name), taken_);
      const std::int64_t count = element_count(buffer->shape);
      const bool is_local = local.contains(buffer.get()), scalar = is_local && count == 1;
      print_.name(buffer, name, scalar);
      if (!is_local) result_.workspace.push_back({name, buffer->dtype, bytes(buffer)});
      else if (scalar) line(fmt::format("{} {} = 0;", element_type(buffer->dtype), name));
      else line(fmt::format("{} {}[{}] = {{0}};", element_type(buffer->dtype), name, count));
      if (is_local && !used.read.contains(buffer.get())) line(fmt::format("(void){};", name));
    }
  }

  static std::string_view last_word(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    return dot == name.npos || dot + 1 == name.size() ? name : name.substr(dot + 1);
  }

  // The space at which a line of at most `most` characters ends: in the fewest parentheses, and of these the last one.
  static std::size_t break_of(std::string_view text, std::size_t most) {
    std::size_t best = text.npos, early = text.npos;  // early: leaves a short line
    int depth = 0, least = 0;
    for (std::size_t i = 0; i < std::min(text.size(), most + 1); ++i) {
      if (text[i] == '(' || text[i] == '[') ++depth;
      if (text[i] == ')' || text[i] == ']') --depth;
      if (text[i] != ' ' || i == 0 || text[i - 1] == '?' || text[i - 1] == ':') continue;
      if (i < most / 3) early = i;
      else if (best == text.npos || depth <= least) best = i, least = depth;
    }
    return best == text.npos ? early : best;
  }

  void line(std::string_view text) {
    const std::string indent(static_cast<std::size_t>(2 * depth_), ' ');
    std::string begin = indent;
    while (begin.size() + text.size() > kColumns) {
      const std::size_t space = break_of(text, kColumns - std::min(begin.size(), kColumns / 2));
      if (space == text.npos) break;
      result_.body += begin;
      result_.body += text.substr(0, space);
      result_.body += '\n';
      text.remove_prefix(space + 1);
      begin = indent + "    ";
    }
    result_.body += begin;
    result_.body += text;
    result_.body += '\n';
  }

  void statement(const Core& core) {
    if (!core) return;
    if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return print_loop(*loop);
    if (const auto* n = std::get_if<CoreIf>(&core->node)) return print_if(*n);
    if (const auto* n = std::get_if<CoreSequence>(&core->node)) {
      for (const Core& inner : n->body) statement(inner);
      return;
    }
    if (std::holds_alternative<CoreForget>(core->node)) return;
    const auto* store = std::get_if<CoreStore>(&core->node);
    DOVETAIL_CHECK(store != nullptr, "calls and statements of GPU threads must not occur in a kernel of the host");
    print_store(*store);
  }

  void print_loop(const CoreLoop& n) {
    std::set<std::string> outer = taken_;
    const std::string name = unique_identifier(last_word(n.var->name), taken_);
    print_.name(n.var, name);
    const bool narrow = n.extent <= std::numeric_limits<std::int32_t>::max();
    if (n.kind == ForKind::unrolled && n.extent <= kMostUnrolled) line("DOVETAIL_UNROLL");
    const std::string_view type = narrow ? "int32_t" : "int64_t";
    const std::string extent = integer_literal(n.extent, DType::int64);
    std::string first = "0", end = extent;
    const bool trimmed = n.first || n.end;
    if (trimmed) {
      line("{"), ++depth_;
      if (n.first) first = loop_limit("first", type, n.first, extent);
      if (n.end) end = loop_limit("end", type, n.end, extent);
    }
    line(fmt::format("for ({0} {1} = {3}; {1} < {2}; ++{1}) {{", type, name, end, first));
    if (n.proceed) line(fmt::format("  if (!({})) break;", print_.print(n.proceed).text));
    ++depth_;
    statement(n.body);
    --depth_;
    line("}");
    if (trimmed) --depth_, line("}");
    taken_ = std::move(outer);
  }

  // Declares a limit of a trimmed loop, within 0 and its extent.
  std::string loop_limit(std::string_view what, std::string_view type, const Expr& expr, const std::string& extent) {
    const std::string value = unique_identifier(what, taken_), name = unique_identifier(what, taken_);
    line(fmt::format("const int64_t {} = {};", value, print_.print(expr).text));
    line(fmt::format("const {0} {1} = {2} < 0 ? 0 : {2} < {3} ? ({0}){2} : {3};", type, name, value, extent));
    return name;
  }

  void print_if(const CoreIf& n) {
    line(fmt::format("if ({}) {{", print_.print(n.condition).text));
    ++depth_;
    statement(n.then_body);
    --depth_;
    if (n.else_body) {
      line("} else {");
      ++depth_;
      statement(n.else_body);
      --depth_;
    }
    line("}");
  }

  void print_store(const CoreStore& n) {
    std::vector<Expr> all;
    for (const StoreTarget& target : n.targets) {
      all.insert(all.end(), target.indices.begin(), target.indices.end());
      all.push_back(target.value);
    }
    const std::set<std::string> outer = taken_;
    std::vector<Expr> named;
    const bool large = worth_sharing(all);
    const bool scope = large || n.targets.size() > 1;
    if (scope) line("{"), ++depth_;
    if (large) {
      const std::vector<Expr> shared = nodes_to_name(all);
      shared_ = {shared.begin(), shared.end()};
      for (const Expr& expr : all) compute(expr, named);
    }
    // All values and places before the first write.
    std::vector<std::string> values, places;
    for (const StoreTarget& target : n.targets) {
      const bool empty = element_count(target.buffer->shape) == 0;
      if (empty)  // only an index that depends on data can lead here, and it fails
        for (const std::string& check : print_.checks(target.buffer, target.indices))
          line(fmt::format("(void){};", check));
      places.push_back(empty ? "" : print_.element(target.buffer, target.indices));
      values.push_back(print_.stored(target.value));
      if (empty) line(fmt::format("(void)({});", values.back()));
    }
    if (n.targets.size() > 1)
      for (std::size_t i = 0; i < n.targets.size(); ++i) {
        const std::string name = unique_identifier("value", taken_);
        line(fmt::format("const {} {} = {};", element_type(n.targets[i].buffer->dtype), name, values[i]));
        values[i] = name;
      }
    for (std::size_t i = 0; i < n.targets.size(); ++i)
      if (!places[i].empty()) line(fmt::format("{} = {};", places[i], values[i]));
    for (const Expr& expr : named) print_.forget(expr);
    shared_.clear();
    if (scope) --depth_, line("}");
    taken_ = outer;
  }

  // Names the shared nodes of a large expression, each after its operands; those of one side of a select inside of it.
  void compute(const Expr& expr, std::vector<Expr>& named) {
    if (print_.is_named(expr)) return;
    if (const auto* n = std::get_if<Select>(&expr->node)) {
      compute(n->condition, named);
      for (const Expr& both : both_.of(*n)) compute(both, named);
      if (has_open(n->if_true) || has_open(n->if_false)) return compute_select(expr, *n, named);
      if (shared_.contains(expr)) name_value(expr, named);
      return;
    }
    each_operand(expr, [&](const Expr& operand) { compute(operand, named); });
    if (shared_.contains(expr)) name_value(expr, named);
  }

  void name_value(const Expr& expr, std::vector<Expr>& named) {
    const std::string text = print_.print(expr).text;
    const std::string name = unique_identifier("shared", taken_);
    line(fmt::format("const {} {} = {};", value_type(expr->dtype), name, text));
    print_.name(expr, name);
    named.push_back(expr);
  }

  bool has_open(const Expr& expr) const {
    bool open = false;
    Seen seen;
    const std::function<void(const Expr&)> look = [&](const Expr& e) {
      if (open || print_.is_named(e) || seen.again(e)) return;
      open |= shared_.contains(e);
      each_operand(e, look);
    };
    look(expr);
    return open;
  }

  void compute_select(const Expr& expr, const Select& n, std::vector<Expr>& named) {
    const std::string name = unique_identifier("chosen", taken_);
    line(fmt::format("{} {};", value_type(expr->dtype), name));
    const auto side = [&](const Expr& chosen) {
      std::vector<Expr> inside;
      ++depth_;
      compute(chosen, inside);
      line(fmt::format("{} = {};", name, print_.print(chosen).text));
      --depth_;
      for (const Expr& one : inside) print_.forget(one);
    };
    line(fmt::format("if ({}) {{", print_.print(n.condition).text));
    side(n.if_true);
    line("} else {");
    side(n.if_false);
    line("}");
    print_.name(expr, name);
    named.push_back(expr);
  }

  const CoreProgram& core_;
  Needs& needs_;
  ExpressionPrinter print_;
  CKernel result_;
  std::set<std::string> taken_;
  std::set<Expr> shared_;  // of the store that is printed
  ComputedByBoth both_;
  int depth_ = 1;
};

}  // namespace

std::string CKernel::signature(const std::string& function, const Program& program) const {
  std::vector<std::string> parameters;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    if (!uses[i]) continue;
    const Parameter& parameter = program.parameters[i];
    const bool output = parameter.role == ParameterRole::output;
    parameters.push_back(fmt::format("{}{}* {}{}", output ? "" : "const ", element_type(parameter.buffer->dtype),
                                     output ? "restrict " : "", names[i]));
  }
  for (const KernelWorkspace& buffer : workspace)
    parameters.push_back(fmt::format("{}* restrict {}", element_type(buffer.dtype), buffer.name));
  if (fails) parameters.push_back("int* failure");
  const std::string begin = fmt::format("DOVETAIL_KERNEL {}(", function), indent(begin.size(), ' ');
  if (parameters.empty()) return begin + "void)";
  std::string text = begin;
  std::size_t column = begin.size();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i > 0) {
      const bool breaks = column + parameters[i].size() + 2 > kColumns;
      text += breaks ? ",\n" + indent : ", ";
      column = breaks ? indent.size() : column + 2;
    }
    text += parameters[i];
    column += parameters[i].size();
  }
  return text + ")";
}

Result<CKernel> print_kernel(const Program& program, std::vector<std::string> names, FailureSites& sites,
                             Needs& needs) {
  DOVETAIL_TRY(verify(program));
  const CoreProgram core = lower(program);
  return KernelPrinter(core, std::move(names), sites, needs).run(program);
}

}  // namespace dovetail::exporting
