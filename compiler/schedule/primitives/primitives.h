// The apply functions of all primitives; each lives in the file of its name, with its rule and a before/after in the
// comment above it.
#pragma once

#include "compiler/schedule/schedule.h"

namespace dovetail::schedule {

Result<loops::Program> apply_split(const loops::Program& program, Step& step, const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_fuse(const loops::Program& program, Step& step, const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_reorder(const loops::Program& program, Step& step,
                                     const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_compute_at(const loops::Program& program, Step& step,
                                        const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_cache_read(const loops::Program& program, Step& step,
                                        const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_cache_write(const loops::Program& program, Step& step,
                                         const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_set_scope(const loops::Program& program, Step& step,
                                       const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_transform_layout(const loops::Program& program, Step& step,
                                              const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_decompose_reduction(const loops::Program& program, Step& step,
                                                 const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_tensorize(const loops::Program& program, Step& step,
                                       const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_annotate(const loops::Program& program, Step& step,
                                      const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_unroll(const loops::Program& program, Step& step, const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_vectorize(const loops::Program& program, Step& step,
                                       const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_parallel(const loops::Program& program, Step& step,
                                      const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_reverse_compute_at(const loops::Program& program, Step& step,
                                                const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_inline(const loops::Program& program, Step& step, const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_reverse_inline(const loops::Program& program, Step& step,
                                            const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_bind(const loops::Program& program, Step& step, const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_vthread(const loops::Program& program, Step& step,
                                     const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_pipeline(const loops::Program& program, Step& step,
                                      const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_sample(const loops::Program& program, Step& step, const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_pad(const loops::Program& program, Step& step, const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_reindex(const loops::Program& program, Step& step,
                                     const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_blockize(const loops::Program& program, Step& step,
                                      const loops::IntrinsicTable& intrinsics);
Result<loops::Program> apply_rfactor(const loops::Program& program, Step& step,
                                     const loops::IntrinsicTable& intrinsics);

}  // namespace dovetail::schedule
