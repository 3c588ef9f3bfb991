import { readdir } from 'node:fs/promises';
import { request } from 'node:http';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Spools } from '../../src/ports/spool.ts';
import { type Answer, acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import fc from '../support/properties.ts';

const boundary = 'between-the-parts';
const type = `multipart/form-data; boundary=${boundary}`;
const mebibyte = 1024 * 1024;
const pdf = (size: number, filler = 0) => Buffer.concat([Buffer.from('%PDF-1.4\n'), Buffer.alloc(size - 9, filler)]);

type Part = { field: string; value: string } | { file: string; content: Buffer };

const headOf = (part: Part) =>
  `--${boundary}\r\nContent-Disposition: form-data; ${'file' in part ? `name="file"; filename="${part.file}"` : `name="${part.field}"`}\r\n\r\n`;
const bodyOf = (parts: readonly Part[]) =>
  Buffer.concat([
    ...parts.flatMap((part) => [
      Buffer.from(headOf(part)),
      'file' in part ? part.content : Buffer.from(part.value),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ]);

const app = shared(() => startTestApp({ PORTICO_MEDIA_LIMIT: '1' }));
let reader: string;
let editor: string;
let spools: Spools;

beforeAll(async () => {
  reader = await app.makeToken(['browse_studio']);
  editor = await app.makeToken(['browse_studio', 'edit_studio']);
  await seed(app, { 'public/a.png': 'x' });
  spools = app.services.spools;
});
afterEach(() => vi.restoreAllMocks());

/** The names in the directory of spools, which no request ever needs there. */
const names = () => readdir(path.join(app.directory('x'), '../../spool'));

async function expectNothingHeld() {
  expect(spools.held).toBe(0);
  expect(await names()).toEqual([]);
}

async function send(parts: readonly Part[], { token = app.token, query = '' } = {}): Promise<Answer> {
  const response = await fetch(`${app.url}${studio}/media${query}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': type },
    body: new Uint8Array(bodyOf(parts)),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** Sends the beginning of a body and waits, without sending more, for what comes back. */
function begin(bytes: string | Buffer, { token = app.token, at = `${studio}/media`, length = 0 } = {}) {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': type,
    ...(length && { 'Content-Length': length }),
  };
  const sent = request(`${app.url}${at}`, { method: 'POST', headers });
  sent.on('error', () => undefined);
  sent.write(bytes);
  const refused = new Promise<{ status: number | undefined; message: string }>((resolve) => {
    sent.once('response', async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      sent.destroy();
      resolve({ status: response.statusCode, message: JSON.parse(text).message });
    });
  });
  return { sent, refused };
}

describe('the parts of a multipart body', () => {
  it('give the same result in every order', async () => {
    const files: Part[] = [
      { file: 'one.pdf', content: pdf(200_000, 1) },
      { file: 'two.pdf', content: pdf(9) },
      { file: 'three.pdf', content: pdf(70_000, 3) },
    ];
    let round = 0;
    const fields = (directory: string): Part[] => [
      { field: 'path', value: directory },
      { field: 'message', value: `To ${directory}` },
      { field: 'rename', value: 'true' },
    ];
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 });
    await fc.assert(
      fc.asyncProperty(order, async (at) => {
        round += 1;
        const directory = `public/order-${round}`;
        const parts = [...fields(directory), ...files];
        const sent = at.flatMap((index) => parts[index] ?? []);
        const { status, body } = await send(sent);
        const inOrder = sent.flatMap((part) => ('file' in part ? [part] : []));
        expect(status).toBe(201);
        expect(body).toMatchObject(
          inOrder.map(({ file, content }) => ({
            path: `${directory}/${file}`,
            size: content.length,
            commit: { message: `To ${directory}` },
          })),
        );
        for (const { file, content } of inOrder) {
          const raw = await fetch(`${app.url}${studio}/file?raw=true&path=${directory}/${file}`, {
            headers: { Authorization: `Bearer ${app.token}` },
          });
          expect(Buffer.from(await raw.arrayBuffer()).equals(content)).toBe(true);
        }
        await expectNothingHeld();
      }),
      { numRuns: 15 },
    );
  });

  it('are refused by a field after the files as by one before them', async () => {
    const file: Part = { file: 'a.pdf', content: pdf(100) };
    for (const [field, value, token] of [
      ['branch', 'none-such', app.token],
      ['rename', 'perhaps', app.token],
      ['path', 'public/../..', app.token],
      ['path', 'elsewhere', editor],
    ] as const) {
      const [before, after] = [
        await send([{ field, value }, file], { token }),
        await send([file, { field, value }], { token }),
      ];
      expect(after.status).toBeGreaterThanOrEqual(400);
      expect([after.status, after.body.code, after.body.message]).toEqual([
        before.status,
        before.body.code,
        before.body.message,
      ]);
      await expectNothingHeld();
    }
  });

  it('may be files of the limit and not a byte more, whether a field follows or not', async () => {
    const path: Part = { field: 'path', value: 'public/limit' };
    const at: Part = { file: 'at.pdf', content: pdf(mebibyte) };
    const over: Part = { file: 'over.pdf', content: pdf(mebibyte + 1) };
    expect((await send([at, path])).status).toBe(201);
    for (const parts of [
      [over, path],
      [path, over],
      [{ file: 'b.pdf', content: pdf(50) }, over, path],
    ]) {
      const { status, body } = await send(parts);
      expect([status, body.message]).toEqual([413, `file: The file is larger than ${mebibyte} bytes`]);
      await expectNothingHeld();
    }
  });

  it('may be 20 files and not 21, whether a field follows or not', async () => {
    const files = Array.from({ length: 21 }, (_, at): Part => ({ file: `n${at}.pdf`, content: pdf(20, at) }));
    const path: Part = { field: 'path', value: 'public/many' };
    const flood = await send([...files, path]);
    expect([flood.status, flood.body.message]).toEqual([413, 'file: at most 20 files can be uploaded at once']);
    await expectNothingHeld();
    expect((await send([...files.slice(1), path])).body).toHaveLength(20);
  });

  it('are refused by a declared length that no 20 files can have, before the first part', async () => {
    const most = 20 * mebibyte + 50 * 128 * 1024 + 80 * 80 * 1024;
    const { status, message } = await begin('-', { length: most + 1 }).refused;
    expect([status, message]).toEqual([413, `body: is larger than ${most} bytes, the most that 20 files can need`]);
    const allowed = begin(`${headOf({ file: 'a.exe', content: pdf(9) })}x`, { length: most });
    expect((await allowed.refused).status).toBe(415);
  });
});

describe('before a byte of a file is read', () => {
  const head = (file: string, ...before: Part[]) =>
    `${before.map((part) => `${headOf(part)}${'value' in part ? part.value : ''}\r\n`).join('')}${headOf({ file, content: pdf(9) })}%PDF`;

  it.each<[string, number, string, () => Parameters<typeof begin>[1], Part[], RegExp]>([
    [
      'a caller without the permission',
      403,
      'a.pdf',
      () => ({ token: reader }),
      [],
      /^Missing permission: edit_studio$/,
    ],
    ['a stranger', 401, 'a.pdf', () => ({ token: 'none' }), [], /./],
    ['a project that is not there', 404, 'a.pdf', () => ({ at: `${acme}/projects/none/studio/media` }), [], /./],
    ['a query that is wrong', 400, 'a.pdf', () => ({ at: `${studio}/media?rename=perhaps` }), [], /^rename: /],
    ['a branch that is not there', 404, 'a.pdf', () => ({}), [{ field: 'branch', value: 'none-such' }], /./],
    ['a path that leaves', 400, 'a.pdf', () => ({}), [{ field: 'path', value: 'public/../..' }], /^path: /],
    ['a name of a type that is not allowed', 415, 'a.exe', () => ({}), [], /^path: /],
    [
      'a place outside media, without the permission for it,',
      403,
      'a.pdf',
      () => ({ token: editor }),
      [
        { field: 'branch', value: 'main' },
        { field: 'path', value: 'scripts' },
      ],
      /^Missing permission: manage_studio$/,
    ],
  ])('%s is refused with %i', async (_what, expected, file, options, before, words) => {
    const opened = vi.spyOn(spools, 'open');
    const { status, message } = await begin(head(file, ...before), { length: 900_000, ...options() }).refused;
    expect([status, message]).toEqual([expected, expect.stringMatching(words)]);
    for (const { value } of opened.mock.results) await expect(value.add([], 1)).rejects.toThrow('the spool is closed');
    await expectNothingHeld();
  });
});

describe('nothing is left on the disk', () => {
  it('when the client goes away in the middle of the second file', async () => {
    const first = bodyOf([{ file: 'a.pdf', content: pdf(300_000) }]).subarray(0, -(boundary.length + 6));
    const { sent } = begin(Buffer.concat([first, Buffer.from(`${headOf({ file: 'b.pdf', content: pdf(9) })}%PDF`)]));
    await vi.waitFor(() => expect(spools.held).toBe(1));
    expect(await names()).toEqual([]);
    const closed = new Promise((resolve) => sent.once('close', resolve));
    sent.destroy();
    await closed;
    await vi.waitFor(() => expect(spools.held).toBe(0));
    await expectNothingHeld();
  });

  it('when the disk is full: 503 storage_full, and the next upload works', async () => {
    const open = spools.open.bind(spools);
    vi.spyOn(spools, 'open').mockImplementationOnce(() => {
      const spool = open();
      const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
      return {
        ...spool,
        add: (content, limit) =>
          spool.add(
            (async function* () {
              yield* content;
              throw full;
            })(),
            limit,
          ),
      };
    });
    const parts: Part[] = [
      { file: 'full.pdf', content: pdf(300_000) },
      { field: 'path', value: 'public/full' },
    ];
    const { status, body, headers } = await send(parts);
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'storage_full', '30']);
    await expectNothingHeld();
    expect((await send(parts)).status).toBe(201);
  });
});
