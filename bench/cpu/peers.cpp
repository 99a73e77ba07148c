#include "bench/cpu/peers.h"

#ifdef DOVETAIL_HAVE_ONEDNN
#include "bench/cpu/onednn/layer.h"
#include "bench/cpu/onednn/network.h"
#endif
#ifdef DOVETAIL_HAVE_OPENBLAS
#include "bench/cpu/openblas/product.h"
#endif

namespace dovetail::bench {

std::vector<Peer> peers() {
  std::vector<Peer> list{{"oneDNN", "", "libdnnl-dev"}, {"OpenBLAS", "", "libopenblas-dev"}};
#ifdef DOVETAIL_HAVE_ONEDNN
  list[0].version = onednn::version();
#endif
#ifdef DOVETAIL_HAVE_OPENBLAS
  list[1].version = openblas::version();
#endif
  return list;
}

Result<std::vector<Candidate>> peer_candidates([[maybe_unused]] const Problem& problem) {
  std::vector<Candidate> candidates;
#ifdef DOVETAIL_HAVE_ONEDNN
  candidates.push_back(onednn::make_layer(problem, onednn::Layout::own));
  candidates.push_back(onednn::make_layer(problem, onednn::Layout::plain));
#endif
#ifdef DOVETAIL_HAVE_OPENBLAS
  if (auto candidate = openblas::make_product(problem)) candidates.push_back(*std::move(candidate));
#endif
  return candidates;
}

Result<std::vector<Candidate>> peer_candidates([[maybe_unused]] const graph::Graph& network,
                                               [[maybe_unused]] const NdArray& input) {
  std::vector<Candidate> candidates;
#ifdef DOVETAIL_HAVE_ONEDNN
  DOVETAIL_ASSIGN(Candidate candidate, onednn::make_network(network, input));
  candidates.push_back(std::move(candidate));
#endif
  return candidates;
}

}  // namespace dovetail::bench
