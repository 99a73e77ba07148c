#include "simulator/trace/page.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "isa/system.h"
#include "isa/text.h"
#include "isa/verify/token_machine.h"
#include "simulator/trace/base64.h"
#include "simulator/trace/page_source.h"

namespace dovetail::simulator {

namespace {

// Numbers in the encoding that page.js decodes: seven bits per byte, low ones first; for signed ones, the sign in bit
// 0.
class Column {
 public:
  void add(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_.push_back(static_cast<std::byte>((value & 127) | 128));
    bytes_.push_back(static_cast<std::byte>(value));
  }
  void add_signed(std::int64_t value) {
    add(value < 0 ? (static_cast<std::uint64_t>(-(value + 1)) << 1) + 1 : static_cast<std::uint64_t>(value) << 1);
  }
  std::string text() const { return to_base64(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

struct InstructionText {
  std::string words;  // text in which a number is \1, a hexadecimal one \2
  std::vector<std::uint64_t> numbers;
};

bool is_digit(char c, bool hexadecimal) { return (c >= '0' && c <= '9') || (hexadecimal && c >= 'a' && c <= 'f'); }

// A digit after a letter belongs to a name.
InstructionText take_apart(std::string_view text) {
  InstructionText parts;
  for (std::size_t i = 0; i < text.size();) {
    const char before = i == 0 ? ' ' : text[i - 1];
    const bool behind_letter =
        before >= 'a' && before <= 'z' && !(before == 'x' && i >= 2 && is_digit(text[i - 2], false));
    if (!is_digit(text[i], false) || behind_letter) {
      parts.words += text[i++];
      continue;
    }
    const bool hexadecimal = text.substr(i).starts_with("0x") && i + 2 < text.size() && is_digit(text[i + 2], true) &&
                             (before == '=' || before == ' ');
    if (hexadecimal) i += 2;
    const std::size_t begin = i;
    std::uint64_t value = 0;
    for (; i < text.size() && is_digit(text[i], hexadecimal); ++i)
      value = value * (hexadecimal ? 16 : 10) +
              static_cast<std::uint64_t>(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
    // A number that would not be reproduced exactly, such as 007, or exceeds the page's integers, stays text.
    const std::string_view digits = text.substr(begin, i - begin);
    if ((digits.size() > 1 && digits[0] == '0') || digits.size() > 12) {
      if (hexadecimal) parts.words += "0x";
      parts.words += digits;
      continue;
    }
    parts.words += hexadecimal ? '\2' : '\1';
    parts.numbers.push_back(value);
  }
  return parts;
}

std::string json_text(const Json& json) {
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Escapes strings so that none can end the HTML element that contains it.
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') safe += "\\u003c";
    else safe += c;
  }
  return safe;
}

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') safe += "&lt;";
    else if (c == '>') safe += "&gt;";
    else if (c == '&') safe += "&amp;";
    else safe += c;
  }
  return safe;
}

Json program_json(const Trace& trace, std::size_t first_launch, const TracedProgram& program,
                  const MemorySpec& memory) {
  const Profile profile = simulator::profile(trace, first_launch, program, memory);
  Json classes, layers = Json::array();
  for (const isa::Queue unit : kUnits)
    for (std::size_t c = 0; c < kUnitClassNames.size(); ++c)
      classes[std::string(isa::name(unit))][std::string(kUnitClassNames[c])] = profile.classes[isa::index(unit)][c];
  for (const ProfilePart& part : profile.layers) {
    Json row = to_json(part, profile.knows_waits);
    row["name"] = part.name;
    layers.push_back(std::move(row));
  }
  std::size_t instructions = 0;
  for (const isa::Launch& launch : program.launches) instructions += launch.count;
  Json json{{"name", program.name},
            {"hardware", isa::name_of(program.configs())},
            {"instructions", instructions},
            {"peak_macs_per_cycle", profile.peak_macs_per_cycle},
            {"peak_bytes_per_cycle", profile.peak_rate.each_way},
            {"peak_rate", to_string(profile.peak_rate, 1, "bytes per cycle")},
            {"whole", to_json(profile.whole, profile.knows_waits)},
            {"classes", classes},
            {"layers", layers},
            {"what_if", to_json(program.what_if)}};
  if (profile.knows_waits) {
    for (const isa::Queue unit : kUnits)
      json["waits"][std::string(isa::name(unit))] = to_json(profile.waits[isa::index(unit)]);
    json["fetch"] = to_json(profile.fetch);
  }
  return json;
}

// The replacements of %NAME% in the page.
std::string filled(std::string_view page, const std::map<std::string_view, std::string>& values) {
  std::string text;
  for (;;) {
    const std::size_t begin = page.find('%'), end = begin == std::string_view::npos ? begin : page.find('%', begin + 1);
    if (end == std::string_view::npos) return text += page;
    const auto found = values.find(page.substr(begin + 1, end - begin - 1));
    DOVETAIL_CHECK(found != values.end(), "every placeholder of the page must have a value");
    text += page.substr(0, begin);
    text += found->second;
    page.remove_prefix(end + 1);
  }
}

}  // namespace

Json to_json(const RunTime& time) {
  return {{"clock_mhz", time.clock_mhz ? Json(*time.clock_mhz) : Json(nullptr)},
          {"other_ms", time.other_ms ? Json(*time.other_ms) : Json(nullptr)}};
}

Result<RunTime> run_time_from_json(const Json& json, std::string_view where) {
  RunTime time;
  if (json.is_null()) return time;
  const auto read = [&](const char* key, double least, std::optional<double>& value) -> Result<void> {
    if (!json.is_object() || !json.contains(key) || json[key].is_null()) return {};
    if (!json[key].is_number() || !(json[key].get<double>() >= least))
      return Diagnostic{"cannot read the time of the trace", fmt::format("{}, \"{}\"", where, key),
                        fmt::format("{} is not a number >= {}", json[key].dump(), least),
                        "write the trace again with --trace"};
    value = json[key].get<double>();
    return {};
  };
  DOVETAIL_TRY(read("clock_mhz", isa::kLeastClockMhz, time.clock_mhz));
  DOVETAIL_TRY(read("other_ms", 0, time.other_ms));
  return time;
}

std::string page_text(std::string_view title, const Trace& trace, const std::vector<TracedProgram>& programs,
                      const MemorySpec& memory, const RunTime& time, const Json& energy) {
  Column unit, tokens, instruction, issue, start, length, source, word, number, wait;
  std::map<std::string, std::size_t> known;
  std::vector<std::string> words;
  std::vector<std::vector<std::uint64_t>> last_numbers;
  Json launches = Json::array(), encoded = Json::array();
  std::uint64_t origin = 0, last_source = 0, events = 0, silent = 0;
  std::size_t l = 0;
  for (std::size_t p = 0; p < programs.size(); ++p) {
    encoded.push_back(program_json(trace, l, programs[p], memory));
    for (std::size_t k = 0; k < programs[p].launches.size(); ++k, ++l) {
      const LaunchTrace& launch = trace.launches[l];
      DOVETAIL_CHECK(launch.events.size() == programs[p].launches[k].count, "there must be one event per instruction");
      std::uint64_t last_issue = 0;
      std::int64_t last_instruction = -1;
      for (std::size_t i = 0; i < launch.events.size(); ++i) {
        const TraceEvent& event = launch.events[i];
        const isa::Instruction& what = programs[p].program[event.instruction];
        unit.add(isa::index(event.unit) | static_cast<std::uint64_t>(event.cause) << 2);
        tokens.add(std::uint64_t{what.flags.pop_prev} | std::uint64_t{what.flags.pop_next} << 1 |
                   std::uint64_t{what.flags.push_prev} << 2 | std::uint64_t{what.flags.push_next} << 3);
        instruction.add_signed(static_cast<std::int64_t>(event.instruction) - last_instruction - 1);
        last_instruction = static_cast<std::int64_t>(event.instruction);
        issue.add(event.issue - last_issue);
        last_issue = event.issue;
        start.add(event.start - event.issue);
        length.add(event.end - event.start);
        source.add_signed(static_cast<std::int64_t>(event.source) - static_cast<std::int64_t>(last_source));
        last_source = event.source;
        const InstructionText text = take_apart(isa::format_instruction(what));
        const auto [at, is_new] = known.try_emplace(text.words, words.size());
        if (is_new) {
          words.push_back(text.words);
          last_numbers.emplace_back(text.numbers.size());
        }
        word.add(at->second);
        for (std::size_t n = 0; n < text.numbers.size(); ++n) {
          std::uint64_t& last = last_numbers[at->second][n];
          number.add_signed(static_cast<std::int64_t>(text.numbers[n]) - static_cast<std::int64_t>(last));
          last = text.numbers[n];
        }
        if (launch.waits && launch.waits->instructions[i] != MemorySplit{}) {
          wait.add(silent);
          for (const std::uint64_t cycles : launch.waits->instructions[i].cycles) wait.add(cycles);
          silent = 0;
        } else {
          ++silent;
        }
      }
      Json row{{"program", p}, {"origin", origin}, {"cycles", launch.cycles}, {"events", launch.events.size()}};
      if (launch.waits)
        row["traffic"] = {{"window", std::uint64_t{1} << launch.waits->traffic.window_log2},
                          {"read", launch.waits->traffic.read},
                          {"written", launch.waits->traffic.written}};
      launches.push_back(std::move(row));
      origin += launch.cycles;
      events += launch.events.size();
    }
  }
  const Json data{{"title", title},
                  {"memory", to_string(memory)},
                  {"time", to_json(time)},
                  {"energy", energy},
                  {"bus_bytes", programs.empty() ? 1 : programs.front().config.bus_bytes},
                  {"events", events},
                  {"sources", trace.sources},
                  {"templates", words},
                  {"launches", launches},
                  {"columns",
                   {{"unit", unit.text()},
                    {"tokens", tokens.text()},
                    {"instruction", instruction.text()},
                    {"issue", issue.text()},
                    {"start", start.text()},
                    {"length", length.text()},
                    {"source", source.text()},
                    {"template", word.text()},
                    {"numbers", number.text()},
                    {"waits", wait.text()}}},
                  {"programs", encoded}};
  return filled(kPageHtml, {{"TITLE", html_text(title)},
                            {"STYLE", std::string(kPageStyle)},
                            {"DATA", json_text(data)},
                            {"SCRIPT", std::string(kPageScript)}});
}

}  // namespace dovetail::simulator
