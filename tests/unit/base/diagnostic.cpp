#include "base/diagnostic.h"

#include "tests/catch.h"

namespace dovetail {

TEST_CASE("a diagnostic prints as one paragraph") {
  const Diagnostic full{"cannot lower conv3", "model.onnx", "tile 40 KiB > buffer 32 KiB", "split oc by 2"};
  CHECK(to_string(full) == "error: cannot lower conv3 (model.onnx): tile 40 KiB > buffer 32 KiB. Hint: split oc by 2");
  CHECK(to_string(full, "warning").starts_with("warning: cannot lower conv3"));
}

TEST_CASE("a diagnostic leaves out what is empty") {
  CHECK(to_string(Diagnostic{"cannot lower conv3", "", "", ""}) == "error: cannot lower conv3");
  CHECK(to_string(Diagnostic{"a", "", "b", ""}) == "error: a: b");
}

TEST_CASE("diagnostics print one a line") {
  CHECK(to_string(Diagnostics{{"a", "", "", ""}, {"b", "", "", ""}}) == "error: a\nerror: b");
  CHECK(to_string(Diagnostics{}).empty());
}

}  // namespace dovetail
