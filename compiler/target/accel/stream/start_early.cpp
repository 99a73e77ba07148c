#include "compiler/target/accel/stream/start_early.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "compiler/target/accel/stream/instruction_cycles.h"
#include "compiler/target/accel/stream/stream_accesses.h"
#include "isa/semantics/load.h"
#include "isa/spec/timing.h"

namespace dovetail::accel {

namespace {

// Estimates: the latency of a typical memory, the overhead of a load in addition to its bytes, and the overhead of an
// instruction of the compute queue.
constexpr double kLoadLatency = 64, kBetweenLoads = 4, kBetweenProducts = 4;
// This many loads wait for the memory at a time, so a load takes at least this many cycles.
constexpr double kLoadsAtOnce = static_cast<double>(isa::spec::kLoadWaiting.value),
                 kShortLoad = (kLoadLatency - kLoadsAtOnce * kBetweenLoads) / (kLoadsAtOnce - 1);
// Maximum number of parts of an instruction that are compared.
constexpr std::uint32_t kMostParts = 16;
// Maximum number of products that are considered together.
constexpr std::size_t kMostProducts = 16;
// The least wait of the compute queue for which products are cut, and the least gain.
constexpr double kLeastLoadWait = 64, kLeastCutGain = 64;

bool is_first_product(const StreamInstruction& item) {
  const auto* gemm = std::get_if<isa::Gemm>(&item.instruction.body);
  return gemm != nullptr && !gemm->reset;
}

bool has_pads(const isa::Load& load) { return load.y_pad_0 + load.y_pad_1 + load.x_pad_0 + load.x_pad_1 > 0; }

// A loop of a product: the outer or inner loop of the instruction, or its micro-ops.
enum class Axis { outer, inner, uops };

// A product with its own micro-ops, which are not part of a stream yet.
struct Part {
  isa::Gemm gemm;
  std::vector<isa::Uop> uops;
};

std::uint32_t extent(const Part& product, Axis axis) {
  if (axis == Axis::outer) return product.gemm.iter_out;
  return axis == Axis::inner ? product.gemm.iter_in : static_cast<std::uint32_t>(product.uops.size());
}

Part part_of(const Part& product, Axis axis, std::uint32_t begin, std::uint32_t end) {
  Part part = product;
  isa::Gemm& gemm = part.gemm;
  if (axis == Axis::uops) {
    part.uops.assign(product.uops.begin() + begin, product.uops.begin() + end);
    return part;
  }
  const bool outer = axis == Axis::outer;
  (outer ? gemm.iter_out : gemm.iter_in) = end - begin;
  for (isa::Uop& uop : part.uops) {
    uop.dst += begin * (outer ? gemm.dst_factor_out : gemm.dst_factor_in);
    uop.src += begin * (outer ? gemm.src_factor_out : gemm.src_factor_in);
    uop.wgt += begin * (outer ? gemm.wgt_factor_out : gemm.wgt_factor_in);
  }
  return part;
}

// Cuts the product in `count` parts that are as even as possible.
std::vector<Part> parts_of(const Part& product, Axis axis, std::uint32_t count) {
  const std::uint32_t whole = extent(product, axis);
  std::vector<Part> parts;
  for (std::uint32_t i = 0; i < count; ++i)
    parts.push_back(part_of(product, axis, whole * i / count, whole * (i + 1) / count));
  return parts;
}

// The times of a schedule so far, which can be taken back: attempts take time for what they touch, not for all places.
class Progress {
 public:
  explicit Progress(std::size_t places) : there_(places, 0), read_(places, 0), taken_(places, false) {}

  double loaded = 0, computed = 0;  // the times until which both queues are busy

  double there(std::size_t place) const { return there_[place]; }     // when the place is loaded
  double last_read(std::size_t place) const { return read_[place]; }  // the time of its last read
  bool is_taken(std::size_t place) const { return taken_[place]; }    // whether an earlier part read it
  void set_there(std::size_t place, double time) {
    changes_.push_back({place, Kind::there, there_[place]});
    there_[place] = time;
  }
  void set_last_read(std::size_t place, double time) {
    changes_.push_back({place, Kind::read, read_[place]});
    read_[place] = time;
  }
  void take(std::size_t place) {
    if (taken_[place]) return;
    changes_.push_back({place, Kind::taken, 0});
    taken_[place] = true;
  }

  struct Mark {
    std::size_t changes;
    double loaded, computed;
  };
  Mark mark() const { return {changes_.size(), loaded, computed}; }
  void undo(const Mark& mark) {
    for (; changes_.size() > mark.changes; changes_.pop_back()) {
      const Change& change = changes_.back();
      if (change.kind == Kind::there) there_[change.place] = change.before;
      else if (change.kind == Kind::read) read_[change.place] = change.before;
      else taken_[change.place] = false;
    }
    loaded = mark.loaded, computed = mark.computed;
  }
  // Forgets how to undo, and which places are taken.
  void keep() {
    for (const Change& change : changes_)
      if (change.kind == Kind::taken) taken_[change.place] = false;
    changes_.clear();
  }

 private:
  enum class Kind : std::uint8_t { there, read, taken };
  struct Change {
    std::size_t place;
    Kind kind;
    double before;
  };
  std::vector<double> there_, read_;
  std::vector<bool> taken_;
  std::vector<Change> changes_;
};

class FirstProducts {
 public:
  FirstProducts(Stream& stream, const isa::HardwareConfig& config)
      : stream_(stream), config_(config), accesses_(config, scratch_) {}

  void run() {
    if (stream_.instructions.empty()) return;
    std::vector<StreamInstruction> all = std::move(stream_.instructions);
    const int node = all.front().node;
    Progress progress(places());
    by_.assign(places(), kNobody);
    begins_.assign(places(), 0);
    ends_.assign(places(), 0);
    first_read_.assign(places(), kNobody);
    std::size_t i = 0;
    bool waits = true;
    while (waits && i < all.size() && all[i].node == node) {
      if (is_first_product(all[i])) {
        std::size_t end = i;
        while (end < all.size() && end < i + kMostProducts && is_first_product(all[end])) ++end;
        waits = take_products(std::span(all).subspan(i, end - i), progress);
        i = end;
        continue;
      }
      if (all[i].instruction.queue() == isa::Queue::load) {
        loads_.push_back(all[i]);
      } else {
        const auto* gemm = std::get_if<isa::Gemm>(&all[i].instruction.body);
        const bool loads = std::holds_alternative<isa::Load>(all[i].instruction.body);
        // Loads of INP and WGT may move after loads of ACC and resets, which access neither.
        if (gemm == nullptr && !loads) take_loads(progress);
        if (all[i].instruction.queue() == isa::Queue::compute) take_other(all[i], progress);
        done_.push_back(all[i]);
      }
      ++i;
    }
    take_loads(progress);
    done_.insert(done_.end(), all.begin() + static_cast<std::ptrdiff_t>(i), all.end());
    stream_.instructions = std::move(done_);
  }

 private:
  static constexpr int kNobody = INT32_MAX;

  // Elements of INP, then those of WGT.
  std::size_t places() const {
    return static_cast<std::size_t>(config_.depth(isa::Memory::inp) + config_.depth(isa::Memory::wgt));
  }
  std::size_t place(isa::Memory memory, std::uint64_t element) const {
    return element + (memory == isa::Memory::inp ? 0 : static_cast<std::size_t>(config_.depth(isa::Memory::inp)));
  }
  static const isa::Load& load_of(const StreamInstruction& item) { return std::get<isa::Load>(item.instruction.body); }
  std::size_t first_place(const isa::Load& load) const { return place(load.memory, load.sram_base); }

  // A load, or a piece of it.
  void load(std::size_t from, std::size_t elements, double cycles, Progress& progress) const {
    for (std::size_t e = from; e < from + elements; ++e)
      progress.loaded = std::max(progress.loaded, progress.last_read(e));
    for (std::size_t e = from; e < from + elements; ++e) {
      progress.loaded += cycles / static_cast<double>(elements);
      progress.set_there(e, progress.loaded + kLoadLatency);
    }
    progress.loaded += std::max(kBetweenLoads, (kLoadLatency + cycles) / kLoadsAtOnce - cycles);
  }
  void load_whole(const StreamInstruction& item, Progress& progress) const {
    const isa::Load& whole = load_of(item);
    const std::size_t from = first_place(whole), elements = isa::semantics::loaded_elements(whole);
    load(from, elements, static_cast<double>(instruction_cycles(config_, stream_, item)), progress);
    for (std::size_t e = from; e < from + elements; ++e) progress.set_there(e, progress.loaded + kLoadLatency);
  }
  void compute(const Part& part, Progress& progress) {
    const std::vector<std::size_t>& read = read_by(part);
    for (const std::size_t place : read) progress.computed = std::max(progress.computed, progress.there(place));
    progress.computed += cycles_of(part);
    for (const std::size_t place : read) progress.set_last_read(place, progress.computed);
  }

  // Adds an instruction of the compute queue that is not a product. Loads of ACC take the port of the other loads.
  void take_other(const StreamInstruction& item, Progress& progress) const {
    const auto cycles = static_cast<double>(instruction_cycles(config_, stream_, item));
    const bool loads = std::holds_alternative<isa::Load>(item.instruction.body);
    if (loads) progress.loaded += cycles;
    progress.computed += cycles + (loads ? kLoadLatency : 0) + kBetweenProducts;
  }

  void take_loads(Progress& progress) {
    for (const StreamInstruction& item : loads_) load_whole(item, progress);
    append_loads();
    progress.keep();
  }
  void append_loads() {
    done_.insert(done_.end(), std::make_move_iterator(loads_.begin()), std::make_move_iterator(loads_.end()));
    loads_.clear();
  }

  // Times the waiting loads and then the products, without cuts.
  void compute_whole(std::span<const StreamInstruction> products, Progress& progress) {
    for (const StreamInstruction& item : loads_) load_whole(item, progress);
    for (const StreamInstruction& item : products) compute(part_at(item), progress);
  }
  void append_whole(std::span<const StreamInstruction> products, Progress& progress) {
    append_loads();
    done_.insert(done_.end(), products.begin(), products.end());
    progress.keep();
  }

  // Adds products after the waiting loads. Returns whether they had to wait for these loads.
  bool take_products(std::span<const StreamInstruction> products, Progress& progress) {
    const Progress::Mark before = progress.mark();
    compute_whole(products, progress);
    double work = 0;
    for (const StreamInstruction& item : products) work += cycles_of(part_at(item));
    const double whole_computed = progress.computed;
    const bool waits = whole_computed > before.computed + work + kLeastLoadWait;
    if (!waits || !find_loads()) {
      append_whole(products, progress);
      return waits;
    }
    progress.undo(before);
    std::vector<StreamInstruction> parts;
    std::vector<std::size_t> read;  // places in first_read_ that are set
    int number = 0;
    for (const StreamInstruction& item : products)
      for (Part& part : best_parts(item, progress)) {
        for (const std::size_t place : read_by(part)) {
          if (first_read_[place] != kNobody) continue;  // numbers increase
          first_read_[place] = number;
          read.push_back(place);
        }
        ++number;
        StreamInstruction& made = parts.emplace_back(item);
        made.instruction.body = part.gemm;
        made.kernel = stream_.kernel(std::move(part.uops));
      }
    const bool pays = progress.computed + kLeastCutGain <= whole_computed;
    std::vector<Piece> pieces = pays ? pieces_of(first_read_) : std::vector<Piece>();
    for (const std::size_t place : read) first_read_[place] = kNobody;
    forget_loads();
    if (!pays) {
      progress.undo(before);
      compute_whole(products, progress);
      append_whole(products, progress);
      return true;
    }
    add(std::move(pieces), std::move(parts));
    loads_.clear();
    progress.keep();
    return true;
  }

  double cycles_of_element(const StreamInstruction& load) const {
    return static_cast<double>(instruction_cycles(config_, stream_, load)) /
           static_cast<double>(isa::semantics::loaded_elements(load_of(load)));
  }

  // Finds which load brings each element, and the smallest part of it that may be loaded alone: pieces of a row, or
  // whole rows, large enough not to be a short load. False where two loads write the same place.
  bool find_loads() {
    const bool found = try_find_loads();
    if (!found) forget_loads();
    return found;
  }
  void forget_loads() {
    for (const StreamInstruction& item : loads_)
      std::fill_n(by_.begin() + static_cast<std::ptrdiff_t>(first_place(load_of(item))),
                  isa::semantics::loaded_elements(load_of(item)), kNobody);
  }
  bool try_find_loads() {
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      const isa::Load& load = load_of(loads_[i]);
      const std::size_t first = first_place(load), elements = isa::semantics::loaded_elements(load);
      if (elements == 0) continue;
      const std::size_t row = load.x_size,
                        least = static_cast<std::size_t>(std::ceil(kShortLoad / cycles_of_element(loads_[i])));
      const bool in_rows = !has_pads(load) && row > least;
      const std::size_t together = has_pads(load) ? elements
                                   : in_rows      ? row
                                                  : least / row * row,
                        piece = in_rows ? least : together;
      for (std::size_t begin = 0; begin < elements; begin += together)
        for (std::size_t from = begin; from < std::min(begin + together, elements); from += piece) {
          const std::size_t end = std::min({from + piece, begin + together, elements});
          for (std::size_t e = first + from; e < first + end; ++e) {
            if (by_[e] != kNobody) return false;
            by_[e] = static_cast<int>(i);
            begins_[e] = first + from;
            ends_[e] = first + end;
          }
        }
    }
    return true;
  }

  Part part_at(const StreamInstruction& item) const {
    return {std::get<isa::Gemm>(item.instruction.body), stream_.kernels[static_cast<std::size_t>(item.kernel)]};
  }
  static double cycles_of(const Part& product) {
    return static_cast<double>(std::uint64_t{product.gemm.iter_out} * product.gemm.iter_in * product.uops.size()) +
           kBetweenProducts;
  }

  // The places that the part reads, in increasing order in each memory.
  const std::vector<std::size_t>& read_by(const Part& part) {
    StreamInstruction item;
    item.instruction.body = part.gemm;
    item.kernel = scratch_.kernel(part.uops);
    read_.clear();
    for (const isa::SramAccess& access : accesses_.of(item).sram)
      if (access.memory != isa::Memory::acc)
        for (const isa::Extent& run : access.runs)
          for (std::uint64_t e = run.begin; e < run.end; ++e) read_.push_back(place(access.memory, e));
    return read_;
  }

  // Loads the operands of the part, in pieces, and computes the part.
  void add(const Part& part, Progress& progress) {
    const std::vector<std::size_t> read = read_by(part);
    for (std::size_t r = 0; r < read.size(); ++r) {
      const std::size_t from = read[r];
      if (progress.is_taken(from) || by_[from] == kNobody) continue;
      const StreamInstruction& item = loads_[static_cast<std::size_t>(by_[from])];
      const isa::Load& whole = load_of(item);
      if (has_pads(whole)) {
        load_whole(item, progress);
        const std::size_t first = first_place(whole);
        for (std::size_t e = first; e < first + isa::semantics::loaded_elements(whole); ++e) progress.take(e);
        continue;
      }
      const std::size_t begin = begins_[from];
      std::size_t end = ends_[from];
      for (; r + 1 < read.size() && read[r + 1] <= end; ++r)
        if (read[r + 1] == end) {
          if (progress.is_taken(end) || by_[end] != by_[from]) break;
          end = ends_[end];
        }
      for (std::size_t e = begin; e < end; ++e) progress.take(e);
      load(begin, end - begin, cycles_of_element(item) * static_cast<double>(end - begin), progress);
    }
    compute(part, progress);
  }

  // Cycles to load the micro-ops that no other instruction uses.
  double cycles_of_uops(const std::vector<Part>& parts, Axis axis) const {
    if (axis == Axis::uops) return 0;
    double uops = 0;
    for (std::size_t p = 1; p < parts.size(); ++p) uops += static_cast<double>(parts[p].uops.size());
    return uops * static_cast<double>(config_.uop_bytes()) / static_cast<double>(config_.bus_bytes);
  }

  // The parts of one product that end earliest.
  std::vector<Part> best_parts(const StreamInstruction& item, Progress& progress) {
    const Part whole = part_at(item);
    const Progress::Mark before = progress.mark();
    const auto attempt = [&](const std::vector<Part>& parts, double uop_cycles) {
      progress.computed += uop_cycles;
      for (const Part& part : parts) add(part, progress);
      return progress.computed;
    };
    std::vector<Part> best{whole};
    double best_uop_cycles = 0, best_computed = attempt(best, 0);
    progress.undo(before);
    for (const Axis axis : {Axis::outer, Axis::inner, Axis::uops})
      for (std::uint32_t count = 2; count <= std::min(kMostParts, extent(whole, axis)); count *= 2) {
        std::vector<Part> parts = parts_of(whole, axis, count);
        const double uop_cycles = cycles_of_uops(parts, axis), computed = attempt(parts, uop_cycles);
        progress.undo(before);
        if (computed >= best_computed) continue;
        best_computed = computed, best_uop_cycles = uop_cycles;
        best = std::move(parts);
      }
    attempt(best, best_uop_cycles);
    return best;
  }

  struct Piece {
    int part;
    StreamInstruction item;
  };

  // The loads, in pieces of elements that the same part reads first.
  std::vector<Piece> pieces_of(const std::vector<int>& first_read) {
    std::vector<Piece> pieces;
    for (const StreamInstruction& item : loads_) {
      const isa::Load& load = load_of(item);
      const auto part_of = [&](std::uint64_t e) {
        const std::size_t at = first_place(load) + e;
        return *std::min_element(first_read.begin() + static_cast<std::ptrdiff_t>(begins_[at]),
                                 first_read.begin() + static_cast<std::ptrdiff_t>(ends_[at]));
      };
      if (has_pads(load)) {
        int part = kNobody;
        for (std::uint64_t e = 0; e < isa::semantics::loaded_elements(load); ++e) part = std::min(part, part_of(e));
        pieces.push_back({part, item});
        continue;
      }
      bool follows = false;  // whole rows for one part
      for (std::uint32_t y = 0; y < load.y_size; ++y)
        for (std::uint32_t x = 0, end = 0; x < load.x_size; x = end) {
          const std::uint32_t row = y * load.x_size;
          const int part = part_of(row + x);
          for (end = x + 1; end < load.x_size && part_of(row + end) == part;) ++end;
          const bool whole = end - x == load.x_size;
          if (whole && follows && pieces.back().part == part) {
            ++std::get<isa::Load>(pieces.back().item.instruction.body).y_size;
            continue;
          }
          isa::Load piece = load;
          piece.sram_base += row + x;
          piece.dram_base += std::uint64_t{y} * load.x_stride + x;
          piece.y_size = 1;
          piece.x_size = end - x;
          pieces.push_back({part, item});
          pieces.back().item.instruction.body = piece;
          follows = whole;
        }
    }
    return pieces;
  }

  // Adds each part after the pieces that it reads first, since queues fill up, and fetch is in order.
  void add(std::vector<Piece> pieces, std::vector<StreamInstruction> parts) {
    std::ranges::stable_sort(pieces, {}, &Piece::part);
    auto piece = pieces.begin();
    for (int part = 0; part < static_cast<int>(parts.size()); ++part) {
      for (; piece != pieces.end() && piece->part <= part; ++piece) done_.push_back(std::move(piece->item));
      done_.push_back(std::move(parts[static_cast<std::size_t>(part)]));
    }
    for (; piece != pieces.end(); ++piece) done_.push_back(std::move(piece->item));
  }

  Stream& stream_;
  const isa::HardwareConfig& config_;
  Stream scratch_;  // micro-ops of tentative parts
  StreamAccesses accesses_;
  std::vector<StreamInstruction> done_;     // the stream so far
  std::vector<StreamInstruction> loads_;    // loads that wait for the next products
  std::vector<int> by_;                     // the load that loads an element,
  std::vector<std::size_t> begins_, ends_;  // and the range of elements that is loaded with it
  std::vector<int> first_read_;             // the part that reads an element first
  std::vector<std::size_t> read_;
};

}  // namespace

void start_early(Stream& stream, const isa::HardwareConfig& config) { FirstProducts(stream, config).run(); }

}  // namespace dovetail::accel
