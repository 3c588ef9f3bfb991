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
    const before: string[] = [];
    const show = (packet: Buffer) => {
      expect(settled).toBe(false);
      before.push(packet.toString('latin1'));
    };
    const answer = pushAnswer(stdout(), show, async ({ unpacked, said }) => {
      settled = true;
      expect([unpacked, said]).toEqual([true, 'checking']);
      return null;
    });
    const after: string[] = [];
    for await (const chunk of answer) after.push(chunk.toString('latin1'));
    expect(before).toEqual([keepAlive, progress, keepAlive]);
    expect(after.join('')).toBe(report);
  });

  it('passes on 64 KiB of progress, and keeps the connection open beyond', async () => {
    const line = packetLine(`\u0002${'x'.repeat(32_000)}`);
    async function* stdout() {
      for (let at = 0; at < 100; at += 1) yield Buffer.from(line + keepAlive);
      yield Buffer.from(report);
    }
    const shown: number[] = [];
    const answer = pushAnswer(
      stdout(),
      ({ length }) => shown.push(length),
      async () => null,
    );
    let after = '';
    for await (const chunk of answer) after += chunk.toString('latin1');
    expect(after).toBe(report);
    expect(shown.filter((length) => length > 5)).toEqual([line.length, line.length]);
    expect(shown).toHaveLength(102);
  });
});
