/** Which workflow calls, and of which organization. */
export interface Caller {
  workflow_id: string;
  organization_id: number;
}

interface Waiting {
  caller: Caller;
  begin(): void;
}

/**
 * Of all slots one workflow may have half, one organisation three quarters, so that slow peers of theirs keep no other waiting. Of what an
 * organisation and a process may have, an eighth of all slots is reserved for workflows of which no call is running: one more workflow need not wait
 * for the slow calls of two others.
 */
const shares = { workflow: 1 / 2, organization: 3 / 4, reserve: 1 / 8 };

/**
 * Calls of workflows that a process runs at the same time: so many at once, the others wait. Slots go round robin among workflows, and the calls of
 * each come in their order.
 */
export class CallSlots {
  readonly #most: number;
  #taken = 0;
  readonly #byWorkflow = new Map<string, number>();
  readonly #byOrganization = new Map<number, number>();
  /** By workflow; the one that is first comes next. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Does a caller's work as soon as there is a slot for it. */
  async run<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    if (this.#fits(caller)) this.#count(caller, 1);
    else await new Promise<void>((begin) => this.#enqueue({ caller, begin }));
    try {
      return await work();
    } finally {
      this.#count(caller, -1);
      this.#letIn();
    }
  }

  #fits({ workflow_id, organization_id }: Caller): boolean {
    const most = (share: number) => Math.max(Math.floor(this.#most * share), 1);
    const running = this.#byWorkflow.get(workflow_id) ?? 0;
    const reserved = running === 0 ? 0 : Math.floor(this.#most * shares.reserve);
    return (
      this.#taken < this.#most - reserved &&
      running < most(shares.workflow) &&
      (this.#byOrganization.get(organization_id) ?? 0) < most(shares.organization) - reserved
    );
  }

  #count({ workflow_id, organization_id }: Caller, by: 1 | -1): void {
    this.#taken += by;
    add(this.#byWorkflow, workflow_id, by);
    add(this.#byOrganization, organization_id, by);
  }

  #enqueue(waiting: Waiting): void {
    const { workflow_id } = waiting.caller;
    const queue = this.#waiting.get(workflow_id);
    if (queue) queue.push(waiting);
    else this.#waiting.set(workflow_id, [waiting]);
  }

  #letIn(): void {
    for (const [workflow, queue] of [...this.#waiting]) {
      const [next] = queue;
      if (next === undefined || !this.#fits(next.caller)) continue;
      queue.shift();
      // To the end of the round.
      this.#waiting.delete(workflow);
      if (queue.length > 0) this.#waiting.set(workflow, queue);
      this.#count(next.caller, 1);
      next.begin();
    }
  }
}

function add<K>(counts: Map<K, number>, key: K, by: number): void {
  const sum = (counts.get(key) ?? 0) + by;
  if (sum > 0) counts.set(key, sum);
  else counts.delete(key);
}
