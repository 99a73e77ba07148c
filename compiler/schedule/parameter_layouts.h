// The layouts that the steps of a schedule give to a program's parameters.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "compiler/schedule/index_map.h"
#include "compiler/schedule/step.h"
#include "loops/ir.h"

namespace dovetail::schedule {

class ParameterLayouts {
 public:
  // Records an accepted step whose references are resolved: a transform_layout of a parameter of `written`, the program
  // before the first step, is composed with those before. Other steps have no effect.
  Result<void> take(const Step& resolved, const loops::Program& written);

  bool changes(const std::string& parameter) const { return maps_.contains(parameter); }
  // The index map of a parameter; "": its layout is that of the program.
  std::string text(const std::string& parameter) const;
  std::map<std::string, std::string> texts() const;  // of the parameters whose layout changed

 private:
  std::map<std::string, IndexMap> maps_;
};

}  // namespace dovetail::schedule
