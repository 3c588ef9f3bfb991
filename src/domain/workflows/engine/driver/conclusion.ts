import type { Services } from '../../../services.ts';
import type { Plan } from '../plan/plan.ts';
import type { Claimed } from './claimed.ts';
import { type Ending, endingOf } from './ending.ts';
import type { DriverParts } from './parts.ts';

interface ConclusionOptions extends DriverParts {
  services: Services;
  claimed: Claimed;
}

/** How the steps of an execution come to their end: what may run next until then, and what follows from how they ended. */
export class Conclusion {
  readonly #of: ConclusionOptions;

  constructor(options: ConclusionOptions) {
    this.#of = options;
  }

  /**
   * What may run next; past its own time or a limit, that the execution has failed.
   * @param deadline when it has taken too long, milliseconds since 1970
   */
  plan(deadline: number): Plan {
    const { now, excess } = this.#of.journal;
    const { isFailing } = this.#of.standing;
    const plan = this.#of.planner.plan(now, isFailing ? 'on_failure' : 'steps');
    if (excess !== null) plan.outcome = { kind: 'failed', error: excess };
    else if (!isFailing && plan.outcome.kind === 'open' && now >= deadline)
      plan.outcome = { kind: 'failed', error: { code: 'timeout', message: 'The execution took longer than it may' } };
    return plan;
  }

  /**
   * The steps have come to their end: the execution is over, or its steps for failures begin.
   * @returns whether it is over
   */
  async draw(outcome: Exclude<Plan['outcome'], { kind: 'open' }>, { scope }: Plan): Promise<boolean> {
    const { definition } = this.#of.claimed.guide;
    const { state } = this.#of.standing;
    if (state.failure !== undefined) return this.end({ status: 'failed', error: state.failure });
    if (outcome.kind === 'ended') this.#of.journal.close(outcome.path);
    const ending = await endingOf(this.#of.services, outcome, definition, this.#of.rootsAt(scope.roots()));
    const isLast = definition.on_failure === undefined || this.#of.journal.excess !== null;
    if (ending.error === undefined || isLast) return this.end(ending);
    this.#of.work.breakOff();
    state.failure = ending.error;
    this.#of.journal.say('execution.failing', { status: 'running', error: ending.error });
    return false;
  }

  /** Ends the execution, whatever is under way. */
  async end(ending: Ending): Promise<true> {
    this.#of.work.breakOff();
    await this.#of.records.end(ending);
    return true;
  }
}
