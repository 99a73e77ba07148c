// A user's program that keeps a record of tuning and reads it back.
#include <cstdio>

#include <compiler/tune/records.h>

int main(int argument_count, char** arguments) {
  using dovetail::tune::Record;
  using dovetail::tune::Records;
  if (argument_count != 2) return 2;
  Record record;
  record.task = "task";
  record.machine = "machine";
  record.cost = 1;
  auto records = Records::open(arguments[1], Records::Open::write);
  if (!records.ok() || !records->add({record}).ok()) return 1;
  if (const auto best = records->best("task", "machine", 1); !best.ok() || best->record != record) return 1;
  std::puts("the installed kit keeps records");
  return 0;
}
