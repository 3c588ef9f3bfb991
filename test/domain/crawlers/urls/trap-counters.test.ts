import { describe, expect, it } from 'vitest';
import { KeyedSets, QueryFanout, SameContent } from '../../../../src/domain/crawlers/urls/trap-counters.ts';
import fc from '../../../support/properties.ts';

const variant = (index: number, path = '/p') => `https://example.com${path}?x=${index}`;

describe('query_fanout', () => {
  it('takes 1,000 variants of a path and no more', () => {
    const fanout = new QueryFanout();
    for (let index = 0; index < 1_000; index += 1) expect(fanout.admits(variant(index))).toBe(true);
    expect(fanout.admits(variant(1_000))).toBe(false);
    expect(fanout.admits(variant(0))).toBe(true);
    expect(fanout.admits('https://example.com/p')).toBe(true);
    expect(fanout.admits(variant(1_000, '/q'))).toBe(true);
  });

  it('answers the same for the same URL, and after it was made again from what was taken', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 60 }), (indexes) => {
        const fanout = new QueryFanout(5);
        const urls = indexes.map((index) => variant(index));
        const answers = new Map(urls.map((url) => [url, fanout.admits(url)]));
        for (const url of urls) expect(fanout.admits(url)).toBe(answers.get(url));
        const again = new QueryFanout(5);
        for (const [url, isTaken] of answers) if (isTaken) again.admits(url);
        for (const [url, isTaken] of answers) expect(again.admits(url)).toBe(isTaken);
      }),
    );
  });
});

describe('same_content', () => {
  it('springs at the 51st equal body under one path', () => {
    const same = new SameContent();
    for (let index = 0; index < 50; index += 1) expect(same.add(variant(index), 'hash')).toBe(false);
    expect(same.add(variant(0), 'hash')).toBe(false);
    expect(same.admits(variant(99))).toBe(true);
    expect(same.add(variant(50), 'hash')).toBe(true);
    expect(same.add(variant(51), 'hash')).toBe(false);
    expect(same.admits(variant(99))).toBe(false);
    expect(same.admits('https://example.com/p')).toBe(true);
    expect(same.admits(variant(99, '/q'))).toBe(true);
  });

  it('does not count different bodies, different paths, or URLs without a query', () => {
    const same = new SameContent();
    for (let index = 0; index < 200; index += 1) {
      expect(same.add(variant(index), `hash${index}`)).toBe(false);
      expect(same.add(variant(index, `/p${index}`), 'hash')).toBe(false);
      expect(same.add(`https://example.com/${index}`, 'hash')).toBe(false);
    }
    expect(same.admits(variant(999))).toBe(true);
  });
});

describe('keyed sets', () => {
  it('keep no more than they may, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(30), fc.nat(50))), (pairs) => {
        const sets = new KeyedSets(40);
        for (const [key, member] of pairs) {
          expect(sets.addWithin(`k${key}`, `m${member}`, 10)).toBeTypeOf('boolean');
          expect(sets.size).toBeLessThanOrEqual(40);
        }
      }),
    );
  });

  it('forget the key that was longest without use', () => {
    const sets = new KeyedSets(4);
    sets.addWithin('old', '1', 1);
    for (const member of ['1', '2', '3']) sets.addWithin('new', member, 3);
    expect(sets.addWithin('old', '2', 1)).toBe(false);
    sets.addWithin('third', '1', 9);
    expect(sets.addWithin('new', '9', 3)).toBe(true);
    expect(sets.addWithin('old', '2', 1)).toBe(false);
  });
});
