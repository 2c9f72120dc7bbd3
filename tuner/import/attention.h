// Attention as its parts: scores (a product of queries and keys with all that is done to a score),
// Softmax, and the product of the weights with the values.
//
// Query heads that share a key head are a dimension of their own: everything between stands as
// [batch, key heads, members, queries, keys], and keys and values are read once for all members.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/import/expand.h"

namespace kindred {

// A tensor [batch, length, heads, width], or [batch, heads, length, width], of which head h is row
// first_head + h * head_step among `all_heads`; batch b is row first_batch + b among `all_batches`;
// the first `length` of `all_places` are meant.
struct Heads {
  std::string name;
  bool heads_first = false;
  std::int64_t batch = 1, length = 1, heads = 1, width = 1;
  std::int64_t all_heads = 1, first_head = 0, head_step = 1;
  std::int64_t all_batches = 1, first_batch = 0;
  std::int64_t all_places = 1;
};

// One that is a tensor of its own.
Heads WholeHeads(std::string name, bool heads_first, std::int64_t batch, std::int64_t length,
                 std::int64_t heads, std::int64_t width);

// `own` behind what input `past` of the node holds, [batch, heads, length, width], if it is there:
// output `output` of the node, if something reads that. Error (kBadInput): the past does not fit.
Result<Heads> BehindPast(Expander& e, const Heads& own, int past, int output);

// Reads heads in the lowering whose input `input` they are.
class HeadReader {
 public:
  // `members`: heads h * members to h * members + members - 1 are read as [h, member].
  HeadReader(OpContext& op, int input, const Heads& heads, std::int64_t members);
  ExprPtr Load(const ExprPtr& batch, const ExprPtr& head, const ExprPtr& member,
               const ExprPtr& place, const ExprPtr& channel) const;

 private:
  OpContext& op_;
  Heads heads_;
  std::int64_t members_;
  bool split_;  // members are a dimension of the view
  int view_;
};

struct ScorePlace {
  ExprPtr batch, head, member, query, key;
};

// What becomes of a score; reads inputs of the lowering from `first` on.
struct ScoreTerm {
  std::vector<std::string> inputs;
  std::function<ExprPtr(OpContext& op, int first, const ScorePlace& at, const ExprPtr& score)>
      apply;
};

class AttentionWriter {
 public:
  // q.heads is a multiple of k.heads.
  AttentionWriter(Expander& e, Heads q, Heads k, Heads v);

  // [batch, key heads, members, queries, keys]
  Shape ScoreShape() const;
  std::int64_t members() const { return q_.heads / k_.heads; }

  // The scaled products after `terms`, in order. `output` of the expanded node (-1: none) gets the
  // scores as they are after the first `tapped` terms, as [batch, heads, queries, keys].
  Result<std::string> Scores(double scale, DataType type, const std::vector<ScoreTerm>& terms,
                             int output = -1, std::size_t tapped = 0);

  struct Rest {
    bool guarded = false;  // all keys of a query may be hidden: its weights are 0 then
    std::string sink;      // a score for each head of no key, "" for none
  };
  Result<std::string> Softmax(const std::string& scores, const Rest& rest);

  // weights * values into `output` of the expanded node: [batch, queries, heads * width], or with
  // `heads_first` [batch, heads, queries, width].
  Result<void> Weigh(const std::string& weights, bool heads_first, int output);

 private:
  Expander& e_;
  Heads q_, k_, v_;
};

// --- terms

ScoreTerm SoftCap(double cap);
// Keys behind query + offset are hidden.
ScoreTerm Causal(std::int64_t offset);
// A tensor that broadcasts to [batch, heads, queries, keys] from its end: added, or of type bool
// true where a key is seen. Keys beyond its last dimension are hidden.
ScoreTerm Mask(const Expander& e, const std::string& mask, const Shape& scores);

ExprPtr Infinity(DataType type, bool negative);
// `score` where `seen` holds, else -inf.
ExprPtr Seen(const ExprPtr& seen, const ExprPtr& score);

}  // namespace kindred
