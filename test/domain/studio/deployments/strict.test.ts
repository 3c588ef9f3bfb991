import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDeployer } from '../../../../src/engines/deployer/deployer.ts';
import { seed } from '../../../support/app.ts';
import {
  buildDraft,
  builtSite,
  type DeployingApp,
  plainBuild,
  startDeployingApp,
} from '../../../support/deployments.ts';

const draft = { branch: 'main', install_command: '', ...buildDraft };
const isRoot = process.getuid?.() === 0;
/** What a server started as root says where no other user can build. */
const closedSentence =
  /^Builds are refused: the server runs as root, which never builds as itself, and other users cannot enter \/.* \(mode 0700\).*set PORTICO_BUILD_DIR to a directory that every user can enter/;
/** What this machine can do where the server alone reaches its builds, and where others do. */
let levels: { closed: string; open: string };
let closed: string;
let running: DeployingApp;

const levelIn = async (directory: string) => {
  const found = await createDeployer({ directory, dataDirectory: '/nowhere', strict: false }).isolation();
  return 'level' in found ? found.level : 'refused';
};

beforeAll(async () => {
  // No other user can enter it, so builds cannot run as another user, whatever user runs this.
  closed = await mkdtemp(path.join(tmpdir(), 'portico-closed-'));
  const strict = { PORTICO_BUILD_ISOLATION: 'strict', PORTICO_BUILD_DIR: path.join(closed, 'own') };
  running = await startDeployingApp(strict);
  await seed(running.app, { ...builtSite(plainBuild), 'plain/index.html': 'as it is' });
  levels = {
    closed: await levelIn(path.join(closed, 'level')),
    open: await levelIn(path.join(running.buildDir, 'level')),
  };
});
afterAll(async () => {
  await running?.stop();
  await rm(closed, { recursive: true, force: true });
});

describe('strict isolation', () => {
  it('builds nothing as the user of the server, and says what would help', async () => {
    const { id } = await running.environment({ name: 'Strict', ...draft });
    const deployment = await running.latest(id);
    if (isRoot) {
      expect(deployment).toMatchObject({
        conclusion: 'failure',
        failure_reason: 'isolation_unavailable',
        isolation: null,
      });
      expect(deployment.isolation_reason).toMatch(closedSentence);
      expect(await running.log(deployment, 'prepare')).toBe(`${deployment.isolation_reason}\n`);
      return;
    }
    if (levels.closed === 'bubblewrap') {
      expect(deployment).toMatchObject({ conclusion: 'success', isolation: 'bubblewrap' });
      return;
    }
    expect(levels.closed).toBe('process');
    expect(deployment).toMatchObject({
      conclusion: 'failure',
      failure_reason: 'isolation_unavailable',
      isolation: null,
    });
    expect(await running.log(deployment, 'prepare')).toMatch(/PORTICO_BUILD_ISOLATION=strict.*bubblewrap/);
  });

  it('is not what refuses to build as root: a server with the default setting does, too', async () => {
    const directory = path.join(closed, 'auto');
    const auto = createDeployer({ directory, dataDirectory: '/nowhere', strict: false });
    const found = await auto.isolation();
    await auto.close();
    if (isRoot) expect(found).toEqual({ refused: expect.stringMatching(closedSentence) });
    else expect(found).toMatchObject({ level: levels.closed });
    if (isRoot) await expect(auto.open({ deployment: 1, project: randomUUID() })).rejects.toThrow(closedSentence);
  });

  it('publishes what needs no build', async () => {
    const plain = { name: 'Plain', branch: 'main', provider: 'static', output_directory: 'plain' };
    const { id } = await running.environment(plain);
    expect(await running.latest(id)).toMatchObject({ conclusion: 'success', isolation: null });
  });

  it('builds where builds have a user or namespaces of their own', async () => {
    const open = await startDeployingApp({ PORTICO_BUILD_ISOLATION: 'strict' });
    await seed(open.app, builtSite(plainBuild));
    const { id } = await open.environment({ name: 'Open', ...draft });
    const { conclusion, isolation, isolation_reason } = await open.latest(id);
    await open.stop();
    const expected = levels.open === 'process' ? ['failure', null] : ['success', levels.open];
    expect([conclusion, isolation]).toEqual(expected);
    expect(isolation_reason).toMatch(/bubblewrap|user/);
  });
});
