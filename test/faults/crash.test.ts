import { expect, test } from 'vitest';
import { expectComplete, total, writeUntilLost } from '../support/crash-writes.ts';
import { restClient } from '../support/rest-client.ts';
import { demoDataDir, endPid, kill, postmasterPid, startServer } from '../support/server-process.ts';

test('kill -9 of the server and of PostgreSQL during 200 writes: nothing acknowledged is lost', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir);
  const postmaster = (await postmasterPid(dataDir)) ?? 0;
  let ends: Promise<unknown> = Promise.resolve();
  const acknowledged = await writeUntilLost(restClient(server.url, token), (count) => {
    if (count === 60) ends = Promise.all([kill(server.child), endPid(postmaster)]);
  });
  await ends;
  expect(acknowledged.length).toBeLessThan(total);
  await expectComplete(await startServer(dataDir), token, acknowledged);
});
