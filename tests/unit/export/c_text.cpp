#include "export/c_text.h"

#include <limits>

#include "export/project.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::exporting;

TEST_CASE("identifiers are made of any name, distinct, and never words of C") {
  CHECK(identifier("conv1") == "conv1");
  CHECK(identifier("/features/features.0/Conv_output_0") == "features_features_0_Conv_output_0");
  CHECK(identifier("größe") == "gr_e");
  CHECK(identifier("0:x") == "t0_x");
  CHECK(identifier("__x__") == "x");
  CHECK(identifier("") == "t");
  CHECK(identifier("int") == "int_");
  CHECK(identifier("expf") == "expf_");
  CHECK(identifier(std::string(100, 'a') + "_the_last_words_are_kept_as_they_are") ==
        "the_last_words_are_kept_as_they_are");
  CHECK(identifier(std::string(100, 'a')).size() == 40);
  std::set<std::string> taken;
  CHECK(unique_identifier("a.b", taken) == "a_b");
  CHECK(unique_identifier("a/b", taken) == "a_b_2");
  CHECK(unique_identifier("a_b", taken) == "a_b_3");
}

TEST_CASE("literals have the type of the number and its exact value") {
  CHECK(integer_literal(-128, DType::int8) == "-128");
  CHECK(integer_literal(std::numeric_limits<std::int32_t>::min(), DType::int32) == "INT32_MIN");
  CHECK(integer_literal(4294967295, DType::uint32) == "4294967295u");
  CHECK(integer_literal(-1, DType::uint64) == "UINT64_C(18446744073709551615)");
  CHECK(integer_literal(4294967296, DType::int64) == "INT64_C(4294967296)");
  CHECK(integer_literal(-4294967296, DType::int64) == "-INT64_C(4294967296)");
  CHECK(integer_literal(std::numeric_limits<std::int64_t>::min(), DType::int64) == "INT64_MIN");
  CHECK(float_literal(1, DType::float32) == "1.0f");
  CHECK(float_literal(0.1, DType::float32) == "0.1f");
  CHECK(float_literal(0.1, DType::float64) == "0.1");
  CHECK(float_literal(0.1, DType::float16) == "0.099975586f");
  CHECK(float_literal(-0.0, DType::float32) == "-0.0f");
  CHECK(float_literal(1e30, DType::float32) == "1e+30f");
  CHECK(float_literal(std::numeric_limits<double>::infinity(), DType::float32) ==
        "dovetail_from_bits_f32(0x7f800000u)");
  CHECK(float_initializer(-std::numeric_limits<double>::infinity(), DType::float32) == "-INFINITY");
  CHECK(float_initializer(std::numeric_limits<double>::quiet_NaN(), DType::float64) == "NAN");
}

TEST_CASE("no name of a model ends a comment, continues a line or is a trigraph") {
  CHECK(comment_text("conv */ int x; /*") == "conv *_ int x; /_");
  CHECK(comment_text("a\nb\\") == "a_b_");
  CHECK(comment_text("??/") == "?_/");
  CHECK(comment_text("über") == "__ber");
}

TEST_CASE("a prefix is an identifier of at most twenty characters") {
  for (const std::string good : {"net", "my_net", "Net2"}) CHECK(check_name(good).ok());
  for (const std::string bad : {"", "2net", "a-b", "int", "_net", "dovetail_x", "a__b", "abcdefghijklmnopqrstu"}) {
    INFO(bad);
    CHECK_FALSE(check_name(bad).ok());
  }
}
