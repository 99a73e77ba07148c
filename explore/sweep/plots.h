// Plots and tables of a sweep for papers: SVG and PDF with colors for any color vision, LaTeX and CSV.
#pragma once

#include <map>
#include <string>

#include "base/json.h"

namespace dovetail::explore {

// Contents by file name, of SweepReport::json(): points and front across each two of the first three objectives, the
// effect of a step of each parameter, and of the point with the least first objective the layers of each model by
// cause, their roofline, and tables. Throws Json::exception if a member is missing or has another type.
std::map<std::string, std::string> sweep_plots(const Json& report);

}  // namespace dovetail::explore
