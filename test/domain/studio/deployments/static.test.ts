import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { outputLimits, readManifest } from '../../../../src/domain/studio/deployments/manifest.ts';
import { seed, shared, studio } from '../../../support/app.ts';
import { type Deployment, startDeployingApp } from '../../../support/deployments.ts';

const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 5\n`;

const running = shared(startDeployingApp);
let id: number;
let first: Deployment;

async function change(changes: { path: string; content: string; mode?: '100755' | '120000' }[]): Promise<void> {
  const git = await running.app.repository();
  await git.write({
    branch: 'main',
    author: { name: 'S', email: 's@portico.test' },
    plan: async () => ({
      message: 'Change',
      result: null,
      changes: changes.map((one) => ({ ...one, content: Buffer.from(one.content) })),
    }),
  });
  await running.app.services.studio.moves.settled();
}

async function again(): Promise<Deployment> {
  await running.app.ask('POST', `${studio}/deployments`, { body: { environment_id: id } });
  await running.work();
  return running.latest(id);
}

const filesOf = async ({ output_digest }: Deployment) =>
  (await readManifest(running.app.services.blobs, output_digest)).map(([name]) => name);

beforeAll(async () => {
  await seed(running.app, { 'public/index.html': 'home', 'secret.txt': 'secret' });
  await change([
    { path: 'public/run.sh', content: 'echo', mode: '100755' },
    { path: 'public/node_modules/x.js', content: 'x' },
    { path: 'public/big.bin', content: pointer },
    { path: 'public/inside', content: 'index.html', mode: '120000' },
    { path: 'public/secret', content: '../secret.txt', mode: '120000' },
    { path: 'public/up', content: '../../../etc/passwd', mode: '120000' },
    { path: 'public/absolute', content: '/etc/passwd', mode: '120000' },
    { path: 'hops', content: '..', mode: '120000' },
    { path: 'public/through', content: '../hops/etc', mode: '120000' },
    { path: 'public/loop', content: 'loop', mode: '120000' },
    { path: 'current', content: 'public', mode: '120000' },
  ]);
  const draft = { name: 'Live', branch: 'main', provider: 'static', output_directory: 'public' };
  ({ id } = await running.environment(draft));
  first = await running.latest(id);
});

it('publishes the plain files of the commit, and warns of everything else', async () => {
  expect(first).toMatchObject({ conclusion: 'success', isolation: null });
  expect(await filesOf(first)).toEqual(['big.bin', 'index.html', 'run.sh']);
  const messages = Object.fromEntries(
    first.warnings.map(({ code, message }: Record<string, string>) => [code, message]),
  );
  expect(messages).toEqual({
    link_left_out: expect.stringMatching(/: absolute, through, up$/),
    not_published: expect.stringMatching(/: inside, loop, secret$/),
    lfs_pointer: expect.stringMatching(/: big\.bin$/),
  });
  for (const message of Object.values(messages)) expect(await running.log(first, 'prepare')).toContain(message);
});

it('touches no file system but the store', async () => {
  expect(await readdir(path.join(running.buildDir, 'own')).catch(() => 'not there')).toBe('not there');
});

it('reads nothing but small files again of what is unchanged, and puts no content', async () => {
  const put = vi.spyOn(running.app.services.blobs, 'put');
  const putFile = vi.spyOn(running.app.services.blobs, 'putFile');
  const next = await again();
  const puts = put.mock.calls.length + putFile.mock.calls.length;
  put.mockRestore();
  putFile.mockRestore();
  expect(next.id).not.toBe(first.id);
  expect([next.output_digest, next.warnings]).toEqual([first.output_digest, first.warnings]);
  expect(await running.log(next, 'prepare')).toContain('The same tree as what is published');
  expect(await running.log(next, 'publish')).toContain(' 0 of them new');
  // The manifest alone, which is there already.
  expect(puts).toBe(1);
});

it('puts what an edit changed, and what the store has lost', async () => {
  await change([{ path: 'public/about.html', content: 'about' }]);
  await running.work();
  const edited = await running.latest(id);
  expect(await running.log(edited, 'publish')).toMatch(/^4 files, 1 of them new/m);
  const { blobs } = running.app.services;
  const manifest = await readManifest(blobs, edited.output_digest);
  const lost = manifest.find(([name]) => name === 'index.html')?.[1];
  await blobs.sweep(
    new Set(
      manifest
        .map(([, sha256]) => sha256)
        .filter((sha256) => sha256 !== lost)
        .concat(edited.output_digest),
    ),
    new Date(Date.now() + 60_000),
  );
  expect(await blobs.missing([lost ?? ''])).toEqual(new Set([lost]));
  const repaired = await again();
  expect(repaired.output_digest).toBe(edited.output_digest);
  expect(await running.log(repaired, 'publish')).toMatch(/^4 files, 1 of them new/m);
});

it('publishes a directory that is named by a link, and says why there is nothing to publish', async () => {
  const attempt = async (output_directory: string) => {
    await running.app.ask('PATCH', `${studio}/environments/${id}`, { body: { output_directory } });
    const made = await again();
    return [made.conclusion, made.failure_reason, await running.log(made, 'prepare')];
  };
  expect(await attempt('current')).toEqual(['success', null, expect.anything()]);
  expect(await attempt('nowhere')).toEqual([
    'failure',
    'output_missing',
    expect.stringContaining('no directory nowhere'),
  ]);
  expect(await attempt('secret.txt')).toEqual(['failure', 'output_missing', expect.stringContaining('no directory')]);
  expect(await attempt('hops')).toEqual(['failure', 'output_missing', expect.stringContaining('leads out')]);
  expect(await attempt('public/node_modules')).toEqual(['success', null, expect.anything()]);
  await running.app.ask('PATCH', `${studio}/environments/${id}`, { body: { output_directory: 'public' } });
});

it('holds outputs to their limits, on both sides', async () => {
  const usual = { ...outputLimits };
  const attempt = async (limits: Partial<typeof outputLimits>) => {
    Object.assign(outputLimits, usual, limits);
    const { conclusion, failure_reason } = await again();
    Object.assign(outputLimits, usual);
    return failure_reason ?? conclusion;
  };
  const largest = pointer.length;
  const total = largest + 'home'.length + 'echo'.length + 'about'.length;
  expect(await attempt({ outputFiles: 4, outputFileBytes: largest, outputBytes: total })).toBe('success');
  expect(await attempt({ outputFiles: 3 })).toBe('output_too_large');
  expect(await attempt({ outputFileBytes: largest - 1 })).toBe('output_too_large');
  expect(await attempt({ outputBytes: total - 1 })).toBe('output_too_large');
});
