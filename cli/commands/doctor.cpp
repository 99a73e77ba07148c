#include <memory>

#include "cli/commands/all.h"
#include "cli/report/doctor_report.h"
#include "cli/shell/output.h"

namespace dovetail::cli {

namespace {

class Doctor : public Command {
 public:
  void declare(Options& options) override {
    options.json(json_);
    options.footer("Example: dovetail doctor");
  }

  Result<Exit> run() override {
    if (json_) print_json(doctor_json());
    else print("{}", doctor_text());
    return Exit::success;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace dovetail::cli
