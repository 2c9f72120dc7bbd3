// Parameters of the tree search.
#pragma once

#include <memory>

#include "schedules/base/parameters.h"
#include "search/searcher.h"

namespace kindred {

struct MctsParameters {
  double overgenerate = 12;
  double minimum_pool = 64;
  double random_part = 0.2;
  double mutation_part = 0.35;
  double mutation_parents = 8;
  double refined_part = 0.5;
  double exploration = 1.0;
  double first_play_reduction = 0.2;
  double max_weight = 0.5;
  double widening_scale = 2;
  double widening_power = 0.4;
  double prior_temperature = 0.15;
  double prior_noise = 0.25;
  double virtual_loss = 1;
  double leaves_at_once = 8;
  double doubt = 0.1;
  double distance = 0.2;
  double random_share = 0.1;
  double first_random_share = 0.1;
  double mutation_share = 0.2;
  double stale_trials = 96;
};

inline constexpr ParameterSpec<MctsParameters> kMctsParameters[] = {
    {"overgenerate", &MctsParameters::overgenerate, 1, 256, false,
     "candidates scored for each one proposed"},
    {"minimum_pool", &MctsParameters::minimum_pool, 1, 4096, true,
     "candidates scored for a proposal, at least"},
    {"random_part", &MctsParameters::random_part, 0, 1, false,
     "part of the pool that is drawn uniformly"},
    {"mutation_part", &MctsParameters::mutation_part, 0, 1, false,
     "part of the pool that differs from a measured winner in one decision"},
    {"mutation_parents", &MctsParameters::mutation_parents, 1, 256, true,
     "measured winners, or best by prediction, that are mutated"},
    {"refined_part", &MctsParameters::refined_part, 0, 1, false,
     "part of the trees' pool that differs from one of its best by prediction in one decision"},
    {"exploration", &MctsParameters::exploration, 0, 100, false,
     "c of Q + c * P * sqrt(N) / (1 + n)"},
    {"first_play_reduction", &MctsParameters::first_play_reduction, 0, 1, false,
     "Q of an unvisited child: parent's Q less this times the root of the visited prior"},
    {"max_weight", &MctsParameters::max_weight, 0, 1, false,
     "weight of the maximum in Q; the mean has the rest"},
    {"widening_scale", &MctsParameters::widening_scale, 1, 64, false,
     "children open at the first visit"},
    {"widening_power", &MctsParameters::widening_power, 0, 1, false,
     "children open: scale * visits ^ power"},
    {"prior_temperature", &MctsParameters::prior_temperature, 0.001, 10, false,
     "of the softmax over rewards"},
    {"prior_noise", &MctsParameters::prior_noise, 0, 1, false, "part of the prior that is uniform"},
    {"virtual_loss", &MctsParameters::virtual_loss, 0, 10, false,
     "visits without reward per visit in flight"},
    {"leaves_at_once", &MctsParameters::leaves_at_once, 1, 256, true,
     "leaves selected between two model calls"},
    {"doubt", &MctsParameters::doubt, 0, 10, false,
     "weight of the model's sigma when a batch is chosen"},
    {"distance", &MctsParameters::distance, 0, 10, false,
     "log2(time) lost by a twin of one already chosen"},
    {"random_share", &MctsParameters::random_share, 0, 1, false,
     "share of a batch picked at random"},
    {"first_random_share", &MctsParameters::first_random_share, 0, 1, false,
     "the same before any outcome"},
    {"mutation_share", &MctsParameters::mutation_share, 0, 1, false,
     "share of a batch kept for mutations"},
    {"stale_trials", &MctsParameters::stale_trials, 1, 1e9, true,
     "outcomes without a new best after which the fresh tree starts anew"},
};

std::unique_ptr<Searcher> MakeMctsSearcher(const Space& space, const CostModel& model,
                                           std::uint64_t seed, const MctsParameters& parameters);

}  // namespace kindred
