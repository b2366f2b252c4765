#include "text/model.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace mlxcel {
namespace {

constexpr size_t kSmallText = 512;     // below, clearing a cache costs more than it saves
constexpr size_t kMaxSlots = 1 << 15;  // 1.6 MB: about a second-level cache

}  // namespace

PieceCache::PieceCache(size_t bytes) {
  if (bytes >= kSmallText) slots_.resize(std::min(kMaxSlots, std::bit_ceil(bytes / 8)));
}

PieceCache::Slot* PieceCache::slot(std::string_view piece) {
  if (slots_.empty() || piece.size() > kMaxBytes) return nullptr;
  return &slots_[std::hash<std::string_view>{}(piece) & (slots_.size() - 1)];
}

void Model::encode(std::string_view piece, PieceCache& cache, std::vector<int32_t>& ids) const {
  PieceCache::Slot* slot = cache.slot(piece);
  if (!slot) return encode(piece, ids);
  if (slot->bytes == piece.size() && std::memcmp(slot->key, piece.data(), piece.size()) == 0) {
    ids.insert(ids.end(), slot->ids, slot->ids + slot->count);
    return;
  }
  const size_t begin = ids.size();
  encode(piece, ids);
  const size_t count = ids.size() - begin;
  if (count > PieceCache::kMaxIds) return;
  slot->bytes = static_cast<uint8_t>(piece.size());
  slot->count = static_cast<uint8_t>(count);
  std::memcpy(slot->key, piece.data(), piece.size());
  std::copy_n(ids.data() + begin, count, slot->ids);
}

}  // namespace mlxcel
