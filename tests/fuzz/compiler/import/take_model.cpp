#include "tests/fuzz/compiler/import/take_model.h"

#include "compiler/pipeline.h"
#include "tests/fuzz/target.h"

namespace dovetail::test {

Taken take_model(std::span<const std::byte> bytes) {
  Taken taken;
  auto imported = import::import_onnx(bytes, "fuzz.onnx");
  if (!imported) {
    taken.broken = incomplete_diagnostic(imported.errors());
    return taken;
  }
  taken.imported = true;
  if (!graph::verify(imported->graph).ok()) {
    taken.broken = "the imported graph does not verify";
    return taken;
  }
  CompileOptions options;
  options.stop_after = "graph";
  options.dump = {"all"};
  options.on_dump = [](std::string_view, std::string_view) {};
  const auto compiled = compile(*std::move(imported), options);
  if (!compiled) taken.broken = incomplete_diagnostic(compiled.errors());
  else if (!graph::verify(compiled->integer).ok()) taken.broken = "the integer graph does not verify";
  taken.compiled = compiled.ok();
  return taken;
}

}  // namespace dovetail::test
