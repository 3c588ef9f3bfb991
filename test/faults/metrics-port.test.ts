import { expect, test } from 'vitest';
import {
  metricsToken,
  newDataDir,
  type ServerProcess,
  settingsFor,
  startProgram,
  startServer,
} from '../support/server-process.ts';

const withToken = { Authorization: `Bearer ${metricsToken}` };
const get = async (url: string, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { headers });
  return { status: response.status, text: await response.text() };
};
const portOf = ({ output }: ServerProcess) => Number(/"metrics_port":(\d+)/.exec(output().stdout)?.[1]);

test('PORTICO_METRICS_PORT moves /metrics to a listener of its own, where it requires the token too', async () => {
  const dataDir = await newDataDir();
  const server = await startServer(dataDir, { PORTICO_METRICS_PORT: '0', PORTICO_DEMO: 'off' });
  const port = portOf(server);
  expect(port).toBeGreaterThan(0);
  const own = `http://127.0.0.1:${port}`;
  const answer = await get(`${own}/metrics`, withToken);
  expect(answer.status).toBe(200);
  expect(answer.text).toMatch(/^portico_process_resident_memory_bytes /m);
  for (const headers of [{}, { Authorization: 'Bearer wrong' }])
    expect((await get(`${own}/metrics`, headers)).status).toBe(404);
  expect((await get(`${server.url}/metrics`, withToken)).status).toBe(404);
  for (const path of ['/', '/healthz', '/readyz', '/api/v2/organizations'])
    expect([path, (await get(`${own}${path}`, withToken)).status]).toEqual([path, 404]);
  expect((await get(`${server.url}/healthz`)).status).toBe(200);

  // A port that is taken is named with its setting.
  const second = await startProgram(
    'main',
    [],
    settingsFor(await newDataDir(), { PORTICO_METRICS_PORT: String(port), PORTICO_DEMO: 'off' }),
  );
  const { code, stderr } = await second.ended;
  expect(code).toBe(1);
  expect(stderr).toContain(
    `Port ${port} on 127.0.0.1 is in use; set PORTICO_METRICS_PORT to another one, or 0 for any`,
  );
  expect((await server.stop()).code).toBe(0);
});

test('without PORTICO_METRICS_TOKEN there is no /metrics on either port', async () => {
  const server = await startServer(await newDataDir(), {
    PORTICO_METRICS_PORT: '0',
    PORTICO_METRICS_TOKEN: '',
    PORTICO_DEMO: 'off',
  });
  for (const url of [server.url, `http://127.0.0.1:${portOf(server)}`])
    for (const headers of [{}, withToken, { Authorization: 'Bearer ' }])
      expect((await get(`${url}/metrics`, headers)).status).toBe(404);
  await server.says(/PORTICO_METRICS_PORT is set without PORTICO_METRICS_TOKEN/);
  expect((await server.stop()).code).toBe(0);
});
