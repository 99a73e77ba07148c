#include "cli/shell/command_tree.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/shell/wrapped_text.h"

namespace dovetail::cli {

namespace {

constexpr std::size_t kNameColumns = 24;  // columns of names in the list of options, after its indentation

std::string indented(std::string_view text, std::size_t indent, std::size_t width) {
  std::string lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    for (const std::string& line : wrapped(text.substr(begin, end - begin), width - indent, width - indent))
      lines += line.empty() ? "\n" : std::string(indent, ' ') + line + "\n";
    begin = end + 1;
  }
  return lines;
}

// A name, and next to it or below it its help.
std::string row(const std::string& name, std::string_view help, std::size_t width) {
  const std::size_t indent = 2 + kNameColumns + 2;
  std::string text = "  " + name;
  std::string lines = indented(help, indent, width);
  if (text_width(name) > kNameColumns) return text + "\n" + lines;
  return text + std::string(indent - text_width(text), ' ') + lines.substr(std::min(indent, lines.size()));
}

std::string name_of(const OptionOutline& option) {
  const std::string names = fmt::format("{}", fmt::join(option.names, ", "));
  return option.takes_value() ? names + " " + option.placeholder : names;
}

std::string usage_of(const CommandOutline& command, bool is_program) {
  std::string text = is_program ? command.name + " COMMAND [OPTIONS]" : "dovetail " + command.name + " [OPTIONS]";
  for (const OptionOutline& option : command.options) {
    if (!option.positional) {
      if (option.required) text += " " + name_of(option);
      continue;
    }
    const std::string name = option.names.front() + (option.repeatable ? " ..." : "");
    text += option.required ? " " + name : " [" + name + "]";
  }
  return text;
}

// Remarks, and command lines after "Example: ", which are broken so that a shell accepts them.
std::string footer_text(std::string_view footer, std::size_t width) {
  constexpr std::string_view kCommand = "dovetail ";
  std::string text;
  for (std::size_t begin = 0; begin <= footer.size();) {
    const std::size_t end = std::min(footer.find('\n', begin), footer.size());
    const std::string_view line = footer.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t command = line.find(kCommand);
    const bool is_command =
        command != line.npos && (line.starts_with("Example: ") || line.find_first_not_of(' ') == command);
    if (!is_command) {
      const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
      std::size_t number = 0;
      for (const std::string& part : wrapped(line, width, width - indent))
        text += (number++ > 0 && !part.empty() ? std::string(indent, ' ') : "") + part + "\n";
      continue;
    }
    const std::size_t indent = command + 4;
    const std::vector<std::string> parts = wrapped(line, width - 2, width - 2 - indent);
    for (std::size_t i = 0; i < parts.size(); ++i)
      text += (i > 0 ? std::string(indent, ' ') : "") + parts[i] + (i + 1 < parts.size() ? " \\\n" : "\n");
  }
  return text;
}

}  // namespace

const CommandOutline* CommandTree::find(std::string_view command) const {
  const auto found = std::ranges::find(commands, command, &CommandOutline::name);
  return found == commands.end() ? nullptr : &*found;
}

std::string help_text(const CommandTree& tree, const CommandOutline& command, std::size_t width) {
  const bool is_program = &command == &tree.program;
  std::string text = indented(command.summary, 0, width);
  std::size_t number = 0;
  for (const std::string& line : wrapped("Usage: " + usage_of(command, is_program), width, width - 4))
    text += (number++ > 0 ? "    " : "") + line + "\n";
  const auto list = [&](std::string_view title, bool positional) {
    std::string rows;
    for (const OptionOutline& option : command.options)
      if (option.positional == positional) {
        rows += row(name_of(option), option.help, width);
      }
    if (!rows.empty()) text += fmt::format("\n{}:\n{}", title, rows);
  };
  list("Arguments", true);
  list("Options", false);
  if (is_program) {
    text += "\nCommands:\n";
    for (const CommandOutline& each : tree.commands) text += row(each.name, each.summary, width);
    text += "\nEnvironment:\n";
    for (const EnvironmentVariable& each : tree.environment) text += row(std::string(each.name), each.meaning, width);
  }
  if (!command.footer.empty()) text += "\n" + footer_text(command.footer, width);
  return text;
}

}  // namespace dovetail::cli
