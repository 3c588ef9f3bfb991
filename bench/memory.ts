import { createHash } from 'node:crypto';
import path from 'node:path';
import { type Bench, type Benchmark, type Case, check } from './benchmark.ts';
import { type Client, createClient } from './support/client.ts';
import { fileCount, noise, postOf, slugOf } from './support/content.ts';
import { copyOf } from './support/engine.ts';
import { makeFixture } from './support/fixture.ts';
import { getList, listPath, totalOf } from './support/listing.ts';
import { type Repository, siteRepository } from './support/repositories.ts';
import { type RunningServer, startServer } from './support/server.ts';
import { timed } from './support/statistics.ts';
import { gitLine } from './support/stock-git.ts';

const mebibyte = 1024 * 1024;
const atMost = 400;

interface Running {
  server: RunningServer;
  client: Client;
  studio: string;
  /** Resident memory before the first request, MiB. */
  idle: number;
}

/** A server that has answered nothing yet. */
async function freshServer(bench: Bench, source: Repository, environment: Record<string, string>): Promise<Running> {
  const { projects, ...fixture } = await makeFixture(await bench.directory(), { site: source });
  const server = await startServer({ ...fixture, environment: { ...fixture.environment, ...environment } });
  bench.defer(server.stop);
  const client = createClient(server.url, fixture.token);
  bench.defer(client.close);
  return { server, client, studio: projects.site.studio, idle: await server.memory() };
}

async function peakCase(name: string, { server, idle }: Running): Promise<Case> {
  const value = await server.peakMemory();
  return { name, unit: 'MiB', value, atMost, peers: [{ name: 'the same server before', value: idle }] };
}

/** A file of so many bytes in chunks, a zip by its first bytes. */
function* bigFile(bytes: number): Generator<Buffer> {
  for (let at = 0; at < bytes; at += mebibyte) {
    const chunk = noise(Math.min(mebibyte, bytes - at), at / mebibyte);
    if (at === 0) chunk.write('PK\x03\x04', 'latin1');
    yield chunk;
  }
}

function* multipart(boundary: string, file: Iterable<Buffer>): Generator<Buffer> {
  const field = (rest: string) => Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${rest}\r\n\r\n`);
  yield field('name="path"');
  yield Buffer.from('public/media\r\n');
  yield field('name="file"; filename="big.zip"\r\nContent-Type: application/zip');
  yield* file;
  yield Buffer.from(`\r\n--${boundary}--\r\n`);
}

async function uploadCases(bench: Bench): Promise<Case[]> {
  const source = await siteRepository({ posts: bench.scaled(1_000), directories: 0 });
  const size = bench.scaled(100) * mebibyte;
  const running = await freshServer(bench, source, { PORTICO_MEDIA_LIMIT: '100' });
  const { client, studio } = running;
  const boundary = 'bench-boundary';
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  const stream = multipart(boundary, bigFile(size));
  const { body, milliseconds } = await client.send(`${studio}/media`, { method: 'POST', headers, stream, expect: 201 });
  const hash = createHash('sha1').update(`blob ${size}\0`);
  for (const chunk of bigFile(size)) hash.update(chunk);
  const oid = hash.digest('hex');
  const saved = JSON.parse(body.toString('utf8'));
  const [{ sha }] = Array.isArray(saved) ? saved : [saved];
  check(sha === oid, `The upload is stored as ${sha} in place of ${oid}`);
  const uploaded = await peakCase(`upload of ${size / mebibyte} MiB, most memory`, running);
  const raw = await client.send(`${studio}/file?path=public/media/big.zip&raw=true`);
  check(raw.body.equals(Buffer.concat([...bigFile(size)])), 'The file comes back as another');
  const readBack = await peakCase('the same, and read back raw', running);
  const gitDir = await copyOf(source, path.join(await bench.directory(), 'git'));
  const input = Buffer.concat([...bigFile(size)]);
  let stored = '';
  const byGit = await timed(async () => {
    stored = await gitLine(gitDir, ['hash-object', '-w', '--stdin'], { input });
  });
  check(stored === oid, 'git stores another object');
  const peers = [{ name: '`git hash-object -w`', value: byGit }];
  return [
    uploaded,
    readBack,
    { name: 'time of the upload with its commit', unit: 'ms', value: milliseconds, runs: 1, peers },
  ];
}

async function manyFiles(bench: Bench): Promise<Case> {
  const site = { posts: bench.scaled(50_000), directories: 50 };
  const running = await freshServer(bench, await siteRepository(site), {});
  const { client, studio } = running;
  await getList(client, listPath(studio, 'sort=-date'), site.posts);
  const { tree } = JSON.parse((await client.send(`${studio}/filetree`)).body.toString('utf8'));
  const files = tree.filter(({ type }: { type: string }) => type === 'blob').length;
  check(files === fileCount(site), `The file tree shows ${files} files`);
  const found = totalOf(await client.send(listPath(studio, 'q=garden+mulberry')));
  check(found > 0 && found < site.posts, `${found} entries found`);
  const body = { frontmatter: { title: 'Changed' } };
  const answer = await client.send(`${studio}/collections/posts/${slugOf(0, site)}`, { method: 'PUT', body });
  const { body: kept } = JSON.parse(answer.body.toString('utf8'));
  check(postOf(0).endsWith(kept), 'The commit changed the body');
  await getList(client, listPath(studio, 'sort=title'), site.posts);
  return peakCase(`${site.posts} files: list, file tree, search, commit, list; most memory`, running);
}

/** How much memory the server's process takes at most (git's and PostgreSQL's processes apart). */
export const memory: Benchmark = {
  name: 'memory',
  summary: 'Peak memory of the server: an upload of 100 MiB, and a repository of 50,000 files.',
  async run(bench) {
    const cases = await uploadCases(bench);
    bench.say('the upload is measured');
    return {
      cases: [...cases, await manyFiles(bench)],
      notes: [
        'The peak is what Linux keeps for the process (`VmHWM`), from its start; each case has a server of its own.',
      ],
    };
  },
};
