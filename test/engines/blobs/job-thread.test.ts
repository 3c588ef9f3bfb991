import { expect, it } from 'vitest';
import { JobThread } from '../../../src/engines/blobs/job-thread.ts';

it('fails each job when its thread cannot be started', async () => {
  const thread = new JobThread({ module: new URL('http://site.test/'), heapMegabytes: 64, idle: 1_000 });
  for (const job of [1, 2]) await expect(thread.run(job)).rejects.toBeInstanceOf(TypeError);
});
