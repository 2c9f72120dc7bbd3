// Version 1 to 2: the view best_schedule, a public contract (docs/log_schema.md).
#include "database/migrations/migrations.h"

namespace kindred {

// `usable` numbers the measurements of each schedule, the latest first; `ranked` then orders the
// schedules of a workload. Both windows are partitioned by (workload, target), so that a query for
// one of them reads only its rows.
const char kMigration2Views[] = R"sql(
CREATE VIEW best_schedule AS
WITH usable AS (
  SELECT trial.*, target.name AS target_name,
         row_number() OVER (PARTITION BY trial.workload, trial.target, trial.schedule_key
                            ORDER BY trial.id DESC) AS recency
  FROM trial JOIN target ON target.id = trial.target AND target.cache_state = trial.cache_state
  WHERE trial.status = 'ok' AND trial.validated = 1
    AND NOT EXISTS (SELECT 1 FROM trial AS bad
                    WHERE bad.workload = trial.workload AND bad.target = trial.target
                      AND bad.schedule_key = trial.schedule_key
                      AND bad.status IN ('wrong_answer', 'out_of_bounds'))
), ranked AS (
  SELECT usable.*,
         row_number() OVER (PARTITION BY usable.workload, usable.target
                            ORDER BY usable.median_ns, usable.id) AS place
  FROM usable WHERE usable.recency = 1
)
SELECT ranked.workload AS workload, ranked.target AS target, ranked.target_name AS target_name,
       ranked.median_ns AS median_ns,
       ranked.schedule AS schedule, ranked.schedule_key AS schedule_key, ranked.sketch AS sketch,
       ranked.id AS trial, ranked.kernel AS kernel, ranked.samples AS samples,
       ranked.compiler AS compiler, ranked.flags AS flags, ranked.driver AS driver,
       ranked.version AS version, ranked.worker AS worker, ranked.time_ms AS time_ms,
       ranked.cache_state AS cache_state, ranked.session AS session
FROM ranked WHERE ranked.place = 1;

CREATE VIEW session_progress AS
SELECT task.session AS session, task.position AS position, task.workload AS workload,
       task.name AS name,
       count(trial.id) AS trials,
       coalesce(sum(trial.status NOT IN ('ok', 'abandoned')), 0) AS failed,
       min(CASE WHEN trial.status = 'ok' AND trial.validated = 1 THEN trial.median_ns END)
         AS best_ns
FROM task LEFT JOIN trial ON trial.session = task.session AND trial.workload = task.workload
GROUP BY task.session, task.workload;
)sql";

}  // namespace kindred
