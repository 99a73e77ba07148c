#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "compiler/target/accel/lower/leaf.h"
#include "compiler/target/accel/lower/window_stripes.h"
#include "isa/spec/alu_ops.h"

namespace dovetail::accel {

namespace {

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) { return -floor_quotient(-a, b); }

std::int64_t origin(const LeafForm& form, const LoopValues& outer) {
  std::int64_t value = form.constant + (form.place ? form.place->begin(outer) : 0);
  for (const auto& [var, coefficient] : form.outer) value += coefficient * outer.at(var);
  return value;
}

struct Range {
  std::int64_t begin, end;
  bool empty() const { return begin >= end; }
};

// Narrows `range` of loop `l` to the values with base + coefficient * l >= 0.
void clip(Range& range, std::int64_t base, std::int64_t coefficient) {
  if (coefficient > 0) range.begin = std::max(range.begin, ceil_quotient(-base, coefficient));
  else range.end = std::min(range.end, floor_quotient(base, -coefficient) + 1);
}

// Elements of ACC that the loops of an instruction reach: from `base`, by (step, extent) of each loop.
struct ResultBox {
  std::int64_t base;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;
  bool operator==(const ResultBox&) const = default;
};

// Merges loops that act as one loop: the outer step is the inner step times the inner extent, for every operand.
void merge(std::vector<Axis>& axes) {
  std::erase_if(axes, [](const Axis& axis) { return axis.extent == 1 && axis.pad_before + axis.pad_after == 0; });
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < axes.size() && !changed; ++i)
      for (std::size_t o = 0; o < axes.size() && !changed; ++o) {
        if (i == o || axes[i].pad_before + axes[i].pad_after + axes[o].pad_before + axes[o].pad_after != 0) continue;
        bool joins = true;
        for (std::size_t s = 0; s < axes[i].steps.size(); ++s)
          joins = joins && axes[o].steps[s] == axes[i].steps[s] * axes[i].extent;
        if (!joins) continue;
        axes[i].extent *= axes[o].extent;
        axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(o));
        changed = true;
      }
  }
}

// A LOAD that fills gaps between rows with up to this many zeros, one element per cycle, replaces one LOAD for each
// row.
constexpr std::int64_t kMostFilled = 15;

class Emitter {
 public:
  Emitter(const Leaf& leaf, const LeafContext& context, int node, Stream& stream, const Sums& sums)
      : leaf_(leaf), context_(context), node_(node), stream_(stream), sums_(sums) {}

  // Returns the elements that the instructions would write, without emitting them.
  std::vector<ResultBox> results(const LoopValues& outer) {
    std::vector<ResultBox> boxes;
    results_ = &boxes;
    DOVETAIL_CHECK(run(outer).ok(), "a reset or a product has no pad, and nothing is emitted");
    return boxes;
  }

  Result<void> run(const LoopValues& outer) {
    std::vector<Range> ranges;
    for (std::size_t l = 0; l < leaf_.extents.size(); ++l) ranges.push_back({0, leaf_.extents[l]});
    for (const LeafForm& mask : leaf_.masks) mask_origins_.push_back(origin(mask, outer));
    if (leaf_.transfer) {
      bases_ = {origin(leaf_.transfer->on_chip, outer), origin(leaf_.transfer->dram, outer)};
      for (const LeafForm& pad : leaf_.transfer->pad) pad_origins_.push_back(origin(pad, outer));
    } else {
      const Leaf::Compute& compute = *leaf_.compute;
      bases_ = {origin(compute.dst, outer), compute.src ? origin(*compute.src, outer) : 0,
                compute.wgt ? origin(*compute.wgt, outer) : 0};
      if (compute.tap) bases_.push_back(origin(*compute.tap, outer));
      if (sums_.epilogue) place_parameters(outer);
    }
    walk(0, ranges);
    return errors_;
  }

 private:
  // After an error nothing more is emitted.
  void refuse(std::string why, std::string hint) {
    if (errors_.empty())
      errors_.push_back(
          cannot_lower(context_.program, fmt::format("block {}", leaf_.block), std::move(why), std::move(hint)));
  }

  // Fixes the enumerated loops one by one, then clips the others.
  void walk(std::size_t from, std::vector<Range> ranges) {
    while (from < ranges.size() && !leaf_.enumerated[from]) ++from;
    if (from < ranges.size()) {
      for (std::int64_t value = 0; value < leaf_.extents[from] && errors_.empty(); ++value) {
        ranges[from] = {value, value + 1};
        walk(from + 1, ranges);
      }
      return;
    }
    for (std::size_t m = 0; m < leaf_.masks.size(); ++m) {
      std::int64_t base = mask_origins_[m];
      std::optional<std::size_t> open;
      for (std::size_t l = 0; l < ranges.size(); ++l) {
        const std::int64_t coefficient = leaf_.masks[m].inner[l];
        if (coefficient == 0) continue;
        if (leaf_.enumerated[l] || leaf_.extents[l] == 1) base += coefficient * ranges[l].begin;
        else open = l;
      }
      if (open) clip(ranges[*open], base, leaf_.masks[m].inner[*open]);
      else if (base < 0) return;
    }
    for (const Range& range : ranges)
      if (range.empty()) return;
    if (leaf_.transfer) transfer(ranges);
    else compute(ranges);
  }

  std::vector<Axis> axes_of(const std::vector<Range>& ranges, const std::vector<const LeafForm*>& forms,
                            std::vector<std::int64_t>& bases) const {
    std::vector<Axis> axes;
    for (std::size_t l = 0; l < ranges.size(); ++l) {
      Axis axis{ranges[l].end - ranges[l].begin, {}};
      for (std::size_t f = 0; f < forms.size(); ++f) {
        const std::int64_t step = forms[f] ? forms[f]->inner[l] : 0;
        axis.steps.push_back(step);
        bases[f] += step * ranges[l].begin;
      }
      axes.push_back(std::move(axis));
    }
    return axes;
  }

  // ---- LOAD and STORE
  // ------------------------------------------------------------------------------------------------------------

  void transfer(const std::vector<Range>& ranges) {
    const Leaf::Transfer& t = *leaf_.transfer;
    std::vector<std::int64_t> bases = bases_;
    std::vector<Axis> axes = axes_of(ranges, {&t.on_chip, &t.dram}, bases);
    // Pads: each condition concerns one loop, and gives zeros before or after; or no loop, and gives all data or all
    // zeros.
    bool zeros = false;
    for (std::size_t p = 0; p < t.pad.size(); ++p) {
      std::int64_t base = pad_origins_[p];
      std::optional<std::size_t> open;
      for (std::size_t l = 0; l < ranges.size(); ++l) {
        if (t.pad[p].inner[l] == 0) continue;
        base += t.pad[p].inner[l] * ranges[l].begin;
        if (open && axes[*open].extent != 1 && axes[l].extent != 1)
          return refuse("its zeros depend on two loops together", "let each comparison of its select mention one loop");
        if (!open || axes[*open].extent == 1) open = l;
      }
      if (!open) {
        zeros |= base < 0;
        continue;
      }
      Range inside{0, axes[*open].extent};
      clip(inside, base, t.pad[p].inner[*open]);
      inside.begin = std::min(inside.begin, axes[*open].extent);
      inside.end = std::max(inside.end, std::int64_t{0});
      axes[*open].pad_before = std::max(axes[*open].pad_before, inside.begin);
      axes[*open].pad_after = std::max(axes[*open].pad_after, axes[*open].extent - inside.end);
    }
    merge(axes);
    std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.steps < b.steps; });
    // Columns: elements that are consecutive on both sides. Rows: consecutive on chip.
    Axis columns{1, {1, 1}}, rows{1, {0, 0}};
    if (!axes.empty() && axes.front().steps[0] == 1 && axes.front().steps[1] == 1) {
      columns = axes.front();
      axes.erase(axes.begin());
    }
    if (zeros) columns.pad_before = columns.extent, columns.pad_after = 0;
    // Rows of one transfer. Rows that are farther apart in DRAM than the maximum stride become separate transfers.
    const bool may_pack =
        !axes.empty() && axes.front().steps[1] >= 0 && axes.front().steps[1] <= context_.facts.most_stride;
    // A mask at the edge may leave rows shorter than their place on chip. A LOAD fills the gap with zeros, which are
    // never read.
    const bool may_fill = may_pack && !t.on_chip.place->interleaved;
    const std::int64_t gap = may_fill ? axes.front().steps[0] - columns.extent : 0;
    if (!t.store && !masked_before(ranges) && gap > 0 &&
        columns.pad_after + gap <= std::min(kMostFilled, context_.facts.most_pad)) {
      columns.extent += gap;
      columns.pad_after += gap;
    }
    if (may_pack && axes.front().steps[0] == columns.extent) {
      rows = axes.front();
      axes.erase(axes.begin());
    }
    walk_rows(axes, 0, columns, rows, bases);
  }

  bool masked_before(const std::vector<Range>& ranges) const {
    for (std::size_t l = 0; l < ranges.size(); ++l)
      if (!leaf_.enumerated[l] && ranges[l].begin > 0) return true;
    return false;
  }

  // One transfer for each iteration of `axes`; iterations in a pad write only zeros.
  void walk_rows(const std::vector<Axis>& axes, std::size_t from, const Axis& columns, const Axis& rows,
                 std::vector<std::int64_t> bases) {
    if (from == axes.size()) return transfer_2d(columns, rows, bases);
    const Axis& axis = axes[from];
    for (std::int64_t i = 0; i < axis.extent && errors_.empty(); ++i) {
      Axis inner = columns;
      if (i < axis.pad_before || i >= axis.extent - axis.pad_after) inner.pad_before = inner.extent;
      walk_rows(axes, from + 1, inner, rows, bases);
      for (std::size_t s = 0; s < bases.size(); ++s) bases[s] += axis.steps[s];
    }
  }

  // Splits an axis into the first elements and the others; pads stay with their part.
  static std::pair<Axis, Axis> cut(const Axis& axis, std::int64_t at) {
    Axis first = axis, others = axis;
    first.extent = at;
    first.pad_before = std::min(axis.pad_before, at);
    first.pad_after = std::max<std::int64_t>(0, at - (axis.extent - axis.pad_after));
    others.extent = axis.extent - at;
    others.pad_before = axis.pad_before - first.pad_before;
    others.pad_after = axis.pad_after - first.pad_after;
    return {first, others};
  }
  static std::vector<std::int64_t> moved(std::vector<std::int64_t> bases, const Axis& axis, std::int64_t trips) {
    for (std::size_t s = 0; s < bases.size(); ++s) bases[s] += trips * axis.steps[s];
    return bases;
  }

  void transfer_2d(Axis columns, Axis rows, const std::vector<std::int64_t>& bases) {
    const std::int64_t most = context_.facts.most_transferred;
    // Rows that are cut are not consecutive on chip.
    const std::int64_t most_rows = columns.extent > most ? 1 : most;
    if (rows.extent > most_rows) {
      const auto [first, others] = cut(rows, most_rows);
      transfer_2d(columns, first, bases);
      return transfer_2d(columns, others, moved(bases, rows, most_rows));
    }
    if (columns.extent > most) {
      const auto [first, others] = cut(columns, most);
      transfer_2d(first, rows, bases);
      return transfer_2d(others, rows, moved(bases, columns, most));
    }
    const Leaf::Transfer& t = *leaf_.transfer;
    std::int64_t x_size = columns.extent - columns.pad_before - columns.pad_after,
                 y_size = rows.extent - rows.pad_before - rows.pad_after;
    if (x_size <= 0 || y_size <= 0) {
      // Only zeros: rows of padding (x_size 0 would be a NOP), as many at once as two pads hold.
      if (const std::int64_t most_zeros = 2 * context_.facts.most_pad; rows.extent > most_zeros) {
        const auto [first, others] = cut(rows, most_zeros);
        transfer_2d(columns, {first.extent, first.steps, first.extent, 0}, bases);
        return transfer_2d(columns, {others.extent, others.steps, others.extent, 0}, moved(bases, rows, most_zeros));
      }
      x_size = columns.extent;
      columns.pad_before = columns.pad_after = 0;
      y_size = 0;
      rows.pad_before = (rows.extent + 1) / 2;
      rows.pad_after = rows.extent / 2;
    }
    for (const std::int64_t pad : {columns.pad_before, columns.pad_after, rows.pad_before, rows.pad_after})
      if (pad > context_.facts.most_pad)
        return refuse(
            fmt::format("its zeros are {} elements wide, and a LOAD has at most {}", pad, context_.facts.most_pad),
            "load it in smaller tiles");
    isa::Transfer transfer;
    transfer.memory = t.memory;
    transfer.sram_base = static_cast<std::uint32_t>(bases[0]);
    if (y_size > 0)
      transfer.dram_base = static_cast<std::uint64_t>(bases[1] + columns.pad_before * columns.steps[1] +
                                                      rows.pad_before * rows.steps[1]);
    transfer.y_size = static_cast<std::uint32_t>(y_size);
    transfer.x_size = static_cast<std::uint32_t>(x_size);
    transfer.x_stride = static_cast<std::uint32_t>(y_size > 1 ? rows.steps[1] : x_size);
    transfer.x_pad_0 = static_cast<std::uint32_t>(columns.pad_before);
    transfer.x_pad_1 = static_cast<std::uint32_t>(columns.pad_after);
    transfer.y_pad_0 = static_cast<std::uint32_t>(rows.pad_before);
    transfer.y_pad_1 = static_cast<std::uint32_t>(rows.pad_after);
    const int parameter = y_size > 0 ? t.parameter : -1;  // only zeros: no source
    if (t.store) {
      isa::Store store{transfer, t.saturate};
      push({{}, store}, -1, parameter);
    } else {
      push({{}, isa::Load{transfer}}, -1, parameter);
    }
  }

  // ---- GEMM and ALU
  // --------------------------------------------------------------------------------------------------------------

  void compute(const std::vector<Range>& ranges) {
    const Leaf::Compute& c = *leaf_.compute;
    std::vector<std::int64_t> bases = bases_;
    std::vector<const LeafForm*> forms{&c.dst, c.src ? &*c.src : nullptr, c.wgt ? &*c.wgt : nullptr};
    if (c.tap) forms.push_back(&*c.tap);
    std::vector<Axis> axes = axes_of(ranges, forms, bases);
    if (sums_.epilogue && c.tap)
      return each_parameters(ranges, forms, [&](const auto& of_block, const auto& from) { window(of_block, from); });
    if (c.tap && !results_) return window(axes, bases);
    merge(axes);
    if (results_) return results_->push_back(results_of(axes, bases[0]));
    if (sums_.epilogue) return complete_sums(axes, bases, ranges, forms);
    if (sums_.starts) return start_sums(axes, bases);
    nest(axes, bases, false);
  }

  // ---- Epilogues: one instruction for each element of parameters

  // The steps of the parameters along the loops of the products, which reach results as those of the epilogue do.
  void place_parameters(const LoopValues& outer) {
    const Leaf& epilogue = *sums_.epilogue;
    const LeafForm &results = epilogue.compute->dst, &parameters = *epilogue.compute->wgt;
    first_parameters_ = origin(parameters, outer);
    parameter_steps_.assign(leaf_.extents.size(), 0);
    for (std::size_t e = 0; e < epilogue.extents.size(); ++e) {
      if (epilogue.extents[e] == 1 || parameters.inner[e] == 0) continue;
      std::size_t l = 0;
      while (l < leaf_.extents.size() && (leaf_.compute->dst.inner[l] != results.inner[e] ||
                                          leaf_.extents[l] != epilogue.extents[e] || parameter_steps_[l] != 0))
        ++l;
      if (l == leaf_.extents.size())
        return refuse("the parameters of its epilogue move along a loop that the products lack",
                      "let both run over the same tiles");
      parameter_steps_[l] = parameters.inner[e];
    }
  }

  // body(axes, bases) for each element of parameters, along the other loops.
  template <typename Body>
  void each_parameters(std::vector<Range> ranges, const std::vector<const LeafForm*>& forms, const Body& body,
                       std::size_t from = 0) {
    while (from < ranges.size() && parameter_steps_[from] == 0) ++from;
    if (from < ranges.size()) {
      const Range all = ranges[from];
      for (std::int64_t value = all.begin; value < all.end; ++value) {
        ranges[from] = {value, value + 1};
        each_parameters(ranges, forms, body, from + 1);
      }
      return;
    }
    parameters_ = first_parameters_;
    for (std::size_t l = 0; l < ranges.size(); ++l) *parameters_ += parameter_steps_[l] * ranges[l].begin;
    std::vector<std::int64_t> bases = bases_;
    const std::vector<Axis> axes = axes_of(ranges, forms, bases);
    if (errors_.empty()) body(axes, bases);
    parameters_.reset();
  }

  // Emits all products but the last of each sum, then those. `axes` are merged.
  void complete_sums(const std::vector<Axis>& axes, const std::vector<std::int64_t>& bases,
                     const std::vector<Range>& ranges, const std::vector<const LeafForm*>& forms) {
    std::vector<Axis> results, sums;
    for (const Axis& axis : axes) (axis.steps[0] != 0 ? results : sums).push_back(axis);
    // Sums are cut before the last iteration of their last loop, then of the one before, and so on.
    for (std::size_t moving = sums.size(); moving-- > 0;) {
      Piece piece{results, bases, false};
      piece.axes.insert(piece.axes.end(), sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(moving) + 1);
      piece.axes.back().extent -= 1;
      for (std::size_t after = moving + 1; after < sums.size(); ++after)
        piece.bases = moved(piece.bases, sums[after], sums[after].extent - 1);
      if (moving + 1 == sums.size() && sums_.starts) start_sums(piece.axes, piece.bases);
      else nest(piece.axes, piece.bases, false);
    }
    each_parameters(ranges, forms, [&](std::vector<Axis> of_block, std::vector<std::int64_t> last) {
      merge(of_block);
      std::vector<Axis> block_results;
      for (const Axis& axis : of_block)
        if (axis.steps[0] != 0) block_results.push_back(axis);
        else last = moved(last, axis, axis.extent - 1);
      nest(block_results, last, sums.empty() && sums_.starts);
    });
  }

  // The elements that the axes reach, in a canonical form.
  static ResultBox results_of(const std::vector<Axis>& axes, std::int64_t base) {
    std::vector<Axis> results;
    for (const Axis& axis : axes)
      if (axis.steps[0] != 0) results.push_back({axis.extent, {axis.steps[0]}});
    merge(results);
    ResultBox box{base, {}};
    for (const Axis& axis : results) box.axes.emplace_back(axis.steps[0], axis.extent);
    std::sort(box.axes.begin(), box.axes.end());
    return box;
  }

  // Emits products of which the first of each sum overwrites, in the way with fewer micro-ops. Either the instruction's
  // loops run only over results, and the first products are a separate kernel; or the sums are cut after the first
  // iteration of their first loop, of their second loop, and so on.
  void start_sums(const std::vector<Axis>& axes, const std::vector<std::int64_t>& bases) {
    std::vector<Axis> results, sums;
    for (const Axis& axis : axes)
      if (axis.steps[0] != 0) results.push_back(axis);
      else if (axis.extent > 1) sums.push_back(axis);  // 1: complete_sums has taken the other of two iterations
    std::vector<Piece> pieces{{results, bases, true}};
    for (std::size_t moving = 0; moving < sums.size(); ++moving) {
      Piece piece{results, bases, false};
      piece.axes.insert(piece.axes.end(), sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(moving) + 1);
      Axis& rest = piece.axes.back();
      rest.extent -= 1;
      for (std::size_t s = 0; s < piece.bases.size(); ++s) piece.bases[s] += rest.steps[s];
      pieces.push_back(std::move(piece));
    }
    std::int64_t in_pieces = 0;
    for (const Piece& piece : pieces) in_pieces += Nest(piece.axes, context_.facts.most_trips).uops();
    Nest whole(results, context_.facts.most_trips);
    const std::int64_t first = whole.uops();
    whole.kernel.insert(whole.kernel.begin(), sums.begin(), sums.end());
    if (whole.uops() > std::min(in_pieces, context_.facts.most_uops)) {
      for (const Piece& piece : pieces) nest(piece.axes, piece.bases, piece.overwrites);
      return;
    }
    std::vector<isa::Uop> uops = uops_of(whole.kernel, bases);
    const auto rest = uops.begin() + static_cast<std::ptrdiff_t>(first);
    instruction(stream_.kernel({uops.begin(), rest}), whole.outer, whole.inner, true);
    if (rest != uops.end()) instruction(stream_.kernel({rest, uops.end()}), whole.outer, whole.inner, false);
  }

  // ---- WINDOW

  void window(const std::vector<Axis>& axes, const std::vector<std::int64_t>& bases) {
    DOVETAIL_CHECK(bases[3] == 0, "a window holds all taps of a kernel");
    const WindowAxes at(axes);
    // Halves of an axis until the micro-ops of a stripe fit.
    const auto most = context_.facts.most_uops;
    for (Axis WindowAxes::*split : {&WindowAxes::columns, &WindowAxes::rows}) {
      if (at.uops() <= most) break;
      const Axis& whole = at.*split;
      if (whole.extent == 1) continue;
      std::vector<Axis> part = axes;
      Axis& half = *std::ranges::find(part, whole.steps, &Axis::steps);
      half.extent = (whole.extent + 1) / 2;
      window(part, bases);
      half.extent = whole.extent / 2;
      return window(part, moved(bases, whole, (whole.extent + 1) / 2));
    }
    if (at.uops() > most)
      return refuse(fmt::format("its kernel needs {} micro-ops, and half of the buffer has {}", at.uops(), most),
                    "raise `uop_buffer_bytes`");
    const std::int64_t stripe = at.rows_of_stripe(), stripes = at.rows.extent / stripe, rest = at.rows.extent % stripe;
    std::vector<Axis> loops = at.others;
    if (stripes > 1) loops.push_back({stripes, moved({0, 0, 0, 0}, at.rows, stripe)});
    stripes_of(at, stripe, loops, bases);
    if (rest > 0) stripes_of(at, rest, at.others, moved(bases, at.rows, stripes * stripe));
  }

  // The instructions for stripes of `count` rows, along `loops`.
  void stripes_of(const WindowAxes& at, std::int64_t count, std::vector<Axis> loops,
                  const std::vector<std::int64_t>& bases) {
    Axis outer{1, {0, 0, 0, 0}}, inner = outer;
    std::ranges::stable_sort(loops, std::greater{}, &Axis::extent);
    for (Axis* into : {&outer, &inner}) {
      const auto fits =
          std::ranges::find_if(loops, [&](const Axis& axis) { return axis.extent <= context_.facts.most_trips; });
      if (fits == loops.end()) break;
      *into = *fits;
      loops.erase(fits);
    }
    each(loops, 0, bases, [&](const std::vector<std::int64_t>& from) {
      if (!errors_.empty()) return;
      isa::Window window;
      set_loop(window, outer, inner);
      window.wgt_factor_out = static_cast<std::uint32_t>(outer.steps[2]);
      window.wgt_factor_in = static_cast<std::uint32_t>(inner.steps[2]);
      window.overwrite = sums_.starts;
      window.requant = parameters_.has_value();
      push({{}, window}, kernel_of(stripe_uops(at, count, from, context_.facts.push_only)));
    });
  }

  struct Piece {
    std::vector<Axis> axes;
    std::vector<std::int64_t> bases;
    bool overwrites;
  };

  // Half of the buffer, so that several kernels can stay resident.

  // The instruction's two loops, and the loops of its micro-ops, outermost first.
  struct Nest {
    Axis outer{1, {0, 0, 0}}, inner{1, {0, 0, 0}};
    std::vector<Axis> kernel;

    // The longest loops become the instruction's. A step that reads the same element as the step before is cheaper
    // (timing.md, «repeated»): loops along which the source of an ALU operation does not move are the inner ones.
    Nest(std::vector<Axis> axes, std::int64_t most_trips) : kernel(std::move(axes)) {
      std::stable_sort(kernel.begin(), kernel.end(), [](const Axis& a, const Axis& b) { return a.extent > b.extent; });
      const auto moves = [](const Axis& axis) { return axis.steps[1] != 0; };
      const bool source_stays = std::ranges::any_of(kernel, moves) && !std::ranges::all_of(kernel, moves);
      const bool repeats =
          source_stays && std::ranges::all_of(kernel, [](const Axis& axis) { return axis.steps[2] == 0; });
      const auto take = [&](Axis& into, const auto& suits) {
        const auto fits =
            std::ranges::find_if(kernel, [&](const Axis& axis) { return axis.extent <= most_trips && suits(axis); });
        if (fits == kernel.end()) return;
        into = *fits;
        kernel.erase(fits);
      };
      const auto any = [](const Axis&) { return true; };
      if (repeats) {
        take(outer, moves);
        // If the source moves along a second axis too, and the others are short, these are the micro-ops.
        constexpr std::int64_t kShort = 16;
        std::int64_t still = 1;
        for (const Axis& axis : kernel) still *= moves(axis) ? 1 : axis.extent;
        const bool short_ones = still <= kShort && std::ranges::any_of(kernel, moves);
        take(inner, [&](const Axis& axis) { return moves(axis) == short_ones; });
        std::ranges::stable_partition(kernel, moves);
      } else {
        take(outer, any);
        take(inner, any);
        std::ranges::reverse(kernel);
      }
    }

    std::int64_t uops() const {
      std::int64_t count = 1;
      for (const Axis& axis : kernel) count *= axis.extent;
      return count;
    }
  };

  // An axis longer than the maximum loop is split in two, and its remainder becomes separate instructions. Axes that
  // exceed the maximum number of micro-ops are walked.
  void nest(const std::vector<Axis>& axes, const std::vector<std::int64_t>& bases, bool overwrites) {
    const std::int64_t most_trips = context_.facts.most_trips;
    const auto longest = std::ranges::max_element(axes, {}, &Axis::extent);
    if (longest != axes.end() && longest->extent > most_trips) {
      const std::int64_t parts = (longest->extent + most_trips - 1) / most_trips,
                         of_part = (longest->extent + parts - 1) / parts, whole = longest->extent / of_part;
      std::vector<Axis> others = axes;
      others.erase(others.begin() + (longest - axes.begin()));
      std::vector<Axis> even = others;
      even.push_back({whole, moved({0, 0, 0}, *longest, of_part)});
      even.push_back({of_part, longest->steps});
      nest(even, bases, overwrites);
      const std::int64_t left = longest->extent - whole * of_part;
      if (left == 0) return;
      others.push_back({left, longest->steps});
      return nest(others, moved(bases, *longest, whole * of_part), overwrites);
    }
    Nest loops(axes, most_trips);
    std::vector<Axis> kernel, walked;
    std::int64_t count = 1;
    for (const Axis& axis : loops.kernel) {
      const bool fits = count * axis.extent <= context_.facts.most_uops;
      if (fits) count *= axis.extent;
      (fits ? kernel : walked).push_back(axis);
    }
    each(walked, 0, bases, [&](const std::vector<std::int64_t>& at) {
      if (errors_.empty()) instruction(kernel_of(uops_of(kernel, at)), loops.outer, loops.inner, overwrites);
    });
  }

  static std::vector<isa::Uop> uops_of(const std::vector<Axis>& kernel, const std::vector<std::int64_t>& bases) {
    std::vector<isa::Uop> uops;
    each(kernel, 0, bases, [&](const std::vector<std::int64_t>& uop) {
      uops.push_back(
          {static_cast<std::uint32_t>(uop[0]), static_cast<std::uint32_t>(uop[1]), static_cast<std::uint32_t>(uop[2])});
    });
    return uops;
  }

  // After the micro-ops of a loop with an epilogue comes that of its parameters.
  int kernel_of(std::vector<isa::Uop> uops) {
    if (parameters_) {
      const bool looks_up = sums_.epilogue->compute->intrinsic == "accel.epilogue_table";
      uops.push_back({looks_up ? 1u : 0u, 0, static_cast<std::uint32_t>(*parameters_)});
    }
    return stream_.kernel(std::move(uops));
  }

  static void set_loop(isa::UopLoop& loop, const Axis& outer, const Axis& inner) {
    loop.iter_out = static_cast<std::uint32_t>(outer.extent);
    loop.iter_in = static_cast<std::uint32_t>(inner.extent);
    loop.dst_factor_out = static_cast<std::uint32_t>(outer.steps[0]);
    loop.dst_factor_in = static_cast<std::uint32_t>(inner.steps[0]);
    loop.src_factor_out = static_cast<std::uint32_t>(outer.steps[1]);
    loop.src_factor_in = static_cast<std::uint32_t>(inner.steps[1]);
  }

  void instruction(int kernel, const Axis& outer, const Axis& inner, bool overwrites) {
    const Leaf::Compute& c = *leaf_.compute;
    const std::string_view op = std::string_view(c.intrinsic).substr(std::string_view("accel.").size());
    if (parameters_) {
      isa::GemmQ gemmq;
      set_loop(gemmq, outer, inner);
      gemmq.wgt_factor_out = static_cast<std::uint32_t>(outer.steps[2]);
      gemmq.wgt_factor_in = static_cast<std::uint32_t>(inner.steps[2]);
      gemmq.overwrite = overwrites;
      return push({{}, gemmq}, kernel);
    }
    if (op == "gemm" || op == "fill") {
      isa::Gemm gemm;
      set_loop(gemm, outer, inner);
      gemm.wgt_factor_out = static_cast<std::uint32_t>(outer.steps[2]);
      gemm.wgt_factor_in = static_cast<std::uint32_t>(inner.steps[2]);
      gemm.reset = op == "fill";
      gemm.overwrite = overwrites;
      push({{}, gemm}, kernel);
      if (gemm.reset && *c.immediate != 0) alu(isa::AluOp::add, c.immediate, kernel, outer, inner);
      return;
    }
    for (const isa::spec::AluOpInfo& row : isa::spec::kAluOps)
      if (op.substr(0, op.find('_')) == row.name) return alu(row.op, c.immediate, kernel, outer, inner);
    throw InternalError(fmt::format("intrinsic {} has no instruction", c.intrinsic));
  }

  void alu(isa::AluOp op, std::optional<std::int64_t> immediate, int kernel, const Axis& outer, const Axis& inner) {
    isa::Alu alu;
    set_loop(alu, outer, inner);
    alu.op = op;
    alu.use_imm = immediate.has_value() && isa::spec::takes_immediate(op);
    alu.imm = static_cast<std::int32_t>(immediate.value_or(0));
    push({{}, alu}, kernel);
  }

  template <typename Body>
  static void each(const std::vector<Axis>& axes, std::size_t from, const std::vector<std::int64_t>& bases,
                   const Body& body) {
    if (from == axes.size()) return body(bases);
    std::vector<std::int64_t> at = bases;
    for (std::int64_t i = 0; i < axes[from].extent; ++i) {
      each(axes, from + 1, at, body);
      for (std::size_t s = 0; s < at.size(); ++s) at[s] += axes[from].steps[s];
    }
  }

  void push(isa::Instruction instruction, int kernel, int parameter = -1) {
    if (stream_.instructions.size() >= kMostInstructions)
      return refuse(fmt::format("the program has more than {} instructions", kMostInstructions),
                    "use larger tiles, or let loops belong to one block");
    stream_.instructions.push_back({std::move(instruction), kernel, node_, parameter});
  }

  const Leaf& leaf_;
  const LeafContext& context_;
  int node_;
  Stream& stream_;
  const Sums sums_;
  Diagnostics errors_;
  std::vector<ResultBox>* results_ = nullptr;
  std::vector<std::int64_t> bases_, mask_origins_, pad_origins_;
  std::int64_t first_parameters_ = 0;
  std::vector<std::int64_t> parameter_steps_;  // by loop of the leaf
  std::optional<std::int64_t> parameters_;     // the element for the instructions that are being emitted
};

}  // namespace

Result<void> emit_leaf(const Leaf& leaf, const LoopValues& outer, const LeafContext& context, int node, Stream& stream,
                       const Sums& sums) {
  return Emitter(leaf, context, node, stream, sums).run(outer);
}

bool write_the_same(const Leaf& a, const LoopValues& a_outer, const Leaf& b, const LoopValues& b_outer,
                    const LeafContext& context) {
  Stream none;
  return Emitter(a, context, -1, none, {}).results(a_outer) == Emitter(b, context, -1, none, {}).results(b_outer);
}

}  // namespace dovetail::accel
