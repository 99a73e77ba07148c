// Catch2, of either major version: 2.13 (Debian 12) and 3 (Ubuntu 24.04). Tests include this header and use the names
// common to both; the only string matcher is ContainsSubstring, under its name of version 3.
// With a guard instead of #pragma once, which fails if a compiler cache returns the precompiled header of a version
// that differs in comments: GCC recognizes the file by its content.
#ifndef DOVETAIL_TESTS_CATCH_H
#define DOVETAIL_TESTS_CATCH_H

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
namespace Catch::Matchers {
inline auto ContainsSubstring(const std::string& part) { return Contains(part); }
}  // namespace Catch::Matchers
#endif

#endif  // DOVETAIL_TESTS_CATCH_H
