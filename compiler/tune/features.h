// Numbers about a candidate's loop program that a ranking learns from: work, bytes and touches by memory scope, reuse
// distances, vector and parallel shape, calls of intrinsics.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"

namespace dovetail::tune {

// Raised with every change of what the numbers mean: records of another version are not learned from.
inline constexpr int kFeatureVersion = 2;

// As many as feature_names() has, each finite; large counts as logarithms.
std::vector<double> features(const schedule::Task& task, const schedule::Scheduled& scheduled);
std::span<const std::string_view> feature_names();

}  // namespace dovetail::tune
