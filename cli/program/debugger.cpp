#include "cli/program/debugger.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/npy.h"
#include "cli/program/break_place.h"
#include "cli/program/program_check.h"
#include "cli/program/sram_text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/standard_streams.h"
#include "driver/value_text.h"
#include "isa/nearest.h"
#include "isa/text.h"
#include "isa/verify/findings.h"
#include "isa/verify/token_use.h"

namespace dovetail::cli {

namespace {

constexpr std::size_t kMostShown = 64;  // elements, instructions
constexpr std::size_t kAround = 4;      // instructions that `list` shows before and after the next one
constexpr std::int64_t kMostSteps = 1'000'000'000;

struct CommandInfo {
  std::string_view name, shortcut, form, doc;
};
// clang-format off
constexpr std::array kCommands{
    CommandInfo{"step", "s", "[N | load | compute | store]", "run N instructions in the order of their starts, or up to the next instruction of a queue"},
    CommandInfo{"cycle", "y", "[N | @CYCLE]", "run N cycles, or to a cycle of the launch"},
    CommandInfo{"continue", "c", "", "run to a break point, a changed watch, or the end"},
    CommandInfo{"finish", "f", "", "like continue, but stop at the end of the launch"},
    CommandInfo{"break", "b", "#N | :LINE | NAME | MEM[A..B] | dram ADDR[:BYTES] | token FROM->TO", "stop before the instruction at this place, or any that accesses it"},
    CommandInfo{"watch", "w", "MEM[A..B] | NAME | ADDR:TYPE[N,...]", "stop after an instruction that changes these values"},
    CommandInfo{"delete", "d", "N", "delete a break point or watch"},
    CommandInfo{"print", "p", "MEM[A..B] | NAME | ADDR:TYPE[N,...]", "show tiles of acc, out, inp, wgt, uop; or memory by name or address"},
    CommandInfo{"save", "", "FILE.npy PLACE", "write the same as an array"},
    CommandInfo{"queues", "q", "", "show the instructions that wait in each queue, and those that run"},
    CommandInfo{"tokens", "t", "", "show the tokens in each FIFO"},
    CommandInfo{"where", "", "", "show the launch, the cycle, the next instruction"},
    CommandInfo{"list", "l", "", "show the instructions around the next one"},
    CommandInfo{"races", "", "", "show the verifier's findings: both instructions, and the bytes"},
    CommandInfo{"info", "i", "", "show break points, watches, launches, names"},
    CommandInfo{"help", "h", "", "this list"},
    CommandInfo{"quit", "", "", "end the session, wherever the program is"},
};
// clang-format on

Diagnostic wrong(std::string_view line, std::string why, std::string hint) {
  return {"cannot do command", std::string(line), std::move(why), std::move(hint)};
}

}  // namespace

Debugger::Debugger(const ProgramInput& input, simulator::DebugSession& session, const isa::VerifyReport& report,
                   std::function<void(std::string_view)> print, std::function<bool()> interrupted)
    : input_(input),
      session_(session),
      report_(report),
      print_(std::move(print)),
      interrupted_(std::move(interrupted)) {}

std::string Debugger::help() {
  std::string text;
  for (const CommandInfo& row : kCommands) {
    const std::string name =
        row.shortcut.empty() ? std::string(row.name) : fmt::format("{}, {}", row.name, row.shortcut);
    text += row.form.empty() ? fmt::format("  {:<11} {}\n", name, row.doc)
                             : fmt::format("  {:<11} {}\n      {}\n", name, row.form, row.doc);
  }
  return text;
}

Result<Debugger::After> Debugger::command(std::string_view line) {
  has_failed_ = false;
  line = line.substr(0, line.find('#') == 0 ? 0 : line.size());  // a comment; #3 is an instruction
  Words words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    at = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.emplace_back(line.substr(begin, at - begin));
  }
  if (words.empty()) return After::goes_on;
  const auto row = std::find_if(kCommands.begin(), kCommands.end(), [&](const CommandInfo& entry) {
    return entry.name == words[0] || (!entry.shortcut.empty() && entry.shortcut == words[0]);
  });
  if (row == kCommands.end()) {
    std::vector<std::string_view> names;
    for (const CommandInfo& entry : kCommands) names.push_back(entry.name);
    return wrong(line, fmt::format("there is no command `{}`", words[0]), isa::suggestion(words[0], names));
  }
  if (row->form.empty() && words.size() > 1)
    return wrong(line, fmt::format("`{}` accepts no arguments", row->name), fmt::format("write {}", row->name));
  words[0] = row->name;
  Result<void> done;
  if (words[0] == "step") done = step(words);
  else if (words[0] == "cycle") done = go_to_cycle(words);
  else if (words[0] == "continue") done = go_on(false);
  else if (words[0] == "finish") done = go_on(true);
  else if (words[0] == "break") done = set_break(words);
  else if (words[0] == "watch") done = set_watch(words);
  else if (words[0] == "delete") done = remove(words);
  else if (words[0] == "print") done = print_place(words);
  else if (words[0] == "save") done = save(words);
  else if (words[0] == "queues") show_queues();
  else if (words[0] == "tokens") show_tokens();
  else if (words[0] == "where") show_place();
  else if (words[0] == "list") show_list();
  else if (words[0] == "races") show_races();
  else if (words[0] == "info") show_info();
  else if (words[0] == "help") print_(help());
  else return After::quits;
  if (!done.ok()) return done.errors();
  return After::goes_on;
}

std::string Debugger::cite(std::size_t instruction) const {
  return input_.source.cite(isa::cite(input_.program, instruction));
}

std::string Debugger::describe(std::size_t instruction) const {
  const simulator::TraceEvent* event = session_.event(instruction);
  return fmt::format("{:<12} {:<8} {}",
                     event == nullptr || event->start == 0 ? std::string("-") : fmt::format("cycle {}", event->start),
                     isa::name(input_.program[instruction].queue()), cite(instruction));
}

void Debugger::show_place() {
  if (session_.at_end()) return print_("at the end of the program\n");
  const auto cycle = session_.cycle();
  print_(fmt::format("launch {} of {}{}\n", session_.launch(), input_.launches.size(),
                     cycle ? fmt::format(", cycle {}", *cycle) : ", in program order: the launch has no times"));
  if (const auto next = session_.next()) return print_(fmt::format("next {}\n", describe(*next)));
  print_("nothing can start any more:\n");
  for (const Diagnostic& error : input_.source.cite(session_.standstill())) print_(to_string(error) + "\n");
}

Result<bool> Debugger::advance(bool shows) {
  const auto instruction = session_.next();
  const std::string text = instruction && shows ? describe(*instruction) : std::string();
  const std::size_t launch = session_.launch();
  if (const Result<void> stepped = session_.step(); !stepped.ok()) {
    has_failed_ = true;
    return input_.source.cite(stepped.errors());
  }
  if (shows) print_(text + "\n");
  bool goes_on = true;
  for (Watch& watch : watches_) {
    NdArray now = watch.read();
    if (now == watch.last) continue;
    goes_on = false;
    std::int64_t at = 0;
    while (now.as_double(at) == watch.last.as_double(at) && at + 1 < now.count()) ++at;
    print_(fmt::format("watch {}: {} changed by {}: element {} was {}, is {}\n", watch.number, watch.text,
                       cite(*instruction), at, watch.last.as_double(at), now.as_double(at)));
    watch.last = std::move(now);
  }
  if (session_.at_end()) {
    print_("the program has ended\n");
    return false;
  }
  if (session_.launch() != launch) print_(fmt::format("launch {} has ended\n", launch));
  if (goes_on && interrupted_()) {
    print_("interrupted\n");
    show_place();
    return false;
  }
  return goes_on;
}

Result<void> Debugger::step(const Words& words) {
  if (session_.at_end()) return wrong("step", "the program has ended", "quit, or start the debugger again");
  if (words.size() > 2) return wrong(words[2], "this word is unexpected", "write step 3, or step store");
  for (const isa::Queue queue : isa::kAllQueues) {
    if (words.size() < 2 || words[1] != isa::name(queue)) continue;
    for (bool is_there = false; !is_there && !session_.at_end();) {
      const auto next = session_.next();
      is_there = !next || input_.program[*next].queue() == queue;
      DOVETAIL_ASSIGN(const bool goes_on, advance(true));
      if (!goes_on) break;
    }
    return {};
  }
  std::int64_t count = 1;
  if (words.size() == 2) {
    DOVETAIL_ASSIGN(count, parse_count("step", words[1], 1, kMostSteps));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const bool shows = count <= static_cast<std::int64_t>(kMostShown) || i + 1 == count;
    DOVETAIL_ASSIGN(const bool goes_on, advance(shows));
    if (!goes_on) break;
  }
  return {};
}

Result<void> Debugger::go_to_cycle(const Words& words) {
  const auto now = session_.cycle();
  if (session_.at_end()) return wrong("cycle", "the program has ended", "quit, or start the debugger again");
  if (!now) return wrong("cycle", "the engine has no clock", "step by instruction");
  std::uint64_t cycle = *now + 1;
  if (words.size() > 1) {
    const bool is_absolute = words[1].starts_with('@');
    const auto number = number_of(std::string_view(words[1]).substr(is_absolute ? 1 : 0));
    if (words.size() > 2 || !number || __builtin_add_overflow(is_absolute ? 0 : *now, *number, &cycle))
      return wrong(words[1], "this is not a number of cycles", "write cycle 10, or cycle @1200");
    if (cycle < *now)
      return wrong(words[1], fmt::format("cycle {} has passed", cycle),
                   "programs do not run backwards; start the debugger again");
  }
  if (const Result<void> ran = session_.run_to_cycle(cycle, [this] { return !interrupted_(); }); !ran.ok()) {
    has_failed_ = true;
    return input_.source.cite(ran.errors());
  }
  show_place();
  return {};
}

Result<void> Debugger::go_on(bool within_launch) {
  if (session_.at_end()) return wrong("continue", "the program has ended", "quit, or start the debugger again");
  const std::size_t launch = session_.launch();
  for (bool first = true; !session_.at_end() && (!within_launch || session_.launch() == launch); first = false) {
    const auto next = session_.next();
    if (next && !first)
      for (const BreakPoint& point : breaks_)
        if (point.fits(*next)) {
          print_(fmt::format("break {}: {}\nnext {}\n", point.number, point.text, describe(*next)));
          return {};
        }
    DOVETAIL_ASSIGN(const bool goes_on, advance(false));
    if (!goes_on) break;
  }
  return {};
}

Result<void> Debugger::set_break(const Words& words) {
  if (words.size() < 2 || words.size() > 3)
    return wrong("break", "no place to stop at is given", "write break #12, break NAME, break acc[0..3]");
  DOVETAIL_ASSIGN(auto fits, parse_break_place("break", {words.begin() + 1, words.end()}, input_,
                                               [this](std::size_t at) { return session_.touched(at); }));
  breaks_.push_back({next_number_++, words.size() == 3 ? words[1] + " " + words[2] : words[1], std::move(fits)});
  print_(fmt::format("break {} at {}\n", breaks_.back().number, breaks_.back().text));
  return {};
}

Result<void> Debugger::set_watch(const Words& words) {
  if (words.size() != 2)
    return wrong("watch", "`watch` needs one memory range", "write watch acc[0..3], or watch NAME");
  DOVETAIL_ASSIGN(auto read, reader_of(words));
  NdArray now = read();
  watches_.push_back({next_number_++, words[1], std::move(read), std::move(now)});
  print_(fmt::format("watch {} on {}\n", watches_.back().number, words[1]));
  return {};
}

Result<void> Debugger::remove(const Words& words) {
  const auto number = words.size() == 2 ? number_of(words[1]) : std::nullopt;
  const auto is_it = [&](const auto& entry) { return number && entry.number == *number; };
  if (std::erase_if(breaks_, is_it) + std::erase_if(watches_, is_it) == 0)
    return wrong(words.size() > 1 ? words[1] : "delete", "no breakpoint or watch has this number", "`info` lists them");
  return {};
}

Result<std::optional<SramRange>> Debugger::sram_range(std::string_view text) const {
  return parse_sram_range("cannot do command", text, input_.machine.hardware);
}

Result<ImageSlice> Debugger::slice_of(std::string_view text) const {
  DOVETAIL_ASSIGN(const ImageSlice slice, parse_slice("place", text, input_.symbols, true));
  const simulator::Dram& dram = session_.dram();
  const std::uint64_t offset = slice.address - dram.base;
  if (slice.address < dram.base || offset > dram.bytes.size() || slice.size_bytes > dram.bytes.size() - offset)
    return wrong(
        text, fmt::format("the address is outside the image, [{:#x}, {:#x})", dram.base, dram.base + dram.bytes.size()),
        "name an address within the image");
  return slice;
}

NdArray Debugger::read(const ImageSlice& slice) const {
  const simulator::Dram& dram = session_.dram();
  return {slice.dtype, slice.shape, std::span(dram.bytes).subspan(slice.address - dram.base, slice.size_bytes)};
}

Result<std::function<NdArray()>> Debugger::reader_of(const Words& words) const {
  DOVETAIL_ASSIGN(const auto elements, sram_range(words.back()));
  if (elements)
    return std::function<NdArray()>(
        [this, at = *elements] { return session_.sram().read_sram(at.memory, at.begin, at.end - at.begin); });
  DOVETAIL_ASSIGN(const ImageSlice slice, slice_of(words.back()));
  return std::function<NdArray()>([this, slice] { return read(slice); });
}

Result<void> Debugger::print_place(const Words& words) {
  if (words.size() != 2)
    return wrong("print", "`print` needs one memory range", "write print acc[0..3], or print NAME");
  DOVETAIL_ASSIGN(const auto elements, sram_range(words[1]));
  if (elements) {
    if (elements->end - elements->begin > kMostShown)
      return wrong(words[1], fmt::format("the range has more than {} elements", kMostShown),
                   "print fewer, or `save` them");
    const std::string text = tiles_text(session_.sram(), *elements);
    print_(text.find("]?") == std::string::npos ? text : text + "  ?: nothing has written it\n");
    return {};
  }
  DOVETAIL_ASSIGN(const ImageSlice slice, slice_of(words[1]));
  const NdArray array = read(slice);
  if (array.count() > 4096)
    return wrong(words[1], "the range has more than 4096 numbers",
                 "print a part, for example NAME+64:int8[4,16], or `save` it");
  const std::int64_t columns = array.rank() == 0 ? 1 : array.shape().back();
  print_(fmt::format("{} at {:#x}\n", driver::type_text(array.dtype(), array.shape()), slice.address) +
         rows_text(array, [&](std::int64_t row) {
           return fmt::format("{:#x}",
                              slice.address + static_cast<std::uint64_t>(row * columns * info(array.dtype()).bytes));
         }));
  return {};
}

Result<void> Debugger::save(const Words& words) {
  if (words.size() != 3)
    return wrong("save", "`save` needs a file and a memory range", "write save acc.npy acc[0..15]");
  DOVETAIL_ASSIGN(const auto read, reader_of(words));
  const NdArray array = read();
  DOVETAIL_TRY(write_result_npy(words[1], array));
  print_(fmt::format("written {}, {}\n", words[1], driver::type_text(array.dtype(), array.shape())));
  return {};
}

void Debugger::show_queues() {
  const auto queues = session_.queues();
  if (!queues || session_.at_end()) return print_("queues: not known, since the launch has no times\n");
  for (const isa::Queue queue : isa::kAllQueues) {
    const auto& state = (*queues)[isa::index(queue)];
    print_(fmt::format("{:<8} {} running, {} waiting\n", isa::name(queue), state.running.size(), state.waiting.size()));
    for (const std::size_t instruction : state.running) print_(fmt::format("  runs   {}\n", describe(instruction)));
    for (std::size_t i = 0; i < std::min(state.waiting.size(), kAround); ++i)
      print_(fmt::format("  waits  {}\n", describe(state.waiting[i])));
    if (state.waiting.size() > kAround) print_(fmt::format("  and {} more\n", state.waiting.size() - kAround));
  }
}

void Debugger::show_tokens() {
  const auto tokens = session_.tokens();
  if (!tokens || session_.at_end()) return print_("tokens: not known, since the launch has no times\n");
  for (const isa::TokenFifo fifo : isa::kAllFifos)
    print_(fmt::format("  {:<16} {} of {}\n",
                       fmt::format("{}->{}", isa::name(producer(fifo)), isa::name(consumer(fifo))),
                       (*tokens)[isa::index(fifo)], input_.machine.hardware.token_queue_depth));
}

void Debugger::show_list() {
  const auto next = session_.next();
  if (!next) return show_place();
  const std::size_t begin = *next - std::min(*next, kAround),
                    end = std::min(*next + kAround + 1, input_.program.size());
  for (std::size_t i = begin; i < end; ++i) print_(fmt::format("{} {}\n", i == *next ? ">" : " ", describe(i)));
}

void Debugger::show_races() {
  if (report_.clean()) return print_("no race, no deadlock, no leftover token, no undefined read\n");
  for (const isa::Finding& finding : report_.findings) {
    print_(input_.source.cite(to_string(finding.diagnostic, name(finding.kind))) + "\n");
    for (const std::optional<std::size_t> instruction : {finding.other, std::optional(finding.instruction)})
      if (instruction) print_(fmt::format("  {}\n", describe(*instruction)));
    for (std::size_t i = 0; i < std::min<std::size_t>(finding.extents.size(), 2); ++i) {
      const isa::Extent& extent = finding.extents[i];
      if (finding.memory) {
        print_("  now " +
               tiles_text(session_.sram(), {*finding.memory, extent.begin, std::min(extent.end, extent.begin + 4)}));
      } else {
        ImageSlice slice{extent.begin, std::min<std::uint64_t>(extent.end - extent.begin, 64), DType::uint8, {}, {}};
        const simulator::Dram& dram = session_.dram();
        if (slice.address < dram.base || slice.address + slice.size_bytes > dram.base + dram.bytes.size()) continue;
        slice.shape = {static_cast<std::int64_t>(slice.size_bytes)};
        print_("  now " + rows_text(read(slice), [&](std::int64_t) { return fmt::format("{:#x}", slice.address); }));
      }
    }
  }
}

void Debugger::show_info() {
  for (const BreakPoint& point : breaks_) print_(fmt::format("break {} at {}\n", point.number, point.text));
  for (const Watch& watch : watches_) print_(fmt::format("watch {} on {}\n", watch.number, watch.text));
  for (std::size_t i = 0; i < input_.launches.size(); ++i)
    print_(fmt::format("launch {}: instructions #{} to #{}\n", i, input_.launches[i].begin,
                       input_.launches[i].begin + input_.launches[i].count));
  for (const isa::Symbol& symbol : input_.symbols) {
    if (symbol.kind == isa::SymbolKind::instruction) print_(fmt::format("  {:<16} #{}\n", symbol.name, symbol.value));
    if (symbol.kind == isa::SymbolKind::address)
      print_(fmt::format("  {:<16} {:#x}, {}\n", symbol.name, symbol.value,
                         driver::type_text(symbol.dtype, symbol.shape)));
  }
}

}  // namespace dovetail::cli
