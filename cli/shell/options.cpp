#include "cli/shell/options.h"

#include <algorithm>
#include <csignal>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/processor.h"
#include "base/user_folder.h"
#include "cli/shell/board_arguments.h"
#include "cli/shell/board_run.h"
#include "cli/shell/build_facts.h"
#include "cli/shell/command.h"
#include "cli/shell/output.h"
#include "cli/shell/shipment.h"
#include "cli/shell/terminal.h"
#include "driver/targets.h"
#include "isa/config.h"
#include "isa/nearest.h"
#include "isa/system.h"
#include "runtime/executor.h"

namespace dovetail::cli {

namespace {

template <typename Rows, typename Name>
std::vector<std::string> names_of(const Rows& rows, const Name& name) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(name(row));
  return names;
}

// The completion of values that have the same form in every command.
Completion usual_completion(std::string_view placeholder, File file) {
  Completion completion;
  completion.files = file != File::none && file != File::folder;
  completion.folders = file == File::folder || placeholder == "DIR";
  if (placeholder == "CONFIG") {
    completion.files = true;
    completion.words = names_of(isa::named_configs(), [](const auto& row) { return row.name; });
  } else if (placeholder == "ENGINE") {
    completion.words = names_of(runtime::engine_names(), [](std::string_view name) { return name; });
  }
  return completion;
}

// Changes the part of each text after (or before) the last `mark`; the other part stays.
void change_after(std::string& text, char mark, const NamedFiles::Change& change) {
  const std::size_t begin = text.rfind(mark) + 1;
  std::string path = text.substr(begin);
  change(path);
  text.replace(begin, text.npos, path);
}
void change_before(std::string& text, char mark, const NamedFiles::Change& change) {
  const std::size_t end = std::min(text.rfind(mark), text.size());
  std::string path = text.substr(0, end);
  change(path);
  text.replace(0, end, path);
}

}  // namespace

Declared Options::declared(const CLI::Option* option, std::string_view placeholder, File file, PathIn place) {
  if (file != File::none) shared_.files.emplace(option, FileValue{file, place});
  Completion& completion = shared_.completions[option];
  completion = usual_completion(placeholder, file);
  return Declared(completion);
}

Declared Options::positional(std::string_view placeholder, std::string& target, std::string_view help, Need need,
                             File file) {
  auto* option = app_.add_option(std::string(placeholder), target, std::string(help));
  option->required(need == Need::required)->type_name("");
  files_->add(placeholder, file, [&target](const NamedFiles::Change& change) {
    if (!target.empty()) change(target);
  });
  return declared(option, placeholder, file);
}

Declared Options::positionals(std::string_view placeholder, std::vector<std::string>& target, std::string_view help,
                              File file) {
  auto* option = app_.add_option(std::string(placeholder), target, std::string(help));
  option->type_name("");
  files_->add(placeholder, file,
              [&target](const NamedFiles::Change& change) { std::ranges::for_each(target, change); });
  return declared(option, placeholder, file);
}

Declared Options::value(std::string_view name, std::string_view placeholder, std::string& target, std::string_view help,
                        Need need, File file) {
  auto* option = app_.add_option(std::string(name), target, std::string(help));
  option->required(need == Need::required)->type_name(std::string(placeholder));
  files_->add(name, file, [&target](const NamedFiles::Change& change) {
    if (!target.empty()) change(target);
  });
  return declared(option, placeholder, file);
}

Declared Options::value(std::string_view name, std::string_view placeholder, std::optional<std::string>& target,
                        std::string_view help, File file) {
  auto* option = app_.add_option_function<std::string>(
      std::string(name), [&target](const std::string& text) { target = text; }, std::string(help));
  option->type_name(std::string(placeholder));
  files_->add(name, file, [&target](const NamedFiles::Change& change) {
    if (target && !target->empty()) change(*target);
  });
  return declared(option, placeholder, file);
}

Declared Options::values(std::string_view name, std::string_view placeholder, std::vector<std::string>& target,
                         std::string_view help, File file) {
  // Each use of an option has one value: otherwise `--input a=b model.onnx` would consume the model.
  auto* option = app_.add_option(std::string(name), target, std::string(help));
  option->allow_extra_args(false)->type_name(std::string(placeholder));
  files_->add(name, file, [&target](const NamedFiles::Change& change) {
    for (std::string& text : target) change_after(text, '=', change);
  });
  return declared(option, placeholder, file, PathIn::after_equals);
}

void Options::placed_files(std::string_view name, std::string_view placeholder, std::vector<std::string>& target,
                           std::string_view help, File file) {
  auto* option = app_.add_option(std::string(name), target, std::string(help));
  option->allow_extra_args(false)->type_name(std::string(placeholder));
  files_->add(name, file, [&target](const NamedFiles::Change& change) {
    for (std::string& text : target) change_before(text, '@', change);
  });
  declared(option, placeholder, file, PathIn::before_at);
}

void Options::flag(std::string_view name, bool& target, std::string_view help, std::string_view former_name) {
  app_.add_flag(std::string(name), target, std::string(help));
  if (!former_name.empty()) app_.add_flag(std::string(former_name), target)->group("");
}

void Options::json(bool& target, std::string_view help) { flag("--json", target, help); }

void Options::unavailable(std::string_view name, std::string_view why) {
  auto* option = app_.add_option_function<std::vector<std::string>>(
      std::string(name),
      [refusal = &shared_.refusal,
       text = fmt::format("{} is not available in this version: {}", name, why)](const auto&) { *refusal = text; },
      "");
  option->expected(0, 1)->group("");  // accepted with and without a value; not in the help
}

void Options::footer(std::string_view text) { app_.footer(std::string(text)); }

namespace {

// The parser of one command line.
class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;

  Exit run(int argument_count, const char* const* arguments);

 private:
  struct Declaration {
    CLI::App* app;
    std::unique_ptr<Command> command;
    std::shared_ptr<NamedFiles> files;
  };

  void add_common_options(CLI::App& app);
  CommandOutline outline_of(const CLI::App& app) const;
  const Declaration* chosen() const;
  Exit bad_usage(const Declaration* entry, std::string why, std::string_view hint = "") const;
  Exit explain(const CLI::ParseError& error, int argument_count, const char* const* arguments) const;
  Result<Exit> run_chosen(const Declaration& entry);
  Result<std::vector<std::string>> words_for(const CLI::App& command, Shipment& shipment) const;

  CLI::App app_{
      "Dovetail: an accelerator co-design kit. It compiles ONNX models to programs for a decoupled "
      "access-execute accelerator, and reports what they compute and cost.",
      "dovetail"};
  Options::Shared shared_;
  std::vector<Declaration> declared_;
  std::string color_ = "auto";
};

CommandLine::CommandLine() {
  app_.set_version_flag("--version", fmt::format("dovetail {}", build_facts().version), "print the version");
  app_.require_subcommand(1);
  app_.footer(
      "`dovetail help COMMAND` describes a command. docs/reference/command-line.md describes what all commands share.\n"
      "Exit codes: 0 success, 1 the work failed (mismatch, race, deadlock, a limit) or the machine has no more "
      "resources, 2 bad "
      "usage or bad input.\n"
      "Example: dovetail run examples/digits/digits_int8.onnx --target accel --hw 1x16x16-ext --check");
  add_common_options(app_);
  for (const CommandRow& row : all_commands()) {
    CLI::App* subcommand = app_.add_subcommand(std::string(row.name), std::string(row.summary));
    declared_.push_back({subcommand, row.make(), std::make_shared<NamedFiles>()});
    Options options(*subcommand, shared_, declared_.back().files);
    declared_.back().command->declare(options);
    add_common_options(*subcommand);
  }
  shared_.tree.program = outline_of(app_);
  shared_.tree.environment = environment_variables();
  for (const Declaration& entry : declared_) shared_.tree.commands.push_back(outline_of(*entry.app));
}

void CommandLine::add_common_options(CLI::App& app) {
  app.set_help_flag("-h,--help", "print this help");
  auto* color =
      app.add_option("--color", color_, "auto: colors on a terminal, unless NO_COLOR is set (default); always; never");
  color->type_name("WHEN");
  shared_.completions[color].words = {"auto", "always", "never"};
}

CommandOutline CommandLine::outline_of(const CLI::App& app) const {
  CommandOutline outline{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional() && option->get_group().empty()) continue;  // hidden
    OptionOutline& row = outline.options.emplace_back();
    row.positional = option->get_positional();
    if (row.positional) row.names = {option->get_name()};
    for (const std::string& name : option->get_snames()) row.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) row.names.push_back("--" + name);
    row.placeholder = option->get_items_expected_max() == 0 ? "" : option->get_type_name();
    row.help = option->get_description();
    row.required = option->get_required();
    row.repeatable = option->get_items_expected_max() > 1;
    if (const auto known = shared_.completions.find(option); known != shared_.completions.end())
      row.completion = known->second;
  }
  return outline;
}

const CommandLine::Declaration* CommandLine::chosen() const {
  const auto entry = std::ranges::find_if(declared_, [](const Declaration& each) { return each.app->parsed() > 0; });
  return entry == declared_.end() ? nullptr : &*entry;
}

Exit exit_of(const Diagnostics& problems) { return is_mistake(cause_of(problems)) ? Exit::bad_input : Exit::failed; }

Exit CommandLine::bad_usage(const Declaration* entry, std::string why, std::string_view hint) const {
  const std::string line = entry == nullptr ? "dovetail" : fmt::format("dovetail {}", entry->app->get_name());
  return fail(Exit::bad_input, {{fmt::format("bad usage of `{}`", line), "", std::move(why),
                                 fmt::format("{}see `{} --help`", hint, line)}});
}

// "did you mean `--target`? ", if a word is similar.
std::string hint_for(std::string_view given, std::span<const std::string_view> words) {
  const std::string text = isa::suggestion(given, words);
  return text.starts_with("did you mean") ? text + " Or " : std::string();
}

// The library's messages end with a line break or repeat the help; a diagnostic is one paragraph.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  text.erase(text.find_last_not_of(" .") + 1);
  return text;
}

Exit CommandLine::explain(const CLI::ParseError& error, int argument_count, const char* const* arguments) const {
  const Declaration* entry = chosen();
  // An unknown command is reported by its name, not as a missing subcommand.
  const char* const* word =
      std::find_if(arguments + 1, arguments + argument_count, [](const char* text) { return text[0] != '-'; });
  if (entry == nullptr && word != arguments + argument_count && word == arguments + 1) {
    std::vector<std::string_view> names;
    for (const CommandRow& row : all_commands()) names.push_back(row.name);
    const std::string hint = hint_for(*word, names);
    return bad_usage(nullptr,
                     hint.empty()
                         ? fmt::format("there is no command \"{}\"; the commands are {}", *word, fmt::join(names, ", "))
                         : fmt::format("there is no command \"{}\"", *word),
                     hint);
  }
  const CommandOutline* outline = entry == nullptr ? &shared_.tree.program : shared_.tree.find(entry->app->get_name());
  // A required option may be missing because it is misspelled.
  const std::vector<std::string> extra = (entry == nullptr ? app_ : *entry->app).remaining();
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr,
             is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const auto option = std::ranges::find_if(extra, [](const std::string& text) { return text.starts_with('-'); });
  if ((!is_extra && !is_missing) || (is_missing && option == extra.end()) || extra.empty())
    return bad_usage(entry, one_line(error.what()));
  if (option == extra.end()) return bad_usage(entry, fmt::format("the argument \"{}\" is unexpected", extra.front()));
  const std::string given = option->substr(0, option->find('='));
  std::vector<std::string_view> names;
  for (const OptionOutline& each : outline->options)
    if (!each.positional) names.insert(names.end(), each.names.begin(), each.names.end());
  return bad_usage(entry, fmt::format("there is no option \"{}\"", given), hint_for(given, names));
}

Result<Exit> CommandLine::run_chosen(const Declaration& entry) {
  DOVETAIL_TRY(processor_cap());
  DOVETAIL_TRY(entry.files->check());
  if (environment("DOVETAIL_FILES") == "below") DOVETAIL_TRY(entry.files->check_below());
  const CLI::Option* json = entry.app->get_option_no_throw("--json");
  const bool prints_json = json != nullptr && json->count() > 0;
  DOVETAIL_TRY(entry.files->open_standard_streams(prints_json));
  if (prints_json) drop_reports();
  if (entry.files->writes()) finish_without_reader();
  shared_.words->set([&](Shipment& shipment) { return words_for(*entry.app, shipment); });
  const BoardArguments* const board = entry.command->board();
  if (board == nullptr || !board->on) return entry.command->run();
  Shipment shipment;
  DOVETAIL_ASSIGN(remote::CommandOrder order, order_for(*board, *shared_.words, shipment));
  if (order.boards > 1)
    return Diagnostic{"bad usage", fmt::format("--boards {}", board->boards), "one board runs the whole command",
                      "leave out --boards"};
  DOVETAIL_ASSIGN(const auto most_wait, board->most_wait());
  return run_on_board(std::move(order), shipment, most_wait);
}

// The path in a value, in place; nullopt: there is none.
Result<void> change_path(std::string& text, PathIn place,
                         const std::function<Result<std::string>(const std::string&)>& change) {
  const std::size_t begin = place == PathIn::after_equals ? text.rfind('=') + 1 : 0;
  const std::size_t end = place == PathIn::before_at ? std::min(text.rfind('@'), text.size()) : text.size();
  DOVETAIL_ASSIGN(const std::string path, change(text.substr(begin, end - begin)));
  text.replace(begin, end - begin, path);
  return {};
}

// The options first, then the positional arguments. Files that other values name, such as those of A.json+3*B.json, are
// sent too.
Result<std::vector<std::string>> CommandLine::words_for(const CLI::App& command, Shipment& shipment) const {
  std::vector<std::string> words{command.get_name()}, positional;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = !option->get_lnames().empty()   ? "--" + option->get_lnames().front()
                             : !option->get_snames().empty() ? "-" + option->get_snames().front()
                                                             : "";
    if (is_board_option(name)) continue;
    const auto file = shared_.files.find(option);
    for (std::string text : option->results()) {
      if (option->get_items_expected_max() == 0) {
        words.push_back(name);
        continue;
      }
      if (file != shared_.files.end()) {
        DOVETAIL_TRY(change_path(text, file->second.place,
                                 [&](const std::string& path) { return shipment.name_of(file->second.role, path); }));
      }
      DOVETAIL_TRY(shipment.send_named_in(text));
      if (option->get_positional()) positional.push_back(text);
      else if (name.starts_with("--")) words.push_back(name + "=" + text);
      else words.insert(words.end(), {name, text});
    }
  }
  if (!positional.empty()) words.emplace_back("--");
  words.insert(words.end(), positional.begin(), positional.end());
  return words;
}

// Called before parsing, since it also colors the errors of parsing.
void choose_color(int argument_count, const char* const* arguments) {
  constexpr std::string_view kOption = "--color";
  for (int i = 1; i < argument_count; ++i) {
    const std::string_view word = arguments[i];
    std::string_view value;
    if (word == kOption && i + 1 < argument_count) value = arguments[i + 1];
    else if (word.starts_with("--color=")) value = word.substr(kOption.size() + 1);
    if (const auto color = parse_color(value); color.ok()) set_color(*color);
  }
}

Exit CommandLine::run(int argument_count, const char* const* arguments) {
  choose_color(argument_count, arguments);
  if (argument_count <= 1) {  // without a command: list the commands
    write_message(help_text(shared_.tree, shared_.tree.program, help_width()));
    return Exit::bad_input;
  }
  try {
    app_.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    const Declaration* entry = chosen();
    const CommandOutline* outline =
        entry == nullptr ? &shared_.tree.program : shared_.tree.find(entry->app->get_name());
    write_result(help_text(shared_.tree, *outline, help_width()));
    return Exit::success;
  } catch (const CLI::CallForVersion& version) {
    write_result(fmt::format("{}\n", version.what()));
    return Exit::success;
  } catch (const CLI::ParseError& error) {
    return explain(error, argument_count, arguments);
  }
  const Declaration* entry = chosen();
  if (!shared_.refusal.empty()) return bad_usage(entry, shared_.refusal);
  if (const auto color = parse_color(color_); !color.ok()) return fail(Exit::bad_input, color.errors());
  const Result<Exit> result = run_chosen(*entry);
  return result.ok() ? *result : fail(exit_of(result.errors()), result.errors());
}

}  // namespace

Exit run_command_line(int argument_count, const char* const* arguments) {
  return CommandLine().run(argument_count, arguments);
}

}  // namespace dovetail::cli
