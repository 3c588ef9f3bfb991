import { describe, expect, it } from 'vitest';
import { packetLine, pushAnswer } from '../../../src/engines/git/transfer/push-answer.ts';

const keepAlive = '0005\u0001';
const progress = packetLine('\u0002checking');
const report = `${packetLine(`\u0001${packetLine('unpack ok\n')}`)}0000`;

describe('the answer to a push', () => {
  it('passes on what keeps the connection open while the push is judged, and holds the report back until it is settled', async () => {
    let settled = false;
    async function* stdout() {
      yield Buffer.from(keepAlive + progress);
      yield Buffer.from(keepAlive);
      yield Buffer.from(report);
    }
    const answer = pushAnswer(stdout(), async ({ unpacked, said }) => {
      settled = true;
      expect([unpacked, said]).toEqual([true, 'checking']);
      return null;
    });
    const before: string[] = [];
    const after: string[] = [];
    for await (const chunk of answer) (settled ? after : before).push(chunk.toString('latin1'));
    expect(before).toEqual([keepAlive, progress, keepAlive]);
    expect(after.join('')).toBe(report);
  });
});
