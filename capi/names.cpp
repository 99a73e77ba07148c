#include "capi/names.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace dovetail::capi {

namespace {

using Row = std::pair<std::string_view, std::string_view>;

// Options, and the members and arguments that have their values. Python has the same names.
constexpr Row kMembers[] = {
    {"accelerators", "accelerators"},
    {"calibration", "calibration"},
    {"check-bounds", "check_bounds"},
    {"clock", "clock_mhz"},
    {"cpu", "cpu"},
    {"decide", "decide"},
    {"dump", "stages"},
    {"energy", "energy"},
    {"engine", "engine"},
    {"from", "from"},
    {"gpu", "gpu"},
    {"hw", "hardware"},
    {"input", "inputs"},
    {"int8", "int8"},
    {"keep-float", "keep_float"},
    {"labels", "labels"},
    {"launch", "launches"},
    {"layer", "layers"},
    {"loop-limit", "loop_limit"},
    {"map", "map"},
    {"memory", "memory"},
    {"memory-limit", "memory_limit"},
    {"metric", "metric"},
    {"no-pass", "without_passes"},
    {"offload", "offload"},
    {"only", "only"},
    {"output", "output"},
    {"pass", "with_passes"},
    {"place", "place"},
    {"records", "records"},
    {"repeat", "repeat"},
    {"samples", "samples"},
    {"shape", "shapes"},
    {"state", "states"},
    {"stop-after", "stop_after"},
    {"strategy", "strategy"},
    {"strict", "strict"},
    {"target", "targets"},
    {"technology", "technology"},
    {"test", "tests"},
    {"threads", "threads"},
    {"to", "to"},
    {"trace", "trace"},
    {"trust", "trust"},
    {"until", "until"},
};

// The beginnings of commands in diagnostics, longer ones first, each with its replacement. The rest of the command
// follows a replacement that ends in a space.
constexpr Row kCommands[] = {
    {"asm", "`dvt_program_assemble`"},
    {"compare", "`dvt_compare`"},
    {"compile --dump ", "`dvt_compile_stages` with --dump "},
    {"compile --report ", "the report of `dvt_compile`"},
    {"compile -o", "`dvt_bundle_save`"},
    {"compile", "`dvt_compile`"},
    {"doctor", "`dvt_doctor`"},
    {"evaluate", "`dvt_session_evaluate`"},
    {"explore", "`dvt_explore`"},
    {"hw area", "`dvt_area`"},
    {"hw list", "`dvt_hardware`"},
    {"inspect", "`dvt_model_describe`"},
    {"profile", "`dvt_session_trace`"},
    {"quantize", "`dvt_quantize`"},
    {"records export", "`dvt_records_export`"},
    {"records import", "`dvt_records_import`"},
    {"records list", "`dvt_records_list`"},
    {"records merge", "`dvt_records_merge`"},
    {"simulate --place", "`dvt_program_simulate` with arrays"},
    {"run --check", "`dvt_session_check`"},
    {"run --cpu ", "`dvt_compile` with --cpu "},
    {"tune", "`dvt_tune`"},
    {"zoo list", "`dvt_zoo`"},
    {"zoo NAME --int8", "`dvt_zoo_model` with --int8"},
};

constexpr std::string_view kHints[] = {"hint", "missing", "notes", "remedy", "why"};

constexpr std::string_view kCommand = "`dovetail ";
constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789-";

const Row* find_member(std::string_view option) {
  const auto* row = std::ranges::find(kMembers, option, &Row::first);
  return row == std::end(kMembers) ? nullptr : row;
}

const Row* find_command(std::string_view words) {
  const auto* row = std::ranges::find_if(kCommands, [&](const Row& each) { return words.starts_with(each.first); });
  return row == std::end(kCommands) ? nullptr : row;
}

// What a command is here, with options as the command line has them; empty: the command line alone has it.
std::string function_of(std::string_view command) {
  const Row* row = find_command(command);
  if (row == nullptr) return {};
  return std::string(row->second) +
         std::string(row->second.ends_with(' ') ? command.substr(row->first.size()) : std::string_view());
}

}  // namespace

std::string with_names(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::string_view taken = text.substr(0, 1);
    if (text.front() == '`') {
      if (const std::size_t end = text.find('`', 1); end != std::string_view::npos) taken = text.substr(0, end + 1);
      const bool is_command = taken.starts_with(kCommand) && taken.size() > kCommand.size();
      if (const std::string here = is_command
                                       ? function_of(taken.substr(kCommand.size(), taken.size() - kCommand.size() - 1))
                                       : std::string();
          !here.empty())
        result += with_names(here);
      else if (taken.starts_with("`--")) result += with_names(taken.substr(1, taken.size() - 2));
      else result += taken;
    } else if (text.starts_with("--")) {
      taken = text.substr(0, text.find_first_not_of(kNameCharacters));
      const Row* member = find_member(taken.substr(2));
      if (member != nullptr) result += fmt::format("`{}`", member->second);
      else result += taken;
    } else {
      result += taken;
    }
    text.remove_prefix(taken.size());
  }
  return result;
}

Json with_named_hints(Json report) {
  for (auto& [key, value] : report.items()) {
    const bool is_hint = report.is_object() && std::ranges::find(kHints, key) != std::end(kHints);
    if (is_hint && value.is_string()) value = with_names(value.get_ref<const std::string&>());
    else if (is_hint && value.is_array())
      for (Json& each : value)
        each = each.is_string() ? Json(with_names(each.get_ref<const std::string&>())) : std::move(each);
    else if (value.is_structured()) value = with_named_hints(std::move(value));
  }
  return report;
}

}  // namespace dovetail::capi
