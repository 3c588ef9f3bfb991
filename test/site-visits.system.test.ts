import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { selfSigned } from './support/certificate.ts';
import { startGitBackend } from './support/git-backend.ts';
import { entryCourses } from './support/routes/entry-courses.ts';
import { fixtureSites } from './support/routes/fixture-sites.ts';
import { publishRepository, visitSettings, visitSite, visitSteps } from './support/routes/site-visit.ts';
import { demoDataDir, portico, settingsFor, startServer } from './support/server-process.ts';

const root = path.resolve(import.meta.dirname, '..');

// The frameworks of npm take minutes to install: `npm run bench -- visits` has all.
test('an entry with an image is made, renamed and deleted in a draft that Hugo, Jekyll and MkDocs build', async () => {
  const { dataDir } = await demoDataDir();
  const directory = await mkdtemp(path.join(tmpdir(), 'portico-visits-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const tls = selfSigned();
  const server = await startServer(dataDir, await visitSettings(directory, tls.cert));
  const made = await portico(['token', 'create', '--organization', 'demo', '--preset', 'owner'], settingsFor(dataDir));
  const host = await startGitBackend(directory, tls);
  onTestFinished(host.stop);
  for (const name of ['hugo', 'jekyll', 'mkdocs'] as const) {
    const repository = `${host.url}/${await publishRepository(fixtureSites[name], root, directory)}`;
    const visit = { url: server.url, token: made.stdout.trim(), organization: 'demo', repository, patience: 120_000 };
    expect(await visitSite(visit, fixtureSites[name], entryCourses[name]), name).toEqual({
      done: [...visitSteps],
      fault: null,
    });
  }
  await server.stop();
});
