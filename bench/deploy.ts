import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createBlobStore } from '../src/engines/blobs/blob-store.ts';
import { type Bench, type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { type Client, createClient } from './support/client.ts';
import { noise } from './support/content.ts';
import { edited, pagesOf, roundsRepository, writeSynced } from './support/deployable-site.ts';
import { makeFixture } from './support/fixture.ts';
import { startServer } from './support/server.ts';
import { timed } from './support/statistics.ts';

const rounds = 4;
/** Of the worker, too. */
const together = 8;
/** Bytes of a stored content of a crawler, and how many it puts at the same time. */
const small = 15_000;
const writers = 20;

interface Deployment {
  id: number;
  status: string;
  conclusion: string | null;
  created_at: string;
  completed_at: string;
  jobs: { name: string; log_url: string; steps: { started_at: string; completed_at: string }[] }[];
}

const between = (from: string, to: string) => Date.parse(to) - Date.parse(from);

/** Deployments of one environment. */
class Publisher {
  readonly #client: Client;
  readonly #studio: string;
  #last = 0;

  constructor(client: Client, studio: string) {
    this.#client = client;
    this.#studio = studio;
  }

  async #json<T>(below: string, options: Parameters<Client['send']>[1] = {}): Promise<T> {
    return JSON.parse((await this.#client.send(`${this.#studio}/${below}`, options)).body.toString());
  }

  /** @returns the id of an environment, whose first deployment has been queued */
  async environment(draft: object): Promise<number> {
    return (await this.#json<{ id: number }>('environments', { method: 'POST', body: draft })).id;
  }

  edit(branch: string): Promise<unknown> {
    const { collection, slug } = edited;
    const body = { branch, body: `Edited ${branch} ${performance.now()}.\n` };
    return this.#json(`collections/${collection}/${slug}`, { method: 'PUT', body });
  }

  again(environment_id: number): Promise<unknown> {
    return this.#json('deployments', { method: 'POST', body: { environment_id } });
  }

  /**
   * Waits for a deployment that was not waited for before.
   * @param news how many files it is to have that were kept by none before
   * @returns milliseconds from when it was queued until it was published, less its build command
   */
  async overhead(environment: number, news: number | null): Promise<number> {
    for (;;) {
      const found = await this.#json<Deployment>(`deployments/latest?environment=${environment}`);
      if (found.status === 'completed' && found.id > this.#last) {
        this.#last = found.id;
        check(found.conclusion === 'success', `Deployment ${found.id} ended with ${found.conclusion}`);
        if (news !== null) await this.#checkLog(found, news);
        const [step] = found.jobs.find(({ name }) => name === 'build')?.steps ?? [];
        return between(found.created_at, found.completed_at) - (step ? between(step.started_at, step.completed_at) : 0);
      }
      await delay(100);
    }
  }

  async #checkLog({ jobs }: Deployment, news: number): Promise<void> {
    const log = await this.#client.send(new URL(jobs.at(-1)?.log_url ?? '').pathname);
    check(log.body.includes(` ${news} of them new`), `Not ${news} files were new:\n${log.body}`);
  }
}

interface Samples {
  first: number[];
  edit: number[];
  again: number[];
  floor: number[];
}

/** One environment on a branch that was never published: its first deployment, one after an edit, and one with nothing new. */
async function measureRound(publisher: Publisher, draft: { branch: string }, samples: Samples) {
  const environment = await publisher.environment(draft);
  samples.first.push(await publisher.overhead(environment, null));
  await publisher.edit(draft.branch);
  samples.edit.push(await publisher.overhead(environment, 1));
  await publisher.again(environment);
  samples.again.push(await publisher.overhead(environment, 0));
}

async function publishSites(bench: Bench): Promise<Case[]> {
  const count = bench.scaled(1_000);
  const source = await roundsRepository(rounds, count);
  const fixture = await makeFixture(await bench.directory(), { static: source, build: source });
  const floors = await bench.directory();
  const server = await startServer(fixture);
  bench.defer(server.stop);
  const client = createClient(server.url, fixture.token);
  bench.defer(client.close);
  const empty = (): Samples => ({ first: [], edit: [], again: [], floor: [] });
  const found = { static: empty(), build: empty() };
  for (let round = 0; round < rounds; round += 1) {
    // What one way has published is nothing new for the other.
    for (const [at, provider] of (['static', 'build'] as const).entries()) {
      if ((round + at) % 2 === 1) continue;
      bench.say(`${provider}, round ${round + 1} of ${rounds}`);
      const contents = pagesOf(round, count).map(({ content }) => content);
      const place = path.join(floors, `${provider}-${round}`);
      found[provider].floor.push(await timed(() => writeSynced(place, contents, { together })));
      const built = { build_command: 'node build.mjs', output_directory: 'dist', install_command: '' };
      const draft = { name: `Round ${round}`, branch: `round-${round}`, provider, ...(provider === 'build' && built) };
      const publisher = new Publisher(client, fixture.projects[provider].studio);
      await measureRound(publisher, draft, found[provider]);
    }
  }
  const table = (label: string, { first, edit, again, floor }: Samples): Case[] => [
    timedCase(`${label}, ${count} new pages`, first, { atMost: 1_500, beside: { 'written and synced': floor } }),
    timedCase(`${label}, one edit`, edit, { atMost: 1_500 }),
    timedCase(`${label}, nothing new`, again, { atMost: 1_500 }),
  ];
  return [...table('static', found.static), ...table('built, without the build command', found.build)];
}

/** Small contents by many writers into the store, beside files of the same contents written and synced. */
async function putContents(bench: Bench): Promise<Case[]> {
  const count = bench.scaled(2_000);
  const root = await bench.directory();
  const rates: { ours: number[]; floor: number[] } = { ours: [], floor: [] };
  for (let round = 0; round < 5; round += 1) {
    const contents = Array.from({ length: count }, (_, at) => noise(small, round * count + at));
    const blobs = createBlobStore(path.join(root, `blobs-${round}`));
    let next = 0;
    const writer = async () => {
      for (let at = next++; at < count; at = next++)
        check((await blobs.put(contents[at] ?? Buffer.alloc(0))).isNew, 'Kept before');
    };
    const ours = await timed(() => Promise.all(Array.from({ length: writers }, writer)));
    const floor = await timed(() => writeSynced(path.join(root, `floor-${round}`), contents, { together: writers }));
    rates.ours.push((1000 * count) / ours);
    rates.floor.push((1000 * count) / floor);
  }
  const ours = timedCase('', rates.ours);
  const peer = timedCase('', rates.floor);
  return [
    {
      ...{ name: `contents of ${small / 1000} KB by ${writers} writers`, unit: 'contents/s', runs: rates.ours.length },
      ...{ value: ours.value, peers: [{ name: 'written and synced', value: peer.value }], atLeast: 400 },
    },
  ];
}

/** What a deployment takes beside the generator's own time, and the store of contents below it. */
export const deploy: Benchmark = {
  name: 'deploy',
  summary: 'Deployments of 1,000 pages without the time of the generator, and the store of their contents.',
  async run(bench) {
    return {
      cases: [...(await publishSites(bench)), ...(await putContents(bench))],
      notes: [
        'From when a deployment is queued until it is published, less its build command; each round has contents of its own.',
        `Pages of 10 KB; the floor writes and syncs the same contents, ${together} or ${writers} at the same time, and knows no names.`,
      ],
    };
  },
};
