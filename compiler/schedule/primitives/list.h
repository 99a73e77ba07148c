// The list of schedule primitives: one line each, sorted by the name in traces. First the name in C++: `split` is a
// member of Schedule, and apply_split in split.cpp, whose comment gives the rule with a before and after, applies it.
// Then the form (form.h): help, argument counts and the parameters of the member derive from it.
// docs/howto/adding-a-primitive.md describes how to add one.
#pragma once

// clang-format off
#define DOVETAIL_PRIMITIVES(PRIMITIVE)                                                    \
  PRIMITIVE(annotate, "annotate LOOP|BLOCK KEY VALUE")                                                  \
  PRIMITIVE(bind, "bind LOOP AXIS")                                                                     \
  PRIMITIVE(blockize, "blockize LOOP -> BLOCK")                                                         \
  PRIMITIVE(cache_read, "cache_read BLOCK BUFFER SCOPE -> CACHED")                                      \
  PRIMITIVE(cache_write, "cache_write BLOCK BUFFER SCOPE -> CACHED")                                    \
  PRIMITIVE(compute_at, "compute_at BLOCK LOOP")                                                        \
  PRIMITIVE(decompose_reduction, "decompose_reduction BLOCK LOOP -> INIT")                              \
  PRIMITIVE(fuse, "fuse OUTER INNER -> FUSED")                                                          \
  PRIMITIVE(inline_block, "inline BLOCK")                                                               \
  PRIMITIVE(matrix_form, "matrix_form BLOCK ROWS COLUMNS DEPTH -> LEFT RIGHT SUM RESULT")               \
  PRIMITIVE(merge, "merge FIRST SECOND -> MERGED")                                                      \
  PRIMITIVE(online_softmax, "online_softmax BLOCK ROWS COLUMNS WIDTH LANES VECTOR")                     \
  PRIMITIVE(pad, "pad BLOCK ITERATOR MULTIPLE")                                                         \
  PRIMITIVE(parallel, "parallel LOOP")                                                                  \
  PRIMITIVE(pipeline, "pipeline LOOP STAGES")                                                           \
  PRIMITIVE(reindex, "reindex BLOCK BUFFER -> REINDEXED")                                               \
  PRIMITIVE(reorder, "reorder LOOP LOOP ...")                                                           \
  PRIMITIVE(reverse_compute_at, "reverse_compute_at BLOCK LOOP")                                        \
  PRIMITIVE(reverse_inline, "reverse_inline BLOCK")                                                     \
  PRIMITIVE(rfactor, "rfactor BLOCK LOOP -> PARTIAL")                                                   \
  PRIMITIVE(sample, "sample NAME RULE SPACE = VALUE")                                                   \
  PRIMITIVE(set_scope, "set_scope BUFFER SCOPE")                                                        \
  PRIMITIVE(slots, "slots BUFFER COUNT")                                                                \
  PRIMITIVE(split, "split LOOP FACTOR -> OUTER INNER")                                                  \
  PRIMITIVE(stream_k, "stream_k BLOCK ROWS COLUMNS DEPTH WORKERS -> LEFT RIGHT SUM START PRODUCT PART WHOLE JOINED") \
  PRIMITIVE(tensorize, "tensorize LOOP INTRINSIC")                                                      \
  PRIMITIVE(transform_layout, "transform_layout BUFFER INDEX_MAP")                                      \
  PRIMITIVE(unroll, "unroll LOOP")                                                                      \
  PRIMITIVE(vectorize, "vectorize LOOP")                                                                \
  PRIMITIVE(vthread, "vthread LOOP")
// clang-format on
