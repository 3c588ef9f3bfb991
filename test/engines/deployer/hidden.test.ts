/** What a build closed in by bubblewrap cannot reach of the machine, though its user could. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDeployer } from '../../../src/engines/deployer/deployer.ts';
import type { Workspace } from '../../../src/ports/deployer.ts';
import { runIn, sandboxesHere } from '../../support/sandboxes.ts';

const { directory, usable } = await sandboxesHere();
const isUsable = usable.some(({ kind }) => kind === 'bubblewrap');
/** Where services of the machine, or of this user, put their sockets. */
const services = process.getuid?.() === 0 ? '/run' : (process.env.XDG_RUNTIME_DIR ?? '');

describe.runIf(isUsable)('a build by bubblewrap', () => {
  let workspace: Workspace;
  let place: string;
  beforeAll(async () => {
    place = await realpath(await mkdtemp('/var/tmp/portico-hidden-'));
    await chmod(place, 0o755);
    await mkdir(path.join(place, 'data'), { mode: 0o755 });
    for (const name of ['keyring', 'other', 'data/token'])
      await writeFile(path.join(place, name), `content of ${name}`);
    const deployer = createDeployer({
      directory: path.join(directory, 'hidden'),
      dataDirectory: path.join(place, 'data'),
      secretFiles: ['keyring', 'data/token', 'absent'].map((name) => path.join(place, name)),
      strict: false,
      kinds: ['bubblewrap'],
    });
    workspace = await deployer.open({ deployment: 1, project: randomUUID() });
    await workspace.write(
      (async function* () {
        yield { path: 'site/a.txt', kind: 'file' as const, content: Buffer.from('a') };
      })(),
    );
  });
  afterAll(async () => {
    await workspace?.remove();
    await rm(place, { recursive: true, force: true });
  });

  it('reads no file that holds a secret of the server, wherever it lies', async () => {
    const { output } = await runIn(
      workspace,
      `cd ${place}; for name in other keyring data/token; do cat $name; done 2>&1`,
    );
    expect(output).toContain('content of other');
    expect(output).not.toContain('content of keyring');
    expect(output).not.toContain('content of data');
  });

  it.runIf(services !== '')('connects to no service of this machine that listens below /run', async () => {
    const below = await mkdtemp(path.join(services, 'portico-test-'));
    const socket = path.join(below, 'manager');
    const server = createServer((connection) => connection.end('answered')).listen(socket);
    try {
      await once(server, 'listening');
      await chmod(below, 0o755);
      await chmod(socket, 0o777);
      const connect = `require('net').connect('${socket}').on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code))`;
      const { output } = await runIn(workspace, `node -e "${connect}"`);
      expect(output.trim()).toBe('ENOENT');
    } finally {
      server.close();
      await rm(below, { recursive: true, force: true });
    }
  });

  it('still finds how names are resolved', async () => {
    const { output } = await runIn(workspace, 'cat /etc/resolv.conf');
    expect(output).toMatch(/^nameserver /m);
  });
});
