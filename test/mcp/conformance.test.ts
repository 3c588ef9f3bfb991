import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp, type TestApp } from '../support/app.ts';
import { siteFiles } from '../support/site-files.ts';

const run = promisify(execFile);
const suite = path.resolve('node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** Passes requests on with a token: the suite has no credentials. */
function withToken(app: TestApp): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    const { hostname, port } = new URL(app.url);
    const headers = { ...incoming.headers, authorization: `Bearer ${app.token}` };
    const passed = request({ hostname, port, path: incoming.url, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    passed.once('error', () => outgoing.destroy());
    outgoing.once('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

const app = shared(startTestApp);
let proxy: Server;
let directory: string;
beforeAll(async () => {
  await seed(app, siteFiles);
  proxy = await withToken(app);
  directory = await mkdtemp(path.join(tmpdir(), 'portico-conformance-'));
});
afterAll(async () => {
  proxy?.closeAllConnections();
  proxy?.close();
  if (directory) await rm(directory, { recursive: true, force: true });
});

/**
 * Scenarios that call tools, prompts or resources of the suite's own fixture server (`test_simple_text`, `test://static-text` …), which a service has
 * no place for. What they check besides is checked by the others, and by the tests beside this one.
 */
const ofFixtures = [
  ...[
    'server-rejects-undeclared-capability',
    'missing-capability-http-400',
    'http-server-no-independent-requests-on-stream',
    'server-no-log-without-loglevel',
  ].map((check) => `server-stateless:sep-2575-${check}`),
  ...['simple-text', 'image', 'audio', 'embedded-resource', 'mixed-content', 'error', 'with-progress'].map(
    (name) => `tools-call-${name}`,
  ),
  ...['resources-read-text', 'resources-read-binary', 'resources-templates-read'],
  ...['simple', 'with-args', 'embedded-resource', 'with-image'].map((name) => `prompts-get-${name}`),
  ...[
    ...['basic-elicitation', 'basic-sampling', 'basic-list-roots', 'request-state', 'multiple-input-requests'],
    ...[
      'multi-round',
      'non-tool-request',
      'result-type',
      'tampered-state',
      'capability-check',
      'missing-input-response',
      'ignore-extra-params',
    ],
  ].map((name) => `input-required-result-${name}`),
];

describe('the conformance suite of the protocol', () => {
  it('passes for revision 2026-07-28, but for what needs the fixtures of the suite', async () => {
    const expected = path.join(directory, 'expected.yml');
    await writeFile(expected, `server:\n${ofFixtures.map((name) => `  - ${name}\n`).join('')}`);
    const { port } = proxy.address() as AddressInfo;
    const revision = ['--requirements', '2026-07-28', '--expected-failures', expected];
    const url = `http://127.0.0.1:${port}/mcp`;
    const { stdout } = await run(process.execPath, [suite, 'server', ...revision, '--url', url], {
      cwd: directory,
      maxBuffer: 64 * 1024 * 1024,
      timeout: 300_000,
    }).catch((error: { stdout?: string }) => {
      throw new Error(`The suite failed:\n${error.stdout?.slice(error.stdout.indexOf('=== SUMMARY')) ?? error}`);
    });
    const passed = [...stdout.matchAll(/^✓ (\S+): /gm)].map(([, name]) => name);
    expect(passed).toEqual(
      expect.arrayContaining([
        'tools-list',
        'caching',
        'dns-rebinding-protection',
        'http-header-validation',
        'resources-list',
      ]),
    );
  });
});
