import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { readPostgresRecord } from '../../src/db/postgres.ts';
import { demoStudio, restClient } from '../support/rest-client.ts';
import { demoDataDir, portico, settingsFor, startServer } from '../support/server-process.ts';

const planted = {
  password: 'planted-password-4711',
  cookie: 'planted-cookie-4711',
  basic: 'planted-basic-4711',
  bearer: 'planted-bearer-4711',
  broken: 'planted-broken-4711',
  metrics: 'planted-metrics-4711',
};

test('planted secrets are in no log line, audit row, metric or error', async () => {
  const { dataDir, token } = await demoDataDir();
  const server = await startServer(dataDir, { PORTICO_LOG_LEVEL: 'trace', PORTICO_METRICS_TOKEN: planted.metrics });
  const made = await portico(['token', 'create', '--organization', 'demo', '--preset', 'admin'], settingsFor(dataDir));
  const owner = made.stdout.trim();
  const rest = restClient(server.url, owner);
  const { password } = planted;
  const answers: string[] = [];
  const keep = ({ status, body }: { status: number; body: unknown }, expected: number) => {
    expect(status).toBe(expected);
    answers.push(JSON.stringify(body));
  };
  const tokens = '/organizations/demo/tokens';
  const draft = { name: 'Another', preset: 'readonly', password, secret: password };
  const { status, body: created } = await rest.send('POST', tokens, draft);
  expect(status).toBe(201);
  keep(await rest.send('POST', tokens, { ...draft, name: 5 }), 400);
  keep(await rest.send('POST', tokens, { ...draft, permissions: [password] }), 400);
  keep(await rest.send('PATCH', '/organizations/demo', { name: 'Demo', password, token: password }), 200);
  keep(await restClient(server.url, token).send('PATCH', '/organizations/demo', { password }), 403);
  keep(await restClient(server.url, planted.bearer).get('/organizations/demo'), 401);
  keep(await restClient(server.url, `${owner.slice(0, -1)}-`).get('/organizations/demo'), 401);
  keep(await rest.get(`/organizations/demo?token=${owner}`), 200);
  // The response names the path to its client; the log must not.
  expect((await rest.get(`/nothing/${owner}`)).status).toBe(404);

  const raw = async (place: string, init: RequestInit) => {
    const response = await fetch(`${server.url}${place}`, init);
    answers.push(await response.text());
  };
  const json = { 'Content-Type': 'application/json', Authorization: `Bearer ${owner}` };
  await raw(`/api/v2${tokens}`, { method: 'POST', headers: json, body: `{"password": "${planted.broken}` });
  await raw('/api/v2/organizations', { headers: { Authorization: `Basic ${planted.basic}`, Cookie: planted.cookie } });
  const document = `mutation { createToken(organization: "demo", input: {name: "x", password: "${password}"}) { id } }`;
  await raw('/graphql', { method: 'POST', headers: json, body: JSON.stringify({ query: document }) });
  const clone = `${server.url.replace('://', `://any:${token}@`)}/git/demo/site.git`;
  execFileSync('git', ['ls-remote', clone], { stdio: 'pipe' });
  await raw('/git/demo/site.git/info/refs?service=git-upload-pack', {
    headers: { Authorization: `Basic ${btoa(`any:${planted.basic}`)}` },
  });
  expect((await rest.get(`${demoStudio}/collections`)).status).toBe(200);
  await raw('/metrics', { headers: { Authorization: `Bearer ${planted.metrics}` } });
  expect(answers.at(-1)).toContain('# TYPE ');

  const record = await readPostgresRecord(dataDir);
  const client = new pg.Client({ connectionString: record?.url });
  await client.connect();
  const rows = JSON.stringify((await client.query('select * from audit')).rows);
  await client.end();
  expect(rows).toContain('identity.createToken');
  const listed = JSON.stringify((await rest.get('/organizations/demo/audit?per_page=100')).body);

  const { code, stdout, stderr } = await server.stop();
  expect(code).toBe(0);
  const places = {
    log: stdout + stderr,
    postgres: await readFile(path.join(dataDir, 'postgres/postgres.log'), 'utf8'),
    audit: rows + listed,
    answers: answers.join('\n'),
  };
  expect(places.log).toContain('"msg":"operation"');
  const secrets = { ...planted, owner, demo: token, created: created.token as string, database: record?.url ?? '' };
  for (const [place, text] of Object.entries(places))
    for (const [name, secret] of Object.entries(secrets))
      expect({ place, name, found: secret !== '' && text.includes(secret) }).toEqual({ place, name, found: false });
});
