#include "isa/verify/index_set.h"

#include <algorithm>
#include <bit>

namespace dovetail::isa {

IndexSet::IndexSet(std::uint64_t depth) : depth_(depth), words_((depth + 63) / 64) {}

void IndexSet::clear() {
  std::fill(words_.begin() + static_cast<std::ptrdiff_t>(low_), words_.begin() + static_cast<std::ptrdiff_t>(high_), 0);
  low_ = high_ = 0;
}

void IndexSet::insert(std::uint64_t element) {
  if (element >= depth_) return;
  const std::size_t word = element / 64;
  if (low_ == high_) {
    low_ = word;
    high_ = word + 1;
  } else {
    low_ = std::min(low_, word);
    high_ = std::max(high_, word + 1);
  }
  words_[word] |= std::uint64_t{1} << (element % 64);
}

void IndexSet::repeat(std::uint64_t step, std::uint64_t count) {
  if (step == 0 || low_ == high_) return;
  // Invariant: S contains the first `covered` copies. A copy whose shift is at least the depth adds nothing, and
  // neither does any later one.
  for (std::uint64_t covered = 1; covered < count && covered < depth_ && covered * step < depth_;) {
    const std::uint64_t more = std::min(covered, count - covered);
    merge_shifted(more * step);
    covered += more;
  }
}

void IndexSet::merge_shifted(std::uint64_t distance) {
  const std::size_t word_shift = distance / 64;
  const unsigned bit_shift = distance % 64;
  const std::size_t high = std::min(words_.size(), high_ + word_shift + (bit_shift != 0 ? 1 : 0));
  // Downward, so that each word is read before it changes.
  for (std::size_t i = high; i-- > low_ + word_shift;) {
    const std::size_t source = i - word_shift;
    std::uint64_t shifted = words_[source] << bit_shift;
    if (bit_shift != 0 && source > low_) shifted |= words_[source - 1] >> (64 - bit_shift);
    words_[i] |= shifted;
  }
  high_ = std::max(high_, high);
  if (depth_ % 64 != 0 && high_ == words_.size()) words_.back() &= (std::uint64_t{1} << (depth_ % 64)) - 1;
}

void IndexSet::runs(std::vector<Extent>& out) const {
  out.clear();
  for (std::size_t i = low_; i < high_; ++i) {
    std::uint64_t word = words_[i];
    while (word != 0) {
      const int first = std::countr_zero(word);
      const int length = std::countr_one(word >> first);
      const std::uint64_t begin = i * 64 + static_cast<std::uint64_t>(first);
      const std::uint64_t end = begin + static_cast<std::uint64_t>(length);
      if (!out.empty() && out.back().end == begin) out.back().end = end;
      else out.push_back({begin, end});
      if (first + length == 64) break;
      word &= ~std::uint64_t{0} << (first + length);
    }
  }
}

}  // namespace dovetail::isa
