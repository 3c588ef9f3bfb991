import { DomainError } from '../../../errors.ts';
import { isAway } from '../../../unavailable.ts';
import type { ClaimedUrl } from '../../frontier/claim.ts';
import { breakOff, type Outcome, outcomeOf } from '../../frontier/outcome.ts';
import type { Ending } from './ending.ts';
import type { SliceOptions } from './slice-options.ts';

/** What a fault of ours comes to while a URL is worked on: a full disk ends the run, anything else only the URL. */
export function ownFault({ services, open }: SliceOptions, ending: Ending, of: ClaimedUrl, error: unknown): Outcome {
  if (ending.signal.aborted) return breakOff(of);
  services.log.warn({ err: error, run: open.run.id, url: of.url }, 'a URL of a crawl could not be worked on');
  if (error instanceof DomainError && isAway(error)) {
    ending.endWith({ status: 'stopped', reason: 'server_limit', message: error.message }, 0);
    return breakOff(of);
  }
  const error_message = 'A fault of the server, see its log';
  return outcomeOf(of, { state: 'error', error: 'internal', error_message });
}
