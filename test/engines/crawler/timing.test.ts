import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { serve } from '../http/support.ts';
import { fetching, head, raw } from './support.ts';

const soon = 250;

describe('time-outs', () => {
  it('gives up a connection that does not come about', async () => {
    // A name server that never answers stands for every way to hang before the first byte.
    const { fault } = await fetching({ resolve: () => new Promise(() => {}) });
    const late = await fault(1, { url: 'http://slow.test/', limits: { connect: soon } });
    expect(late).toMatchObject({ error: 'timeout', isRetryable: true, retries: 3 });
  });

  it('gives up headers that drip', async () => {
    const port = await raw(async (socket) => {
      for (const letter of head('200 OK', 'Content-Length: 0', `x: ${'y'.repeat(200)}`)) {
        if (socket.destroyed) return;
        socket.write(letter);
        await sleep(20);
      }
    });
    const { fault } = await fetching();
    expect(await fault(port, { limits: { headers: soon } })).toMatchObject({ error: 'timeout', isRetryable: true });
  });

  it('gives up a body that stalls', async () => {
    const port = await raw((socket) => socket.write(`${head('200 OK', 'Content-Length: 100')}hello`));
    const { fault } = await fetching();
    expect(await fault(port, { limits: { idle: soon } })).toMatchObject({ error: 'timeout', bytesWire: 5 });
  });

  it('gives up a body that drips for longer than the whole', async () => {
    const port = await raw(async (socket) => {
      socket.write(head('200 OK', 'Content-Length: 1000'));
      while (!socket.destroyed) {
        socket.write('x');
        await sleep(20);
      }
    });
    const { fault } = await fetching();
    expect(await fault(port, { limits: { idle: soon, total: 2 * soon } })).toMatchObject({ error: 'timeout' });
  });

  it('gives up a large body that is being stored', async () => {
    const port = await raw((socket) => {
      socket.write(head('200 OK', 'Content-Length: 2000000'));
      socket.write(Buffer.alloc(1_000_000));
    });
    const { fault } = await fetching();
    // A busy machine has it all long before.
    expect(await fault(port, { limits: { total: 30 * soon } })).toMatchObject({
      error: 'timeout',
      bytesWire: 1_000_000,
    });
  });

  it('waits for a slow answer within its time', async () => {
    const port = await serve(async (_, response) => {
      await sleep(soon);
      response.end('late');
    });
    const { answer } = await fetching();
    expect((await answer(port)).durationMs).toBeGreaterThanOrEqual(soon - 50);
  });
});

describe('connections', () => {
  it('names a refused one, a reset before the answer, and one after the headers', async () => {
    const { fault } = await fetching();
    const closed = await raw(() => {});
    const refused = await fault(1);
    expect(refused).toMatchObject({ error: 'connect', isRetryable: true });
    expect(closed).toBeGreaterThan(0);
    const reset = await raw((socket) => socket.resetAndDestroy());
    expect(await fault(reset)).toMatchObject({ error: 'reset', isRetryable: true });
    const partway = await raw((socket) => {
      socket.write(head('200 OK', 'Content-Length: 10'), () => socket.resetAndDestroy());
    });
    expect(await fault(partway)).toMatchObject({ isRetryable: true });
  });

  it('says reset when a kept connection is closed just as it is used again', async () => {
    let answered = 0;
    const port = await raw((socket) => {
      answered += 1;
      if (answered === 2) socket.destroy();
      else socket.write(`${head('200 OK', 'Content-Length: 2', 'Connection: keep-alive')}ok`);
    });
    const { answer, fault } = await fetching();
    await answer(port);
    expect(await fault(port)).toMatchObject({ error: 'reset', isRetryable: true, retries: 3 });
    expect((await answer(port)).status).toBe(200);
  });

  it('keeps connections between requests, also when bodies are passed over', async () => {
    const used = new Set<number | undefined>();
    const port = await serve((request, response) => {
      used.add(request.socket.remotePort);
      response.writeHead(404, { 'content-type': 'image/png' }).end(Buffer.alloc(20_000));
    });
    const { answer } = await fetching();
    for (let n = 0; n < 20; n += 1) {
      expect((await answer(port, { keep: () => false })).body).toBeNull();
      await sleep(5);
    }
    // One is free again a moment after its answer: on a busy machine the next request may come before that.
    expect(used.size).toBeLessThan(10);
  });

  it('leaves a long body that is not wanted', async () => {
    const port = await serve((_, response) => {
      response.writeHead(404, { 'content-type': 'image/png' });
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65536)));
      };
      response.on('drain', more);
      more();
    });
    const { answer } = await fetching();
    expect(await answer(port, { keep: () => false })).toMatchObject({ status: 404, body: null, bytes: null });
  });
});

describe('names', () => {
  const failing = (code: string) => async () => {
    throw Object.assign(new Error(code), { code });
  };

  it('tries a name that does not exist once more, and one that could not be looked up three times', async () => {
    for (const [code, retries] of [
      ['ENOTFOUND', 1],
      ['ENODATA', 1],
      ['EAI_AGAIN', 3],
      ['ESERVFAIL', 3],
    ] as const) {
      const { fault } = await fetching({ resolve: failing(code) });
      expect(await fault(80, { url: 'http://nowhere.test/' })).toMatchObject({
        error: 'dns',
        isRetryable: true,
        retries,
      });
    }
  });

  it('asks for a name once per connection, not once per request', async () => {
    let requested = 0;
    const used = new Set<number | undefined>();
    const port = await serve((request, response) => {
      used.add(request.socket.remotePort);
      response.end('x');
    });
    const { answer } = await fetching({
      resolve: async () => {
        requested += 1;
        return ['127.0.0.1'];
      },
    });
    for (let n = 0; n < 20; n += 1) {
      await answer(port, { url: `http://site.test:${port}/${n}` });
      await sleep(5);
    }
    expect(requested).toBe(used.size);
    expect(requested).toBeLessThan(10);
  });
});

describe('abort', () => {
  it('rejects with the reason of the signal: before, while waiting, in the middle of a body', async () => {
    const port = await raw((socket, request) => {
      if (request.startsWith('GET /body'))
        socket.write(`${head('200 OK', 'Content-Length: 600000')}${'x'.repeat(300_000)}`);
    });
    const { get } = await fetching();
    const reason = new Error('canceled');
    await expect(get(port, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    for (const at of ['/wait', '/body']) {
      const controller = new AbortController();
      const call = get(port, { path: at, signal: controller.signal });
      setTimeout(() => controller.abort(reason), 50);
      await expect(call).rejects.toBe(reason);
    }
  });
});
