import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { gatheredBytes, receive } from '../../../src/engines/crawler/receive.ts';

const request = { headers: {}, policy: {}, timeouts: { connect: 1, headers: 1, idle: 1, total: 1 } };
const flow = { pause() {}, resume() {}, stop() {} };

it('a body that fails before it is read fails its reader, and nothing else', async () => {
  const reason = new Error('given up');
  const { body } = await receive(
    (_url, _request, sink) => {
      sink.head(200, {}, flow);
      sink.data(Buffer.alloc(gatheredBytes + 1));
      sink.fail(reason);
    },
    new URL('http://site.test/'),
    request,
    { wire: 0 },
    () => true,
  );
  // The file it is stored in is made meanwhile.
  await setImmediate();
  const read = async () => {
    for await (const _ of body as AsyncIterable<Buffer>);
  };
  await expect(read()).rejects.toBe(reason);
});
