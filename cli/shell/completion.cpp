#include "cli/shell/completion.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dovetail::cli {

namespace {

// The text in single quotes, which all three shells have. A quote inside is escaped by a backslash in fish; in the
// other shells the quotes are closed before it and opened again.
std::string in_quotes(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + safe + "'";
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// The first clause of the first line, which is enough next to a name.
std::string brief(std::string_view help) {
  constexpr std::size_t kMost = 70;
  std::string text(help.substr(0, help.find_first_of("\n;")));
  if (text.size() <= kMost) return text;
  text.resize(std::min(text.rfind(' ', kMost), text.size()));
  return text + " ...";
}

std::string bash_action(const Completion& completion) {
  std::string action;
  if (!completion.words.empty())
    action += fmt::format("{} {}; ", completion.list ? "_dovetail_list" : "_dovetail_words",
                          in_quotes(joined(completion.words)));
  if (completion.files) action += "_dovetail_files -f; ";
  else if (completion.folders) action += "_dovetail_files -d; ";
  return action.empty() ? ": ; " : action;
}

constexpr std::string_view kBashHead =
    R"(# Completion of `dovetail` for bash 4.3 or later; written by `dovetail completion bash`.

_dovetail_words() {  # of $1, those that begin with $cur
  local word
  for word in $1; do [[ $word == "$cur"* ]] && COMPREPLY+=("$word"); done
}
_dovetail_list() {  # the same after the last comma of $cur
  local word before=''
  [[ $cur == *,* ]] && before=${cur%,*},
  for word in $1; do
    [[ ,$before == *",$word,"* ]] || { [[ $before$word == "$cur"* ]] && COMPREPLY+=("$before$word"); }
  done
}
_dovetail_files() {  # -f files, -d folders
  local path
  compopt -o filenames 2>/dev/null
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$cur")
}

)";

constexpr std::string_view kBashTail = R"(
_dovetail() {
  local cur=${COMP_WORDS[COMP_CWORD]} option='' command=${COMP_WORDS[1]} takes='' flags='' place=0 i word
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _dovetail_words "$_dovetail_commands --help --version --color"
    return
  fi
  _dovetail_options "$command"
  # How many arguments are in front, and of which option this is the value; bash takes NAME=FILE for three words.
  for ((i = 2; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == = ]]; then
      ((++i))
    elif [[ $word == -* ]]; then
      option=''
      if [[ " $takes " == *" $word "* ]]; then
        option=$word
        ((++i))
        [[ ${COMP_WORDS[i]} == = ]] && ((++i))
      fi
    else
      option=''
      ((++place))
    fi
  done
  ((i > COMP_CWORD)) || [[ $cur == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]] || option=''
  if [[ $cur == = ]]; then cur=''; fi
  if [[ -n $option ]]; then
    _dovetail_value "$command" "$option"
  elif [[ $cur == -* ]]; then
    _dovetail_words "$flags"
  else
    _dovetail_argument "$command" "$place"
  fi
}
complete -F _dovetail dovetail
)";

}  // namespace

std::string bash_completion(const CommandTree& tree) {
  std::vector<std::string> names;
  for (const CommandOutline& command : tree.commands) names.push_back(command.name);
  std::string text(kBashHead), options = "_dovetail_options() {\n  case $1 in\n",
                               values = "_dovetail_value() {\n  case \"$1 $2\" in\n",
                               arguments = "_dovetail_argument() {\n  case \"$1 $2\" in\n";
  text += fmt::format("_dovetail_commands={}\n\n", in_quotes(joined(names)));
  for (const CommandOutline& command : tree.commands) {
    std::vector<std::string> takes, flags;
    int place = 0;
    for (const OptionOutline& option : command.options) {
      if (option.positional) {
        arguments += fmt::format("    '{} '{}) {};;\n", command.name,
                                 option.repeatable ? "*" : fmt::format("{}", place), bash_action(option.completion));
        ++place;
        continue;
      }
      flags.insert(flags.end(), option.names.begin(), option.names.end());
      if (!option.takes_value()) continue;
      takes.insert(takes.end(), option.names.begin(), option.names.end());
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(in_quotes(command.name + " " + name));
      values += fmt::format("    {}) {};;\n", fmt::join(patterns, "|"), bash_action(option.completion));
    }
    options +=
        fmt::format("    {}) takes={} flags={} ;;\n", command.name, in_quotes(joined(takes)), in_quotes(joined(flags)));
  }
  return text + options + "  esac\n}\n" + values + "  esac\n}\n" + arguments + "  esac\n}\n" + std::string(kBashTail);
}

namespace {

// Text for _arguments, in which a colon and brackets are escaped.
std::string zsh_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') safe += '\\';
    safe += c;
  }
  return safe;
}

std::string zsh_action(const OptionOutline& option) {
  const Completion& completion = option.completion;
  const std::string files = completion.files ? "_files" : completion.folders ? "_files -/" : "";
  if (option.placeholder.find("=FILE") != option.placeholder.npos) return "{compset -P \"*=\"; _files}";
  if (completion.words.empty()) return files.empty() ? "( )" : files;
  if (completion.list) return fmt::format("_values -s , value {}", joined(completion.words));
  if (files.empty()) return fmt::format("({})", joined(completion.words));
  // A colon without a backslash would end the action.
  return fmt::format("{{_alternative \"words\\:name\\:({})\" \"files\\:file\\:{}\"}}", joined(completion.words), files);
}

std::string zsh_option(const OptionOutline& option) {
  const std::string help = zsh_text(brief(option.help));
  if (option.positional)
    return in_quotes(
        fmt::format("{}:{}:{}", option.repeatable ? "*" : "", zsh_text(option.names.front()), zsh_action(option)));
  std::string all;
  for (const std::string& name : option.names) {
    const std::string value =
        option.takes_value() ? fmt::format(":{}:{}", zsh_text(option.placeholder), zsh_action(option)) : "";
    all += (all.empty() ? "" : " ") +
           in_quotes(fmt::format("{}{}[{}]{}", option.repeatable ? "*" : "", name, help, value));
  }
  return all;
}

}  // namespace

std::string zsh_completion(const CommandTree& tree) {
  std::string text =
      "#compdef dovetail\n# Completion of `dovetail` for zsh; written by `dovetail completion zsh`.\n\n"
      "_dovetail() {\n  local -a commands\n  local curcontext=$curcontext state line\n  commands=(\n";
  for (const CommandOutline& command : tree.commands)
    text += fmt::format("    {}\n", in_quotes(command.name + ":" + zsh_text(command.summary)));
  text +=
      "  )\n  _arguments -C '--version[print the version]' '1:command:->command' '*::argument:->argument'\n"
      "  case $state in\n    command) _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const CommandOutline& command : tree.commands) {
    text += fmt::format("        {})\n          _arguments", command.name);
    for (const OptionOutline& option : command.options) text += " \\\n            " + zsh_option(option);
    text += "\n          ;;\n";
  }
  return text +
         "      esac ;;\n  esac\n}\n\n"
         "# The file is sourced, or found by its name.\n"
         "if [[ $funcstack[1] == _dovetail ]]; then _dovetail \"$@\"; else compdef _dovetail dovetail; fi\n";
}

std::string fish_completion(const CommandTree& tree) {
  std::string text =
      "# Completion of `dovetail` for fish; written by `dovetail completion fish`.\n\ncomplete -c dovetail -f\n";
  for (const CommandOutline& command : tree.commands)
    text += fmt::format("complete -c dovetail -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        in_quotes(command.summary));
  for (const CommandOutline& command : tree.commands) {
    const std::string when = fmt::format("complete -c dovetail -n '__fish_seen_subcommand_from {}'", command.name);
    text += "\n";
    for (const OptionOutline& option : command.options) {
      const Completion& completion = option.completion;
      std::string words;
      if (completion.list) words = fmt::format(" -a '(__fish_append , {})'", joined(completion.words));
      else if (!completion.words.empty()) words = fmt::format(" -a {}", in_quotes(joined(completion.words)));
      if (completion.folders && !completion.files) words += " -a '(__fish_complete_directories)'";
      if (option.positional) {
        if (!words.empty() || completion.files)
          text += fmt::format("{}{}{}\n", when, completion.files ? " -F" : "", words);
        continue;
      }
      text += when;
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
      if (option.takes_value()) text += completion.files ? " -r -F" : " -x";
      text += fmt::format("{} -d {}\n", words, in_quotes(brief(option.help)));
    }
  }
  return text;
}

const std::vector<Shell>& shells() {
  static const std::vector<Shell> kShells{{"bash", "dovetail.bash", bash_completion},
                                          {"zsh", "_dovetail", zsh_completion},
                                          {"fish", "dovetail.fish", fish_completion}};
  return kShells;
}

}  // namespace dovetail::cli
