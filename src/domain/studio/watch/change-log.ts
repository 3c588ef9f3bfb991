/**
 * What has changed in projects, as the database announces it to every process: kept for a while, so that subscribers read it from memory and go on
 * where they were. A change names an object and says how to find its version; who is concerned, and may know, is decided where it is read.
 */
import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Clock } from '../../../ports/clock.ts';
import { pullStates } from '../pulls/pull.entity.ts';

/** The channel on which the database announces changes. */
export const changeChannel = 'portico_change';

const change = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('branch'), project: z.int(), branch: z.string() }),
  z.object({
    kind: z.literal('pull'),
    project: z.int(),
    number: z.int(),
    version: z.int(),
    state: z.enum(pullStates),
    head_branch: z.string(),
    base_branch: z.string(),
    head_sha: z.string(),
    base_sha: z.string(),
  }),
  z.object({ kind: z.literal('deployment'), project: z.int(), id: z.int(), version: z.string() }),
]);
export type Change = z.output<typeof change>;

export interface LoggedChange {
  /** Counts the changes of a log from 1. */
  seq: number;
  at: Date;
  change: Change;
}

/** The log of a project since it has been watched; `name` is of no other. */
interface Log {
  name: string;
  last: number;
  changes: LoggedChange[];
}

/** What a log holds behind a position. */
export interface Changes {
  changes: readonly LoggedChange[];
  /** The position of a change of this log. */
  positionAt(seq: number): string;
  /** Where to go on. */
  position: string;
  /** Changes behind the position are not known, or it is of another process. */
  missed: boolean;
}

/** Projects with a log, and changes in one. */
const most = { projects: 1_000, changes: 1_000 };

export class ChangeLog {
  readonly #clock: Clock;
  readonly #logs = new LRUCache<number, Log>({ max: most.projects });
  /** By project; null: all have to be looked at. */
  readonly #wakes = new EventEmitter<Record<string, [Change | null]>>().setMaxListeners(0);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes what the database has announced on the channel; anything else is left. */
  notify(payload: string): void {
    const { data } = change.safeParse(JSON.parse(payload));
    const log = data && this.#logs.get(data.project);
    if (!log) return;
    log.last += 1;
    log.changes.push({ seq: log.last, at: this.#clock.now(), change: data });
    if (log.changes.length > most.changes) log.changes.shift();
    this.#wakes.emit(String(data.project), data);
  }

  /** Called by the listening connection when it connects or is lost: what was announced meanwhile is not known. */
  setListening(listening: boolean): void {
    if (!listening) return;
    this.#logs.clear();
    for (const project of this.#wakes.eventNames()) this.#wakes.emit(project, null);
  }

  /** The changes of a project behind a position; null: only where its log is now. */
  since(project: number, position: string | null): Changes {
    const log = this.#logOf(project);
    const positionAt = (seq: number) => `${log.name}.${seq}`;
    const at = { positionAt, position: positionAt(log.last) };
    if (position === null) return { changes: [], ...at, missed: false };
    const [name, seq] = position.split('.');
    const behind = Number(seq);
    const oldest = log.last - log.changes.length;
    const isKnown = name === log.name && Number.isInteger(behind) && behind >= oldest && behind <= log.last;
    return isKnown
      ? { changes: log.changes.slice(behind - oldest), ...at, missed: false }
      : { changes: [], ...at, missed: true };
  }

  #logOf(project: number): Log {
    const known = this.#logs.get(project);
    if (known) return known;
    const log: Log = { name: randomBytes(9).toString('base64url'), last: 0, changes: [] };
    this.#logs.set(project, log);
    return log;
  }

  /** Calls `wake` when a change has come that `concerns` is true for. @returns a function that ends it */
  watch(project: number, concerns: (change: Change) => boolean, wake: () => void): () => void {
    const listener = (change: Change | null) => {
      if (change === null || concerns(change)) wake();
    };
    this.#wakes.on(String(project), listener);
    return () => this.#wakes.off(String(project), listener);
  }
}
