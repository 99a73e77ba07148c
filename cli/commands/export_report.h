// What an export wrote, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "driver/export_model.h"

namespace dovetail::cli {

struct ExportReport {
  const driver::Exported& exported;
  std::string title, folder;  // of the model or program, and of the files

  std::string text() const;
  Json json() const;  // "kind": "export"
};

}  // namespace dovetail::cli
