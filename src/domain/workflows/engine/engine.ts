import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../../../kernel/errors.ts';
import { asUnavailable } from '../../../kernel/unavailable.ts';
import type { Caller } from '../../../ports/expressions.ts';
import { advanceJob } from '../advance-job.ts';
import type { WorkflowServices } from '../workflows.ts';
import { Admission } from './admission.ts';
import { Driver, type DriverResources, makeResources } from './driver.ts';
import {
  type ClaimedRow,
  claim,
  findClaimable,
  findFreeSuspects,
  markActing,
  type RelatedRows,
  readClaimed,
  readRelatedRows,
  readSignals,
  VersionCache,
  weigh,
} from './lease.ts';
import { beat, mostCrashes, recordFault, releaseExecutions, removeWorker, Suspects } from './workers.ts';

/** Executions a process advances at the same time; executions that rest, or only wait for peers or slow expressions, do not count. */
const mostDrivers = 400;
/** Most executions that only wait for peers; counted apart, so that slow peers do not block new executions. */
const mostWaiting = 4_000;
/**
 * Bytes of the inputs and step runs of all executions that a process advances. What is reserved of it has room for a body of brotli, which may
 * inflate to the 25 MiB that a body may have.
 */
const usualMemory = 288 * 1024 * 1024;
/** Executions that are taken up together when room is free for them. */
const mostTogether = 100;
/** Executions that others wait behind, of which it is looked together whether they still wait. */
const mostLookedAt = 500;
/** Suspects a process keeps waiting for their turn, before it leaves them to others. */
const mostSuspects = 50;
/** Age from which a driver is polled for signals, milliseconds; a younger one receives them with its next checkpoint. */
const leastPollAge = 400;
/** How long steps that act may go on when the process stops, milliseconds. */
const drain = 5_000;
/** A process that has not shown its life for so long may have been given up meanwhile, milliseconds. */
const staleBeat = 5_000;
/** How long an execution is left alone whose driver lost the database, milliseconds. */
const awayPause = 2_000;

/** An execution this process gives back as soon as the database takes it. */
interface PendingRelease {
  row: ClaimedRow;
  isFault: boolean;
}

/**
 * The executions this process advances. Suspects, which were acting in a process that died, act in small groups beside all others until a
 * checkpoint clears them: so the one that kills its process is found, and no bystander is blamed for it.
 */
export class Engine {
  readonly #services: () => WorkflowServices;
  readonly #calls: number;
  readonly #versions = new VersionCache();
  readonly #admission: Admission;
  readonly #drivers = new Map<string, { driver: Driver; caller: Caller; began: number; done: Promise<void> }>();
  #suspects = new Suspects<ClaimedRow>();
  #isRefilling = false;
  #isTakingUp = false;
  #unreleased: PendingRelease[] = [];
  #id = randomUUID();
  /** When it last showed that it lives, by the clock of `performance`. */
  #lastBeat = Number.NEGATIVE_INFINITY;
  #resources: DriverResources | null = null;
  #starting = 0;
  readonly #waiting: (() => void)[] = [];
  #closing = false;

  /**
   * @param calls steps that act at the same time
   * @param memory bytes of the executions that are advanced at the same time; one always is, whatever it takes
   */
  constructor(services: () => WorkflowServices, { calls, memory = usualMemory }: { calls: number; memory?: number }) {
    this.#services = services;
    this.#calls = calls;
    this.#admission = new Admission(memory);
  }

  /** Whether an execution waits here for memory. */
  isWaiting(id: string): boolean {
    return this.#admission.waiting.has(id);
  }

  /** How many more executions of a workflow may wait here for memory. */
  roomFor(workflow: string): number {
    return this.#admission.roomFor(workflow);
  }

  /** Names the process as a driver; another one when it was given up and goes on. */
  get id(): string {
    return this.#id;
  }

  get active(): number {
    return this.#drivers.size;
  }

  get #isFull(): boolean {
    let busy = this.#starting;
    for (const { driver } of this.#drivers.values()) if (!driver.isWaiting) busy += 1;
    return busy > mostDrivers || this.#drivers.size > mostDrivers + mostWaiting;
  }

  /**
   * Advances executions, unless somebody does already.
   * @returns when they are taken, left, or wait for memory; they go on in the background
   */
  async advance(ids: readonly string[]): Promise<void> {
    while (this.#isFull && !this.#closing) await this.#change();
    if (this.#closing) throw new Error('the process stops');
    await this.#admit(ids);
  }

  #admit(ids: readonly string[]): Promise<void> {
    return this.#within(ids.length, async () => {
      const services = this.#services();
      // The claim of one that is here leaves a signal for its driver.
      const here = ids.filter((id) => this.#admission.has(id));
      const others = ids.filter((id) => !this.#admission.has(id));
      this.#admission.add(await weigh(services.orm.em.fork(), services, others));
      await this.#takeUp(this.#admission.take(mostTogether), here);
    });
  }

  /** Takes up executions that wait for memory, as far as there is room by now: once for all that end in the same moment. */
  #takeUpWaiting(): void {
    if (!this.#admission.isDue || this.#isTakingUp || this.#closing || this.#isFull) return;
    this.#isTakingUp = true;
    // The sweep finds what could not be claimed.
    void this.#within(1, async () => {
      await setImmediate();
      this.#isTakingUp = false;
      if (this.#closing) return;
      const ids = this.#admission.take(mostTogether);
      if (ids.length > 0) await this.#within(ids.length, () => this.#takeUp(ids));
    }).catch(() => {});
  }

  /** Has nothing wait behind executions that have ended meanwhile, or are another process's. */
  async #dropLost(): Promise<void> {
    const ids = this.#admission.claimants(mostLookedAt);
    if (ids.length === 0) return;
    const claimable = new Set(await findClaimable(this.#services().orm.em.fork(), ids));
    this.#admission.drop(ids.filter((id) => !claimable.has(id)));
  }

  /**
   * Claims executions for which room is held, and begins with them.
   * @param here others, which had their room already
   */
  async #takeUp(ids: readonly string[], here: readonly string[] = []): Promise<void> {
    const rows = await this.#claim([...here, ...ids]).catch((error: unknown) => {
      this.#giveRoom(ids);
      throw error;
    });
    const claimed = new Set(rows.map(({ id }) => id));
    this.#giveRoom(ids.filter((id) => !claimed.has(id)));
    const isHeld = ({ suspect, crashes, cancel_requested }: ClaimedRow) =>
      suspect !== null && crashes < mostCrashes && !cancel_requested;
    this.#suspects.add(rows.filter(isHeld));
    const free = rows.filter((row) => !isHeld(row));
    const services = this.#services();
    // One whose steps cannot be read must not keep the others.
    const known = await readRelatedRows(services.orm.em.fork(), services, free).catch(() => null);
    for (const row of free) await this.#tryBegin(row, known);
    await this.#beginSuspects();
  }

  async #claim(ids: readonly string[]): Promise<ClaimedRow[]> {
    const { orm, sharedClock } = this.#services();
    if (performance.now() - this.#lastBeat > staleBeat) await this.#beat();
    const suspects = this.#suspects.waiting.length < mostSuspects ? { now: sharedClock.recent() } : null;
    return claim(orm.em.fork(), this.#id, ids, { suspects });
  }

  /** Gives back the room of executions that were not taken up; what is advanced here, or waits for its turn, keeps its own. */
  #giveRoom(ids: readonly string[]): void {
    const kept = new Set(this.#suspects.waiting.map(({ id }) => id));
    for (const id of ids) if (!this.#drivers.has(id) && !kept.has(id)) this.#admission.release(id);
  }

  /** Counts what is about to be advanced, so that the process does not count as idle. */
  async #within(count: number, work: () => Promise<void>): Promise<void> {
    this.#starting += count;
    try {
      await work();
    } finally {
      this.#starting -= count;
      this.#notifyChange();
    }
  }

  /** @returns whether it is advanced here from now on */
  async #tryBegin(row: ClaimedRow, known: RelatedRows | null): Promise<boolean> {
    try {
      if (await this.#begin(row, known)) return true;
    } catch (err) {
      await this.#release(row, err);
    }
    this.#giveRoom([row.id]);
    return false;
  }

  async #begin(row: ClaimedRow, known: RelatedRows | null): Promise<boolean> {
    const services = this.#services();
    const claimed = await readClaimed(services, this.#versions, row, known);
    if (claimed === null) return false;
    this.#resources ??= makeResources(services, this.#calls);
    const driver = new Driver(this.#resources, claimed, {
      onCleared: () => this.#endTrial(row, true),
      onWaiting: () => this.#notifyChange(),
    });
    const caller = { workflow_id: row.workflow_id, organization_id: claimed.version.organization.id };
    this.#admission.hold({ id: row.id, caller, bytes: driver.bytes });
    const done = driver.run().catch((err: unknown) => this.#release(row, err));
    const entry = {
      driver,
      caller,
      began: performance.now(),
      done: done.finally(() => {
        if (this.#drivers.get(row.id) === entry) {
          this.#drivers.delete(row.id);
          this.#admission.release(row.id);
        }
        this.#endTrial(row, false);
        this.#notifyChange();
      }),
    };
    this.#drivers.get(row.id)?.driver.stop('lost');
    this.#drivers.set(row.id, entry);
    if (this.#closing) driver.stop('closing');
    return true;
  }

  /** Lets suspects act as far as their turn has come; a process that stops lets all of them go. */
  async #beginSuspects(): Promise<void> {
    if (this.#closing) return this.#releaseSuspects();
    const suspects = this.#suspects;
    for (let row = suspects.next(); row !== null; row = suspects.next()) {
      const next = row;
      const isBegun = await markActing(this.#services().orm.em.fork(), next).then(
        (isOurs) => isOurs && this.#tryBegin(next, null),
        (err: unknown) => this.#release(next, err).then(() => false),
      );
      if (isBegun) continue;
      suspects.end(next, false);
      this.#giveRoom([next.id]);
    }
  }

  /** A suspect whose turn it was has come past a checkpoint, or is gone. */
  #endTrial(row: ClaimedRow, isCleared: boolean): void {
    if (!this.#suspects.end(row, isCleared)) return;
    void this.#within(1, async () => {
      await this.#beginSuspects();
      await this.#refill();
    }).catch(() => {});
  }

  /**
   * Takes up suspects that were left because too many waited, here or where they were before. It waits for no room: the lease of this process is
   * renewed behind it.
   */
  async #refill(): Promise<void> {
    if (this.#isRefilling || this.#closing || this.#isFull || this.#suspects.waiting.length > 0) return;
    this.#isRefilling = true;
    try {
      const { orm, sharedClock } = this.#services();
      const ids = await findFreeSuspects(orm.em.fork(), sharedClock.recent(), mostSuspects);
      if (ids.length > 0) await this.#admit(ids);
    } finally {
      this.#isRefilling = false;
    }
  }

  async #releaseSuspects(): Promise<void> {
    await releaseExecutions(this.#services(), this.#suspects.clear(), null);
  }

  /**
   * Releases an execution for the next process that claims it. A fault of ours counts against it, since one that stays must not go on for ever; a
   * database that went away does not.
   */
  async #release(row: ClaimedRow, err: unknown): Promise<void> {
    const error = asUnavailable(err);
    const isFault = !(error instanceof DomainError && error.code === 'unavailable');
    this.#services().log.error({ err, execution: row.id }, 'an execution could not be advanced');
    this.#unreleased.push({ row, isFault });
    await this.#retryReleases();
  }

  async #retryReleases(): Promise<void> {
    const services = this.#services();
    for (const pending of this.#unreleased.splice(0)) {
      const { row, isFault } = pending;
      await (isFault ? recordFault(services, row) : releaseExecutions(services, [row], awayPause)).catch(() => {
        this.#unreleased.push(pending);
      });
    }
  }

  /** Shows that this process lives. One that was given up meanwhile drops all it has, and goes on under another name. */
  async #beat(): Promise<void> {
    const em = this.#services().orm.em.fork();
    if (!(await beat(em, this.#id))) {
      for (const { driver } of this.#drivers.values()) driver.stop('lost');
      this.#giveRoom(this.#suspects.clear().map(({ id }) => id));
      this.#suspects = new Suspects<ClaimedRow>();
      this.#id = randomUUID();
      await beat(em, this.#id);
    }
    this.#lastBeat = performance.now();
  }

  /** Reads what has happened to executions this process advances; with `renew`, renews their leases. */
  async listen({ renew }: { renew: boolean }): Promise<void> {
    if (this.#closing && this.#drivers.size === 0) return;
    if (renew) await this.#beat();
    await this.#retryReleases();
    const now = performance.now();
    const polled = [...this.#drivers].filter(([, { began }]) => now - began > leastPollAge);
    const ids = [...polled.map(([id]) => id), ...this.#suspects.waiting.map(({ id }) => id)];
    const signals = ids.length === 0 ? [] : await readSignals(this.#services().orm.em.fork(), this.#id, ids);
    const byId = new Map(signals.map((signal) => [signal.id, signal]));
    for (const [id, { driver }] of polled) {
      const signal = byId.get(id);
      // Missing, it may just have come to its end here.
      if (signal === undefined || signal.attempt !== driver.lease.attempt) driver.stop('lost');
      else if (signal.cancel !== null) driver.cancel(signal.cancel);
      else if (signal.is_deleted) this.#giveBack(driver);
      else if (signal.wake) driver.wake();
    }
    await this.#cancelSuspects(new Map(signals.map(({ id, cancel }) => [id, cancel])));
    await this.#beginSuspects();
    if (renew) {
      await this.#refill();
      await this.#dropLost();
    }
    for (const [id, { driver, caller }] of this.#drivers) this.#admission.hold({ id, caller, bytes: driver.bytes });
    // Drivers count as waiting after some time, of which nothing else notifies.
    this.#notifyChange();
  }

  /** Gives an execution back whose project is deleted: it is left alone from its next claim on. */
  #giveBack(driver: Driver): void {
    this.#versions.clear();
    driver.stop('closing');
  }

  /** Ends suspects that are cancelled while they wait to act. */
  async #cancelSuspects(cancelled: ReadonlyMap<string, string | null>): Promise<void> {
    for (const row of this.#suspects.waiting.filter(({ id }) => (cancelled.get(id) ?? null) !== null)) {
      this.#suspects.remove(row.id);
      const reason = cancelled.get(row.id) ?? null;
      await this.#within(1, async () => {
        await this.#tryBegin({ ...row, cancel_requested: true, cancel_reason: reason }, null);
      });
    }
  }

  /** @returns when an execution has come to rest, or been begun */
  #change(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #notifyChange(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
    this.#takeUpWaiting();
  }

  /** Waits until nothing is advanced any more, nor about to be. */
  async idle(): Promise<void> {
    while (this.#drivers.size + this.#starting > 0) await this.#change();
  }

  /** Hands every execution back, to go on where another process, or the next start, takes it up. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#notifyChange();
    for (const { driver } of this.#drivers.values()) driver.stop('closing');
    const late = setTimeout(() => {
      for (const { driver } of this.#drivers.values()) driver.breakOff();
    }, drain);
    // A database that is away gives up this process and what it holds by itself.
    await this.#releaseSuspects().catch(() => {});
    await this.idle();
    clearTimeout(late);
    const left = [...this.#admission.waiting.keys()].map((id) => ({ execution_id: id }));
    await this.#services()
      .jobs.sendMany(advanceJob, left)
      .catch(() => {});
    await removeWorker(this.#services().orm.em.fork(), this.#id).catch(() => {});
  }
}
