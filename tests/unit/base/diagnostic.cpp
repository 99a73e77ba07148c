#include "base/diagnostic.h"

#include <cerrno>

#include "tests/catch.h"

namespace dovetail {

TEST_CASE("a diagnostic prints as one paragraph") {
  const Diagnostic full{"cannot lower conv3", "model.onnx", "tile 40 KiB > buffer 32 KiB", "split oc by 2"};
  CHECK(to_string(full) == "error: cannot lower conv3 (model.onnx): tile 40 KiB > buffer 32 KiB. Hint: split oc by 2");
  CHECK(to_string(full, "warning").starts_with("warning: cannot lower conv3"));
}

TEST_CASE("a diagnostic omits empty parts") {
  CHECK(to_string(Diagnostic{"cannot lower conv3", "", "", ""}) == "error: cannot lower conv3");
  CHECK(to_string(Diagnostic{"a", "", "b", ""}) == "error: a: b");
}

TEST_CASE("diagnostics print one to a line") {
  CHECK(to_string(Diagnostics{{"a", "", "", ""}, {"b", "", "", ""}}) == "error: a\nerror: b");
  CHECK(to_string(Diagnostics{}).empty());
}

TEST_CASE("diagnostic: a lack of resources is distinguished from a user's mistake") {
  for (const int error : {ENOSPC, ENOMEM, EAGAIN, EMFILE, EIO}) CHECK(cause_of(error) == Cause::resource);
  for (const int error : {EACCES, ENOENT, ENOTDIR, EROFS}) CHECK(cause_of(error) == Cause::input);
  const Diagnostic input{"a", "", "", ""}, resource{"b", "", "", "", Cause::resource};
  CHECK(cause_of(Diagnostics{input, input}) == Cause::input);
  CHECK(cause_of(Diagnostics{input, resource}) == Cause::resource);
}

TEST_CASE("diagnostic: an impossible request stays one where other mistakes become failures of work") {
  const Diagnostic input{"a", "", "", ""}, request{"b", "", "", "", Cause::request};
  const Diagnostics failed = failed_work({input, request});
  CHECK(failed[0].cause == Cause::work);
  CHECK(failed[1].cause == Cause::request);
  CHECK(is_mistake(cause_of(Diagnostics{input, request})));
  CHECK_FALSE(is_mistake(cause_of(failed)));
}

}  // namespace dovetail
