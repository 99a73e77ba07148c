// The models and pictures of the digits example, which the tests of commands use.
#pragma once

#include <string>

namespace dovetail::test {

inline const std::string kDigitsFolder = DOVETAIL_SOURCE_DIR "/examples/digits/";
inline const std::string kDigits = kDigitsFolder + "digits_int8.onnx";
inline const std::string kFloatDigits = kDigitsFolder + "digits_float.onnx";

}  // namespace dovetail::test
