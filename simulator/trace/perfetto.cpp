#include "simulator/trace/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "isa/text.h"
#include "isa/verify/token_machine.h"

namespace dovetail::simulator {

namespace {

std::string json_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

class Writer {
 public:
  explicit Writer(std::string& text) : text_(text) {}

  template <typename... Arguments>
  void event(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

 private:
  std::string& text_;
  bool first_ = true;
};

// The occupancy of a queue or FIFO: +1 and -1 at cycles, written as a counter after each cycle that changes it.
void write_counter(Writer& writer, std::uint64_t origin, const std::string& name,
                   std::vector<std::pair<std::uint64_t, int>> changes) {
  std::sort(changes.begin(), changes.end());
  std::int64_t held = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const std::uint64_t cycle = changes[i].first;
    for (; i < changes.size() && changes[i].first == cycle; ++i) held += changes[i].second;
    writer.event(R"({{"ph":"C","pid":1,"name":"{}","ts":{},"args":{{"waiting":{}}}}})", name, origin + cycle, held);
  }
}

// Beats per cycle, written at each change.
void write_rate(Writer& writer, std::uint64_t origin, std::uint64_t cycles, std::string_view name, int window_log2,
                const std::vector<std::uint64_t>& beats) {
  std::uint64_t written = 0;
  for (std::size_t w = 0; w <= beats.size(); ++w) {
    const std::uint64_t now = w < beats.size() ? beats[w] : 0, at = static_cast<std::uint64_t>(w) << window_log2;
    if (now == written || at >= cycles) continue;
    written = now;
    writer.event(R"({{"ph":"C","pid":1,"name":"{}","ts":{},"args":{{"a cycle":{:.3f}}}}})", name, origin + at,
                 static_cast<double>(now) / static_cast<double>(std::uint64_t{1} << window_log2));
  }
}

}  // namespace

std::string perfetto_text(const Trace& trace, const std::vector<std::span<const isa::Instruction>>& programs,
                          const Json& more) {
  DOVETAIL_CHECK(programs.size() == trace.launches.size(), "there must be instructions for each launch of the trace");
  Json head = to_json(trace);
  head.update(more);
  std::string text = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();  // remove the object's end: more members follow
  text += ",\n\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  Writer writer(text);
  writer.event(R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":"accelerator"}}}})");
  for (const isa::Queue unit : kUnits)
    writer.event(R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})", isa::index(unit) + 1,
                 isa::name(unit));

  std::uint64_t origin = 0, flow = 0;
  for (std::size_t l = 0; l < trace.launches.size(); ++l) {
    const LaunchTrace& launch = trace.launches[l];
    if (!launch.events.empty())
      DOVETAIL_CHECK(launch.events.size() == programs[l].size(), "there must be one event per instruction");
    std::array<std::uint64_t, isa::kQueues> slice_end{};
    std::array<std::vector<std::pair<std::uint64_t, int>>, isa::kQueues> queue_changes;
    std::array<std::vector<std::pair<std::uint64_t, int>>, isa::kTokenFifos> token_changes;
    struct Push {
      std::uint64_t cycle = 0, flow = 0;
    };
    std::array<std::vector<Push>, isa::kTokenFifos> pushes;
    // A pop may come before its push in the program: arrows are written when both are known.
    std::array<std::vector<std::uint64_t>, isa::kTokenFifos> pop_slices;
    for (std::size_t i = 0; i < launch.events.size(); ++i) {
      const TraceEvent& event = launch.events[i];
      const std::size_t unit = isa::index(event.unit);
      const std::uint64_t begin = std::max(event.start, slice_end[unit]);
      slice_end[unit] = event.end + 1;
      const std::string& source = trace.sources[event.source];
      const std::string what = isa::format_instruction(programs[l][i]);
      const std::string name = source.empty() ? what : source + " " + what.substr(0, what.find(' '));
      writer.event(
          R"({{"ph":"X","pid":1,"tid":{},"name":{},"ts":{},"dur":{},"args":{{"instruction":{},"what":{},"issue":{},"start":{},"end":{},"waited for":"{}"}}}})",
          unit + 1, json_string(name), origin + begin, event.end + 1 - begin, event.instruction, json_string(what),
          event.issue, event.start, event.end, kStallCauseNames[static_cast<std::size_t>(event.cause)]);
      queue_changes[unit].push_back({event.issue + 1, 1});
      queue_changes[unit].push_back({event.start + 1, -1});
      const isa::TokenUse use = isa::token_use(programs[l][i]);
      for (std::size_t fifo = 0; fifo < isa::kTokenFifos; ++fifo) {
        if (use.pushes_to(static_cast<isa::TokenFifo>(fifo))) {
          pushes[fifo].push_back({event.end, flow++});
          token_changes[fifo].push_back({event.end + 1, 1});
        }
        if (use.pops_from(static_cast<isa::TokenFifo>(fifo))) {
          pop_slices[fifo].push_back(begin);
          token_changes[fifo].push_back({event.start + 1, -1});
        }
      }
    }
    for (std::size_t f = 0; f < isa::kTokenFifos; ++f) {
      const auto fifo = static_cast<isa::TokenFifo>(f);
      const std::string name =
          fmt::format("tokens {} to {}", isa::name(isa::producer(fifo)), isa::name(isa::consumer(fifo)));
      for (std::size_t k = 0; k < std::min(pushes[f].size(), pop_slices[f].size()); ++k) {
        writer.event(R"({{"ph":"s","pid":1,"tid":{},"name":"token","cat":"token","id":{},"ts":{}}})",
                     isa::index(isa::producer(fifo)) + 1, pushes[f][k].flow, origin + pushes[f][k].cycle);
        writer.event(R"({{"ph":"f","bp":"e","pid":1,"tid":{},"name":"token","cat":"token","id":{},"ts":{}}})",
                     isa::index(isa::consumer(fifo)) + 1, pushes[f][k].flow, origin + pop_slices[f][k]);
      }
      write_counter(writer, origin, name, std::move(token_changes[f]));
    }
    for (const isa::Queue unit : kUnits)
      write_counter(writer, origin, fmt::format("{} queue", isa::name(unit)),
                    std::move(queue_changes[isa::index(unit)]));
    if (launch.waits) {
      write_rate(writer, origin, launch.cycles, "port: beats read", launch.waits->traffic.window_log2,
                 launch.waits->traffic.read);
      write_rate(writer, origin, launch.cycles, "port: beats written", launch.waits->traffic.window_log2,
                 launch.waits->traffic.written);
    }
    origin += launch.cycles;
  }
  text += "\n]}\n";
  return text;
}

}  // namespace dovetail::simulator
