#include "cli/report/evaluation_text.h"

#include "driver/metrics/kinds.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::cli;

TEST_CASE("figures and agreement as text and as JSON") {
  const std::vector<driver::Figure> figures{driver::share_figure("top1", "top-1", 1, 3),
                                            driver::share_figure("top5", "top-5", 2, 3)};
  CHECK(figures_text(figures) == "top-1         1 of 3, 33.33 %\ntop-5         2 of 3, 66.67 %\n");
  CHECK(accuracy_json(figures) == Json{{"samples", 3}, {"top1", 1}, {"top5", 2}});
  CHECK(accuracy_json({figures[0]})["top5"].is_null());
  CHECK(metric_json({"error", {}}, {driver::number_figure("mean_error", "mean error", 0.5)}) ==
        Json{{"name", "error"}, {"figures", {{"mean_error", 0.5}}}});
  CHECK(agreement_text(std::vector<driver::SampleAgreement>{{"y", 2, 1, 2, 5, 1}}) ==
        "agreement     y: 1 of 2, 50.00 % agree (same top-1 class); the first that differs: sample 1\n"
        "difference    y: at most 2, where the largest is 5\n");
}
