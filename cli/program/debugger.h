// The commands of `dovetail debug`: they run a session, set breakpoints and watchpoints, and show its state.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "cli/program/break_place.h"
#include "cli/program/program_image.h"
#include "cli/program/program_input.h"
#include "cli/program/sram_text.h"
#include "isa/verify.h"
#include "simulator/debug/session.h"

namespace dovetail::cli {

class Debugger {
 public:
  // All arguments outlive this object. `print` gets the output of commands. `report`: the verifier's findings.
  // `interrupted` is called before each instruction: true stops the running command.
  Debugger(const ProgramInput& input, simulator::DebugSession& session, const isa::VerifyReport& report,
           std::function<void(std::string_view)> print, std::function<bool()> interrupted);

  enum class After : std::uint8_t { goes_on, quits };
  // Executes one command line. Error: the command is invalid; or, if has_failed(), the program cannot continue.
  Result<After> command(std::string_view line);
  bool has_failed() const { return has_failed_; }

  // Shows where the program is.
  void show_place();
  static std::string help();

 private:
  using Words = std::vector<std::string>;

  // A program stops before each instruction that matches a break point.
  struct BreakPoint {
    std::size_t number = 0;
    std::string text;
    StopsBefore fits;
  };
  struct Watch {
    std::size_t number = 0;
    std::string text;
    std::function<NdArray()> read;
    NdArray last;
  };

  Result<void> step(const Words& words);
  Result<void> go_to_cycle(const Words& words);
  Result<void> go_on(bool within_launch);
  Result<void> set_break(const Words& words);
  Result<void> set_watch(const Words& words);
  Result<void> remove(const Words& words);
  Result<void> print_place(const Words& words);
  Result<void> save(const Words& words);
  void show_queues();
  void show_tokens();
  void show_list();
  void show_races();
  void show_info();

  // Runs one instruction. False: a watch has changed, the program is at its end, or the user has interrupted it.
  Result<bool> advance(bool shows);
  Result<std::function<NdArray()>> reader_of(const Words& words) const;
  Result<std::optional<SramRange>> sram_range(std::string_view text) const;
  // `text`: a name, or ADDRESS:TYPE[EXTENT,...].
  Result<ImageSlice> slice_of(std::string_view text) const;
  NdArray read(const ImageSlice& slice) const;
  std::string cite(std::size_t instruction) const;
  std::string describe(std::size_t instruction) const;

  const ProgramInput& input_;
  simulator::DebugSession& session_;
  const isa::VerifyReport& report_;
  std::function<void(std::string_view)> print_;
  std::function<bool()> interrupted_;
  std::vector<BreakPoint> breaks_;
  std::vector<Watch> watches_;
  std::size_t next_number_ = 1;
  bool has_failed_ = false;
};

}  // namespace dovetail::cli
