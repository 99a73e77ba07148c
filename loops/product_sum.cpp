#include "loops/product_sum.h"

#include <string>

#include "loops/rewrite.h"

namespace dovetail::loops {

bool is_product_sum(const Block& block) {
  const auto found = block.annotations.find(std::string(kSumAnnotation));
  return found != block.annotations.end() && found->second == kProductSum;
}

Program with_fixed_rounding(Program program) {
  program.body = rewrite_stmt(program.body, [](const Stmt& stmt) {
    const auto* block = std::get_if<Block>(&stmt->node);
    if (block == nullptr || !is_product_sum(*block)) return stmt;
    Block copy = *block;
    copy.annotations.erase(std::string(kSumAnnotation));
    return make_stmt(std::move(copy));
  });
  return program;
}

}  // namespace dovetail::loops
