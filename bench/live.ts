import { request } from 'node:http';
import { type Bench, type Benchmark, type Case, check, timedCase } from './benchmark.ts';
import { type Client, createClient } from './support/client.ts';
import { type Fixture, makeFixture } from './support/fixture.ts';
import { repositoryOf } from './support/repositories.ts';
import { startServer } from './support/server.ts';

/** Lines that are timed, and milliseconds between two. */
const lines = 120;
const every = 50;

/** Writes lines that carry their time, far enough apart that each is one of its own. */
const ticking = `import { writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
writeFileSync('index.html', 'done');
await setTimeout(3000);
for (let at = 0; at < ${lines}; at += 1) {
  console.log('at ' + (performance.timeOrigin + performance.now()));
  await setTimeout(${every});
}
`;

/** Writes as much as it is let, for longer than the other takes. */
const flooding = `const line = 'flood '.repeat(20) + '\\n';
const text = line.repeat(50);
const until = Date.now() + 18_000;
const write = () => {
  while (Date.now() < until) if (!process.stdout.write(text)) return process.stdout.once('drain', write);
};
write();
`;

interface Deployment {
  id: number;
  status: string;
  jobs: { id: number; name: string; status: string }[];
}

const now = () => performance.timeOrigin + performance.now();

/** Milliseconds each line of a job's log took to a subscriber over GraphQL's events. */
async function latencies(fixture: Fixture<string>, url: string, project: string, of: Deployment): Promise<number[]> {
  const job = of.jobs.find(({ name }) => name === 'build')?.id ?? 0;
  const place = `organization: "bench", project: "${project}", deployment_id: ${of.id}, job_id: ${job}`;
  const body = JSON.stringify({ query: `subscription { deploymentLog(${place}) { text } }` });
  const headers = {
    authorization: `Bearer ${fixture.token}`,
    accept: 'text/event-stream',
    'content-type': 'application/json',
  };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/graphql`, { method: 'POST', headers }, (response) => {
      const found: number[] = [];
      let rest = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const arrived = now();
        const blocks = (rest + chunk).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const time of blocks.join('\n').matchAll(/(?:"|\\n)at ([\d.]+)/g)) found.push(arrived - Number(time[1]));
      });
      response.once('end', () => resolve(found));
      response.once('error', reject);
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

async function begun(client: Client, studio: string, environment: number): Promise<Deployment> {
  for (;;) {
    const { body } = await client.send(`${studio}/deployments/latest?environment=${environment}`);
    const found: Deployment = JSON.parse(body.toString());
    check(found.status !== 'completed', 'The deployment ended before it was watched');
    if (found.jobs.some(({ name, status }) => name === 'build' && status === 'in_progress')) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** @returns the id of an environment, whose first deployment has been queued */
async function start(client: Client, studio: string, name: string, script: string): Promise<number> {
  const built = { provider: 'build', build_command: `node ${script}`, install_command: '', output_directory: '' };
  const draft = { name, branch: 'main', ...built };
  const { body } = await client.send(`${studio}/environments`, { method: 'POST', body: draft });
  return JSON.parse(body.toString()).id;
}

async function measure(bench: Bench): Promise<Case[]> {
  const files = [
    { path: 'tick.mjs', content: Buffer.from(ticking) },
    { path: 'flood.mjs', content: Buffer.from(flooding) },
  ];
  const source = await repositoryOf('live-logs', () => [{ branch: 'main', files }]);
  const fixture = await makeFixture(await bench.directory(), { ticking: source, flooding: source });
  const server = await startServer({ ...fixture, environment: { ...fixture.environment, PORTICO_BUILD_SLOTS: '2' } });
  bench.defer(server.stop);
  const client = createClient(server.url, fixture.token);
  bench.defer(client.close);
  const watch = async (name: string): Promise<number[]> => {
    const { studio } = fixture.projects.ticking;
    const found = await begun(client, studio, await start(client, studio, name, 'tick.mjs'));
    const times = await latencies(fixture, server.url, 'ticking', found);
    check(times.length === lines, `${times.length} of ${lines} lines arrived`);
    return times.sort((a, b) => a - b);
  };
  bench.say('alone');
  const alone = await watch('Alone');
  bench.say('beside a flood');
  const { studio } = fixture.projects.flooding;
  await begun(client, studio, await start(client, studio, 'Flood', 'flood.mjs'));
  const beside = await watch('Beside');
  const table = (label: string, times: readonly number[]): Case[] => [
    timedCase(`${label}, p50`, times, { atMost: 200 }),
    timedCase(`${label}, p99`, times.slice(Math.floor(times.length * 0.99)), { atMost: 200 }),
  ];
  return [...table('alone', alone), ...table('beside a log that floods', beside)];
}

/** How long a line of a build takes to a subscriber of its log. */
export const live: Benchmark = {
  name: 'live',
  summary: 'Milliseconds from a line that a build command writes to a subscriber of its log.',
  async run(bench) {
    const note = `${lines} lines, ${every} ms apart; each carries the time it was written at, by the clock all processes share.`;
    return { cases: await measure(bench), notes: [note] };
  },
};
