// The list of schedule primitives. A new one: its file here, its declaration in primitives.h, its row, a test.
#include <array>

#include "compiler/schedule/primitives/primitives.h"

namespace dovetail::schedule {

std::span<const Primitive> all_primitives() {
  static constexpr std::array rows{
      Primitive{"annotate", "annotate LOOP|BLOCK KEY VALUE", 3, 3, 0, apply_annotate},
      Primitive{"bind", "bind LOOP AXIS", 2, 2, 0, apply_bind},
      Primitive{"blockize", "blockize LOOP -> BLOCK", 1, 1, 1, apply_blockize},
      Primitive{"cache_read", "cache_read BLOCK BUFFER SCOPE -> CACHED", 3, 3, 1, apply_cache_read},
      Primitive{"cache_write", "cache_write BLOCK BUFFER SCOPE -> CACHED", 3, 3, 1, apply_cache_write},
      Primitive{"compute_at", "compute_at BLOCK LOOP", 2, 2, 0, apply_compute_at},
      Primitive{"decompose_reduction", "decompose_reduction BLOCK LOOP -> INIT", 2, 2, 1, apply_decompose_reduction},
      Primitive{"fuse", "fuse OUTER INNER -> FUSED", 2, 2, 1, apply_fuse},
      Primitive{"inline", "inline BLOCK", 1, 1, 0, apply_inline},
      Primitive{"pad", "pad BLOCK ITERATOR MULTIPLE", 3, 3, 0, apply_pad},
      Primitive{"parallel", "parallel LOOP", 1, 1, 0, apply_parallel},
      Primitive{"pipeline", "pipeline LOOP STAGES", 2, 2, 0, apply_pipeline},
      Primitive{"reindex", "reindex BLOCK BUFFER -> REINDEXED", 2, 2, 1, apply_reindex},
      Primitive{"reorder", "reorder LOOP LOOP ...", 2, 64, 0, apply_reorder},
      Primitive{"reverse_compute_at", "reverse_compute_at BLOCK LOOP", 2, 2, 0, apply_reverse_compute_at},
      Primitive{"reverse_inline", "reverse_inline BLOCK", 1, 1, 0, apply_reverse_inline},
      Primitive{"rfactor", "rfactor BLOCK LOOP -> PARTIAL", 2, 2, 1, apply_rfactor},
      Primitive{"sample", "sample NAME among CANDIDATES = VALUE", 3, 5, 0, apply_sample},
      Primitive{"set_scope", "set_scope BUFFER SCOPE", 2, 2, 0, apply_set_scope},
      Primitive{"split", "split LOOP FACTOR -> OUTER INNER", 2, 2, 2, apply_split},
      Primitive{"tensorize", "tensorize LOOP INTRINSIC", 2, 2, 0, apply_tensorize},
      Primitive{"transform_layout", "transform_layout BUFFER INDEX_MAP", 2, 2, 0, apply_transform_layout},
      Primitive{"unroll", "unroll LOOP", 1, 1, 0, apply_unroll},
      Primitive{"vectorize", "vectorize LOOP", 1, 1, 0, apply_vectorize},
      Primitive{"vthread", "vthread LOOP", 1, 1, 0, apply_vthread},
  };
  return rows;
}

}  // namespace dovetail::schedule
