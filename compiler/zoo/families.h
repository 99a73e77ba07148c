// The builders of each family's file. compiler/zoo/zoo.cpp lists them. `size`: of the image, or the sequence.
#pragma once

#include <cstdint>

#include "compiler/zoo/builder.h"

namespace dovetail::zoo {

void resnet18(Builder& b, std::int64_t size);
void resnet50(Builder& b, std::int64_t size);
void resnet8(Builder& b, std::int64_t size);
void mobilenet_v1(Builder& b, std::int64_t size);
void mobilenet_v2(Builder& b, std::int64_t size);
void squeezenet1_1(Builder& b, std::int64_t size);
void vgg16(Builder& b, std::int64_t size);
void bert_base(Builder& b, std::int64_t size);
void bert_tiny(Builder& b, std::int64_t size);
void gpt2(Builder& b, std::int64_t size);
void gpt_block(Builder& b, std::int64_t size);
void llama_block(Builder& b, std::int64_t size);
void stories15m(Builder& b, std::int64_t size);
void stories15m_decode(Builder& b, std::int64_t size);
void vit_tiny(Builder& b, std::int64_t size);
void ds_cnn(Builder& b, std::int64_t size);

}  // namespace dovetail::zoo
