#include "bench/cpu/ours.h"

namespace dovetail::bench {
namespace {

Diagnostic not_available() { return {"cannot measure our side", "", "not available yet: there is no CPU back end", "compare the peers alone"}; }

}  // namespace

Result<Candidate> make_ours(const Problem&, int) { return not_available(); }
Result<Candidate> make_ours(const graph::Graph&, const NdArray&, int) { return not_available(); }

}  // namespace dovetail::bench
