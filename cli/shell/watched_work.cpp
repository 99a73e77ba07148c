#include "cli/shell/watched_work.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "base/thread.h"
#include "cli/shell/command.h"
#include "cli/shell/command_process.h"
#include "cli/shell/output.h"

namespace dovetail::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto kLook = 50ms;             // between checks of clock, signals and progress
constexpr auto kGrace = 2s;              // work that does not check its Work for this long is ended with the process
constexpr double kAnnouncedSeconds = 5;  // work with at least this estimated time is announced
constexpr std::array kSignals{SIGINT, SIGTERM};

// Set by the handler. Global, since signals belong to the process.
volatile std::sig_atomic_t signal_received = 0, signal_count = 0;
std::array<struct sigaction, kSignals.size()> former_actions;

void take_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) {
    signal_received = signal;
    signal_count = signal_count + 1;
  };
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &former_actions[i]);
}

void give_back_signals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_actions[i], nullptr);
}

Diagnostic bad_limit(std::string_view text, std::string why) {
  return {"invalid value for --limit", std::string(text), std::move(why), "write 10s, 5min, 2h or 1e9steps"};
}

std::string steps_text(std::uint64_t steps) { return fmt::format("{:.3g}", static_cast<double>(steps)); }

}  // namespace

Result<WorkLimit> parse_limit(const std::vector<std::string>& texts) {
  struct Unit {
    std::string_view name;
    double seconds;  // 0: steps
  };
  constexpr std::array<Unit, 4> kUnits{{{"steps", 0}, {"min", 60}, {"s", 1}, {"h", 3600}}};  // "steps" before "s"
  WorkLimit limit;
  for (const std::string& text : texts) {
    const auto unit = std::ranges::find_if(kUnits, [&](const Unit& row) { return text.ends_with(row.name); });
    if (unit == kUnits.end()) return bad_limit(text, "it has no unit");
    double value = 0;
    const char* const end = text.data() + text.size() - unit->name.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || rest != end || !(value > 0) || value > 1e18)
      return bad_limit(text, "the number before its unit must be above 0 and at most 1e18");
    if (unit->seconds == 0) {
      limit.steps = std::min(limit.steps.value_or(UINT64_MAX), static_cast<std::uint64_t>(std::ceil(value)));
    } else {
      limit.seconds = std::min(limit.seconds.value_or(HUGE_VAL), value * unit->seconds);
    }
  }
  return limit;
}

std::string duration_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 100 * 60) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 72 * 3600) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.3g} days", seconds / 86400);
}

void LimitArguments::declare(Options& options) {
  options.values(
      "--limit", "LIMIT", limits,
      "stop running after this time, or reject work of more than this number of steps: 10s, 5min, 2h, 1e9steps;\n"
      "repeatable (docs/reference/trust-and-limits.md)");
}

WatchedWork::WatchedWork(const WorkLimit& limit)
    : limit_(limit),
      work_(limit.steps, [this](std::string_view what, const WorkEstimate& estimate) { announce(what, estimate); }) {}

void WatchedWork::begin() {
  start_ = Clock::now();
  line_.emplace();
  take_signals();
  done_ = false;
  try {
    watcher_ = start_thread([this] { watch(); });
  } catch (const std::system_error& error) {
    done_ = true;
    give_back_signals();
    print_message("note          no progress, limits or Ctrl-C for this work, since no thread can be created: {}\n",
                  error.what());
  }
}

void WatchedWork::finish() {
  {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = true;
  }
  ended_.notify_one();
  watcher_.join();
  if (line_) line_->end();
  give_back_signals();
}

// Repeated work is announced once.
void WatchedWork::announce(std::string_view what, const WorkEstimate& estimate) {
  if (estimate.seconds < kAnnouncedSeconds || estimate.seconds < 2 * announced_seconds_) return;
  announced_seconds_ = estimate.seconds;
  print_message("work          {}: {} steps, about {}; {}\n", what, steps_text(estimate.steps),
                duration_text(estimate.seconds), how_to_end());
}

std::string WatchedWork::how_to_end() const {
  return limit_.seconds ? fmt::format("it ends after {} (--limit)", duration_text(*limit_.seconds))
                        : "Ctrl-C ends it, and --limit 60s would";
}

void WatchedWork::announce_part(std::string_view text) const {
  print_message("work          {}; {}\n", text, how_to_end());
}

void WatchedWork::watch() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kLook, [this] { return done_; })) {
    const auto now = Clock::now();
    check_for_stop(now);
    show_progress();
  }
}

void WatchedWork::check_for_stop(Clock::time_point now) {
  if (!work_.stopped()) {
    const std::chrono::duration<double> elapsed = now - start_;
    if (signal_received != 0) work_.stop(signal_received == SIGINT ? "interrupted" : "ended by SIGTERM", stopped_hint_);
    else if (limit_.seconds && elapsed.count() >= *limit_.seconds)
      work_.stop(fmt::format("its limit of {:.3g} s has passed", *limit_.seconds), "raise --limit; " + stopped_hint_);
    else return;
    stopped_at_ = now;
  }
  if (ends_itself_ || !stopped_at_ || now - *stopped_at_ < kGrace) return;
  // A second signal ends the process if the work does not react, for example during a long kernel of machine code. A
  // host program decides itself what the next signal means.
  give_back_signals();
  if (command_process() == Process::hosts) return;
  if (line_) line_->end();
  fail(Exit::failed, {work_.stopped_at("")});
  std::fflush(stdout);
  if (signal_received != 0) end_by_signal(signal_received);
  ::_exit(static_cast<int>(Exit::failed));
}

void WatchedWork::show_progress() {
  if (describe_) {
    if (work_.stopped() || !line_ || !line_->is_due()) return;
    if (const auto now = describe_()) line_->show(now->part, now->text);
    return;
  }
  const WorkEstimate expected = work_.expected();
  const auto all = counted_ ? static_cast<double>(counted_->all) : static_cast<double>(expected.steps);
  if (all <= 0 || work_.stopped()) return;
  if (!line_) return;
  const double done = counted_ ? static_cast<double>(*counted_->done) : static_cast<double>(work_.done());
  line_->count(counted_ ? fmt::format("{} {}", counted_->all, counted_->what)
                        : fmt::format("{} steps", steps_text(expected.steps)),
               done, all);
}

int stopping_signal() { return signal_received; }
int stopping_signals() { return signal_count; }
void forget_signal() {
  signal_received = 0;
  signal_count = 0;
}

}  // namespace dovetail::cli
