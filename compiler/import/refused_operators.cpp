#include "compiler/import/refused_operators.h"

#include <algorithm>

namespace dovetail::import {

std::span<const RefusedOperators> refused_operators() {
  static const std::vector<RefusedOperators> rows{
      {{"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"},
       "its results are random, so runs cannot be compared",
       "export the model for inference, or make the random tensor an input"},
      {{"RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"},
       "it works on strings, and string tensors are not supported",
       "do the text processing before the model"},
      {{"ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
        "SequenceLength", "SequenceMap", "SplitToSequence"},
       "the types and extents of a sequence are not known at compile time",
       "use Split and Concat, or several outputs"},
      {{"Optional", "OptionalGetElement", "OptionalHasElement"},
       "whether an optional value is present is not known at compile time",
       "export the model with the value, or without it"},
      {{"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"},
       "it is the loss of a training step",
       "export the model for inference"},
      {{"BlackmanWindow", "DFT", "HammingWindow", "HannWindow", "MelWeightMatrix", "STFT"},
       "signal processing is not supported",
       "compute the spectrogram before the model"},
      {{"ImageDecoder"}, "it decodes image files", "decode the image before the model"},
  };
  return rows;
}

const RefusedOperators* find_refused(std::string_view op) {
  const auto row = std::ranges::find_if(refused_operators(), [&](const RefusedOperators& refused) {
    return std::ranges::find(refused.ops, op) != refused.ops.end();
  });
  return row == refused_operators().end() ? nullptr : &*row;
}

}  // namespace dovetail::import
