import { randomUUID } from 'node:crypto';
import type { Services } from '../../services.ts';
import { type ClaimedRow, claim, keepAlive, letGo } from './claim.ts';
import { Driver } from './driver/driver.ts';
import { type DriverBench, makeBench } from './driver/driver-bench.ts';
import { Guides } from './guides.ts';
import { type Belongings, readBelongings, readClaimed } from './read-claimed.ts';

/** Executions a process advances at the same time; those that rest are not among them. */
const mostDrivers = 400;
/** Drivers that look for word from others; younger ones hear it with their next checkpoint. */
const oldEnough = 400;
/** How long steps that act may go on when the process stops, milliseconds. */
const drain = 5_000;

/** The executions this process advances. */
export class Engine {
  /** Names the process as a driver. */
  readonly id = randomUUID();
  readonly #services: () => Services;
  readonly #calls: number;
  readonly #guides = new Guides();
  readonly #drivers = new Map<string, { driver: Driver; began: number; done: Promise<void> }>();
  #bench: DriverBench | null = null;
  #coming = 0;
  readonly #waiting: (() => void)[] = [];
  #closing = false;

  /** @param calls steps that act at the same time */
  constructor(services: () => Services, { calls }: { calls: number }) {
    this.#services = services;
    this.#calls = calls;
  }

  get active(): number {
    return this.#drivers.size;
  }

  /**
   * Advances executions, unless somebody does already.
   * @returns when they are taken, or left; they go on in the background
   */
  async advance(ids: readonly string[]): Promise<void> {
    const services = this.#services();
    while (this.#drivers.size + this.#coming > mostDrivers && !this.#closing) await this.#change();
    if (this.#closing) throw new Error('the process stops');
    this.#coming += ids.length;
    try {
      const em = services.orm.em.fork();
      const rows = await claim(em, this.id, ids);
      // One whose steps cannot be read must not keep the others.
      const known = await readBelongings(em, services, rows).catch(() => null);
      for (const row of rows) await this.#begin(row, known).catch((err: unknown) => this.#giveBack(row, err));
    } finally {
      this.#coming -= ids.length;
      this.#tellChange();
    }
  }

  async #begin(row: ClaimedRow, known: Belongings | null): Promise<void> {
    const services = this.#services();
    const claimed = await readClaimed(services, this.#guides, row, known);
    if (claimed === null) return;
    this.#bench ??= makeBench(services, this.#calls);
    const driver = new Driver(this.#bench, claimed);
    const done = driver.run().catch((err: unknown) => this.#giveBack(row, err));
    const entry = {
      driver,
      began: performance.now(),
      done: done.finally(() => {
        if (this.#drivers.get(row.id) === entry) this.#drivers.delete(row.id);
        this.#tellChange();
      }),
    };
    this.#drivers.get(row.id)?.driver.stop('lost');
    this.#drivers.set(row.id, entry);
    if (this.#closing) driver.stop('closing');
  }

  /** Leaves an execution to whoever takes it up next, which counts as a crash: a fault that stays must not go on for ever. */
  async #giveBack(row: ClaimedRow, err: unknown): Promise<void> {
    const { log, orm } = this.#services();
    log.error({ err, execution: row.id }, 'an execution could not be advanced');
    await letGo(orm.em.fork(), row).catch(() => {});
  }

  /** Hears what has happened to executions this process advances; with `renew`, shows that it lives. */
  async listen({ renew }: { renew: boolean }): Promise<void> {
    const now = performance.now();
    const old = [...this.#drivers].filter(([, { began }]) => now - began > oldEnough);
    if (old.length === 0) return;
    const em = this.#services().orm.em.fork();
    const words = await keepAlive(
      em,
      this.id,
      old.map(([id]) => id),
      { renew },
    );
    const heard = new Map(words.map((word) => [word.id, word]));
    for (const [id, { driver }] of old) {
      const word = heard.get(id);
      // Missing, it may just have come to its end here.
      if (word === undefined || word.attempt !== driver.hold.attempt) driver.stop('lost');
      else if (word.cancel !== null) driver.cancel(word.cancel);
      else if (word.wake) driver.word();
    }
  }

  /** @returns when an execution has come to rest, or been begun */
  #change(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  #tellChange(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Waits until nothing is advanced any more, nor about to be. */
  async idle(): Promise<void> {
    while (this.#drivers.size + this.#coming > 0) await this.#change();
  }

  /** Hands every execution back, to go on where another process, or the next start, takes it up. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#tellChange();
    for (const { driver } of this.#drivers.values()) driver.stop('closing');
    const late = setTimeout(() => {
      for (const { driver } of this.#drivers.values()) driver.breakOff();
    }, drain);
    await this.idle();
    clearTimeout(late);
  }
}
