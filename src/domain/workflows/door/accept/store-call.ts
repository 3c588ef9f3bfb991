import { DomainError } from '../../../errors.ts';
import { transactPipelined } from '../../../pipelined-transaction.ts';
import type { Services } from '../../../services.ts';
import { uuid7 } from '../../../uuid7.ts';
import { SharedCommits } from '../../shared-commits.ts';
import type { DoorTrigger } from '../../triggers/trigger-cache.ts';
import type { RawBody } from '../body/raw-body.ts';
import { signedBy } from '../body/read-body.ts';
import { dedupKeyOf } from '../call/dedup-key.ts';
import { redactHeaders, redactQuery } from '../call/redact.ts';
import type { WebhookCall } from '../call/webhook-call.ts';
import { doorAnswers } from '../door-answers.ts';
import { noteOldSecrets } from '../old-secrets.ts';
import type { OpenedCall } from '../opened-call.ts';
import { Refused } from '../refused.ts';
import { type Acceptance, acceptCalls } from './accept.ts';
import type { ProvedCall } from './proved-call.ts';

/** Times a call is proved again because its webhook changed meanwhile. */
const proofs = 4;

/** A call with all that was read of it. */
export interface ReadCall {
  call: WebhookCall;
  headers: ReadonlyMap<string, string>;
  body: RawBody;
}

/** What became of a call, and the webhook as it was when it was accepted. */
interface Stored {
  accepted: Exclude<Acceptance, 'stale'>;
  trigger: DoorTrigger;
}

/** Stores proved calls, many in one transaction, and proves one again whose webhook has changed on the way. */
export class CallStore {
  readonly #services: Services;
  readonly #reopen: (call: WebhookCall, stale: DoorTrigger) => Promise<OpenedCall>;
  readonly #commits: SharedCommits<ProvedCall, Acceptance>;

  /** @param reopen looks at the webhook of a call anew */
  constructor(services: Services, reopen: (call: WebhookCall, stale: DoorTrigger) => Promise<OpenedCall>) {
    this.#services = services;
    this.#reopen = reopen;
    this.#commits = new SharedCommits((calls) =>
      transactPipelined(services.orm.em, (em) => acceptCalls(em, services, calls)),
    );
  }

  /**
   * @param provedBy version of the secret
   * @throws Refused when the webhook has changed so that the call does not open it any more; DomainError `unavailable`
   */
  async store(read: ReadCall, opened: OpenedCall, provedBy: number): Promise<Stored> {
    const received_at = this.#services.clock.now();
    const ids = { delivery_id: uuid7(received_at), execution_id: uuid7(received_at), received_at };
    let now = opened;
    let version: number | null = provedBy;
    for (let proofsLeft = proofs; proofsLeft > 0; proofsLeft -= 1) {
      if (version === null) throw new Refused(doorAnswers.unauthorized, 'signature');
      const accepted = await this.#commits.add({ ...ids, ...this.#kept(read, now), secret_version: version });
      if (accepted !== 'stale') {
        if (version !== now.trigger.secret_version) noteOldSecrets(this.#services, now.trigger.id, version);
        return { accepted, trigger: now.trigger };
      }
      now = await this.#reopen(read.call, now.trigger);
      const { proof, secrets } = now;
      version = proof.signature === null ? proof.version : await signedBy(read.body, secrets, proof.signature);
    }
    throw new DomainError('unavailable', 'The webhook changes faster than it can be looked at');
  }

  /** What of a call is kept. */
  #kept({ call, headers, body }: ReadCall, { trigger, holdsSecret }: OpenedCall) {
    return {
      trigger,
      method: call.method,
      headers: redactHeaders(headers, this.#services.settings.door.redact_headers, holdsSecret),
      query: redactQuery(call.query, holdsSecret),
      body: body.bytes,
      raw_size: body.size,
      raw_sha256: body.sha256,
      dedup_key: dedupKeyOf(headers),
    };
  }
}
