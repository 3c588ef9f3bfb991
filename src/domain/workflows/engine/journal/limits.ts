/** How much there may be of one execution. */
export const executionLimits = {
  stepRuns: 50_000,
  events: 200_000,
  /** Bytes of what its expressions can see. */
  context: 64 * 1024 * 1024,
};

/** What there is of one. */
export type ExecutionSize = typeof executionLimits;

/** Which limit an execution is beyond; null: none. */
export function excessOf({ stepRuns, events, context }: ExecutionSize): { code: string; message: string } | null {
  const most = executionLimits;
  if (stepRuns > most.stepRuns)
    return { code: 'too_many_steps', message: `An execution may have at most ${most.stepRuns} step runs` };
  if (events > most.events)
    return { code: 'too_many_events', message: `An execution may have at most ${most.events} events` };
  if (context > most.context)
    return { code: 'context_too_large', message: `Outputs may have at most ${most.context} bytes together` };
  return null;
}
