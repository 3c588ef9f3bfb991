/**
 * Expressions of a `select` that has PostgreSQL plan each statement of a turn once for its connection: planned for its values each time, as it
 * would be, a batch takes half as long to plan as to write. A plan that was made while the frontier was small must still look rows up by
 * their keys when it is large, so none may read a table whole. Until the transaction ends.
 */
export const planOnce =
  "set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)";
