#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/build_facts.h"
#include "cli/command.h"
#include "cli/output.h"

namespace dovetail::cli {

namespace {

// The value, unless it is absent.
std::vector<std::string> given(const std::string& value) {
  return value.empty() ? std::vector<std::string>{} : std::vector{value};
}

}  // namespace

void Options::positional(std::string_view placeholder, std::string& target, std::string_view help, Need need,
                         File file) {
  app_.add_option(std::string(placeholder), target, std::string(help))->required(need == Need::required)->type_name("");
  files_->add(placeholder, file, [&target] { return given(target); });
}

void Options::positionals(std::string_view placeholder, std::vector<std::string>& target, std::string_view help,
                          File file) {
  app_.add_option(std::string(placeholder), target, std::string(help))->type_name("");
  files_->add(placeholder, file, [&target] { return target; });
}

void Options::value(std::string_view name, std::string_view placeholder, std::string& target, std::string_view help,
                    Need need, File file) {
  app_.add_option(std::string(name), target, std::string(help))
      ->required(need == Need::required)
      ->type_name(std::string(placeholder));
  files_->add(name, file, [&target] { return given(target); });
}

void Options::value(std::string_view name, std::string_view placeholder, std::optional<std::string>& target,
                    std::string_view help, File file) {
  app_.add_option_function<std::string>(
          std::string(name), [&target](const std::string& text) { target = text; }, std::string(help))
      ->type_name(std::string(placeholder));
  files_->add(name, file, [&target] { return given(target.value_or("")); });
}

void Options::values(std::string_view name, std::string_view placeholder, std::vector<std::string>& target,
                     std::string_view help, File file) {
  // One value each time: otherwise `--input a=b model.onnx` would swallow the model.
  app_.add_option(std::string(name), target, std::string(help))
      ->allow_extra_args(false)
      ->type_name(std::string(placeholder));
  files_->add(name, file, [&target] {
    std::vector<std::string> paths;
    for (const std::string& text : target) paths.push_back(text.substr(text.rfind('=') + 1));
    return paths;
  });
}

void Options::placed_files(std::string_view name, std::string_view placeholder, std::vector<std::string>& target,
                           std::string_view help, File file) {
  app_.add_option(std::string(name), target, std::string(help))
      ->allow_extra_args(false)
      ->type_name(std::string(placeholder));
  files_->add(name, file, [&target] {
    std::vector<std::string> paths;
    for (const std::string& text : target) paths.push_back(text.substr(0, text.rfind('@')));
    return paths;
  });
}

void Options::flag(std::string_view name, bool& target, std::string_view help) {
  app_.add_flag(std::string(name), target, std::string(help));
}

void Options::unavailable(std::string_view name, std::string_view why) {
  auto* option = app_.add_option_function<std::vector<std::string>>(
      std::string(name),
      [this_refusal = &refusal_,
       text = fmt::format("{} is not available in this version: {}", name, why)](const auto&) { *this_refusal = text; },
      "");
  option->expected(0, 1)->group("");  // taken with and without a value; not in the help
}

void Options::footer(std::string_view text) { app_.footer(std::string(text)); }

namespace {

Exit exit_of(const Diagnostics& problems) {
  return cause_of(problems) == Cause::resource ? Exit::failed : Exit::bad_input;
}

Exit bad_usage(std::string_view command, std::string why) {
  const std::string line = command.empty() ? "dovetail" : fmt::format("dovetail {}", command);
  return fail(Exit::bad_input,
              {{fmt::format("bad usage of `{}`", line), "", std::move(why), fmt::format("see `{} --help`", line)}});
}

// The library's messages end with a line break or repeat the help; ours is one paragraph.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  text.erase(text.find_last_not_of(" .") + 1);
  return text;
}

}  // namespace

Exit run_command_line(int argument_count, const char* const* arguments) {
  CLI::App app(
      "Dovetail: an accelerator co-design kit. From an ONNX model to programs for a decoupled access-execute "
      "accelerator, and to\n"
      "what they compute and cost.",
      "dovetail");
  app.set_version_flag("--version", fmt::format("dovetail {}", build_facts().version));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success, 1 the work failed (mismatch, race, deadlock, a limit) or the machine gave no more, 2 bad "
      "usage or bad input.\n"
      "Example: dovetail run examples/digits/digits_int8.onnx --target accel --hw 1x16x16-ext --check");

  struct Declared {
    CLI::App* app;
    std::unique_ptr<Command> command;
    std::shared_ptr<NamedFiles> files;
  };
  std::vector<Declared> declared;
  std::string refusal;
  for (const CommandRow& row : all_commands()) {
    CLI::App* subcommand = app.add_subcommand(std::string(row.name), std::string(row.summary));
    declared.push_back({subcommand, row.make(), std::make_shared<NamedFiles>()});
    Options options(*subcommand, refusal, declared.back().files);
    declared.back().command->declare(options);
  }

  if (argument_count <= 1) {  // without a command: what there is
    write_message(app.help());
    return Exit::bad_input;
  }
  const auto chosen = [&]() -> const Declared* {
    for (const Declared& entry : declared)
      if (entry.app->parsed()) return &entry;
    return nullptr;
  };
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::Success& success) {  // --help, --version
    app.exit(success);
    return Exit::success;
  } catch (const CLI::ParseError& error) {
    const Declared* entry = chosen();
    // An unknown command is reported by its name, not as a missing subcommand.
    if (entry == nullptr && argument_count > 1 && arguments[1][0] != '-') {
      std::vector<std::string_view> names;
      for (const CommandRow& row : all_commands()) names.push_back(row.name);
      return bad_usage("",
                       fmt::format("there is no command \"{}\"; there are {}", arguments[1], fmt::join(names, ", ")));
    }
    return bad_usage(entry ? entry->app->get_name() : "", one_line(error.what()));
  }
  const Declared* entry = chosen();
  if (!refusal.empty()) return bad_usage(entry->app->get_name(), refusal);
  if (const auto distinct = entry->files->check(); !distinct.ok()) return fail(Exit::bad_input, distinct.errors());
  const Result<Exit> result = entry->command->run();
  return result.ok() ? *result : fail(exit_of(result.errors()), result.errors());
}

}  // namespace dovetail::cli
