// Numeric features of a candidate's loop program from which a ranking learns: work, bytes and accesses by memory scope,
// reuse distances, vectorization and parallelism, intrinsic calls.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/schedule/sketch.h"
#include "compiler/schedule/task.h"

namespace dovetail::tune {

// Incremented when the meaning of the features changes: records with another version are not used for learning.
inline constexpr int kFeatureVersion = 2;

// As many as feature_names() lists, each finite; large counts as logarithms.
std::vector<double> features(const schedule::Task& task, const schedule::Scheduled& scheduled);
std::span<const std::string_view> feature_names();

}  // namespace dovetail::tune
