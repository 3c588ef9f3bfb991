import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { restClient } from '../support/rest-client.ts';
import { demoDataDir, postmasterPid, settingsFor, startProgram, startServer } from '../support/server-process.ts';

test('a second server on the same data directory is refused in one line, and the first is not disturbed', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  const postmaster = await postmasterPid(dataDir);
  const second = await (await startProgram('main', [], settingsFor(dataDir))).ended;
  expect(second.code).toBe(1);
  expect(second.stderr).toBe(
    `The data directory ${dataDir} is in use by another Portico server (process ${server.child.pid}). ` +
      'Stop it, or set PORTICO_DATA_DIR to another directory.\n',
  );
  expect((await restClient(server.url, token).get('/organizations/demo')).status).toBe(200);
  expect(await postmasterPid(dataDir)).toBe(postmaster);
});

test.each(['PORTICO_PORT', 'PORTICO_PREVIEW_PORT'])(
  'a taken %s is one line that names it, and the database is stopped again',
  async (setting) => {
    const { dataDir } = await demoDataDir();
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const ended = await (await startProgram('main', [], settingsFor(dataDir, { [setting]: String(port) }))).ended;
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(new RegExp(`^.*${port}.*${setting}.*\n$`));
    expect(await postmasterPid(dataDir)).toBeNull();
  },
);
