import { describe, expect, it } from 'vitest';
import { cleanLine, JobLog, LineReader } from '../../../../../src/domain/studio/deployments/job-log.ts';
import { masker } from '../../../../../src/domain/studio/deployments/run/run-deployment.ts';
import { iterationsDuring } from '../../../../support/loop-iterations.ts';
import fc from '../../../../support/properties.ts';

describe('a line', () => {
  it.each([
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u001b]0;title\u0007text', 'text'],
    ['\u001b]8;;https://a.test\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['10 %\r55 %\r100 %', '100 %'],
    ['ends in\r', 'ends in'],
    ['tab\there', 'tab\there'],
    ['bell\u0007 null\u0000 c1\u009b', 'bell null c1'],
    ['\u001b(Bcharset \u001b=keypad', 'charset keypad'],
  ])('%j is %j', (written, shown) => {
    expect(cleanLine(written)).toBe(shown);
  });

  it('never holds a control character but the tab', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must be gone
        expect(cleanLine(text)).not.toMatch(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/);
      }),
    );
  });
});

describe('masking', () => {
  const secret = fc
    .string({ minLength: 4, maxLength: 40 })
    .filter((text) => text.trim() === text && !/^\*+$/.test(text));
  const around = fc.string({ unit: fc.constantFrom(...'<>#~ '), maxLength: 10 });

  it('takes a secret out of any text, as it is, URL-encoded and in base64', async () => {
    await fc.assert(
      fc.asyncProperty(secret, around, around, async (text, before, after) => {
        const mask = await masker([text]);
        for (const form of [text, encodeURIComponent(text), Buffer.from(text).toString('base64')])
          expect(mask(`${before}${form}${after}`)).toBe(`${before}********${after}`);
      }),
    );
  });

  it('takes it out of base64 of a longer text', async () => {
    const value = 'correct horse battery staple';
    const mask = await masker([value]);
    for (const user of ['', 'u', 'us', 'use']) {
      const shown = mask(Buffer.from(`${user}${value}`).toString('base64'));
      expect(shown).toContain('********');
      expect(Buffer.from(shown.replaceAll('*', ''), 'base64').toString()).not.toContain('horse');
    }
  });

  it('takes out each line of one with several, and nothing for one that is too short', async () => {
    const mask = await masker(['-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----\n', 'abc']);
    expect(mask('abc MIIEvQIBADANBg')).toBe('abc ********');
  });

  it('takes out one as long as it may be', async () => {
    const value = Array.from({ length: 32_768 }, (_, at) => '/"é x'[at % 7] ?? at % 10).join('');
    const mask = await masker([value]);
    expect(mask(`${value} ${encodeURIComponent(value)} ${JSON.stringify(value)}`)).toBe('******** ******** "********"');
  });
});

describe('lines', () => {
  it('are the same however the bytes come', () => {
    const text = fc.string({ unit: fc.constantFrom(...'ab\n\r\té€😀\u001b[m') });
    const cuts = fc.array(fc.nat({ max: 40 }), { maxLength: 8 });
    fc.assert(
      fc.property(text, cuts, (written, places) => {
        const read = (parts: Buffer[]) => {
          const reader = new LineReader((line) => line);
          return parts.map((part) => reader.read(part)).join('') + reader.end();
        };
        const bytes = Buffer.from(written);
        const ends = [...places.map((place) => Math.min(place, bytes.length)).sort((a, b) => a - b), bytes.length];
        const parts = ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
        expect(read(parts)).toBe(read([bytes]));
      }),
    );
  });

  it('that never end are written in pieces, and no secret in two halves', async () => {
    const value = 's3cret-of-some-length';
    const reader = new LineReader(await masker([value]));
    let shown = '';
    for (const letter of `${'x'.repeat(16 * 1024 - 10)}${value}${'y'.repeat(30_000)}`)
      shown += reader.read(Buffer.from(letter));
    expect(shown).toContain('\n');
    shown += reader.end();
    expect(shown.replaceAll('\n', '')).toBe(`${'x'.repeat(16 * 1024 - 10)}********${'y'.repeat(30_000)}`);
  });

  it.each([9_000, 12_000, 32_768])('that never end hold a secret of %d characters in no half', async (length) => {
    const value = Array.from({ length }, (_, at) => (at * 7_919).toString(36))
      .join('')
      .slice(0, length);
    const mask = await masker([value]);
    for (let before = 100_000; before < 108_000; before += 1_000) {
      const reader = new LineReader(mask);
      const written = Buffer.from(`${'x'.repeat(before)}${value}${'y'.repeat(80_000)}`);
      let shown = '';
      for (let at = 0; at < written.length; at += 4_096) shown += reader.read(written.subarray(at, at + 4_096));
      shown += reader.end();
      expect(shown.replaceAll('\n', '')).toBe(`${'x'.repeat(before)}********${'y'.repeat(80_000)}`);
    }
  });

  it('wait while other work of the server has had no time', async () => {
    const log = new JobLog({} as never, { deployment: 1, job: 1 }, (text) => text);
    const reader = log.reader();
    const waits: unknown[] = [];
    const iterations = await iterationsDuring(async () => {
      for (let count = 0; count < 100; count += 1) {
        const wait = reader.read(Buffer.from('x'));
        if (wait) waits.push(wait);
        await wait;
      }
    });
    expect(waits.length).toBeGreaterThan(2);
    expect(iterations).toBeGreaterThanOrEqual(waits.length);
  });
});
