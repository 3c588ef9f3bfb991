import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, read as readFrom, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { generateToken } from '../../src/domain/identity/token-text.ts';
import { DomainError } from '../../src/kernel/errors.ts';
import { redactText } from '../../src/lib/text.ts';
import { createLog, LineOutput } from '../../src/server/log.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import { askRaw } from '../support/raw-http.ts';
import { siteFiles } from '../support/site-files.ts';

const secret = 'hunter2-hunter2';

function written(fields: object, message = ''): string {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  createLog({ level: 'info', redactHeaders: ['X-Own'], destination }).info(fields, message);
  return lines.join('');
}

describe('the log', () => {
  it.each([
    'password',
    'secret',
    'token',
    'authorization',
    'cookie',
    'set-cookie',
    'setup',
    'proxy-authorization',
    'x-own',
    'Password',
    'AUTHORIZATION',
  ])('hides the key %s at any depth', (name) => {
    for (const fields of [
      { [name]: secret },
      { a: { b: [{ [name]: secret }] } },
      { [name]: { nested: secret } },
      { [name]: [secret] },
    ])
      expect(written(fields)).not.toContain(secret);
  });

  it.each([generateToken(), `whk_${'a'.repeat(20)}`, `whsec_${'a+/='.repeat(5)}`, `ptr_${'a'.repeat(20)}`])(
    'hides a text of the form %s anywhere in a line',
    (text) => {
      for (const line of [
        written({ a: text }),
        written({ a: [`x ${text}.`] }),
        written({}, `said "${text}"`),
        written({ err: new Error(`of ${text}`) }),
      ])
        expect(line).not.toContain(text);
    },
  );

  it('hides one-time links and what follows a webhook’s address', () => {
    for (const path of ['setup', 'join', 'reset']) {
      expect(redactText(`http://localhost/${path}#abc-DEF_123 next`)).toBe(`http://localhost/${path}#[redacted] next`);
    }
    expect(redactText('/webhooks/ai/workflows/1?token=abc&x=1 next')).toBe('/webhooks/ai/workflows/1?[redacted] next');
  });

  it('keeps what is no secret', () => {
    const line = JSON.parse(written({ tokens: 3, keyboard: 'x', at: 'ptc_', nothing: null, password: null }, 'Said'));
    expect(line).toMatchObject({
      tokens: 3,
      keyboard: 'x',
      at: 'ptc_',
      nothing: null,
      password: null,
      msg: 'Said',
      level: 'info',
    });
  });

  it('writes the cause of an error with its own', () => {
    const error = new DomainError('unavailable', 'Away', { cause: new Error(`at ${generateToken()}`) });
    expect(written({ err: error })).not.toMatch(/ptc_[0-9A-Za-z]{36}/);
  });

  it('leaves out the objects that hang on an error, and logs each nested error', () => {
    const lost = Object.assign(new Error('Lost'), {
      code: '57P01',
      client: { user: secret },
      details: { token: secret },
    });
    const { err } = JSON.parse(written({ err: new AggregateError([lost, 'text'], 'Both') }));
    expect(err).toMatchObject({ message: 'Both', type: 'AggregateError', stack: expect.any(String) });
    const [first, second] = err.errors;
    expect(first).toMatchObject({ message: 'Lost', code: '57P01', details: { token: '[redacted]' } });
    expect([Object.hasOwn(first, 'client'), second]).toEqual([false, 'text']);
  });

  it('is a JSON line whatever it is given', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    for (const fields of [
      circle,
      { a: undefined },
      { a: 1n },
      { a: Symbol('x') },
      { '\n': '\n' },
      { __proto__: { token: secret } },
    ])
      expect(() => JSON.parse(written(fields))).not.toThrow();
  });
});

describe('planted secrets', () => {
  const app = shared(startTestApp);
  beforeAll(() => seed(app, siteFiles));

  it('are found in no line of the log, whatever a caller does with them', async () => {
    const { body } = await app.ask('POST', `${acme}/tokens`, { body: { name: 'T', preset: 'readonly' } });
    const planted = [app.token, body.token, generateToken()];
    for (const token of planted) {
      await app.ask('GET', acme, { token });
      await askRaw(app, 'GET', `${acme}?token=${token}`);
      await askRaw(app, 'GET', `${studio}/collections/posts/${token}`);
      await askRaw(app, 'GET', `/git/acme/site.git/info/refs?service=git-upload-pack&t=${token}`, {
        headers: { cookie: `portico=${token}` },
      });
      await app.ask('PUT', `${studio}/collections/posts/en/beta`, { body: { body: token, message: token } });
    }
    const text = app.log.join('\n');
    expect(text.length).toBeGreaterThan(1000);
    for (const token of planted) expect(text).not.toContain(token.slice(4, 34));
  });

  it('has one line for each request, with its id, route and outcome', async () => {
    const { headers } = await app.ask('GET', `${studio}/collections?x=1`);
    const id = headers.get('x-request-id') ?? '';
    await expect
      .poll(() => app.log.filter((line) => line.includes(id) && line.includes('"msg":"request"')))
      .toHaveLength(1);
    const line = JSON.parse(app.log.find((item) => item.includes(id) && item.includes('"msg":"request"')) ?? '');
    expect(line).toMatchObject({
      method: 'GET',
      url: `${studio}/collections?x`,
      status: 200,
      duration_ms: expect.any(Number),
      request_id: id,
    });
  });
});

describe('lines for a file that cannot be written', () => {
  /** A pipe that takes no more than it has room for. */
  function openFifo() {
    const directory = mkdtempSync(path.join(tmpdir(), 'portico-log-'));
    const fifo = path.join(directory, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const file = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    onTestFinished(() => {
      closeSync(file);
      rmSync(directory, { recursive: true });
    });
    return { directory, fifo, file };
  }

  it('wait for room, up to a bound, and come in their order with the count of those left out', async () => {
    const { file } = openFifo();
    const output = new LineOutput(file);
    const line = (at: number) => `${JSON.stringify({ at, text: 'é'.repeat(1_000) })}\n`;
    for (let at = 0; at < 6_000; at += 1) output.write(line(at));
    let text = '';
    const decoder = new StringDecoder();
    const read = promisify(readFrom);
    await vi.waitFor(
      async () => {
        const { bytesRead, buffer } = await read(file, { buffer: Buffer.alloc(64 * 1024) });
        text += decoder.write(buffer.subarray(0, bytesRead));
        expect(text).toContain('could not be written');
        expect(text.endsWith('\n')).toBe(true);
      },
      { timeout: 60_000, interval: 1 },
    );
    const lines = text
      .trimEnd()
      .split('\n')
      .map((one) => JSON.parse(one));
    const notice = lines.findIndex(({ msg }) => msg !== undefined);
    expect(lines[notice].count).toBe(6_000 - notice);
    expect(lines.slice(0, notice).map(({ at }) => at)).toEqual(Array.from({ length: notice }, (_, at) => at));
    expect(notice).toBeGreaterThan(3_000);
    expect(notice).toBeLessThan(5_000);
  });

  it('are waited for at the end of the process where somebody reads them', async () => {
    const { fifo, file, directory } = openFifo();
    const seen = path.join(directory, 'seen');
    const reader = spawn('sh', ['-c', `sleep 0.3; head -n 3000 ${fifo} > ${seen}`], { stdio: 'ignore' });
    const ended = once(reader, 'exit');
    const output = new LineOutput(file);
    for (let at = 0; at < 3_000; at += 1) output.write(`${at} ${'x'.repeat(200)}\n`);
    output.flushSync();
    expect(await ended).toEqual([0, null]);
    const lines = readFileSync(seen, 'utf8').trim().split('\n');
    expect(new Set(lines.map((line) => line.split(' ')[0])).size).toBe(3_000);
  });

  it('are given up at the end of the process where nothing takes them', () => {
    const file = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(file));
    const output = new LineOutput(file);
    output.write('a line\n');
    output.write('another\n');
    output.flushSync();
  });
});
