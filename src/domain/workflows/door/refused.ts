import type { BodyFault } from './body/read-body.ts';
import type { DoorAnswer } from './call/webhook-call.ts';
import { doorAnswers } from './door-answers.ts';
import type { RefusalReason } from './refusal-reasons.ts';

/** Thrown to answer early. */
export class Refused extends Error {
  override name = 'Refused';
  readonly answer: DoorAnswer;
  /** What is counted; null: nothing, the webhook is not known. */
  readonly reason: RefusalReason | null;

  constructor(answer: DoorAnswer, reason: RefusalReason | null) {
    super(reason ?? 'refused');
    this.answer = answer;
    this.reason = reason;
  }
}

/** What is answered to a body that could not be read. */
export const refusedBodies: Record<BodyFault, () => Refused> = {
  too_large: () => new Refused(doorAnswers.tooLarge, 'too_large'),
  no_memory: () => new Refused(doorAnswers.unavailable, 'unavailable'),
  slow: () => new Refused(doorAnswers.slow, 'timeout'),
  gone: () => new Refused(doorAnswers.slow, 'timeout'),
};
