#include "cli/shell/prompt.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <new>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "base/file.h"
#include "cli/shell/line_editor.h"
#include "cli/shell/output.h"

namespace dovetail::cli {

namespace {

// Global, since signals belong to the process.
volatile std::sig_atomic_t was_interrupted = 0;

// The next Ctrl-C only sets a flag. The handler has no SA_RESTART, so that Ctrl-C ends a line that is being typed.
void note_interrupt() {
  was_interrupted = 0;
  struct sigaction action {};
  action.sa_handler = [](int) { was_interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

struct Prompt::State {
  std::string name = "stdin", text, prompt, last;
  std::size_t at = 0, line = 0;
  bool is_file = false, is_terminal = false;
  std::unique_ptr<LineEditor> editor;  // nullptr: the line editing of the terminal itself

  std::optional<std::string> read_file_line() {
    if (at >= text.size()) return std::nullopt;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string taken = text.substr(at, end - at);
    at = end + 1;
    return taken;
  }
  std::optional<std::string> read_stdin_line() {
    std::string taken;
    if (!flush_output()) return std::nullopt;
    if (std::getline(std::cin, taken)) return taken;
    if (std::cin.bad()) throw std::bad_alloc();  // the stream caught it
    return std::nullopt;
  }
  std::optional<std::string> read_typed_line() {
    for (;;) {
      std::optional<std::string> typed;
      if (editor) {
        if (!flush_output()) return std::nullopt;
        note_interrupt();
        typed = editor->read();
      } else {
        print("{}", prompt);
        struct sigaction action {};
        action.sa_handler = SIG_DFL;
        sigaction(SIGINT, &action, nullptr);
        typed = read_stdin_line();
      }
      if (!typed && was_interrupted != 0 && editor) {
        editor->drop_line();
        print("\n");
        continue;
      }
      note_interrupt();
      if (!typed) {
        print("\n");  // after the prompt, where Ctrl-D was pressed
        return std::nullopt;
      }
      if (typed->find_first_not_of(" \t") == std::string::npos) typed = last;
      last = *typed;
      return typed;
    }
  }
};

Prompt::Prompt(std::unique_ptr<State> state) : state_(std::move(state)) {}
Prompt::Prompt(Prompt&&) noexcept = default;
Prompt& Prompt::operator=(Prompt&&) noexcept = default;
Prompt::~Prompt() = default;

Result<Prompt> Prompt::open(const std::optional<std::string>& path, std::string_view text) {
  auto state = std::make_unique<State>();
  state->prompt = std::string(text);
  if (path) {
    DOVETAIL_ASSIGN(state->text, read_text_file(*path));
    state->name = *path;
    state->is_file = true;
  } else if (isatty(STDIN_FILENO) == 1) {
    state->is_terminal = true;
    // No line editing if stdout is not a terminal: another program may read the output by line.
    if (isatty(STDOUT_FILENO) == 1) state->editor = LineEditor::make(text);
  }
  return Prompt(std::move(state));
}

bool Prompt::is_terminal() const { return state_->is_terminal; }
std::string Prompt::place() const { return fmt::format("{}:{}", state_->name, state_->line); }

std::optional<std::string> Prompt::next() {
  auto line = state_->is_file       ? state_->read_file_line()
              : state_->is_terminal ? state_->read_typed_line()
                                    : state_->read_stdin_line();
  if (line) ++state_->line;
  return line;
}

bool Prompt::interrupted() const { return state_->is_terminal && was_interrupted != 0; }

}  // namespace dovetail::cli
